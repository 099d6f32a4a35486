import { DAY_MS, WINDOWS } from '../../domain/cap-windows.ts'
import type { Token } from '../../domain/money/token.ts'
import {
  type Address,
  type BaseUnits,
  exactDecimal,
  formatAmount,
  maxOf,
} from '../../domain/money/units.ts'
import type { LimitReason } from '../../domain/order/reason.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { AccountLimits, ApprovalPolicy } from '../../domain/settings.ts'
import type { SpendingCaps, StrategyLimits } from '../../domain/strategy.ts'
import { durationText } from '../../domain/text/duration.ts'
import type { DaemonState } from '../state/daemon-state.ts'
import {
  liveSum,
  oldestUsedAfter,
  type Summed,
  usedSumAfter,
  whenUsedSumFits,
} from './exposures.ts'

/** A cap that would be exceeded: its use in base units, and when the order fits again. */
export type LimitHit = {
  readonly reason: LimitReason
  readonly token: Token
  readonly cap: BaseUnits
  readonly used: bigint
  readonly requested: BaseUnits
  /** Undefined if waiting does not help: a total cap, an order that is too large, or open orders. */
  readonly freesAtMs: number | undefined
}

export type LimitQuery = {
  readonly strategy: string
  readonly token: Token
  /** Maximum amount of one order. */
  readonly amount: BaseUnits
  /** Maximum amount including the orders decided with it. Default: `amount`. */
  readonly together?: BaseUnits
  /** Maximum amounts of other orders still to be signed, base units. Windows count them now, as they will later. */
  readonly planned?: { readonly own: bigint; readonly account: bigint }
  readonly nowMs: number
  readonly limits: StrategyLimits
  readonly account: AccountLimits
}

/**
 * The cap that `amount` more would exceed; of several, the one that blocks longest. Undefined if it fits. Live permits count
 * in full at any age. Fills count while younger than the window, and if dated in the future after the clock was set back
 * (rule G3).
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

/** An earlier time would promise room while another cap still blocks the order. */
function freesLater(a: LimitHit, b: LimitHit): boolean {
  const never = Number.POSITIVE_INFINITY
  return (a.freesAtMs ?? never) > (b.freesAtMs ?? never)
}

/** Names the cap's use and when it frees. */
export function limitText(hit: LimitHit, nowMs: number): string {
  const { cap, used, requested, token, freesAtMs } = hit
  const amount = (value: bigint): string => exactDecimal(formatAmount(value, token.decimals))
  const full = `${amount(used)} of ${amount(cap)} ${token.symbol} is used, ${amount(requested)} more requested`
  if (freesAtMs === undefined) return full
  const at = formatInstant(Math.ceil(freesAtMs / 1000))
  return `${full}; there is room again at ${at}, in ${durationText(freesAtMs - nowMs)}`
}

function orderHit(
  { token, amount }: LimitQuery,
  reason: LimitReason,
  caps: StrategyLimits['perOrder'],
): LimitHit | undefined {
  const cap = caps.get(token.address)
  if (cap === undefined || amount <= cap) return undefined
  return { reason, token, cap, used: 0n, requested: amount, freesAtMs: undefined }
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
    hits.push({ reason, token, cap, used, requested: amount, freesAtMs })
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
  return { reason, token, cap, used, requested: amount, freesAtMs: undefined }
}

/** Use of a window's cap: live permits in full, plus amounts taken after `afterMs`. Base units. */
export function usedInWindow(state: DaemonState, of: Summed, afterMs: number): bigint {
  const { token, strategy } = of
  return liveSum(state, token, strategy) + usedSumAfter(state, { token, strategy, afterMs })
}

/** Use of a total cap: live permits in full, plus everything ever taken. Base units. */
export function usedInTotal(state: DaemonState, { token, strategy }: Summed): bigint {
  const spent = strategy === undefined ? state.spent : state.strategies.get(strategy)?.spent
  return (spent?.get(token) ?? 0n) + liveSum(state, token, strategy)
}

type DayQuery = {
  readonly token: Pick<Token, 'address'>
  readonly nowMs: number
  readonly account: AccountLimits
  readonly own: StrategyLimits | undefined
}

