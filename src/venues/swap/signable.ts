import { briefText } from '../../domain/money/amount-text.ts'
import { acceptPath, pricesAt, type Worth, worthAt } from '../../domain/money/price.ts'
import type { Hex, Ratio } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import type { Permit } from '../../domain/order/permit.ts'
import type { Quote, QuoteRequest, ServiceFault } from '../../domain/order/quote.ts'
import { isFresh, type TrustedTime } from '../../domain/policy.ts'
import { durationText } from '../../domain/text/duration.ts'
import type { ChainView } from '../../ports.ts'
import { NONCE_LIVE, verify } from '../../signing/verify.ts'
import { askChainOnce, trustedNow } from '../chain-requests.ts'
import { failure, refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { retryChain, retryLater, type Step } from '../retry.ts'
import { tooCostly } from './cost.ts'
import { isAllowanceUnread, isCovered } from './prepare.ts'
import { liveNonces } from './swap-projection.ts'
import { feedsOf, notTriggered, triggerPath } from './trigger.ts'

export type Signable = {
  readonly tag: 'signable'
  readonly quote: Quote
  readonly permit: Permit
  readonly digest: Hex
  readonly view: ChainView
  /** Feed price, sell base units per buy base unit; undefined without a usable one. */
  readonly feed: Ratio | undefined
  readonly worth: Worth | undefined
  /** Epoch milliseconds of this machine's clock. */
  readonly readAtMs: number
  /** Judged by the tick's market, where the nonce was not read: `confirmed` must follow before the signature. */
  readonly isProvisional?: true
}

/** Maximum age of chain data for signing; older data is read again. */
export const VIEW_AGE_MS_MAX = 5_000

/** The allowance in `view` is too low. */
export type Unapproved = { readonly tag: 'unapproved'; readonly view: ChainView }

/** Waits from here on are named in the reason. */
const LONG_PAUSE_MS = 60_000

export const STALE: Step = {
  tag: 'again',
  otherwise: retryLater('quote-stale', 'every quote was too old by the time it could be signed'),
}
/** An unread balance does not mean zero; the next read may succeed. */
const BALANCE_UNREAD = retryLater(
  'balance-unreadable',
  'its balance could not be read before signing',
)
const ALLOWANCE_UNREAD = retryLater('allowance-unreadable', 'its allowance could not be read')
export const SAME_NONCE: Step = { tag: 'again', otherwise: refusal('nonce-live', NONCE_LIVE) }
export const STOPPED = { tag: 'stopped' } as const

export function quoteRequest(intent: SwapIntent): QuoteRequest {
  return {
    from: intent.owner,
    receiver: intent.recipient,
    sellToken: intent.sell.token.address,
    buyToken: intent.buy.token.address,
    size: intent.size,
    slippageBps: intent.slippageBps,
  }
}

/** Only a 400 makes another request pointless. */
export function quoteFailure(fault: ServiceFault): Step {
  const { tag: cause, message } = fault
  if (cause === 'badRequest') return failure('quote-rejected', message)
  const again = { service: 'gasless', route: 'quote', cause } as const
  const pauseMs = cause === 'rateLimited' ? fault.retryAfterMs : 0
  const wait =
    pauseMs < LONG_PAUSE_MS ? '' : `; the service asks to wait for ${durationText(pauseMs)}`
  return retryLater('quote-unavailable', message + wait, { pauseMs, again })
}

/** Reads the chain and judges the quote by it. */
export async function signable(
  context: OrderContext,
  intent: SwapIntent,
  quote: Quote,
  isRecorded = false,
): Promise<Step | Unapproved | Signable> {
  const { ports, pricePath } = context
  const path = pricePath(intent.sell.token, intent.buy.token)
  const nonce = wireNonce(quote)
  const read = await askChainOnce(context, 'reading the chain before signing', () =>
    ports.chain.view({
      owner: intent.owner,
      tokens: [intent.sell.token],
      feeds: feedsOf(path, triggerPath(intent, pricePath)),
      ...(nonce === undefined ? {} : { permitNonce: nonce }),
    }),
  )
  if (context.closing.aborted) return STOPPED
  if (!read.ok) return retryChain('view', read.fault)
  const view = read.value
  const time = timeOf(context, view)
  if (!time.ok) {
    ports.observe({ type: 'clock-trouble', detail: time.detail })
    return retryLater(time.reason, time.detail)
  }
  const seen = { view, readAtMs: ports.clock.now(), nowMs: time.nowMs, isRecorded }
  return judge(context, intent, quote, seen)
}

/**
 * Judges the quote by the market that the tick has just read, so that the read before the signature runs beside the permit's
 * record. Undefined unless it passes: only a read of its own ends an order.
 */
export function provisional(
  context: OrderContext,
  intent: SwapIntent,
  quote: Quote,
): Signable | undefined {
  const { latest } = context.market
  if (latest === undefined || context.mode === 'dry-run') return undefined
  const { readAtMs } = latest
  const view = { ...latest.view, permitNonceUsed: false }
  const time = timeOf(context, view)
  if (!time.ok || Math.abs(time.nowMs - readAtMs) > VIEW_AGE_MS_MAX) return undefined
  const seen = { view, readAtMs, nowMs: time.nowMs, isRecorded: false }
  const step = judge(context, intent, quote, seen)
  return step.tag === 'signable' ? { ...step, isProvisional: true } : undefined
}

type Seen = {
  readonly view: ChainView
  readonly readAtMs: number
  readonly nowMs: number
  /** The permit is on record: the live permits include it. */
  readonly isRecorded: boolean
}

function judge(
  context: OrderContext,
  intent: SwapIntent,
  quote: Quote,
  { view, readAtMs, nowMs, isRecorded }: Seen,
): Step | Unapproved | Signable {
  const { ports, gasless, chainId, pricePath } = context
  const path = pricePath(intent.sell.token, intent.buy.token)
  const unwanted = notTriggered(intent, view, pricePath)
  if (unwanted !== undefined) return unwanted
  const verdict = verify({
    intent,
    quote,
    view,
    nowMs,
    chainId,
    gasless,
    path,
    maxDeviationBps: Math.min(context.account.maxDeviationBps, intent.maxDeviationBps),
    liveNonces: liveNonces(ports.journal.state, intent),
    hash: context.hashPermit,
  })
  if (!verdict.ok)
    return verdict.reason === 'nonce-live' ? SAME_NONCE : refusal(verdict.reason, verdict.detail)
  const { permit, digest } = verdict
  const costly = tooCostly(intent, quote, { view, path })
  if (costly !== undefined) return costly
  const held = view.balances.get(intent.sell.token.address)
  if (held === undefined) return BALANCE_UNREAD
  const balance = held + paperOf(context, intent)
  if (balance < permit.amount)
    return failure(
      'insufficient-balance',
      `the wallet holds ${briefText(balance, intent.sell.token)}, the permit takes ${briefText(permit.amount, intent.sell.token)}`,
    )
  if (isAllowanceUnread(context, intent, view)) return ALLOWANCE_UNREAD
  if (!isCovered(context, intent, view, isRecorded ? 0n : undefined))
    return { tag: 'unapproved', view }
  if (!isFresh(quote, nowMs)) return STALE
  ports.observe({
    type: 'quote-verified',
    strategy: intent.strategy,
    intentId: intent.id,
    sellAmount: permit.amount,
    minAmountOut: permit.minAmountOut,
    deadlineSeconds: permit.deadlineSeconds,
  })
  const fair = acceptPath(path, view.readings, view.blockTimeSeconds)
  const feed = fair.ok ? fair.price.ratio : undefined
  const worth = worthAt(context.valueToken, intent, pricesAt(pricePath, view))
  return { tag: 'signable', quote, permit, digest, view, feed, worth, readAtMs }
}

/** Used only to read the nonce's bit in the same batch; the firewall parses the nonce again, strictly. */
function wireNonce(quote: Quote): bigint | undefined {
  const message: unknown = Reflect.get(quote.typedData, 'message')
  if (typeof message !== 'object' || message === null) return undefined
  const nonce: unknown = Reflect.get(message, 'nonce')
  const text = typeof nonce === 'number' || typeof nonce === 'string' ? `${nonce}` : ''
  return /^(\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(text) ? BigInt(text) : undefined
}

/** Includes the service's clock. */
export function timeOf(context: OrderContext, { blockTimeSeconds }: ChainView): TrustedTime {
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  return trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
}

/** Balance change of the intent's sell token by earlier paper orders, in base units. */
function paperOf({ mode, ports }: OrderContext, { sell }: SwapIntent): bigint {
  if (mode !== 'dry-run') return 0n
  // Paper orders wrap nothing. An order that names ETH uses the native balance, checked at its decision.
  if (sell.native) return 2n ** 200n
  return ports.journal.state.paper.get(sell.token.address) ?? 0n
}
