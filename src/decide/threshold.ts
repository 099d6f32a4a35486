import type { ThresholdStrategy } from '../domain/strategy.ts'
import { type BaseUnits, BPS, baseUnits, maxOf, minOf, mulDivDown } from '../domain/units.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  skip,
  unreadable,
} from './decision.ts'
import { memoryFired, memoryOf, triggerOf, type Watched, waitingText, watchRungs } from './rungs.ts'
import { notCovered, outsideBounds, swapIntent, tradePrice } from './swap.ts'

/**
 * Trades when a watched price reaches a level. A rung that fired is disarmed until the price has come back by the rearm
 * distance, for ever with `once`. An order that came to nothing leaves its rung armed. A price that is missing or stale
 * triggers nothing and changes nothing.
 */
export function decideThreshold(strategy: ThresholdStrategy, view: MarketView): Decision {
  const { watch, sell, buy, price: bounds } = strategy
  const answer = priceOf(view, watch.quote, watch.base)
  if (!answer.ok) return noPrice(answer)
  const price = answer.price.ratio
  const watched = watchRungs(strategy, price, view)
  const memory = memoryOf(watched)
  if (watched.every(({ state }) => state === 'spent'))
    return skip('finished', 'every rung has fired', memory)
  const firing = watched.filter(({ state }) => state === 'triggered')
  if (firing.length === 0)
    return skip('not-triggered', waitingText(strategy, watched, price), memory)
  const trade = tradePrice(strategy, view)
  if (!trade.ok) return { ...noPrice(trade), memory }
  const available = availableOf(view, sell)
  if (available === undefined) return { ...unreadable(sell), memory }
  const amount = amountOf(firing, sellable(available, view))
  const barred =
    amount === 0n
      ? skip('insufficient-balance', 'there is nothing to sell')
      : (outsideBounds(trade.price.ratio, strategy) ?? notCovered(view, sell, amount))
  if (barred !== undefined) return { ...barred, memory }
  const size = { side: 'sell', amount } as const
  const trigger = triggerOf(strategy, firing)
  const entry = entryOf(strategy)
  const wanted = { leg: 0, sell, buy, size, maxSell: amount, price: bounds, trigger, ...entry }
  const intents = [swapIntent(strategy, view, wanted)]
  return { tag: 'trade', intents, memory, memoryOnFill: memoryFired(strategy, watched, price) }
}

/** Whose purchases are sold: a share is of those, and never of what else the wallet holds. */
function entryOf({ entryOf: of, watch }: ThresholdStrategy) {
  return of === undefined ? {} : { entry: { of, paidIn: watch.quote } }
}

function sellable(available: bigint, { entry }: MarketView): bigint {
  return entry === undefined ? available : minOf(available, entry.amount)
}

/**
 * The sum of fixed amounts and of shares of what is free, rounded down. Where a share takes part all of it is at most
 * what is free: a stop-loss that sells everything must not fail because a smaller rung fired beside it.
 */
function amountOf(firing: readonly Watched[], available: bigint): BaseUnits {
  const free = maxOf(0n, available)
  let fixed = 0n
  let shareBps = 0n
  for (const { rung } of firing) {
    if (rung.size.type === 'amount') fixed += rung.size.amount
    else shareBps += BigInt(rung.size.bps)
  }
  if (shareBps === 0n) return baseUnits(fixed)
  return baseUnits(minOf(free, fixed + mulDivDown(free, minOf(shareBps, BPS), BPS)))
}
