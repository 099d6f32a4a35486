import { DAY_MS, WINDOWS } from '../../domain/cap-windows.ts'
import type { Token } from '../../domain/money/token.ts'
import { type Address, type BaseUnits, formatAmount, maxOf } from '../../domain/money/units.ts'
import type { LimitReason } from '../../domain/order/reason.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { AccountLimits, ApprovalPolicy } from '../../domain/settings.ts'
import type { SpendingCaps, StrategyLimits } from '../../domain/strategy.ts'
import { openSwaps } from '../../venues/swap/swap-projection.ts'
import type { DaemonState } from '../state/daemon-state.ts'
import {
  liveSum,
  oldestUsedAfter,
  type Summed,
  usedSumAfter,
  whenUsedSumFits,
} from './exposures.ts'

/** A cap that would be exceeded: how full it is, in base units, and when the order fits again. */
export type LimitHit = {
  readonly reason: LimitReason
  readonly token: Token
  readonly cap: BaseUnits
  readonly used: bigint
  readonly requested: BaseUnits
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
 * The cap that `amount` more would exceed, or undefined; of several the one that blocks for longest. Live permits count in full
 * whatever their age; fills count while younger than the window, and also if they lie in the future because the clock was set
 * back (rule G3).
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

/** Otherwise the message would promise room while another cap still blocks the order. */
function freesLater(a: LimitHit, b: LimitHit): boolean {
  const never = Number.POSITIVE_INFINITY
  return (a.freesAtMs ?? never) > (b.freesAtMs ?? never)
}

/** Says which cap, how full it is, and when it frees. */
export function limitText(hit: LimitHit, nowMs: number): string {
  const { cap, used, requested, token, freesAtMs } = hit
  const amount = (value: bigint): string => formatAmount(value, token.decimals)
  const full = `${amount(used)} of ${amount(cap)} ${token.symbol} is used, ${amount(requested)} more requested`
  if (freesAtMs === undefined) return full
  const at = formatInstant(Math.ceil(freesAtMs / 1000))
  return `${full}; there is room again at ${at}, in ${Math.ceil((freesAtMs - nowMs) / 1000)} s`
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

/** What counts against the cap of a window: live permits in full, and what was taken after `afterMs`. Base units. */
export function usedInWindow(state: DaemonState, of: Summed, afterMs: number): bigint {
  return liveSum(state, of.token, of.strategy) + usedSumAfter(state, { ...of, afterMs })
}

/** What counts against a cap in total: live permits in full, and all that was ever taken. Base units. */
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

/** What the account's day cap still allows of a token; undefined where no cap is set. */
export function dayAllowance(
  state: DaemonState,
  { token: { address: token }, nowMs, account }: Omit<DayQuery, 'own'>,
): bigint | undefined {
  const cap = account.perDay.get(token)
  return cap && maxOf(0n, cap - usedInWindow(state, { token }, nowMs - DAY_MS))
}

/**
 * What Permit2 may spend of a token by today's caps: live permits, and what may still be sold beside them. The account's cap
 * counts, or else the strategy's own.
 */
export function dayBudget(state: DaemonState, query: DayQuery): bigint {
  const { address: token } = query.token
  const room = dayAllowance(state, query) ?? query.own?.perDay.get(token) ?? 0n
  return liveSum(state, token) + room
}

/** How full one cap is, in base units. */
export type CapUse = {
  /** Undefined for the account's own. */
  readonly strategy: string | undefined
  readonly token: Token
  readonly window: 'hour' | 'day' | 'week' | 'total'
  /** More than `cap` where a file was changed since. */
  readonly used: bigint
  readonly cap: bigint
  /** When what fills it begins to free; undefined where time frees nothing. Epoch ms. */
  readonly freesAtMs: number | undefined
}

type CapsQuery = {
  readonly strategies: Iterable<{ readonly name: string; readonly limits: SpendingCaps }>
  readonly account: SpendingCaps
  /** Tokens that caps may be on, including ETHER. Caps on others are left out. */
  readonly tokens: Iterable<Token>
  readonly nowMs: number
}

/**
 * Every cap of a window or in total, the account's first, with what counts against it by the rule for orders (`limitHit`). A
 * cap of 0 is a cap: nothing may be spent.
 */
export function capsOf(state: DaemonState, query: CapsQuery): readonly CapUse[] {
  const { strategies, account, tokens, nowMs } = query
  // One address on two chains is one cap, shown by the first of its tokens.
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

/** An approval of everything, for good. */
export const UNLIMITED = 2n ** 256n - 1n

/**
 * The approval of Permit2 for a token, in base units, at most what the signer permits: `exact` is what live permits and orders
 * before their signature take, `budget` adds what today's caps still allow. The account's cap counts, or else the strategy's
 * `own`.
 */
export function approvalOf(
  state: DaemonState,
  query: DayQuery & { readonly approval: ApprovalPolicy },
): bigint {
  const { address: token } = query.token
  const required = liveSum(state, token) + plannedSells(state, token)
  switch (query.approval) {
    case 'exact':
      return required
    case 'budget':
      return maxOf(required, dayBudget(state, query))
    case 'unlimited':
      return UNLIMITED
  }
}

/** Several orders of one slot are covered at once: an approval replaces the one before. */
function plannedSells(state: DaemonState, token: Address): bigint {
  let sum = 0n
  for (const { state: at, intent } of openSwaps(state))
    if (at === 'planned' && intent.sell.token.address === token) sum += intent.maxSell
  return sum
}
