import { mostToSell } from '../decide/swap.ts'
import { DAY_MS } from '../domain/book/limits.ts'
import { assertNever } from '../domain/errors.ts'
import { slotsBetween } from '../domain/schedule/calendar.ts'
import type { Schedule } from '../domain/schedule/schedule.ts'
import type { AccountLimits } from '../domain/settings.ts'
import { assetsOf, type DcaStrategy, type Strategy } from '../domain/strategy.ts'
import { ETHER, type Token } from '../domain/token.ts'
import { maxOf, minOf, type Ratio } from '../domain/units.ts'

/** The most that a strategy may sell of a token in any 24 hours, and what sets that bound. */
export type WorstCase = {
  readonly token: Token
  /** Base units; undefined where nothing bounds it. */
  readonly amount: bigint | undefined
  readonly boundBy: string
}

/** What the worst case depends on beside the files. Undefined where it is not known. */
export type SpendView = {
  readonly nowSeconds: number
  readonly schedule: Schedule
  readonly account: AccountLimits
  /** Free base units of a token. */
  readonly available: (token: Token) => bigint | undefined
  /** Sell base units per buy base unit. */
  readonly priceOf: (sell: Token, buy: Token) => Ratio | undefined
}

/** Slots are counted over this many days ahead, so that months with the densest days are seen of common patterns. */
const DAYS_AHEAD = 8
const SLOTS_MAX = 200_000

/** Most slots in any 24 hours of the days ahead. */
export function mostSlotsInDay(schedule: Schedule, nowSeconds: number): number {
  const until = nowSeconds + (DAYS_AHEAD * DAY_MS) / 1000
  const { slots } = slotsBetween(schedule, nowSeconds, until, SLOTS_MAX)
  let most = 0
  let first = 0
  for (const [index, slot] of slots.entries()) {
    while (slot - (slots[first] ?? slot) >= DAY_MS / 1000) first += 1
    most = Math.max(most, index - first + 1)
  }
  return most
}

/** One entry for each token that the strategy may sell. */
export function worstCases(strategy: Strategy, view: SpendView): readonly WorstCase[] {
  const slots = mostSlotsInDay(view.schedule, view.nowSeconds)
  return soldTokens(strategy).map((token) => {
    const bounds: (readonly [string, bigint | undefined])[] = [
      [`${slots} slots a day`, timesSlots(orderBound(strategy, token, view), slots)],
      ['limits.perDay', strategy.limits.perDay.get(token.address)],
      ['limits.perWeek', strategy.limits.perWeek.get(token.address)],
      ['limits.total', strategy.limits.total.get(token.address)],
      ["the config's limits.perDay", view.account.perDay.get(token.address)],
      ["the config's limits.perWeek", view.account.perWeek.get(token.address)],
      ["the config's limits.total", view.account.total.get(token.address)],
      ['what the wallet holds', view.available(token)],
    ]
    return tightest(token, bounds)
  })
}

function tightest(
  token: Token,
  bounds: readonly (readonly [string, bigint | undefined])[],
): WorstCase {
  let amount: bigint | undefined
  let boundBy = 'nothing'
  for (const [name, bound] of bounds) {
    if (bound === undefined || (amount !== undefined && bound >= amount)) continue
    amount = bound
    boundBy = name
  }
  return { token, amount, boundBy }
}

function timesSlots(order: bigint | undefined, slots: number): bigint | undefined {
  return order === undefined ? undefined : order * BigInt(slots)
}

function soldTokens(strategy: Strategy): readonly Token[] {
  switch (strategy.kind) {
    case 'dca':
    case 'threshold':
    case 'twap':
      return [strategy.sell.token]
    case 'call':
      return strategy.value === 0n ? [] : [ETHER]
    case 'rebalance':
    case 'custom':
      return [...new Set(assetsOf(strategy).map(({ token }) => token))]
    default:
      return assertNever(strategy)
  }
}

/** The most that one slot sells, by what its kind decides and the caps of an order. */
function orderBound(strategy: Strategy, token: Token, view: SpendView): bigint | undefined {
  const decided = decidedBound(strategy, view)
  const own = strategy.limits.perOrder.get(token.address)
  const account = view.account.perOrder.get(token.address)
  return [decided, own, account].reduce(
    (least, bound) =>
      bound === undefined || least === undefined ? (least ?? bound) : minOf(least, bound),
    undefined,
  )
}

function decidedBound(strategy: Strategy, view: SpendView): bigint | undefined {
  switch (strategy.kind) {
    case 'dca':
      return dcaBound(strategy, view)
    case 'twap':
      return strategy.total
    case 'call':
      return strategy.value
    case 'threshold': {
      let sum = 0n
      for (const { size } of strategy.rungs) {
        if (size.type === 'share') return undefined
        sum += size.amount
      }
      return sum
    }
    case 'rebalance':
    case 'custom':
      return undefined
    default:
      return assertNever(strategy)
  }
}

/** The most that one slot of a DCA strategy sells; undefined where that hangs on a price that is not known. */
export function dcaBound(
  strategy: DcaStrategy,
  view: Pick<SpendView, 'priceOf'>,
): bigint | undefined {
  const { size, dips, price, sell, buy } = strategy
  const ratio = price.max ?? view.priceOf(sell.token, buy.token)
  if (size.side === 'buy' && ratio === undefined) return undefined
  const bounds = [size.amount, ...dips.map(({ amount }) => amount)].map((amount) =>
    mostToSell(strategy, { ...size, amount }, ratio ?? { num: 1n, den: 1n }),
  )
  return bounds.reduce<bigint>(maxOf, 0n)
}
