import type { Token } from '../../domain/token.ts'
import { type BaseUnits, formatAmount } from '../../domain/units.ts'
import { type Observed, type Observers, seconds } from './observers.ts'

const SIGNIFICANT_DIGITS = 6

/** A quote passed the firewall. */
export function quoteVerified(event: Observed<'quote-verified'>, { log }: Observers): void {
  const { intentId, sellAmount, minAmountOut, deadlineSeconds } = event
  if (!log.enabled('debug')) return
  log.debug(`verified a quote for ${intentId}`, {
    ...subject(event),
    sellAmount,
    minAmountOut,
    deadlineSeconds,
  })
}

/** The firewall would not sign. */
export function refused(event: Observed<'refused'>, to: Observers): void {
  const { strategy, intentId, reason, detail } = event
  const text = `refused ${strategy}: ${reason}, ${detail}`
  to.log.warn(text, { ...subject(event), reason, detail })
  to.metrics.refusals.inc({ strategy, reason })
  to.notify({ event: 'refused', text, strategy, intentId, details: { reason, detail } })
}

/** The service has the order. */
export function orderAccepted(event: Observed<'order-accepted'>, { log }: Observers): void {
  const { strategy, attempt, orderId } = event
  log.info(`placed ${strategy}: order ${orderId}`, { ...subject(event), attempt, orderId })
}

/** The service says that the order is over; the chain has the last word. */
export function orderEnded(event: Observed<'order-ended'>, { log }: Observers): void {
  const { strategy, attempt, status, message } = event
  log.warn(`order of ${strategy} ${status}: ${message}`, {
    ...subject(event),
    attempt,
    status,
    detail: message,
  })
}

/** Nobody knows yet whether the order was taken. */
export function orderUnknown(event: Observed<'order-unknown'>, { log }: Observers): void {
  const { strategy, attempt, message } = event
  log.warn(`outcome of ${strategy} unknown, resolving it: ${message}`, {
    ...subject(event),
    attempt,
    detail: message,
  })
}

/** Proven on chain. Amounts are exact in the fields and short in the text. */
export function filled(event: Observed<'filled'>, to: Observers): void {
  const { strategy, intentId, venue, sell, buy, txHash, durationMs } = event
  const paid = formatAmount(event.paid, sell.decimals)
  const received = formatAmount(event.received, buy.decimals)
  const took = `${(durationMs / 1_000).toFixed(1)} s`
  const text = `filled ${strategy}: ${amountText(event.paid, sell)} -> ${amountText(event.received, buy)} in ${took}`
  const details = { venue, sell: sell.symbol, buy: buy.symbol, paid, received, txHash, durationMs }
  to.log.info(text, { ...subject(event), ...details })
  to.metrics.fills.inc({ strategy, venue })
  to.metrics.orderDuration.observe({ venue }, seconds(durationMs))
  to.metrics.lastFill.setToCurrentTime({ strategy })
  to.notify({ event: 'filled', text, strategy, intentId, details })
}

/** A call that the chain shows. What it cost is told even when sharing saved nothing. */
export function executed(event: Observed<'executed'>, to: Observers): void {
  const { strategy, intentId, venue, label, txHash, durationMs } = event
  const { charged, direct } = event.costs
  const took = `${(durationMs / 1_000).toFixed(1)} s`
  const text = `executed ${strategy}: ${label} (${venue}) in ${took}${costText(event.costs)}`
  const details = {
    venue,
    label,
    txHash,
    durationMs,
    ...(charged === undefined ? {} : { chargedEther: formatAmount(charged, ETHER_DECIMALS) }),
    ...(direct === undefined ? {} : { directEther: formatAmount(direct, ETHER_DECIMALS) }),
  }
  to.log.info(text, { ...subject(event), ...details })
  to.metrics.fills.inc({ strategy, venue })
  to.metrics.orderDuration.observe({ venue }, seconds(durationMs))
  to.metrics.lastFill.setToCurrentTime({ strategy })
  to.notify({ event: 'filled', text, strategy, intentId, details })
}

