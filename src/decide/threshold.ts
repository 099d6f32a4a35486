import type { StrategyMemory } from '../domain/memory.ts'
import type { Rung, ThresholdStrategy } from '../domain/strategy.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  compareRatio,
  formatAmount,
  mulDivDown,
  type Ratio,
  ratioOfText,
  ratioText,
  scaleBps,
} from '../domain/units.ts'
import { availableOf, type Decision, type MarketView, noPrice, priceOf, skip } from './decision.ts'
import { notCovered, outsideBounds, swapIntent, tradePrice } from './swap.ts'

/** What is remembered of a rung: the price at which it fired, and for a trailing one the furthest price since. */
type RungMemory = { readonly fired: Ratio | undefined; readonly extreme: Ratio | undefined }

type Watched = { readonly rung: Rung; readonly memory: RungMemory; readonly triggered: boolean }

/**
 * Trades when a watched price reaches a level. A rung that fired is disarmed until the price has come back by the rearm
 * distance, for ever with `once`. An order that came to nothing leaves its rung armed. A price that is missing or stale
 * triggers nothing and changes nothing.
 */
export function decideThreshold(strategy: ThresholdStrategy, view: MarketView): Decision {
  const { watch, sell, buy, price: bounds, rungs } = strategy
  const answer = priceOf(view, watch.quote, watch.base)
  if (!answer.ok) return noPrice(answer)
  const price = answer.price.ratio
  const watched = rungs.map((rung) => watchRung(strategy, rung, { price, memory: view.memory }))
  const memory = memoryOf(watched)
  if (strategy.once && watched.every(({ memory: { fired } }) => fired !== undefined))
    return skip('finished', 'every rung has fired', memory)
  const firing = watched.filter(({ triggered }) => triggered)
  if (firing.length === 0) return skip('not-triggered', watchText(strategy, price), memory)
  const trade = tradePrice(strategy, view)
  if (!trade.ok) return { ...noPrice(trade), memory }
  const amount = amountOf(firing, availableOf(view, sell))
  const barred =
    amount === 0n
      ? skip('insufficient-balance', 'there is nothing to sell')
      : (outsideBounds(trade.price.ratio, bounds) ?? notCovered(view, sell, amount))
  if (barred !== undefined) return { ...barred, memory }
  const size = { side: 'sell', amount } as const
  const intent = swapIntent(strategy, view, {
    leg: 0,
    sell,
    buy,
    size,
    maxSell: amount,
    price: bounds,
  })
  const fired = watched.map((each) =>
    each.triggered ? { ...each, memory: { fired: price, extreme: undefined } } : each,
  )
  return { tag: 'trade', intents: [intent], memory, memoryOnFill: memoryOf(fired) }
}

function watchRung(
  strategy: ThresholdStrategy,
  rung: Rung,
  { price, memory }: { readonly price: Ratio; readonly memory: StrategyMemory },
): Watched {
  const before = {
    fired: ratioOfText(memory[`fired ${rung.id}`]),
    extreme: ratioOfText(memory[`extreme ${rung.id}`]),
  }
  if (
    before.fired !== undefined &&
    (strategy.once || !isRearmed(strategy, rung, before.fired, price))
  )
    return { rung, memory: before, triggered: false }
  const { trigger } = rung
  if (trigger.type !== 'trailing') {
    const side = compareRatio(price, trigger.level)
    const triggered = trigger.type === 'above' ? side >= 0 : side <= 0
    return { rung, memory: { fired: undefined, extreme: undefined }, triggered }
  }
  const follows = trails(strategy)
  const from = before.extreme ?? price
  const extreme = compareRatio(price, from) === (follows === 'high' ? 1 : -1) ? price : from
  const level = scaleBps(extreme, follows === 'high' ? -trigger.bps : trigger.bps)
  const side = compareRatio(price, level)
  const triggered = follows === 'high' ? side <= 0 : side >= 0
  return { rung, memory: { fired: undefined, extreme }, triggered }
}

/** A stop that sells what is watched follows its highest price down; one that buys it follows its lowest up. */
function trails({ sell, watch }: ThresholdStrategy): 'high' | 'low' {
  return sell.token.address === watch.base.address ? 'high' : 'low'
}

function isRearmed(
  strategy: ThresholdStrategy,
  { trigger }: Rung,
  fired: Ratio,
  price: Ratio,
): boolean {
  const { rearmBps } = strategy
  const falls =
    trigger.type === 'above' || (trigger.type === 'trailing' && trails(strategy) === 'low')
  const from = trigger.type === 'trailing' ? fired : trigger.level
  const back = compareRatio(price, scaleBps(from, falls ? -rearmBps : rearmBps))
  return falls ? back <= 0 : back >= 0
}

function memoryOf(watched: readonly Watched[]): StrategyMemory {
  const entries = watched.flatMap(({ rung, memory: { fired, extreme } }): [string, string][] => [
    ...(fired === undefined ? [] : [[`fired ${rung.id}`, ratioText(fired)] as [string, string]]),
    ...(extreme === undefined
      ? []
      : [[`extreme ${rung.id}`, ratioText(extreme)] as [string, string]]),
  ])
  return Object.fromEntries(entries)
}

/** The sum of fixed amounts; shares are of what is free, at most all of it together. Rounded down. */
function amountOf(firing: readonly Watched[], free: bigint): BaseUnits {
  let fixed = 0n
  let shares = 0n
  for (const { rung } of firing) {
    if (rung.size.type === 'amount') fixed += rung.size.amount
    else shares += BigInt(rung.size.bps)
  }
  const share = shares > BPS ? BPS : shares
  return baseUnits(fixed + (free > 0n ? mulDivDown(free, share, BPS) : 0n))
}

const TEXT_PLACES = 6

function watchText({ watch, rungs }: ThresholdStrategy, price: Ratio): string {
  const whole = (ratio: Ratio): string => {
    const scale = 10n ** BigInt(watch.base.decimals + TEXT_PLACES)
    return formatAmount(
      mulDivDown(scale, ratio.num, ratio.den * 10n ** BigInt(watch.quote.decimals)),
      TEXT_PLACES,
    )
  }
  return `${watch.pair} is ${whole(price)}, waiting for ${rungs.map(({ id }) => id).join(', ')}`
}
