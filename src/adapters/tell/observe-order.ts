import type { IntentId } from '../../domain/intent.ts'
import { ETHER, type Token } from '../../domain/token.ts'
import { type BaseUnits, formatAmount } from '../../domain/units.ts'
import { wordText } from '../../domain/word.ts'
import { instantText, type Observed, type Observers, seconds, type Tellers } from './observers.ts'
import {
  executedSentence,
  failedSentence,
  filledSentence,
  paperSentence,
  refusedSentence,
  reopenedSentence,
  type Sentence,
} from './sentences.ts'

/** One order, from its quote to its end, and the transactions made for it. */
export const ORDERS = {
  /** A quote passed the firewall. */
  'quote-verified'(event, { log }) {
    const { intentId, sellAmount, minAmountOut, deadlineSeconds } = event
    if (!log.enabled('debug')) return
    log.debug(`verified a quote for ${intentId}`, {
      ...subject(event),
      sellAmount,
      minAmountOut,
      deadlineSeconds,
    })
  },

  'authorization-recorded'(event, { log }) {
    const { intentId, attempt, deadlineSeconds } = event
    const fields = { ...subject(event), attempt, deadlineSeconds }
    log.debug(`recorded what ${intentId} signs, attempt ${attempt}`, fields)
  },

  /** It was recorded, and then not signed after all. */
  'authorization-withdrawn'(event, { log }) {
    const { strategy, attempt, reason } = event
    log.info(`attempt ${attempt} of ${strategy} was not signed: ${reason}`, {
      ...subject(event),
      attempt,
      reason,
    })
  },

  /** The chain proves that it can never be used any more. */
  'authorization-dead'(event, { log }) {
    const { strategy, attempt, how } = event
    log.info(`permit of ${strategy} is dead (${how})`, { ...subject(event), attempt, how })
  },

  /** An operator ended what nothing else did. The slot that closes by it is notified of. */
  'order-settled'(event, { log }) {
    const { strategy, attempt, word, evidence, token, booked } = event
    const amount = `${formatAmount(booked, token.decimals)} ${token.symbol}`
    const text = `an operator settled ${strategy}: ${wordText(word)}; ${amount} is booked for it`
    log.warn(text, { ...subject(event), attempt, ...word, booked: amount, evidence })
  },

  /** It may be given to the service from here on. */
  'call-signed'(event, { log }) {
    const { strategy, attempt, hash } = event
    log.debug(`signed the call of ${strategy}: ${hash}`, { ...subject(event), attempt, hash })
  },

  /** The service has the order. */
  'order-accepted'(event, { log }) {
    const { strategy, attempt, orderId } = event
    log.info(`placed ${strategy}: order ${orderId}`, { ...subject(event), attempt, orderId })
  },

  /** The service says that the order is over; the chain has the last word. */
  'order-ended'(event, { log }) {
    const { strategy, attempt, status, message: detail } = event
    const fields = { ...subject(event), attempt, status, detail }
    log.warn(`order of ${strategy} ${status}: ${detail}`, fields)
  },

  /** Trouble before anything is signed. */
  'order-waits'(event, { log }) {
    const { strategy, reason, detail, startBeforeMs } = event
    const until = instantText(Math.floor(startBeforeMs / 1_000))
    const fields = { ...subject(event), reason, detail, startBeforeMs }
    log.warn(`${strategy} waits, until ${until} at most: ${reason}, ${detail}`, fields)
  },

  'order-waited'(event, { log }) {
    const { strategy, reason, waitedMs } = event
    const fields = { ...subject(event), reason, waitedMs }
    log.info(`${strategy} waits no longer, after ${tookText(waitedMs)} (${reason})`, fields)
  },

  /** Nobody knows yet whether the order was taken. */
  'order-unknown'(event, { log }) {
    const { strategy, attempt, message: detail } = event
    const fields = { ...subject(event), attempt, detail }
    log.warn(`outcome of ${strategy} unknown, resolving it: ${detail}`, fields)
  },

  /** The service says filled and the chain does not show it. */
  'proof-failed'(event, { log, metrics }, { isNews }) {
    const { strategy, intentId, detail } = event
    const fields = { ...subject(event), detail }
    metrics.disbelieved.inc({ service: 'gasless', what: 'transaction' })
    const level = isNews(`proof of ${intentId}`) ? 'error' : 'debug'
    log[level](`fill of ${strategy} not proven by the chain: ${detail}`, fields)
  },

  /** Proven on chain. */
  filled(event, to) {
    countSwap(event, event, to.metrics)
    tellFill(event, filledSentence(event), to)
  },

  /** A call that the chain shows. */
  executed(event, to) {
    countCosts(event, to.metrics)
    tellFill(event, executedSentence(event), to)
  },

  'fills-final'({ type, orders, blockNumber }, { log }) {
    if (!log.enabled('debug')) return
    const intents = orders.map(({ intentId }) => intentId)
    log.debug(`final: ${intents.join(', ')}`, { event: type, intents, blockNumber })
  },

  /** Loud: what was told as filled may not have happened. */
  'fill-reopened'(event, { log, metrics }) {
    const { venue, attempt, blockNumber } = event
    log.error(reopenedSentence(event).text, { ...subject(event), venue, attempt, blockNumber })
    metrics.disbelieved.inc({ service: 'rpc', what: 'reorganised' })
  },

  /** Dry-run: counted like a fill, and told as what it is. */
  'paper-filled'(event, to) {
    const { venue, durationMs } = event
    if (event.swap !== undefined) countSwap(event, event.swap, to.metrics)
    const { text } = paperSentence(event)
    tellFill(event, { text, details: { venue, durationMs }, isPaper: true }, to)
  },

  /** The firewall would not sign. */
  refused(event, { log, metrics }) {
    const { strategy, reason } = event
    const { text, details } = refusedSentence(event)
    log.warn(text, { ...subject(event), ...details })
    metrics.refusals.inc({ strategy, reason })
  },

  /** An intent ended without a fill. */
  failed(event, { log, metrics }) {
    const { strategy, venue, reason } = event
    const { text, details } = failedSentence(event)
    log.error(text, { ...subject(event), ...details })
    metrics.failures.inc({ strategy, venue, reason })
  },

  'intent-closed'(event, { log }) {
    const { intentId, outcome } = event
    log.debug(`closed ${intentId}: ${outcome}`, { ...subject(event), outcome })
  },

  /** A step of a transaction of our own wallets. */
  transaction(event, to) {
    const { status, purpose, fee } = event
    // What a direct call cost is told with the call.
    if (fee !== undefined && purpose !== 'call')
      to.metrics.fees.inc({ venue: PAID_FOR[purpose], token: 'ETH', what: 'gas' }, inEther(fee))
    if (status === 'reopened') to.metrics.disbelieved.inc({ service: 'rpc', what: 'reorganised' })
    if (LOUD.has(status)) tellTransaction(event, status, 'warn', to)
    else tellTransaction(event, status, QUIET.has(status) ? 'debug' : 'info', to)
  },

  'transactions-final'({ type, blockNumber }, { log }) {
    log.debug('own transactions are final', { event: type, blockNumber })
  },

  'transaction-sent'(event, to) {
    tellTransaction(event, 'sent', 'info', to)
  },
} satisfies Partial<Tellers>

