/**
 * Closed sets of reasons: words in the journal and, for failures and refusals, metric labels. Each has a clause to follow a
 * colon, and what must change for the next attempt.
 */
type Messages = Readonly<Record<string, readonly [means: string, change: string]>>

const REPORT = 'it was not signed; report it to the service if it repeats'

const HALTED = {
  halted: ['everything is halted', '`tranched resume`'],
} satisfies Messages

const BALANCES = {
  'insufficient-balance': ['the wallet does not hold enough', 'fund the wallet, or lower amount'],
  'balance-unreadable': [
    'its balance could not be read',
    "check that the node answers for the token's balance",
  ],
} satisfies Messages

const TOO_DEAR = {
  'cost-too-high': [
    'it would cost more than it is worth',
    'raise its maxCost, or trade more at a time',
  ],
} satisfies Messages

/** Caps that an order would exceed. `account` ones apply across strategies. */
const LIMITS = {
  'limit-per-order': [
    'it is more than one of its orders may spend',
    'raise limits.perOrder, or lower amount',
  ],
  'limit-per-hour': ['its hourly cap is used up', 'wait, or raise limits.perHour'],
  'limit-per-day': ['its daily cap is used up', 'wait, or raise limits.perDay'],
  'limit-per-week': ['its weekly cap is used up', 'wait, or raise limits.perWeek'],
  'limit-total': ['its total cap is used up', 'raise limits.total'],
  'limit-account-per-order': [
    'it is more than any one order may spend',
    "raise the config's limits.perOrder, or lower amount",
  ],
  'limit-account-per-hour': [
    "the account's hourly cap is used up",
    "wait, or raise the config's limits.perHour",
  ],
  'limit-account-per-day': [
    "the account's daily cap is used up",
    "wait, or raise the config's limits.perDay",
  ],
  'limit-account-per-week': [
    "the account's weekly cap is used up",
    "wait, or raise the config's limits.perWeek",
  ],
  'limit-account-total': ["the account's total cap is used up", "raise the config's limits.total"],
} satisfies Messages

const PRICES = {
  'price-outside-bounds': [
    'the price is outside its bounds',
    'wait for the price, or change price.min and price.max',
  ],
  'price-missing': [
    'there is no price',
    'add a feed to prices in the config that connects the two tokens',
  ],
  'price-invalid': ['the price feed gives no valid price', "check the feed's contract"],
  'price-stale': [
    'the price is too old',
    "wait for the feed's update; its maxAge must be longer than its heartbeat",
  ],
  'sequencer-down': [
    'the sequencer of the chain is down',
    'wait until the sequencer has been up for an hour',
  ],
} satisfies Messages

