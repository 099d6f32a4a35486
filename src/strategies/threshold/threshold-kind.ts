import { shownToken } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  compareRatio,
  maxOf,
  minOf,
  mulDivDown,
  type Ratio,
} from '../../domain/money/units.ts'
import { isLimitReason, type SkipReason } from '../../domain/order/reason.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  skip,
  unreadable,
} from '../decision/decision.ts'
import {
  exactly,
  notCovered,
  oneDirection,
  outsideBounds,
  swapIntent,
  tradePrice,
} from '../decision/swap.ts'
import { none, type StrategyKind } from '../kind.ts'
import {
  directionOf,
  isSpent,
  memoryFired,
  memoryOf,
  type ThresholdStrategy,
  triggerOf,
  type Watched,
  waitingText,
  watchRungs,
} from './rungs.ts'

export const threshold: StrategyKind<ThresholdStrategy> = {
  ...oneDirection,
  decision: { by: 'market', decide: decideThreshold },
  describe({ sell, buy, watch, rungs, entryOf }) {
    const lines = rungs.map(({ id }) => id).join(', ')
    const when = entryOf === undefined ? 'is' : `is, from the entry of ${entryOf},`
    return `threshold ${shownToken(sell).symbol} -> ${shownToken(buy).symbol} when ${watch.pair} ${when} ${lines}`
  },
  pairs: ({ watch, sell, buy }) => [
    { sell: watch.quote, buy: watch.base },
    { sell: sell.token, buy: buy.token },
  ],
  shapesNoOrder: ['fireAtOnce' satisfies keyof ThresholdStrategy],
  fixedOrder: none,
  plannedOrders({ rungs, sell: asset }, { free }) {
    const available = free(asset)
    return rungs.flatMap(({ id, size }) => {
      const amount =
        size.type === 'amount' ? size.amount : available && shareOf(available, size.bps)
      if (amount === undefined || amount === 0n) return []
      return [{ who: `rung ${id} sells`, asset, amount, isShare: size.type === 'share' }]
    })
  },
  mostPerSlot({ rungs }) {
    const amounts = rungs.flatMap(({ size }) => (size.type === 'amount' ? size.amount : []))
    return amounts.length < rungs.length ? undefined : amounts.reduce<bigint>((a, b) => a + b, 0n)
  },
  nextSale: none,
  slicedTotal: none,
  sampleSwap({ name, sell, buy, price, rungs }) {
    const fixed = rungs.find(({ size }) => size.type === 'amount')?.size
    if (fixed?.type !== 'amount') return `${name} sells a share`
    return { sell, buy, price, ...exactly(fixed.amount) }
  },
  marks(strategy, { price, ...view }) {
    if (price === undefined) return undefined
    const levels = watchRungs(strategy, price, view).flatMap(({ rung: { id }, state, next }) => {
      if (next === undefined) return []
      const trades = state !== 'disarmed'
      const name = trades ? id : `${id} is armed again`
      return [{ name, level: next, trades, isReached: state === 'triggered' }]
    })
    return { levels }
  },
  portfolio: ({ watch, sell, buy }) => ({ quote: watch.quote, assets: [sell, buy] }),
  entry({ entryOf: of, watch, rungs }) {
    if (of === undefined) return undefined
    const isAllShares = rungs.every(({ size }) => size.type === 'share')
    return { of, bought: watch.base, paidIn: watch.quote, isAllShares }
  },
  trigger: {
    watch: ({ watch }) => watch,
    levels: (strategy, price, view) =>
      watchRungs(strategy, price, view).map(({ rung: { id: name, trigger }, state }) => ({
        name,
        level: 'level' in trigger ? trigger.level : undefined,
        fires: state === 'triggered',
      })),
    isSpent,
    mayFireAtOnce: ({ fireAtOnce }) => fireAtOnce,
  },
  /** Prices between which no rung changes its state. */
  quiet(strategy, view, reason) {
    if (!QUIET.has(reason) && !isLimitReason(reason)) return undefined
    const { watch, price: bounds } = strategy
    const answer = priceOf(view, watch.quote, watch.base)
    if (!answer.ok) return undefined
    const watched = watchRungs(strategy, answer.price.ratio, view)
    const isTriggered = watched.some((each) => each.state === 'triggered')
    // Price bounds would skip a triggered slot for another reason.
    if (isTriggered && (bounds.min !== undefined || bounds.max !== undefined)) return undefined
    const band = new Band()
    for (const each of watched) narrowByRung(band, strategy, each)
    const { low, high } = band
    const bands = [{ sell: watch.quote, buy: watch.base, low, high }]
    return { bands, needsBalances: isTriggered }
  },
}

const QUIET: ReadonlySet<SkipReason> = new Set([
  'not-triggered',
  'finished',
  'insufficient-balance',
])

/**
 * Trades when a watched price reaches a level. A fired rung is disarmed until the price has come back by the rearm distance,
 * or forever with `once`. An unfilled order leaves its rung armed. A missing or stale price changes nothing.
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
  // Only the entry's holdings, never the rest of the wallet.
  const sellable = view.entry === undefined ? available : minOf(available, view.entry.amount)
  const amount = amountOf(firing, sellable)
  const blocked =
    amount === 0n
      ? skip('insufficient-balance', 'there is nothing to sell')
      : (outsideBounds(trade.price.ratio, strategy) ?? notCovered(view, sell, amount))
  if (blocked !== undefined) return { ...blocked, memory }
  const trigger = triggerOf(strategy, firing)
  const { entryOf: of } = strategy
  const entry = of === undefined ? undefined : { of, paidIn: watch.quote }
  const wanted = { leg: 0, sell, buy, ...exactly(amount), price: bounds, trigger, entry }
  const intents = [swapIntent(strategy, view, wanted)]
  return { tag: 'trade', intents, memory, memoryOnFill: memoryFired(strategy, watched, price) }
}

/**
 * The sum of fixed amounts and of shares of the free balance, rounded down. With a share it is at most the free balance: a
 * stop-loss that sells everything must not fail because a smaller rung also fires.
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

function shareOf(free: bigint, bps: number): bigint {
  return mulDivDown(maxOf(free, 0n), BigInt(bps), BPS)
}

class Band {
  low: Ratio = { num: 0n, den: 1n }
  high: Ratio | undefined

  narrow(side: 'low' | 'high', level: Ratio): void {
    if (side === 'low') this.low = compareRatio(level, this.low) > 0 ? level : this.low
    else if (this.high === undefined || compareRatio(level, this.high) < 0) this.high = level
  }
}

/** Narrows the band so that a rung neither fires, nor is armed again, nor reaches a new furthest price. */
function narrowByRung(band: Band, strategy: ThresholdStrategy, { rung, state, next }: Watched) {
  if (next === undefined) return
  const isUp = directionOf(strategy, rung) === 'up'
  const [ahead, behind] = isUp ? (['high', 'low'] as const) : (['low', 'high'] as const)
  const { trigger } = rung
  // A triggered rung stays beyond its level and a disarmed one short of its rearm level, on the same side.
  band.narrow(state === 'waiting' ? ahead : behind, next)
  if (state !== 'waiting' || trigger.type !== 'trailing') return
  const part = BigInt(isUp ? trigger.bps : -trigger.bps)
  band.narrow(behind, { num: next.num * BPS, den: next.den * (BPS + part) })
}