/** Ends of a transaction that are worth a look. */
const LOUD: ReadonlySet<string> = new Set(['reverted', 'lost', 'reopened'])
/** Steps of a transaction that are told of for those who look closely: they are followed by others at once. */
const QUIET: ReadonlySet<string> = new Set(['recorded', 'signed'])

type FillEvent = Observed<'filled'> | Observed<'executed'> | Observed<'paper-filled'>

function tellFill(
  event: FillEvent,
  { text, details, isPaper = false }: Sentence & { readonly isPaper?: boolean },
  { log, metrics }: Observers,
): void {
  const { strategy, venue, durationMs } = event
  log.info(text, { ...subject(event), ...details, ...(isPaper ? { paper: true } : {}) })
  metrics.fills.inc({ strategy, venue })
  metrics.orderDuration.observe({ venue }, seconds(durationMs))
  metrics.lastFill.setToCurrentTime({ strategy })
}

/** The venue that an own transaction makes possible. */
const PAID_FOR = {
  approve: 'gasless',
  wrap: 'gasless',
  unwrap: 'gasless',
  deposit: 'aggregated',
} as const

type Swapped = Pick<Observed<'filled'>, 'sell' | 'buy' | 'paid' | 'received' | 'vsFeedBps'>

function countSwap(
  { strategy }: FillEvent,
  { sell, buy, paid, received, vsFeedBps }: Swapped,
  { volume, againstFeed }: Observers['metrics'],
): void {
  const inTokens = (amount: BaseUnits, { decimals }: Token) =>
    Number(formatAmount(amount, decimals))
  volume.inc({ strategy, token: sell.symbol, side: 'sell' }, inTokens(paid, sell))
  volume.inc({ strategy, token: buy.symbol, side: 'buy' }, inTokens(received, buy))
  if (vsFeedBps !== undefined) againstFeed.observe({ strategy }, vsFeedBps)
}

/** Blob gas is part of the charge, and shown apart. */
function countCosts({ venue, costs }: Observed<'executed'>, { fees }: Observers['metrics']): void {
  const { charged, blob = 0n } = costs
  if (charged === undefined) return
  const what = venue === 'direct' ? 'gas' : 'charge'
  fees.inc({ venue, token: 'ETH', what }, inEther(charged - blob))
  if (blob > 0n) fees.inc({ venue, token: 'ETH', what: 'blob' }, inEther(blob))
}

function inEther(wei: bigint): number {
  return Math.max(0, Number(formatAmount(wei, ETHER.decimals)))
}

function tellTransaction(
  { intentId, purpose, hash }: Pick<Observed<'transaction'>, 'intentId' | 'purpose' | 'hash'>,
  status: string,
  level: 'debug' | 'info' | 'warn',
  { log }: Observers,
): void {
  const strategy = intentId === undefined ? undefined : strategyOf(intentId)
  const whose = strategy === undefined ? '' : ` of ${strategy}`
  const fields = { event: 'transaction', strategy, intentId, purpose, status, hash }
  const words = status === 'reopened' ? 'taken back by a reorganisation, sent again' : status
  log[level](`${purpose} transaction${whose} ${words}`, fields)
}

function strategyOf(intentId: IntentId): string | undefined {
  return intentId.split(':')[0]
}

type OrderEvent = { readonly type: string; readonly strategy: string; readonly intentId: string }

function subject(event: OrderEvent): { event: string; strategy: string; intentId: string } {
  return { event: event.type, strategy: event.strategy, intentId: event.intentId }
}

function tookText(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`
}
