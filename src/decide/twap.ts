import type { StrategyMemory } from '../domain/book/memory.ts'
import { scheduleKey } from '../domain/schedule/schedule.ts'
import type { TwapStrategy } from '../domain/strategy.ts'
import {
  type BaseUnits,
  baseUnits,
  formatAmount,
  minOf,
  mulDivDown,
  mulDivUp,
} from '../domain/units.ts'
import { type Decision, type MarketView, noPrice, skip, withinOrderCap } from './decision.ts'
import { notCovered, outsideBounds, swapIntent, tradePrice } from './swap.ts'

/**
 * Sells a total in slices of equal time. `drop`: slice i is what lies between two exact parts of the total, so that all
 * of them sum to it. `spread`: what earlier slices did not sell is shared by those that are left, the last taking all, and
 * so does a slot that an operator asks for afterwards. What orders in flight may still take counts as sold until they are
 * proven dead. An order that a cap cuts short counts as one that did not sell the rest.
 */
export function decideTwap(strategy: TwapStrategy, view: MarketView): Decision {
  const { sell, buy, price: bounds, total, unsold } = strategy
  const spent = view.spent.get(sell.token.address) ?? 0n
  const known = baseOf(strategy, view.memory)
  // What an order of the program before takes would else be told apart from this one's neither now nor when it dies.
  if (known === undefined && (view.promised.get(sell.token.address) ?? 0n) > 0n)
    return skip('too-many-open', 'an order of the program before is still in flight')
  const base = known ?? spent
  const memory = { program: programKey(strategy), base: base.toString() }
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
  if (amount === 0n) return skip('below-minimum', 'this slice comes to no base unit', memory)
  const barred = outsideBounds(answer.price.ratio, strategy) ?? notCovered(view, sell, amount)
  if (barred !== undefined) return { ...barred, memory }
  const size = { side: 'sell', amount } as const
  const wanted = { leg: 0, sell, buy, size, maxSell: amount, price: bounds }
  return { tag: 'trade', intents: [swapIntent(strategy, view, wanted)], memory }
}

/** What of a program's total nobody has sold, by what its strategy remembers and has spent; never below nothing. */
export function unsoldOf(
  strategy: TwapStrategy,
  { memory, spent }: { readonly memory: StrategyMemory; readonly spent: bigint },
): bigint {
  const left = strategy.total - (spent - (baseOf(strategy, memory) ?? spent))
  return left > 0n ? left : 0n
}

/** What a slice sells where none before it was missed; less where less is left. */
export function usualSliceOf(
  strategy: TwapStrategy,
  done: { readonly memory: StrategyMemory; readonly spent: bigint },
): bigint {
  const { schedule, total } = strategy
  const count = BigInt(schedule.type === 'interval' ? schedule.count : 1)
  return minOf(mulDivUp(total, 1n, count), unsoldOf(strategy, done))
}

/** Names a program: another token, total, count or start is one of its own. */
export function programKey({ schedule, total, sell }: TwapStrategy): string {
  return `${total} ${sell.token.symbol} ${scheduleKey(schedule)}`
}

function sliceAmount(
  { total, unsold, schedule }: TwapStrategy,
  index: number,
  left: bigint,
): BaseUnits {
  const count = BigInt(schedule.type === 'interval' ? schedule.count : 1)
  const at = BigInt(index)
  if (unsold === 'spread') {
    const after = count - at - 1n
    return baseUnits(left - mulDivDown(left, after, after + 1n))
  }
  const slice = mulDivDown(total, at + 1n, count) - mulDivDown(total, at, count)
  return baseUnits(minOf(slice, left))
}

/** The slice that a slot falls in, from 0. Until the schedule was first seen, every slot would be the first. */
function sliceOf({ schedule }: TwapStrategy, view: MarketView): number | 'before' | 'after' {
  if (schedule.type !== 'interval') return 'after'
  const start = schedule.startSeconds ?? view.startSeconds ?? view.slotSeconds
  if (view.slotSeconds < start) return 'before'
  const index = Math.floor((view.slotSeconds - start) / schedule.everySeconds)
  return index < schedule.count ? index : 'after'
}

/** What had been sold when this program began; undefined where it has not. */
function baseOf(strategy: TwapStrategy, memory: StrategyMemory): bigint | undefined {
  const { program, base } = memory
  return program === programKey(strategy) && base !== undefined ? BigInt(base) : undefined
}

function soldText({ total, sell }: TwapStrategy, left: bigint): string {
  const { symbol, decimals } = sell.token
  return `${formatAmount(total - left, decimals)} of ${formatAmount(total, decimals)} ${symbol} are sold`
}
