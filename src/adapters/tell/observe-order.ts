import { costWords, savedOf } from '../../domain/book/costs.ts'
import type { Moved } from '../../domain/book/orders.ts'
import type { IntentId } from '../../domain/intent.ts'
import type { Token } from '../../domain/token.ts'
import { type BaseUnits, formatAmount, formatBrief } from '../../domain/units.ts'
import { wordText } from '../../domain/word.ts'
import { instantText, type Observed, type Observers, seconds, type Tellers } from './observers.ts'

const ETHER_DECIMALS = 18

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

  /** Proven on chain. Amounts are exact in the fields and short in the text. */
  filled(event, to) {
    const { strategy, venue, sell, buy, txHash, durationMs } = event
    const paid = formatAmount(event.paid, sell.decimals)
    const received = formatAmount(event.received, buy.decimals)
    const moved = `${amountText(event.paid, sell)} -> ${amountText(event.received, buy)}`
    const text = `filled ${strategy}: ${moved} in ${tookText(durationMs)}`
    const details = { venue, sell: sell.symbol, buy: buy.symbol, paid, received, txHash }
    countSwap(event, event, to.metrics)
    tellFill(event, { text, details: { ...details, durationMs } }, to)
  },

  /** A call that the chain shows. What it cost is told even when sharing saved nothing. */
  executed(event, to) {
    const { strategy, venue, label, txHash, durationMs, costs } = event
    const { charged, blob } = costs
    const saved = savedOf(costs)
    const cost = costWords(costs)
    const text = `executed ${strategy}: ${label} (${venue}) in ${tookText(durationMs)}${cost === undefined ? '' : `, ${cost}`}`
    const ether = (wei: bigint): string => formatAmount(wei, ETHER_DECIMALS)
    const details = {
      venue,
      label,
      txHash,
      durationMs,
      ...(charged === undefined ? {} : { chargedEther: ether(charged) }),
      ...(saved === undefined ? {} : { savedEther: ether(saved) }),
      ...(blob === undefined ? {} : { blobEther: ether(blob) }),
    }
    countCosts(event, to.metrics)
    tellFill(event, { text, details }, to)
  },

  'fills-final'({ type, orders, blockNumber }, { log }) {
    if (!log.enabled('debug')) return
    const intents = orders.map(({ intentId }) => intentId)
    log.debug(`final: ${intents.join(', ')}`, { event: type, intents, blockNumber })
  },

  /** Loud: what was told as filled may not have happened. */
  'fill-reopened'(event, to) {
    const { strategy, intentId, venue, attempt, moved, blockNumber } = event
    const text = `a reorganisation undid ${strategy}: ${movedText(moved)}; it is open again, and nothing is signed for it`
    to.log.error(text, { ...subject(event), venue, attempt, blockNumber })
    to.metrics.disbelieved.inc({ service: 'rpc', what: 'reorganised' })
    const details = { venue, attempt }
    to.notify({ event: 'failed', text, strategy, intentId, details })
  },

  /** Dry-run: counted like a fill, and told as what it is. */
  'paper-filled'(event, to) {
    const { strategy, venue, moved, durationMs } = event
    const text = `paper filled ${strategy}: ${movedText(moved)}, at the quote; nothing was signed`
    const fields = { venue, durationMs, paper: true }
    if (event.swap !== undefined) countSwap(event, event.swap, to.metrics)
    tellFill(event, { text, details: { venue, paper: 'yes' }, fields }, to)
  },

  /** The firewall would not sign. */
  refused(event, to) {
    const { strategy, intentId, reason, detail } = event
    const text = `refused ${strategy}: ${reason}, ${detail}`
    to.log.warn(text, { ...subject(event), reason, detail })
    to.metrics.refusals.inc({ strategy, reason })
    to.notify({ event: 'refused', text, strategy, intentId, details: { reason, detail } })
  },

  /** An intent ended without a fill. */
  failed(event, to) {
    const { strategy, intentId, venue, reason, detail } = event
    const text = `failed ${strategy}: ${reason}, ${detail}`
    to.log.error(text, { ...subject(event), venue, reason, detail })
    to.metrics.failures.inc({ strategy, venue, reason })
    const notice = { text, strategy, intentId, details: { venue, reason, detail } }
    to.notify({ event: 'failed', ...notice })
    if (reason === 'insufficient-balance' || reason === 'insufficient-gas')
      to.notify({ event: 'low-funds', ...notice })
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
    if (status === 'reverted' || status === 'lost') tellTransaction(event, status, 'warn', to)
    else tellTransaction(event, status, QUIET.has(status) ? 'debug' : 'info', to)
  },

  'transaction-sent'(event, to) {
    tellTransaction(event, 'sent', 'info', to)
  },
} satisfies Partial<Tellers>

/** Steps of a transaction that are told of for those who look closely: they are followed by others at once. */
const QUIET: ReadonlySet<string> = new Set(['recorded', 'signed'])

type Details = Readonly<Record<string, string | number>>
type FillEvent = Observed<'filled'> | Observed<'executed'> | Observed<'paper-filled'>

function tellFill(
  event: FillEvent,
  told: { readonly text: string; readonly details: Details; readonly fields?: object },
  { log, metrics, notify }: Observers,
): void {
  const { strategy, intentId, venue, durationMs } = event
  const { text, details, fields = details } = told
  log.info(text, { ...subject(event), ...fields })
  metrics.fills.inc({ strategy, venue })
  metrics.orderDuration.observe({ venue }, seconds(durationMs))
  metrics.lastFill.setToCurrentTime({ strategy })
  notify({ event: 'filled', text, strategy, intentId, details })
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
  return Math.max(0, Number(formatAmount(wei, ETHER_DECIMALS)))
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
  log[level](`${purpose} transaction${whose} ${status}`, fields)
}

function strategyOf(intentId: IntentId): string | undefined {
  return intentId.split(':')[0]
}

type OrderEvent = { readonly type: string; readonly strategy: string; readonly intentId: string }

function subject(event: OrderEvent): { event: string; strategy: string; intentId: string } {
  return { event: event.type, strategy: event.strategy, intentId: event.intentId }
}

function movedText(moved: Moved): string {
  return 'call' in moved ? moved.call : `${moved.paid} -> ${moved.received}`
}

function tookText(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`
}

function amountText(amount: BaseUnits, { decimals, symbol }: Token): string {
  return `${formatBrief(amount, decimals)} ${symbol}`
}