/** Dry-run: counted like a fill, and told as what it is. */
export function paperFilled(event: Observed<'paper-filled'>, to: Observers): void {
  const { strategy, intentId, venue, what, durationMs } = event
  const text = `paper filled ${strategy}: ${what}, at the quote; nothing was signed`
  to.log.info(text, { ...subject(event), venue, durationMs, paper: true })
  to.metrics.fills.inc({ strategy, venue })
  to.metrics.orderDuration.observe({ venue }, seconds(durationMs))
  to.metrics.lastFill.setToCurrentTime({ strategy })
  to.notify({ event: 'filled', text, strategy, intentId, details: { venue, paper: 'yes' } })
}

const ETHER_DECIMALS = 18

function costText({ charged, direct }: Observed<'executed'>['costs']): string {
  if (charged === undefined || direct === undefined) return ''
  const saved = direct - charged
  const word = saved > 0n ? 'saved' : 'cost more by'
  const amount = saved > 0n ? saved : -saved
  const paid = formatAmount(charged, ETHER_DECIMALS)
  return `, charged ${paid} ETH, ${word} ${formatAmount(amount, ETHER_DECIMALS)} against direct`
}

/** The service says filled and the chain does not show it. */
export function proofFailed(event: Observed<'proof-failed'>, { log }: Observers): void {
  const { strategy, detail } = event
  log.error(`fill of ${strategy} not proven by the chain: ${detail}`, {
    ...subject(event),
    detail,
  })
}

/** The chain proves that the permit can never be used any more. */
export function permitDead(event: Observed<'authorization-dead'>, { log }: Observers): void {
  const { strategy, attempt, how } = event
  log.info(`permit of ${strategy} is dead (${how})`, { ...subject(event), attempt, how })
}

/** An intent ended without a fill. */
export function failed(event: Observed<'failed'>, to: Observers): void {
  const { strategy, intentId, venue, reason, detail } = event
  const text = `failed ${strategy}: ${reason}, ${detail}`
  to.log.error(text, { ...subject(event), venue, reason, detail })
  to.metrics.failures.inc({ strategy, venue, reason })
  const notice = { text, strategy, intentId, details: { venue, reason, detail } }
  to.notify({ event: 'failed', ...notice })
  if (reason === 'insufficient-balance' || reason === 'insufficient-gas')
    to.notify({ event: 'low-funds', ...notice })
}

/** A step of a transaction of our own wallet: approve, wrap or unwrap. */
export function transaction(event: Observed<'transaction'>, { log }: Observers): void {
  const { intentId, purpose, status, hash } = event
  const strategy = intentId?.split(':')[0]
  const level = status === 'reverted' || status === 'lost' ? 'warn' : 'info'
  log[level](`${purpose} transaction${strategy === undefined ? '' : ` of ${strategy}`} ${status}`, {
    event: event.type,
    strategy,
    intentId,
    purpose,
    status,
    hash,
  })
}

type OrderEvent = { readonly type: string; readonly strategy: string; readonly intentId: string }

function subject(event: OrderEvent): { event: string; strategy: string; intentId: string } {
  return { event: event.type, strategy: event.strategy, intentId: event.intentId }
}

/** Six significant digits, cut and not rounded, so that a line never shows more than was moved. */
function amountText(amount: BaseUnits, token: Token): string {
  const [whole = '0', fraction = ''] = formatAmount(amount, token.decimals).split('.')
  const leading = whole === '0' ? fraction.search(/[1-9]|$/) : -whole.length
  const shown = fraction.slice(0, Math.max(2, leading + SIGNIFICANT_DIGITS)).replace(/0+$/, '')
  return `${shown === '' ? whole : `${whole}.${shown}`} ${token.symbol}`
}
