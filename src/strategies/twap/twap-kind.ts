import { amountText } from '../../domain/money/amount-text.ts'
import { shownToken } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  baseUnits,
  exactDecimal,
  formatAmount,
  maxOf,
  minOf,
  mulDivDown,
  mulDivUp,
} from '../../domain/money/units.ts'
import { scheduleKey } from '../../domain/schedule/schedule.ts'
import type { TradeBase, UnsoldRule } from '../../domain/strategy.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import {
  type Decision,
  type MarketView,
  noPrice,
  skip,
  withinOrderCap,
} from '../decision/decision.ts'
import {
  exactly,
  notCovered,
  oneDirection,
  outsideBounds,
  swapIntent,
  tradePrice,
} from '../decision/swap.ts'
import { none, type Progress, type StrategyKind } from '../kind.ts'

export type TwapStrategy = TradeBase & {
  readonly kind: 'twap'
  readonly total: BaseUnits
  readonly unsold: UnsoldRule
}

export const twap: StrategyKind<TwapStrategy> = {
  ...oneDirection,
  decision: { by: 'market', decide: decideTwap },
  describe: ({ sell, buy, total }) =>
    `twap ${amountText(total, shownToken(sell))} -> ${shownToken(buy).symbol}`,
  shapesNoOrder: [],
  fixedOrder: none,
  // Slices are cut to the caps.
  plannedOrders: () => [],
  mostPerSlot(strategy, { progress }) {
    const left = unsoldOf(strategy, progress)
    const { schedule, unsold } = strategy
    // With `spread` a slice may sell everything that earlier ones missed.
    return unsold === 'spread' || schedule.type !== 'interval'
      ? left
      : minOf(left, evenSlice(strategy))
  },
  nextSale: (strategy, { progress }) => minOf(evenSlice(strategy), unsoldOf(strategy, progress)),
  slicedTotal: (strategy) => ({
    key: keyOf(strategy),
    token: strategy.sell.token,
    total: strategy.total,
    rule: strategy.unsold,
    unsold: (progress) => unsoldOf(strategy, progress),
  }),
  sampleSwap(strategy) {
    const { sell, buy, price, total } = strategy
    return { sell, buy, price, ...exactly(baseUnits(total / slicesOf(strategy))) }
  },
  portfolio: undefined,
  entry: none,
  trigger: undefined,
}

function unsoldOf(strategy: TwapStrategy, { memory, spent }: Progress): bigint {
  const sold = spent.get(strategy.sell.token.address) ?? 0n
  return maxOf(0n, strategy.total - (sold - (baseOf(strategy, memory) ?? sold)))
}

/** The largest slice, if no earlier one was missed. */
function evenSlice(strategy: TwapStrategy): bigint {
  return mulDivUp(strategy.total, 1n, slicesOf(strategy))
}

function slicesOf({ schedule }: TwapStrategy): bigint {
  return BigInt(schedule.type === 'interval' ? schedule.count : 1)
}

/**
 * Sells a total in slices of equal time. `drop`: slice i lies between two exact parts of the total, so that all slices sum
 * to it. `spread`: the remaining slices share the unsold rest, and the last, or a slot triggered afterwards, sells all of
 * it. Pending orders count as sold until they are proven dead. An order cut short by a cap leaves its rest unsold.
 */
export function decideTwap(strategy: TwapStrategy, view: MarketView): Decision {
  const { sell, buy, price: bounds, total, unsold } = strategy
  const spent = view.spent.get(sell.token.address) ?? 0n
  const known = baseOf(strategy, view.memory)
  // Spending of the pending order would be indistinguishable from this schedule's.
  if (known === undefined && (view.promised.get(sell.token.address) ?? 0n) > 0n)
    return skip('too-many-open', 'an order of the previous schedule is still in flight')
  const base = known ?? spent
  const memory = { program: keyOf(strategy), base: base.toString() }
  const left = total - (spent - base)
  const index = sliceOf(strategy, view)
  if (index === 'before')
    return skip('not-triggered', 'the first slice is not due before `start`', memory)
  if (left <= 0n || (index === 'after' && unsold === 'drop'))
    return skip('finished', soldText(strategy, left), memory)
  const answer = tradePrice(strategy, view)
  if (!answer.ok) return { ...noPrice(answer), memory }
  const slice = index === 'after' ? left : sliceAmount(strategy, index, left)
  const amount = baseUnits(withinOrderCap(view, sell.token, slice))
  if (amount === 0n) return skip('below-minimum', 'this slice is less than one base unit', memory)
  const blocked = outsideBounds(answer.price.ratio, strategy) ?? notCovered(view, sell, amount)
  if (blocked !== undefined) return { ...blocked, memory }
  const wanted = { leg: 0, sell, buy, ...exactly(amount), price: bounds }
  return { tag: 'trade', intents: [swapIntent(strategy, view, wanted)], memory }
}

/** Identifies the schedule by token, total, count and start. */
function keyOf({ schedule, total, sell }: TwapStrategy): string {
  return `${total} ${sell.token.symbol} ${scheduleKey(schedule)}`
}

function sliceAmount(strategy: TwapStrategy, index: number, left: bigint): BaseUnits {
  const { total, unsold } = strategy
  const count = slicesOf(strategy)
  const at = BigInt(index)
  if (unsold === 'spread') {
    const after = count - at - 1n
    return baseUnits(left - mulDivDown(left, after, after + 1n))
  }
  const slice = mulDivDown(total, at + 1n, count) - mulDivDown(total, at, count)
  return baseUnits(minOf(slice, left))
}

/** The slice of a slot, from 0. A schedule without a known start starts at this slot. */
function sliceOf({ schedule }: TwapStrategy, view: MarketView): number | 'before' | 'after' {
  if (schedule.type !== 'interval') return 'after'
  const start = schedule.startSeconds ?? view.startSeconds ?? view.slotSeconds
  if (view.slotSeconds < start) return 'before'
  const index = Math.floor((view.slotSeconds - start) / schedule.everySeconds)
  return index < schedule.count ? index : 'after'
}

/** Base units spent before this schedule began; undefined if it has not begun. */
function baseOf(strategy: TwapStrategy, memory: StrategyMemory): bigint | undefined {
  const { program, base } = memory
  return program === keyOf(strategy) && base !== undefined ? BigInt(base) : undefined
}

function soldText({ total, sell: { token } }: TwapStrategy, left: bigint): string {
  return `${exactDecimal(formatAmount(total - left, token.decimals))} of ${amountText(total, token)} are sold`
}