const FAILURES = {
  'too-late': [
    'it would have been too late',
    'raise schedule.maxLateness, or find out why the daemon was late',
  ],
  'attempts-exhausted': [
    'all its attempts failed',
    'see the attempts above: each gives its reason',
  ],
  'quote-rejected': [
    'the service would not quote it',
    "see the service's message: most often it rejects the amount or the pair",
  ],
  'quote-unavailable': [
    'there was no quote in time',
    'no action needed: the service was unavailable',
  ],
  'quote-stale': [
    'no quote was fresh enough',
    'no action needed: the service or this machine was too slow',
  ],
  'order-rejected': ['the service rejected the order', "see the service's message"],
  'order-failed': [
    'the service could not settle the order',
    'no action needed: the service gives the reason',
  ],
  'order-expired': [
    'the order was not settled in time',
    'no action needed; if it happens often, raise slippageBps',
  ],
  'permit-cancelled': [
    'its permit was used up without a fill',
    'find out what used its nonce: another program with the same key, or an invalidation by hand',
  ],
  'fill-reverted': ['the chain reverted its fill, and it was not filled again', 'no action needed'],
  settled: ['you resolved it manually', 'nothing: it was your decision'],
  'chain-unavailable': [
    'the chain could not be read',
    'make sure that the nodes under chains.*.rpcUrls answer; add a second one',
  ],
  'chain-stale': [
    'the node is behind the chain',
    'make sure that the nodes under chains.*.rpcUrls keep up; add a second one',
  ],
  'code-unconfirmed': [
    'the code of a contract could not be confirmed',
    'check the nodes under chains.*.rpcUrls; if the code did change, find out why before `tranched approve`',
  ],
  'clock-skew': ['the clocks disagree', "synchronise this machine's clock (NTP)"],
  ...BALANCES,
  'allowance-unreadable': [
    'its allowance could not be read',
    "check that the node answers for the token's allowance",
  ],
  'insufficient-gas': ['the wallet has too little ETH for gas', 'send ETH to the wallet'],
  'gas-too-dear': [
    'gas would cost more than the limits allow',
    'wait for cheaper gas, or raise the limits of chains.*.gas',
  ],
  'transaction-reverted': [
    'a transaction that it needs was reverted',
    'look at the transaction above in an explorer',
  ],
  'transaction-lost': [
    'a transaction that it needs was lost',
    'make sure that no other program uses this wallet',
  ],
  ...HALTED,
  'strategy-removed': ['its file is gone or disabled', 'restore its file, with enabled: true'],
  'call-reverts': [
    'the call would revert',
    "check the call's arguments, and who may call the contract",
  ],
  'aggregator-missing': ['the config has no aggregator', 'add an aggregator section to the config'],
  ...TOO_DEAR,
  ...LIMITS,
} satisfies Messages

const SKIPS = {
  paused: ['it is paused', '`tranched resume` with its name'],
  ...HALTED,
  'needs-approval': ['it waits for your approval', '`tranched approve` with its name'],
  ...PRICES,
  ...BALANCES,
  cooldown: ['it is too soon after its last order', 'wait, or shorten limits.cooldown'],
  'too-many-open': [
    'too many of its orders are open',
    'wait for its open orders, or raise limits.maxOpenIntents',
  ],
  'account-too-many-open': [
    'too many orders are open',
    "wait for open orders, or raise the config's limits.maxOpenIntents",
  ],
  'account-cooldown': [
    'it is too soon after the last order',
    "wait, or shorten the config's limits.cooldown",
  ],
  'failure-streak': [
    'too many slots failed in a row',
    'find out why they failed, then `tranched resume` with its name',
  ],
  drawdown: [
    'its value fell too far',
    'find out what happened, then `tranched resume` with its name',
  ],
  'inside-band': [
    'the weights are inside their band',
    'wait until a weight leaves its band, or narrow band',
  ],
  'below-minimum': ['it is less than its minimum', 'wait for a larger trade, or lower minTrade'],
  'not-triggered': [
    'its price was not reached',
    'wait: the detail names the level, the purchase or the time that it needs',
  ],
  finished: ['it is complete', 'nothing; to start again, give the strategy another name'],
  'module-skipped': ['its module skipped it', 'see its module'],
  'module-failed': ['its module failed', 'fix its module: the detail says where it failed'],
  'token-unlisted': [
    'the service does not list a token that it trades',
    'wait until the service lists the token again, or trade another one',
  ],
  'strategy-changed': [
    'its file was changed meanwhile',
    'nothing: the next slot uses the new file',
  ],
  ...TOO_DEAR,
  ...LIMITS,
} satisfies Messages

