import { livePermits } from '../../domain/book/limits.ts'
import type { OpenSwap } from '../../domain/book/state.ts'
import { liveNonces } from '../../domain/book/swaps.ts'
import { clientOrderId, type SwapIntent } from '../../domain/intent.ts'
import type { Permit, PermitRecord } from '../../domain/permit.ts'
import { isFresh, type TrustedTime } from '../../domain/policy.ts'
import type { Quote, QuoteRequest, Reply, ServiceFault, ServiceOrder } from '../../domain/quote.ts'
import type { Hex } from '../../domain/units.ts'
import type { ChainView } from '../../ports.ts'
import { askChain, askService, trustedNow } from '../ask.ts'
import { NONCE_LIVE, verify } from '../authority/verify.ts'
import { bookOnPaper, capHit, recordReply, type SubmitReply, withdraw } from '../authorization.ts'
import { barredBy, type Closing, failure, haltedNow, mayNotStart, refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { tooCostly } from './cost.ts'
import { paidFor, paperOf } from './paper.ts'
import { ensureAllowance, isUnwrapping, wrapIfNative } from './prepare.ts'

/** One verified quote, ready to be recorded and signed. */
type Signable = {
  readonly quote: Quote
  readonly permit: Permit
  readonly digest: Hex
  readonly view: ChainView
}

type Step =
  | { readonly tag: 'stopped' | 'sent' }
  /** Another quote may do; `otherwise` is the end when none does. */
  | { readonly tag: 'again'; readonly otherwise: Closing }
  | Closing

const STALE: Step = {
  tag: 'again',
  otherwise: failure('quote-stale', 'every quote was too old by the time it could be signed'),
}
const SAME_NONCE: Step = { tag: 'again', otherwise: refusal('nonce-live', NONCE_LIVE) }

const READING = { route: 'view', doing: 'reading the chain before signing' } as const

/**
 * One attempt of a planned intent: quote, verify, journal, sign, submit. Ends with a permit on record and its first
 * submission answered (or not), with why the intent is to be closed, or with nothing done because the daemon drains.
 */
export async function attemptSwap(
  context: OrderContext,
  open: OpenSwap,
): Promise<Closing | undefined> {
  const barred = mayNotTrade(context, open)
  if (barred !== undefined) return barred
  for (let quotes = 1; ; quotes += 1) {
    const step = await tryOnce(context, open)
    if (step.tag === 'closing') return step
    if (step.tag !== 'again') return undefined
    if (quotes >= context.policy.quotesPerAttemptMax) return step.otherwise
  }
}

/** A swap that was given up already, before a crash, only unwraps. */
function mayNotTrade(context: OrderContext, open: OpenSwap): Closing | undefined {
  if (isUnwrapping(context, open.intent))
    return failure('attempts-exhausted', 'it was given up before a crash')
  return mayNotStart(context, open)
}

async function tryOnce(context: OrderContext, open: OpenSwap): Promise<Step> {
  const { ports } = context
  const { intent } = open
  const wrapped = await wrapIfNative(context, intent)
  if (wrapped.tag === 'closing' || wrapped.tag === 'stopped') return wrapped
  const quoted = await askService(context, 'quote', () => ports.gasless.quote(quoteRequest(intent)))
  if (context.closing.aborted) return { tag: 'stopped' }
  if (!quoted.ok) return quoteFailure(quoted.fault)
  const step = await signable(context, intent, quoted.value)
  if (step.tag !== 'signable') return step
  if (context.closing.aborted) return { tag: 'stopped' }
  if (context.mode === 'dry-run') return book(context, open, step)
  const submitted = await ports.queue.runUnless(context.closing, 'submit', () =>
    signAndSubmit(context, open, step),
  )
  return submitted ?? { tag: 'stopped' }
}

/** What the service is asked for an intent. */
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

function quoteFailure(fault: ServiceFault): Closing {
  const reason = fault.tag === 'badRequest' ? 'quote-rejected' : 'quote-unavailable'
  return failure(reason, fault.message)
}

/** Reads the chain once, tops up the allowance where it must, and puts the quote through the firewall. */
async function signable(
  context: OrderContext,
  intent: SwapIntent,
  quote: Quote,
): Promise<Step | (Signable & { readonly tag: 'signable' })> {
  const { ports, gasless, account, chainId } = context
  const path = context.pricePath(intent.sell.token, intent.buy.token)
  const nonce = wireNonce(quote)
  const read = await askChain(context, READING, () =>
    ports.chain.view({
      owner: intent.owner,
      tokens: [intent.sell.token],
      feeds: (path ?? []).map(({ feed }) => feed),
      ...(nonce === undefined ? {} : { permitNonce: nonce }),
    }),
  )
  if (context.closing.aborted) return { tag: 'stopped' }
  if (!read.ok) return failure('chain-unavailable', read.fault.message)
  const view = read.value
  const time = timeOf(context, view)
  if (!time.ok) {
    ports.observe({ type: 'clock-trouble', detail: time.detail })
    return failure(time.reason, time.detail)
  }
  const verdict = verify({
    intent,
    quote,
    view,
    nowMs: time.nowMs,
    chainId,
    gasless,
    path,
    maxDeviationBps: Math.min(account.maxDeviationBps, intent.maxDeviationBps),
    liveNonces: liveNonces(ports.journal.state, intent),
    hash: context.hashPermit,
  })
  if (!verdict.ok)
    return verdict.reason === 'nonce-live' ? SAME_NONCE : refusal(verdict.reason, verdict.detail)
  const costly = tooCostly(intent, quote, { view, path })
  if (costly !== undefined) return costly
  const balance = (view.balances.get(intent.sell.token.address) ?? 0n) + paperOf(context, intent)
  if (balance < verdict.permit.amount)
    return failure(
      'insufficient-balance',
      `the wallet holds ${balance}, the permit takes ${verdict.permit.amount}`,
    )
  const halted = haltedNow(context)
  if (halted !== undefined) return halted
  const allowed = await ensureAllowance(context, intent, view)
  if (allowed.tag === 'closing' || allowed.tag === 'stopped') return allowed
  if (allowed.tag === 'changed' || !isFresh(quote, time.nowMs)) return STALE
  ports.observe({
    type: 'quote-verified',
    strategy: intent.strategy,
    intentId: intent.id,
    sellAmount: verdict.permit.amount,
    minAmountOut: verdict.permit.minAmountOut,
    deadlineSeconds: verdict.permit.deadlineSeconds,
  })
  return { tag: 'signable', quote, permit: verdict.permit, digest: verdict.digest, view }
}

/** The nonce as the wire names it, only to read its bit in the same batch; the firewall reads it again, strictly. */
function wireNonce(quote: Quote): bigint | undefined {
  const message: unknown = Reflect.get(quote.typedData, 'message')
  if (typeof message !== 'object' || message === null) return undefined
  const nonce: unknown = Reflect.get(message, 'nonce')
  const text = typeof nonce === 'number' || typeof nonce === 'string' ? `${nonce}` : ''
  return /^(\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(text) ? BigInt(text) : undefined
}

/**
 * The moment that matters. Runs when the queue lets the submit go: checks whether it may still start, freshness and caps, puts
 * the exposure on disk, checks freshness again, and only then has it signed and sends it. No signature exists before its record
 * (rule G2), and the signer judges that record once more (rule T1).
 */
async function signAndSubmit(
  context: OrderContext,
  open: OpenSwap,
  signable: Signable,
): Promise<Step> {
  const { journal, signer, gasless } = context.ports
  const { intent } = open
  const { quote, permit, digest, view } = signable
  if (context.closing.aborted) return { tag: 'stopped' }
  const barred = mayNotStart(context, open)
  if (barred !== undefined) return barred
  // What was read of the chain grows old in the queue with the quote, and the node is not to blame.
  if (!isFresh(quote, context.ports.clock.now())) return STALE
  const time = timeOf(context, view)
  if (!time.ok) return { tag: 'again', otherwise: failure(time.reason, time.detail) }
  if (!isFresh(quote, time.nowMs)) return STALE
  const hit = capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (hit !== undefined) return hit
  // Another quote may have brought the same nonce, and been signed, since this one was verified.
  if (liveNonces(journal.state, intent).has(permit.nonce)) return SAME_NONCE
  if (!coversLivePermits(context, intent, signable)) return STALE
  const { attempt } = open
  const record: PermitRecord = {
    ...permit,
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    quoteId: quote.id,
    digest,
    fromBlock: view.blockNumber,
  }
  await journal.append({ type: 'permit-recorded', intentId: intent.id, permit: record })
  const after = timeOf(context, view)
  if (!after.ok || !isFresh(quote, after.nowMs)) {
    await withdraw(context, open, { attempt, reason: 'quote-stale' })
    return STALE
  }
  const signed = signer.permit(intent.id)
  if (!signed.ok) {
    await withdraw(context, open, { attempt, reason: signed.reason })
    return barredBy(signed)
  }
  const { quoteId, clientOrderId: orderId } = record
  const reply = await gasless.submit({ quoteId, signature: signed.value, clientOrderId: orderId })
  await recordReply(context, open, { attempt, reply: firstReply(reply) })
  return { tag: 'sent' }
}

/** Only the very first answer may be a rejection; from then on a 400 says nothing (rule G7). */
function firstReply(reply: Reply<ServiceOrder>): SubmitReply {
  if (reply.ok) return { tag: 'accepted', orderId: reply.value.orderId }
  const { tag, message } = reply.fault
  return { tag: tag === 'badRequest' ? 'rejected' : 'unknown', message }
}

/** Dry-run ends here: everything was checked, nothing is signed, and the order counts as filled at its quote. */
async function book(context: OrderContext, open: OpenSwap, signable: Signable): Promise<Step> {
  const { intent } = open
  const { quote, permit, view } = signable
  const time = timeOf(context, view)
  if (!time.ok) return failure(time.reason, time.detail)
  const barred =
    haltedNow(context) ?? capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (barred !== undefined) return barred
  const paid = intent.size.side === 'sell' ? permit.amount : paidFor(quote, intent)
  await bookOnPaper(context, open, { paid, received: quote.buyAmount })
  return { tag: 'sent' }
}

/** The service's clock counts among those that deadlines are judged by. */
function timeOf(context: OrderContext, { blockTimeSeconds }: ChainView): TrustedTime {
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  return trustedNow(context, { blockTimeSeconds, serviceOffsetMs })
}

/** Another order of the token may have been signed since the allowance was read: it must be enough for both. */
function coversLivePermits(
  context: OrderContext,
  intent: SwapIntent,
  { view, permit }: Signable,
): boolean {
  const promised = livePermits(context.ports.journal.state, intent.sell.token)
  return (view.allowances.get(permit.token) ?? 0n) >= promised + permit.amount
}
