import { liveSum, usedSumAfter } from './exposures.ts'
import type { AccountLimits } from './settings.ts'
import type { DaemonState } from './state.ts'
import type { StrategyLimits } from './strategy.ts'
import type { Token } from './token.ts'
import { type BaseUnits, maxOf } from './units.ts'

export const DAY_MS = 86_400_000

export type LimitReason =
  | 'limit-per-order'
  | 'limit-per-day'
  | 'limit-total'
  | 'limit-account-per-day'

/** A cap that would be passed: how full it is, in base units. */
export type LimitHit = {
  readonly reason: LimitReason
  readonly cap: BaseUnits
  readonly used: bigint
  readonly asked: BaseUnits
}

export type LimitQuery = {
  readonly strategy: string
  readonly token: Token
  readonly amount: BaseUnits
  readonly nowMs: number
  readonly limits: StrategyLimits
  readonly account: AccountLimits
}

/**
 * The first cap that `amount` more would pass, or undefined. Live permits count in full whatever their age; fills
 * count while younger than a day, and also when they lie in the future because the clock was set back (rule G3).
 */
export function limitHit(state: DaemonState, query: LimitQuery): LimitHit | undefined {
  const { amount, limits, account, token } = query
  const perOrder = account.perOrder.get(token.symbol)
  if (perOrder !== undefined && amount > perOrder)
    return { reason: 'limit-per-order', cap: perOrder, used: 0n, asked: amount }
  const ownDay = spentInDay(state, query, query.strategy)
  if (limits.perDay !== undefined && ownDay + amount > limits.perDay)
    return { reason: 'limit-per-day', cap: limits.perDay, used: ownDay, asked: amount }
  const accountCap = account.perDay.get(token.symbol)
  const day = spentInDay(state, query)
  if (accountCap !== undefined && day + amount > accountCap)
    return { reason: 'limit-account-per-day', cap: accountCap, used: day, asked: amount }
  const total = spentInTotal(state, query)
  if (limits.total !== undefined && total + amount > limits.total)
    return { reason: 'limit-total', cap: limits.total, used: total, asked: amount }
  return undefined
}

function spentInDay(
  state: DaemonState,
  query: { token: Token; nowMs: number },
  strategy?: string,
): bigint {
  const token = query.token.address
  const named = strategy === undefined ? {} : { strategy }
  const used = usedSumAfter(state, { token, ...named, afterMs: query.nowMs - DAY_MS })
  return liveSum(state, token, strategy) + used
}

function spentInTotal(state: DaemonState, query: { strategy: string; token: Token }): bigint {
  const spent = state.strategies.get(query.strategy)?.spent.get(query.token.address) ?? 0n
  return spent + livePermits(state, query.token, query.strategy)
}

/** Sum of what live permits of a token may still take, in base units; of one strategy when it is named. */
export function livePermits(state: DaemonState, token: Token, strategy?: string): bigint {
  return liveSum(state, token.address, strategy)
}

/** What the account's day cap still allows of a token; undefined where no cap is set. */
export function dayAllowance(
  state: DaemonState,
  query: { token: Token; nowMs: number; account: AccountLimits },
): bigint | undefined {
  const cap = query.account.perDay.get(query.token.symbol)
  if (cap === undefined) return undefined
  return maxOf(0n, cap - spentInDay(state, query))
}