const REFUSALS = {
  'not-on-record': [
    'there is no record of it',
    'run `tranched state verify`, and report this as a bug',
  ],
  'owner-mismatch': ['it names another wallet', REPORT],
  'wallet-has-code': [
    'the trading wallet has code, which could empty it',
    'use another trading wallet, or clear its delegation',
  ],
  'kind-mismatch': ['the quote is of another kind', REPORT],
  'amount-above-limit': [
    'the amount is above a limit',
    'it was not signed; the detail names the limit',
  ],
  'amount-mismatch': ['the quote has another amount', REPORT],
  'sell-token-mismatch': ['the quote sells another token', REPORT],
  'buy-token-mismatch': ['the quote buys another token', REPORT],
  'token-mismatch': [
    'the service has other decimals for a token than your config',
    "compare the decimals under tokens with the contract's",
  ],
  'recipient-mismatch': ['the quote pays another address', REPORT],
  'permit2-mismatch': [
    'the quote names another Permit2 contract',
    'set gasless.permit2 to the contract that the service uses',
  ],
  'spender-not-allowed': [
    'the quote names a spender that you do not allow',
    "add it to gasless.spenders if it is the service's own",
  ],
  'typed-data-malformed': ['the data to sign is malformed', REPORT],
  'digest-mismatch': ['the data to sign has another digest than stated', REPORT],
  'deadline-too-far': [
    'the quote would be valid for too long',
    'raise gasless.maxQuoteLifetime to sign for so long',
  ],
  'deadline-mismatch': ['the quote names two deadlines', REPORT],
  'nonce-used': ['the nonce of the quote is used', REPORT],
  'nonce-live': ['the nonce of the quote belongs to another order', REPORT],
  'minimum-output-too-low': [
    'the quote gives too little',
    'raise slippageBps, or wait for a deeper market',
  ],
  'price-deviation': [
    'the quote is too far from the independent price',
    'raise limits.maxDeviationBps, or wait until the market is closer to the feed',
  ],
  ...PRICES,
  'target-not-allowed': [
    'the call goes to a contract that you do not allow',
    'add the contract to aggregator.targets',
  ],
  'gas-limit-too-low': ['its gas limit is too low', 'raise gasLimit to what the detail names'],
  'not-delegated': ['the account is not delegated', '`tranched delegation set`'],
  'foreign-delegation': [
    'the account delegates to foreign code',
    '`tranched delegation set`, after you found out who changed it',
  ],
  'proposer-mismatch': [
    'the account runs another proposer than your config says',
    "name the account's proposer under aggregator.contracts, or run `tranched delegation set`",
  ],
  'code-changed': [
    'the code of a contract that it depends on has changed',
    'find out why, then `tranched approve` with the name of the contract',
  ],
} satisfies Messages

export type LimitReason = keyof typeof LIMITS
export type SkipReason = keyof typeof SKIPS
export type RefusalReason = keyof typeof REFUSALS
export type FailureReason = keyof typeof FAILURES
export type Reason = FailureReason | SkipReason | RefusalReason

export const REASONS: Readonly<Record<Reason, Messages[string]>> = {
  ...FAILURES,
  ...SKIPS,
  ...REFUSALS,
}

/** Reasons for a signer's refusal. A cap, a halt or a changed file skips the slot. */
export type BarReason = FailureReason | RefusalReason | 'strategy-changed'

export const LIMIT_REASONS = Object.keys(LIMITS) as readonly LimitReason[]
export const SKIP_REASONS = Object.keys(SKIPS) as readonly SkipReason[]
export const REFUSAL_REASONS = Object.keys(REFUSALS) as readonly RefusalReason[]
export const FAILURE_REASONS = Object.keys(FAILURES) as readonly FailureReason[]

/** Whether the blocking reason may resolve by itself soon. */
export function isPassing(reason: BarReason): boolean {
  return reason === 'chain-unavailable' || reason === 'code-unconfirmed'
}

export function isRefusalReason(reason: string): reason is RefusalReason {
  return Object.hasOwn(REFUSALS, reason)
}

export function isLimitReason(reason: string): reason is LimitReason {
  return Object.hasOwn(LIMITS, reason)
}

export function isFailureReason(reason: string): reason is FailureReason {
  return Object.hasOwn(FAILURES, reason)
}

/** A reason as text; unknown reasons are returned unchanged. */
export function reasonText(reason: string): string {
  return isReason(reason) ? REASONS[reason][0] : reason
}

/** What must change for a different outcome; undefined for unknown reasons. */
export function changeFor(reason: string): string | undefined {
  return isReason(reason) ? REASONS[reason][1] : undefined
}

function isReason(word: string): word is Reason {
  return Object.hasOwn(REASONS, word)
}
