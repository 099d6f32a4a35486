import type { LimitReason } from '../reason.ts'
import { formatInstant } from '../schedule/civil-date.ts'
import type { AccountLimits } from '../settings.ts'
import type { StrategyLimits } from '../strategy.ts'
import type { Token } from '../token.ts'
import { type Address, type BaseUnits, formatAmount, maxOf } from '../units.ts'
import { liveSum, usedSumAfter, whenUsedSumFits } from './exposures.ts'
import type { DaemonState } from './state.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
export const WEEK_MS = 7 * DAY_MS

/** Sliding windows that caps are given for. Exposures are kept longer than the longest. */
export const WINDOWS = [
  {
    cap: 'perHour',
    name: 'hour',
    ms: HOUR_MS,
    own: 'limit-per-hour',
    account: 'limit-account-per-hour',
  },
  {
    cap: 'perDay',
    name: 'day',
    ms: DAY_MS,
    own: 'limit-per-day',
    account: 'limit-account-per-day',
  },
  {
    cap: 'perWeek',
    name: 'week',
    ms: WEEK_MS,
    own: 'limit-per-week',
    account: 'limit-account-per-week',
  },
] as const

/** What a cap is of: a token, of one strategy where it is named. */
export type CapSubject = { readonly token: Address; readonly strategy: string | undefined }

/** A cap that would be passed: how full it is, in base units, and when what is asked fits again. */
export type LimitHit = {
  readonly reason: LimitReason
  readonly token: Token
  readonly cap: BaseUnits
  readonly used: bigint
  readonly asked: BaseUnits
  /** Undefined where time alone frees nothing: a total, an order that is too large, or open orders. */
  readonly freesAtMs: number | undefined
}

export type LimitQuery = {
  readonly strategy: string
  readonly token: Token
  /** What one order may take. */
  readonly amount: BaseUnits
  /** What it may take together with the orders decided beside it; `amount` when it is alone. */
  readonly together?: BaseUnits
  /** What orders that are still to be signed may take beside it, base units. Windows count it, as they will count it later. */
  readonly planned?: { readonly own: bigint; readonly account: bigint }
  readonly nowMs: number
  readonly limits: StrategyLimits
  readonly account: AccountLimits
}

/**
 * The cap that `amount` more would pass, or undefined; of several the one that is in the way for longest. Live permits
 * count in full whatever their age; fills count while younger than the window, and also when they lie in the future
 * because the clock was set back (rule G3).
 */
export function limitHit(state: DaemonState, query: LimitQuery): LimitHit | undefined {
  const { limits, account, strategy } = query
  const lasting =
    orderHit(query, 'limit-per-order', limits.perOrder) ??
    orderHit(query, 'limit-account-per-order', account.perOrder) ??
    totalHit(state, query, strategy) ??
    totalHit(state, query, undefined)
  if (lasting !== undefined) return lasting
  const passing = [...windowHits(state, query, strategy), ...windowHits(state, query, undefined)]
  return passing.reduce<LimitHit | undefined>(
    (longest, hit) => (longest === undefined || freesLater(hit, longest) ? hit : longest),
    undefined,
  )
}

/** Otherwise it would be told that an order fits again while another cap still keeps it out. */
function freesLater(a: LimitHit, b: LimitHit): boolean {
  const never = Number.POSITIVE_INFINITY
  return (a.freesAtMs ?? never) > (b.freesAtMs ?? never)
}

/** Says which cap, how full it is, and when it frees. */
export function limitText(hit: LimitHit, nowMs: number): string {
  const { cap, used, asked, token, freesAtMs } = hit
  const amount = (value: bigint): string => formatAmount(value, token.decimals)
  const full = `${amount(used)} of ${amount(cap)} ${token.symbol} is used, ${amount(asked)} more asked`
  if (freesAtMs === undefined) return full
  const at = formatInstant(Math.ceil(freesAtMs / 1000))
  return `${full}; it fits again at ${at}, in ${Math.ceil((freesAtMs - nowMs) / 1000)} s`
}

