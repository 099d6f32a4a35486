/** Closed sets of reasons: each is a metric label and a word in the journal, so none carries free text. */

export const SKIP_REASONS = [
  'paused',
  'halted',
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
  'insufficient-balance',
  'cooldown',
  'too-many-open',
  'limit-per-order',
  'limit-per-day',
  'limit-total',
  'limit-account-per-day',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** Why the firewall would not sign. */
export const REFUSAL_REASONS = [
  'owner-mismatch',
  'wallet-has-code',
  'kind-mismatch',
  'amount-above-limit',
  'amount-mismatch',
  'sell-token-mismatch',
  'buy-token-mismatch',
  'recipient-mismatch',
  'permit2-mismatch',
  'spender-not-allowed',
  'typed-data-malformed',
  'digest-mismatch',
  'witness-type-mismatch',
  'deadline-too-far',
  'deadline-mismatch',
  'nonce-used',
  'minimum-output-too-low',
  'price-deviation',
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/** Why an intent ended without a fill although it was decided and allowed. */
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
  'chain-unavailable',
  'chain-stale',
  'clock-skew',
  'insufficient-balance',
  'insufficient-gas',
  'transaction-reverted',
  'transaction-lost',
  'halted',
  'strategy-removed',
  'limit-per-order',
  'limit-per-day',
  'limit-total',
  'limit-account-per-day',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]
