import type { FailureReason, RefusalReason, SkipReason } from './reason.ts'

export type Reason = FailureReason | RefusalReason | SkipReason

/** Every reason as a clause that can follow a colon, and what would have to change for the next time. */
export const REASONS: Readonly<Record<Reason, readonly [means: string, change: string]>> = {
  // Why an order came to nothing.
  'too-late': [
    'it would have come too late',
    'raise schedule.maxLateness, or find out why the daemon was late',
  ],
  'attempts-exhausted': [
    'every attempt that it may make came to nothing',
    'look at the attempts above: each says why it came to nothing',
  ],
  'quote-rejected': [
    'the service would not quote it',
    'the message of the service says what it does not like: most often the amount or the pair',
  ],
  'quote-unavailable': [
    'there was no quote in time',
    'nothing of yours: the service was not to be had',
  ],
  'quote-stale': [
    'no quote was fresh enough',
    'nothing of yours: the service or this machine was too slow',
  ],
  'order-rejected': ['the service rejected the order', 'the message of the service says why'],
  'order-failed': [
    'the service could not settle the order',
    'nothing of yours: the service says why it could not',
  ],
  'order-expired': [
    'nobody settled the order in time',
    'nothing of yours, unless it happens often: then raise slippageBps',
  ],
  'permit-cancelled': [
    'its permit was used up without a fill',
    'find out what used its nonce: another program with the same key, or an invalidation by hand',
  ],
  'fill-reverted': ['the chain took its fill back, and it never came again', 'nothing of yours'],
  settled: ['it was settled by your word', 'nothing: it was your word'],
  'chain-unavailable': [
    'the chain could not be read',
    'the nodes under chains.*.rpcUrls have to answer; name a second one',
  ],
  'chain-stale': [
    'the node is behind the chain',
    'the nodes under chains.*.rpcUrls have to keep up; name a second one',
  ],
  'code-unconfirmed': [
    'the code of a contract could not be confirmed',
    'the nodes under chains.*.rpcUrls have to show the code that is on record; a change that lasts takes `tranched approve`',
  ],
  'clock-skew': ['the clocks disagree', 'the clock of this machine has to be right (NTP)'],
  'insufficient-balance': [
    'the wallet does not hold enough',
    'the wallet has to hold more, or amount has to be less',
  ],
  'balance-unreadable': [
    'its balance could not be read',
    "the node has to answer for the token's balance",
  ],
  'allowance-unreadable': [
    'its allowance could not be read',
    "the node has to answer for the token's allowance",
  ],
  'insufficient-gas': ['the wallet has too little ETH for gas', 'the wallet has to hold more ETH'],
  'gas-too-dear': [
    'gas would cost more than the limits allow',
    'gas has to become cheaper, or chains.*.gas has to allow more',
  ],
  'transaction-reverted': [
    'a transaction that it needs was reverted',
    'the transaction above has to go through: look at it in an explorer',
  ],
  'transaction-lost': [
    'a transaction that it needs was lost',
    'no other program may use this wallet',
  ],
  halted: ['everything is halted', '`tranched resume`'],
  'strategy-removed': [
    'its file is gone or disabled',
    'its file has to be there, with enabled: true',
  ],
  'call-reverts': [
    'the call would revert',
    'the contract has to accept the call: look at its arguments and at who may call it',
  ],
  'aggregator-missing': [
    'the config has no aggregator',
    'the config has to have a section aggregator',
  ],
  'cost-too-high': [
    'it would cost more than it is worth',
    'raise its maxCost, or trade more at a time',
  ],
  // Caps, of the strategy and of the account.
  'limit-per-order': [
    'it is more than one of its orders may spend',
    'raise limits.perOrder, or lower amount',
  ],
  'limit-per-hour': ['its cap of an hour is full', 'wait, or raise limits.perHour'],
  'limit-per-day': ['its cap of a day is full', 'wait, or raise limits.perDay'],
  'limit-per-week': ['its cap of a week is full', 'wait, or raise limits.perWeek'],
  'limit-total': ['its total cap is full', 'raise limits.total'],
  'limit-account-per-order': [
    'it is more than any one order may spend',
    "raise the config's limits.perOrder, or lower amount",
  ],
  'limit-account-per-hour': [
    "the account's cap of an hour is full",
    "wait, or raise the config's limits.perHour",
  ],
  'limit-account-per-day': [
    "the account's cap of a day is full",
    "wait, or raise the config's limits.perDay",
  ],
  'limit-account-per-week': [
    "the account's cap of a week is full",
    "wait, or raise the config's limits.perWeek",
  ],
  'limit-account-total': ["the account's total cap is full", "raise the config's limits.total"],
  // Why a slot was skipped.
  paused: ['it is paused', '`tranched resume` with its name'],
  'needs-approval': ['it waits for your approval', '`tranched approve` with its name'],
  'price-outside-bounds': [
    'the price is outside its bounds',
    'the price has to come back, or price.min and price.max have to change',
  ],
  'price-missing': [
    'there is no price',
    'prices of the config has to have a feed that leads from one token to the other',
  ],
  'price-invalid': [
    'the price feed gives no valid price',
    'the feed has to give a price: look at its contract',
  ],
  'price-stale': [
    'the price is too old',
    'the feed has to be updated, or its maxAge has to be longer than its heartbeat',
  ],
  'sequencer-down': [
    'the sequencer of the chain is down',
    'the sequencer has to be up, and to have been up for an hour',
  ],
  cooldown: ['it is too soon after its last order', 'wait, or shorten limits.cooldown'],
  'too-many-open': [
    'too many of its orders are open',
    'its open orders have to end, or raise limits.maxOpenIntents',
  ],
  'account-too-many-open': [
    'too many orders are open',
    "open orders have to end, or raise the config's limits.maxOpenIntents",
  ],
  'account-cooldown': [
    'it is too soon after the last order',
    "wait, or shorten the config's limits.cooldown",
  ],
  'failure-streak': [
    'too many slots in a row came to nothing',
    'look at why they failed, then `tranched resume` with its name',
  ],
  drawdown: [
    'its value fell too far',
    'look at what happened, then `tranched resume` with its name',
  ],
  'inside-band': [
    'the weights are inside their band',
    'a weight has to leave its band, or band has to be narrower',
  ],
  'below-minimum': ['it is less than its minimum', 'it has to be more, or minTrade has to be less'],
  'not-triggered': [
    'its price was not reached',
    'the price has to reach the line that the strategy waits for',
  ],
  finished: ['it has done all that it was to do', 'nothing: another name begins anew'],
  'module-skipped': ['its module did not want it', 'its module decides'],
  'module-failed': [
    'its module failed',
    'its module has to be mended: the detail says where it failed',
  ],
  'strategy-changed': [
    'its file was changed meanwhile',
    'nothing: the next slot goes by the new file',
  ],
  // What the firewall would not sign.
  'not-on-record': [
    'there is no record of it',
    'it should never happen: `tranched state verify` first',
  ],
  'owner-mismatch': [
    'it names another wallet',
    'nothing of yours: the service answers for somebody else',
  ],
  'wallet-has-code': [
    'the trading wallet has code, which could empty it',
    'the wallet that trades may not be delegated: use another, or clear its delegation',
  ],
  'kind-mismatch': [
    'the quote is of another kind',
    'nothing of yours: the service answers something else than was asked',
  ],
  'amount-above-limit': [
    'the amount is above a limit',
    'nothing of yours: the service wants more than was decided',
  ],
  'amount-mismatch': [
    'the quote has another amount',
    'nothing of yours: the service answers another amount than was asked',
  ],
  'sell-token-mismatch': [
    'the quote sells another token',
    'nothing of yours: the service answers for another token',
  ],
  'buy-token-mismatch': [
    'the quote buys another token',
    'nothing of yours: the service answers for another token',
  ],
  'token-mismatch': [
    'the service counts a token otherwise than your config',
    "the decimals under tokens have to be right: compare them with the contract's",
  ],
  'recipient-mismatch': [
    'the quote pays somebody else',
    'nothing of yours: the service pays somebody else',
  ],
  'permit2-mismatch': [
    'the quote names another Permit2 contract',
    'gasless.permit2 has to be the contract that the service uses',
  ],
  'spender-not-allowed': [
    'the quote names a spender that you do not allow',
    "gasless.spenders has to name it, if it is the service's own",
  ],
  'typed-data-malformed': [
    'what was to be signed is malformed',
    'nothing of yours: the service sends what nobody should sign',
  ],
  'digest-mismatch': [
    'what was to be signed is not what it says',
    'nothing of yours: the service sends what nobody should sign',
  ],
  'deadline-too-far': [
    'the quote would be valid for too long',
    'raise gasless.maxQuoteLifetime, if you want to sign for so long',
  ],
  'deadline-mismatch': [
    'the quote names two deadlines',
    'nothing of yours: the service contradicts itself',
  ],
  'nonce-used': [
    'the nonce of the quote is used',
    'nothing of yours: the service gives out a used nonce',
  ],
  'nonce-live': [
    'the nonce of the quote belongs to another order',
    'nothing of yours: the service gives out a nonce twice',
  ],
  'minimum-output-too-low': [
    'the quote gives too little',
    'slippageBps has to be wider, or the market deeper',
  ],
  'price-deviation': [
    'the quote is too far from the independent price',
    'limits.maxDeviationBps has to be wider, or the market closer to the feed',
  ],
  'target-not-allowed': [
    'the call goes to a contract that you do not allow',
    'aggregator.targets has to name the contract',
  ],
  'gas-limit-too-low': [
    'its gas limit is too low',
    'gasLimit has to be what the detail says that it takes',
  ],
  'not-delegated': ['the account is not delegated', '`tranched delegation set`'],
  'foreign-delegation': [
    'the account runs code of somebody else',
    '`tranched delegation set`, after you found out who changed it',
  ],
  'proposer-mismatch': [
    'the account runs another proposer than your config says',
    'aggregator.contracts has to name the proposer of the account, or `tranched delegation set`',
  ],
  'code-changed': [
    'the code of a contract that it depends on has changed',
    'find out why, then `tranched approve` with the name of the contract',
  ],
}

/** A reason in words; a word that is none stands for itself. */
export function reasonText(reason: string): string {
  return isReason(reason) ? REASONS[reason][0] : reason
}

/** What would have to change for it to go otherwise the next time; undefined for a word that is no reason. */
export function changeFor(reason: string): string | undefined {
  return isReason(reason) ? REASONS[reason][1] : undefined
}

function isReason(word: string): word is Reason {
  return Object.hasOwn(REASONS, word)
}
