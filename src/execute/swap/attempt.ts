import { livePermits } from '../../domain/book/limits.ts'
import type { OpenSwap } from '../../domain/book/state.ts'
import { liveNonces } from '../../domain/book/swaps.ts'
import { clientOrderId, type SwapIntent } from '../../domain/intent.ts'
import type { Permit, PermitRecord } from '../../domain/permit.ts'
import { isFresh, type TrustedTime } from '../../domain/policy.ts'
import type { Quote, QuoteRequest, Reply, ServiceFault, ServiceOrder } from '../../domain/quote.ts'
import type { Hex } from '../../domain/units.ts'
import type { ChainFault, ChainView, Place, Turn } from '../../ports.ts'
import { askChainOnce, trustedNow } from '../ask.ts'
import { NONCE_LIVE, verify } from '../authority/verify.ts'
import { bookOnPaper, capHit, recordReply, type SubmitReply, withdraw } from '../authorization.ts'
import { barredBy, type Closing, failure, mayNotStart, refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { haltOnEvidence } from '../evidence.ts'
import { type Step, trouble, tryPatiently } from '../patience.ts'
import { tooCostly } from './cost.ts'
import { paidFor, paperOf } from './paper.ts'
import {
  ensureAllowance,
  isAllowanceUnread,
  isCovered,
  isPrepared,
  isUnwrapping,
  wrapIfNative,
} from './prepare.ts'
import { feedsOf, notTriggered, triggerPath } from './trigger.ts'

/** One verified quote, ready to be recorded and signed. */
type Signable = {
  readonly tag: 'signable'
  readonly quote: Quote
  readonly permit: Permit
  readonly digest: Hex
  readonly view: ChainView
  /** When the view was read, by this machine's clock. */
  readonly readAtMs: number
}

/** The wallet has not allowed enough yet; what was seen. */
type Unapproved = { readonly tag: 'unapproved'; readonly view: ChainView }

const STALE: Step = {
  tag: 'again',
  otherwise: trouble('quote-stale', 'every quote was too old by the time it could be signed'),
}
const APPROVED: Step = { ...STALE }
/** What one read left out the next may have; zero it is not. */
const BALANCE_UNREAD = trouble('balance-unreadable', 'its balance could not be read before signing')
const ALLOWANCE_UNREAD = trouble('allowance-unreadable', 'its allowance could not be read')
const SAME_NONCE: Step = { tag: 'again', otherwise: refusal('nonce-live', NONCE_LIVE) }
const STOPPED = { tag: 'stopped' } as const

const READING = 'reading the chain before signing'
/** How far ahead of its submission's turn a quote is asked for: a few round trips, a small part of what a quote lives. */
const NEAR_MS = 5_000
/** Oldest view of the chain that is signed by: what waits longer in our own queue is read again. */
const VIEW_AGE_MS_MAX = 5_000

/**
 * One attempt of a planned intent: quote, verify, journal, sign, submit; again while only time is lacking. Ends with a
 * permit on record and its first submission answered (or not), with why the intent is to be closed, or with nothing done
 * because the daemon drains.
 */
export function attemptSwap(context: OrderContext, open: OpenSwap): Promise<Closing | undefined> {
  const { intent } = open
  const place = context.ports.queue.place({
    first: 'quote',
    second: 'submit',
    rank: intent.slotSeconds,
    mayWait: () => mayNotTrade(context, open) === undefined,
  })
  let nearMs = NEAR_MS
  return tryPatiently(context, open, {
    barred: () => mayNotTrade(context, open),
    atOnceMax: context.policy.quotesPerAttemptMax,
    async tryOnce() {
      const step = await tryOnce(context, open, { place, nearMs })
      // Of a quote that lives shorter than the way to its submission takes, the next is asked for later.
      if (step === STALE) nearMs /= 2
      return step
    },
  })
}

/** A swap that was given up already, before a crash, only unwraps. */
function mayNotTrade(context: OrderContext, open: OpenSwap): Closing | undefined {
  if (isUnwrapping(context, open.intent))
    return failure('attempts-exhausted', 'it was given up before a crash')
  return mayNotStart(context, open) ?? tokenRefusal(context, open.intent)
}

/** A token that the service counts otherwise than the config. */
function tokenRefusal(context: OrderContext, { sell, buy }: SwapIntent): Closing | undefined {
  const detail = context.tokenTrouble(sell.token.address) ?? context.tokenTrouble(buy.token.address)
  return detail === undefined ? undefined : refusal('token-mismatch', detail)
}

type Lining = { readonly place: Place; readonly nearMs: number }

/** Our own transactions are made out of line: they may take minutes. */
async function tryOnce(context: OrderContext, open: OpenSwap, lining: Lining): Promise<Step> {
  const { intent } = open
  const uncompared = context.uncompared('gasless')
  if (uncompared !== undefined) return trouble('chain-unavailable', uncompared)
  const wrapped = await wrapIfNative(context, intent)
  if (!isPrepared(wrapped)) return wrapped
  const step = await tryInLine(context, open, lining)
  if (step.tag !== 'unapproved') return step
  const barred = mayNotTrade(context, open)
  if (barred !== undefined) return barred
  const allowed = await ensureAllowance(context, intent, step.view)
  return isPrepared(allowed) ? APPROVED : allowed
}

/** The quote is asked for when its submission can follow soon; who is in trouble makes room for others. */
async function tryInLine(
  context: OrderContext,
  open: OpenSwap,
  { place, nearMs }: Lining,
): Promise<Step | Unapproved> {
  const { closing, ports } = context
  if (!(await place.near(closing, nearMs))) return { tag: 'barred' }
  try {
    const request = quoteRequest(open.intent)
    const quoted = await place.first(closing, () => ports.gasless.quote(request))
    if (quoted === undefined || closing.aborted) return { tag: 'barred' }
    if (!quoted.ok) return quoteFailure(quoted.fault)
    return await trade(context, open, { place, quote: quoted.value })
  } finally {
    place.leave()
  }
}

/** Verifies a quote, and signs it when its turn comes. */
async function trade(
  context: OrderContext,
  open: OpenSwap,
  { place, quote }: { readonly place: Place; readonly quote: Quote },
): Promise<Step | Unapproved> {
  const { closing } = context
  const step = await signable(context, open.intent, quote)
  if (step.tag !== 'signable') return step
  if (closing.aborted) return STOPPED
  if (context.mode === 'dry-run') return book(context, open, step)
  const done = await place.second(closing, (turn) => signAndSubmit(context, open, step, turn))
  return done ?? { tag: 'barred' }
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

/** Only a 400 says that no other answer is to be had. */
function quoteFailure(fault: ServiceFault): Step {
  const { tag: cause, message } = fault
  if (cause === 'badRequest') return failure('quote-rejected', message)
  const again = { service: 'gasless', route: 'quote', cause } as const
  const pauseMs = cause === 'rateLimited' ? fault.retryAfterMs : 0
  return trouble('quote-unavailable', message, { pauseMs, again })
}

/** Reads the chain once and puts the quote through the firewall. */
async function signable(
  context: OrderContext,
  intent: SwapIntent,
  quote: Quote,
): Promise<Step | Unapproved | Signable> {
  const { ports, gasless, chainId, pricePath } = context
  const path = pricePath(intent.sell.token, intent.buy.token)
  const nonce = wireNonce(quote)
  const read = await askChainOnce(context, READING, () =>
    ports.chain.view({
      owner: intent.owner,
      tokens: [intent.sell.token],
      feeds: feedsOf(path, triggerPath(intent, pricePath)),
      ...(nonce === undefined ? {} : { permitNonce: nonce }),
    }),
  )
  if (context.closing.aborted) return STOPPED
  if (!read.ok) return unread(read.fault)
  const view = read.value
  const readAtMs = ports.clock.now()
  const time = timeOf(context, view)
  if (!time.ok) {
    ports.observe({ type: 'clock-trouble', detail: time.detail })
    return trouble(time.reason, time.detail)
  }
  const unwanted = notTriggered(intent, view, pricePath)
  if (unwanted !== undefined) return unwanted
  const verdict = verify({
    intent,
    quote,
    view,
    nowMs: time.nowMs,
    chainId,
    gasless,
    path,
    maxDeviationBps: Math.min(context.account.maxDeviationBps, intent.maxDeviationBps),
    liveNonces: liveNonces(ports.journal.state, intent),
    hash: context.hashPermit,
  })
  if (!verdict.ok)
    return verdict.reason === 'nonce-live' ? SAME_NONCE : refusal(verdict.reason, verdict.detail)
  const costly = tooCostly(intent, quote, { view, path })
  if (costly !== undefined) return costly
  const held = view.balances.get(intent.sell.token.address)
  if (held === undefined) return BALANCE_UNREAD
  const balance = held + paperOf(context, intent)
  if (balance < verdict.permit.amount)
    return failure(
      'insufficient-balance',
      `the wallet holds ${balance}, the permit takes ${verdict.permit.amount}`,
    )
  if (isAllowanceUnread(context, intent, view)) return ALLOWANCE_UNREAD
  if (!isCovered(context, intent, view)) return { tag: 'unapproved', view }
  if (!isFresh(quote, time.nowMs)) return STALE
  ports.observe({
    type: 'quote-verified',
    strategy: intent.strategy,
    intentId: intent.id,
    sellAmount: verdict.permit.amount,
    minAmountOut: verdict.permit.minAmountOut,
    deadlineSeconds: verdict.permit.deadlineSeconds,
  })
  const { permit, digest } = verdict
  return { tag: 'signable', quote, permit, digest, view, readAtMs }
}

function unread({ tag: cause, message }: ChainFault): Step {
  const again = { service: 'rpc', route: 'view', cause } as const
  return trouble('chain-unavailable', message, { again })
}

/** The nonce as the wire names it, only to read its bit in the same batch; the firewall reads it again, strictly. */
function wireNonce(quote: Quote): bigint | undefined {
  const message: unknown = Reflect.get(quote.typedData, 'message')
  if (typeof message !== 'object' || message === null) return undefined
  const nonce: unknown = Reflect.get(message, 'nonce')
  const text = typeof nonce === 'number' || typeof nonce === 'string' ? `${nonce}` : ''
  return /^(\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(text) ? BigInt(text) : undefined
}

/** Runs when the queue lets the submit go. A turn in which nothing is sent counts against no limit. */
async function signAndSubmit(
  context: OrderContext,
  open: OpenSwap,
  verified: Signable,
  turn: Turn,
): Promise<Step | Unapproved> {
  const step = await asOfNow(context, open.intent, verified)
  const done = step.tag === 'signable' ? await sign(context, open, step) : step
  if (done.tag !== 'sent') turn.giveBack()
  return done
}

/**
 * What was read of the chain grows old in our own queue, and the node is not to blame: it is read again, in the turn that
 * has come. Nor is the service to blame when the price has moved away from its quote meanwhile: another is asked for. The
 * distance and not the difference: a clock that was set back must not make a view young.
 */
async function asOfNow(
  context: OrderContext,
  intent: SwapIntent,
  verified: Signable,
): Promise<Step | Unapproved | Signable> {
  const { quote, readAtMs } = verified
  const nowMs = context.ports.clock.now()
  if (!isFresh(quote, nowMs)) return STALE
  if (Math.abs(nowMs - readAtMs) <= VIEW_AGE_MS_MAX) return verified
  const step = await signable(context, intent, quote)
  const hasMoved = step.tag === 'closing' && step.reason === 'price-deviation'
  return hasMoved ? STALE : step
}

/**
 * The moment that matters: checks what bars it, freshness and caps, puts the exposure on disk, checks freshness again, and only
 * then has it signed, by a signer that checks what bars it again, and sends it. No signature exists before its record (rule G2).
 */
async function sign(context: OrderContext, open: OpenSwap, signable: Signable): Promise<Step> {
  const { journal, signer, gasless } = context.ports
  const { intent } = open
  const { quote, permit, digest, view } = signable
  if (context.closing.aborted) return STOPPED
  const barred = mayNotStart(context, open) ?? tokenRefusal(context, intent)
  if (barred !== undefined) return barred
  const time = timeOf(context, view)
  if (!time.ok) return trouble(time.reason, time.detail)
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
  const barredSince = mayNotStart(context, open)
  if (barredSince !== undefined || !after.ok || !isFresh(quote, after.nowMs)) {
    await withdraw(context, open, { attempt, reason: barredSince?.reason ?? 'quote-stale' })
    return barredSince ?? STALE
  }
  const signed = signer.permit(intent.id)
  if (!signed.ok) {
    await withdraw(context, open, { attempt, reason: signed.reason })
    return barredBy(signed)
  }
  const { quoteId, clientOrderId: orderId } = record
  const reply = await gasless.submit({ quoteId, signature: signed.value, clientOrderId: orderId })
  await noteForeign(context, reply)
  await recordReply(context, open, { attempt, reply: firstReply(reply) })
  return { tag: 'sent' }
}

/** An order under our own id that we did not place, as far as we know. */
export async function noteForeign(
  context: OrderContext,
  reply: Reply<ServiceOrder>,
): Promise<void> {
  if (reply.ok || reply.fault.tag !== 'foreignOrder') return
  await haltOnEvidence(context, `the service has another order under ours: ${reply.fault.message}`)
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
  if (!time.ok) return trouble(time.reason, time.detail)
  const barred =
    mayNotStart(context, open) ??
    capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
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
  const allowance = view.allowances.get(permit.token)
  return allowance !== undefined && allowance >= promised + permit.amount
}
