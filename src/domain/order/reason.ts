/** Closed sets of reasons without free text: words in the journal and, for failures and refusals, metric labels. */

/** Caps that an order would exceed. `account` ones apply across strategies. */
export const LIMIT_REASONS = [
  'limit-per-order',
  'limit-per-hour',
  'limit-per-day',
  'limit-per-week',
  'limit-total',
  'limit-account-per-order',
  'limit-account-per-hour',
  'limit-account-per-day',
  'limit-account-per-week',
  'limit-account-total',
] as const
export type LimitReason = (typeof LIMIT_REASONS)[number]

export const SKIP_REASONS = [
  'paused',
  'halted',
  'needs-approval',
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
  'insufficient-balance',
  'balance-unreadable',
  'cooldown',
  'too-many-open',
  'account-too-many-open',
  'account-cooldown',
  'failure-streak',
  'drawdown',
  'inside-band',
  'below-minimum',
  'not-triggered',
  'finished',
  'module-skipped',
  'module-failed',
  'strategy-changed',
  'cost-too-high',
  ...LIMIT_REASONS,
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

export const REFUSAL_REASONS = [
  'not-on-record',
  'owner-mismatch',
  'wallet-has-code',
  'kind-mismatch',
  'amount-above-limit',
  'amount-mismatch',
  'sell-token-mismatch',
  'buy-token-mismatch',
  'token-mismatch',
  'recipient-mismatch',
  'permit2-mismatch',
  'spender-not-allowed',
  'typed-data-malformed',
  'digest-mismatch',
  'deadline-too-far',
  'deadline-mismatch',
  'nonce-used',
  'nonce-live',
  'minimum-output-too-low',
  'price-deviation',
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
  'target-not-allowed',
  'gas-limit-too-low',
  'not-delegated',
  'foreign-delegation',
  'proposer-mismatch',
  'code-changed',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

export const FAILURE_REASONS = [
  'too-late',
  'attempts-exhausted',
  'quote-rejected',
  'quote-unavailable',
  'quote-stale',
  'order-rejected',
  'order-failed',
  'order-expired',
  'permit-cancelled',
  'fill-reverted',
  'settled',
  'chain-unavailable',
  'chain-stale',
  'code-unconfirmed',
  'clock-skew',
  'insufficient-balance',
  'balance-unreadable',
  'allowance-unreadable',
  'insufficient-gas',
  'gas-too-dear',
  'transaction-reverted',
  'transaction-lost',
  'halted',
  'strategy-removed',
  'call-reverts',
  'aggregator-missing',
  'cost-too-high',
  ...LIMIT_REASONS,
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]

/** Why a signer refuses. A cap, a halt or a changed file skips the slot. */
export type BarReason = FailureReason | RefusalReason | 'strategy-changed'

/** Whether the blocking reason may resolve by itself soon. */
export function isPassing(reason: BarReason): boolean {
  return reason === 'chain-unavailable' || reason === 'code-unconfirmed'
}

const REFUSALS: ReadonlySet<string> = new Set(REFUSAL_REASONS)
const FAILURES: ReadonlySet<string> = new Set(FAILURE_REASONS)

export function isRefusalReason(reason: string): reason is RefusalReason {
  return REFUSALS.has(reason)
}

export function isFailureReason(reason: string): reason is FailureReason {
  return FAILURES.has(reason)
}
