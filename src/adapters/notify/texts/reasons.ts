import type { Disbelief } from '../../../domain/disbelief.ts'
import type { FailureReason, RefusalReason, SkipReason } from '../../../domain/reason.ts'

/** Every reason as a clause that can follow a colon. */
const REASONS: Readonly<Record<FailureReason | RefusalReason | SkipReason, string>> = {
  // Why an order came to nothing.
  'too-late': 'it would have come too late',
  'attempts-exhausted': 'every attempt that it may make came to nothing',
  'quote-rejected': 'the service would not quote it',
  'quote-unavailable': 'there was no quote in time',
  'quote-stale': 'no quote was fresh enough',
  'order-rejected': 'the service rejected the order',
  'order-failed': 'the service could not settle the order',
  'order-expired': 'nobody settled the order in time',
  'permit-cancelled': 'its permit was used up without a fill',
  'fill-reverted': 'the chain took its fill back, and it never came again',
  settled: 'it was settled by your word',
  'chain-unavailable': 'the chain could not be read',
  'chain-stale': 'the node is behind the chain',
  'clock-skew': 'the clocks disagree',
  'insufficient-balance': 'the wallet does not hold enough',
  'balance-unreadable': 'its balance could not be read',
  'allowance-unreadable': 'its allowance could not be read',
  'insufficient-gas': 'the wallet has too little ETH for gas',
  'transaction-reverted': 'a transaction that it needs was reverted',
  'transaction-lost': 'a transaction that it needs was lost',
  halted: 'everything is halted',
  'strategy-removed': 'its file is gone or disabled',
  'call-reverts': 'the call would revert',
  'aggregator-missing': 'the config has no aggregator',
  'cost-too-high': 'it would cost more than it is worth',
  // Caps, of the strategy and of the account.
  'limit-per-order': 'it is more than one of its orders may spend',
  'limit-per-hour': 'its cap of an hour is full',
  'limit-per-day': 'its cap of a day is full',
  'limit-per-week': 'its cap of a week is full',
  'limit-total': 'its total cap is full',
  'limit-account-per-order': 'it is more than any one order may spend',
  'limit-account-per-hour': "the account's cap of an hour is full",
  'limit-account-per-day': "the account's cap of a day is full",
  'limit-account-per-week': "the account's cap of a week is full",
  'limit-account-total': "the account's total cap is full",
  // Why a slot was skipped.
  paused: 'it is paused',
  'price-outside-bounds': 'the price is outside its bounds',
  'price-missing': 'there is no price',
  'price-invalid': 'the price feed gives no valid price',
  'price-stale': 'the price is too old',
  'sequencer-down': 'the sequencer of the chain is down',
  cooldown: 'it is too soon after its last order',
  'too-many-open': 'too many of its orders are open',
  'account-too-many-open': 'too many orders are open',
  'account-cooldown': 'it is too soon after the last order',
  'failure-streak': 'too many slots in a row came to nothing',
  drawdown: 'its value fell too far',
  'inside-band': 'the weights are inside their band',
  'below-minimum': 'it is less than its minimum',
  'not-triggered': 'its price was not reached',
  finished: 'it has done all that it was to do',
  'module-skipped': 'its module did not want it',
  'module-failed': 'its module failed',
  'strategy-changed': 'its file was changed meanwhile',
  // What the firewall would not sign.
  'not-on-record': 'there is no record of it',
  'owner-mismatch': 'it names another wallet',
  'wallet-has-code': 'the trading wallet has code, which could empty it',
  'kind-mismatch': 'the quote is of another kind',
  'amount-above-limit': 'the amount is above a limit',
  'amount-mismatch': 'the quote has another amount',
  'sell-token-mismatch': 'the quote sells another token',
  'buy-token-mismatch': 'the quote buys another token',
  'token-mismatch': 'the service counts a token otherwise than your config',
  'recipient-mismatch': 'the quote pays somebody else',
  'permit2-mismatch': 'the quote names another Permit2 contract',
  'spender-not-allowed': 'the quote names a spender that you do not allow',
  'typed-data-malformed': 'what was to be signed is malformed',
  'digest-mismatch': 'what was to be signed is not what it says',
  'deadline-too-far': 'the quote would be valid for too long',
  'deadline-mismatch': 'the quote names two deadlines',
  'nonce-used': 'the nonce of the quote is used',
  'nonce-live': 'the nonce of the quote belongs to another order',
  'minimum-output-too-low': 'the quote gives too little',
  'price-deviation': 'the quote is too far from the independent price',
  'target-not-allowed': 'the call goes to a contract that you do not allow',
  'gas-limit-too-low': 'its gas limit is too low',
  'not-delegated': 'the account is not delegated',
  'foreign-delegation': 'the account runs code of somebody else',
  'proposer-mismatch': 'the account runs another proposer than your config says',
}

/** A reason in words; a word that is none stands for itself. */
export function reasonText(reason: string): string {
  return (REASONS as Readonly<Record<string, string>>)[reason] ?? reason
}

type Doubts = {
  readonly [Service in Disbelief['service']]: Readonly<
    Record<Extract<Disbelief, { service: Service }>['what'], string>
  >
}

const DOUBTS: Doubts = {
  gasless: {
    filled: 'the service says filled, and the chain does not show it',
    transaction: 'the service names a transaction that shows no such fill',
    ended: 'the service said that it was over, and it was executed all the same',
    submit: 'the service does not answer whether it has the order',
    tokens: 'the service counts a token otherwise than your config',
    clock: "only the service's clock keeps the order open",
  },
  aggregator: {
    receipt: 'the service names a transaction that does not hold the call',
    ended: 'the service said that it was over, and it was executed all the same',
    submit: 'the service does not answer whether it has the call',
    login: 'the service refuses our login',
  },
  rpc: {
    'nodes-disagree': 'the nodes say different things',
    reorganised: 'the chain took a fill back',
  },
}

export function doubtText({ service, what }: Disbelief): string {
  return (DOUBTS[service] as Readonly<Record<string, string>>)[what] ?? what
}