function orderHit(
  { token, amount }: LimitQuery,
  reason: LimitReason,
  caps: StrategyLimits['perOrder'],
): LimitHit | undefined {
  const cap = caps.get(token.address)
  if (cap === undefined || amount <= cap) return undefined
  return { reason, token, cap, used: 0n, asked: amount, freesAtMs: undefined }
}

function windowHits(
  state: DaemonState,
  query: LimitQuery,
  strategy: string | undefined,
): readonly LimitHit[] {
  const hits: LimitHit[] = []
  const { token, amount: alone, together: amount = alone, nowMs, planned } = query
  const caps = strategy === undefined ? query.account : query.limits
  const toCome = (strategy === undefined ? planned?.account : planned?.own) ?? 0n
  for (const window of WINDOWS) {
    const cap = caps[window.cap].get(token.address)
    if (cap === undefined) continue
    const of = { token: token.address, strategy }
    const used = usedInWindow(state, of, nowMs - window.ms) + toCome
    if (used + amount <= cap) continue
    const room = cap - liveSum(state, token.address, strategy) - toCome - amount
    const fitsAtMs = room < 0n ? undefined : whenUsedSumFits(state, { ...of, room })
    const freesAtMs = fitsAtMs === undefined ? undefined : fitsAtMs + window.ms
    const reason = strategy === undefined ? window.account : window.own
    hits.push({ reason, token, cap, used, asked: amount, freesAtMs })
  }
  return hits
}

function totalHit(
  state: DaemonState,
  query: LimitQuery,
  strategy: string | undefined,
): LimitHit | undefined {
  const { token, amount: alone, together: amount = alone } = query
  const caps = strategy === undefined ? query.account : query.limits
  const cap = caps.total.get(token.address)
  if (cap === undefined) return undefined
  const used = usedInTotal(state, { token: token.address, strategy })
  if (used + amount <= cap) return undefined
  const reason = strategy === undefined ? 'limit-account-total' : 'limit-total'
  return { reason, token, cap, used, asked: amount, freesAtMs: undefined }
}

/** What counts against the cap of a window: live permits in full, and what was taken after `afterMs`. Base units. */
export function usedInWindow(state: DaemonState, of: CapSubject, afterMs: number): bigint {
  return liveSum(state, of.token, of.strategy) + usedSumAfter(state, { ...of, afterMs })
}

/** What counts against a cap in total: live permits in full, and all that was ever taken. Base units. */
export function usedInTotal(state: DaemonState, { token, strategy }: CapSubject): bigint {
  const spent = strategy === undefined ? state.spent : state.strategies.get(strategy)?.spent
  return (spent?.get(token) ?? 0n) + liveSum(state, token, strategy)
}

/** Sum of what live permits of a token may still take, in base units; of one strategy when it is named. */
export function livePermits(
  state: DaemonState,
  token: Pick<Token, 'address'>,
  strategy?: string,
): bigint {
  return liveSum(state, token.address, strategy)
}

/** What the account's day cap still allows of a token; undefined where no cap is set. */
export function dayAllowance(
  state: DaemonState,
  query: { token: Pick<Token, 'address'>; nowMs: number; account: AccountLimits },
): bigint | undefined {
  const { token, nowMs } = query
  const cap = query.account.perDay.get(token.address)
  if (cap === undefined) return undefined
  const used = usedSumAfter(state, { token: token.address, afterMs: nowMs - DAY_MS })
  return maxOf(0n, cap - liveSum(state, token.address) - used)
}

/**
 * What Permit2 is to be let spend of a token by today's caps: live permits, and what may still be sold beside them. The
 * account's cap counts, or else the strategy's own.
 */
export function dayBudget(
  state: DaemonState,
  query: {
    token: Pick<Token, 'address'>
    nowMs: number
    account: AccountLimits
    own: StrategyLimits | undefined
  },
): bigint {
  const { token, own } = query
  const room = dayAllowance(state, query) ?? own?.perDay.get(token.address) ?? 0n
  return livePermits(state, token) + room
}