/** Base units of a token left under the account's day cap; undefined without a cap. */
export function dayAllowance(
  state: DaemonState,
  { token: { address: token }, nowMs, account }: Omit<DayQuery, 'own'>,
): bigint | undefined {
  const cap = account.perDay.get(token)
  return cap && maxOf(0n, cap - usedInWindow(state, { token }, nowMs - DAY_MS))
}

/**
 * Amount of a token that Permit2 may spend under today's caps: live permits, plus further sales. Uses the account's cap, or
 * else the strategy's.
 */
export function dayBudget(state: DaemonState, query: DayQuery): bigint {
  const { address: token } = query.token
  const room = dayAllowance(state, query) ?? query.own?.perDay.get(token) ?? 0n
  return liveSum(state, token) + room
}

/** Use of one cap, in base units. */
export type CapUse = {
  /** Undefined for the account's caps. */
  readonly strategy: string | undefined
  readonly token: Token
  readonly window: 'hour' | 'day' | 'week' | 'total'
  /** Above `cap` if a file changed since. */
  readonly used: bigint
  readonly cap: bigint
  /** When the oldest use leaves the window, epoch ms; undefined if time frees nothing. */
  readonly freesAtMs: number | undefined
}

type CapsQuery = {
  readonly strategies: Iterable<{ readonly name: string; readonly limits: SpendingCaps }>
  readonly account: SpendingCaps
  /** Tokens whose caps are listed, including ETHER. */
  readonly tokens: Iterable<Token>
  readonly nowMs: number
}

/**
 * All window and total caps, the account's first, with their use as counted for orders (`limitHit`). A cap of 0 is a cap:
 * nothing may be spent.
 */
export function capsOf(state: DaemonState, query: CapsQuery): readonly CapUse[] {
  const { strategies, account, tokens, nowMs } = query
  // One address on two chains is one cap, shown with the first token.
  const named = new Map<Address, Token>()
  for (const token of tokens) if (!named.has(token.address)) named.set(token.address, token)
  const uses = capsOfOne(state, { caps: account, strategy: undefined, named, nowMs })
  for (const { name, limits } of strategies)
    uses.push(...capsOfOne(state, { caps: limits, strategy: name, named, nowMs }))
  return uses
}

type One = {
  readonly caps: SpendingCaps
  readonly strategy: string | undefined
  readonly named: ReadonlyMap<Address, Token>
  readonly nowMs: number
}

function capsOfOne(state: DaemonState, { caps, strategy, named, nowMs }: One): CapUse[] {
  const uses: CapUse[] = []
  for (const window of WINDOWS) {
    const afterMs = nowMs - window.ms
    for (const [address, cap] of caps[window.cap]) {
      const token = named.get(address)
      if (token === undefined) continue
      const of = { token: address, strategy }
      const used = usedInWindow(state, of, afterMs)
      const oldestMs = oldestUsedAfter(state, { ...of, afterMs })
      const freesAtMs = oldestMs === undefined ? undefined : oldestMs + window.ms
      uses.push({ strategy, token, window: window.name, used, cap, freesAtMs })
    }
  }
  for (const [address, cap] of caps.total) {
    const token = named.get(address)
    if (token === undefined) continue
    const used = usedInTotal(state, { token: address, strategy })
    uses.push({ strategy, token, window: 'total', used, cap, freesAtMs: undefined })
  }
  return uses
}

/** Permanent approval of any amount. */
export const UNLIMITED = 2n ** 256n - 1n

/**
 * Permit2 approval for a token in base units; the signing policy permits no more. `exact` covers live permits and orders
 * before their signature. `budget` covers at least that, and all of today's caps. Uses the account's cap, or else the
 * strategy's `own`.
 */
export function approvalOf(
  state: DaemonState,
  query: DayQuery & { readonly approval: ApprovalPolicy },
): bigint {
  const { address: token } = query.token
  // Covers several orders of one slot at once: a new approval replaces the previous one.
  const required = liveSum(state, token) + state.intents.planned(token)
  switch (query.approval) {
    case 'exact':
      return required
    case 'budget':
      return maxOf(required, dayBudget(state, query))
    case 'unlimited':
      return UNLIMITED
  }
}
