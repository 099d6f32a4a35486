import { livePermits } from '../../domain/book/limits.ts'
import type { OpenSwap } from '../../domain/book/state.ts'
import { liveNonces } from '../../domain/book/swaps.ts'
import { clientOrderId, type SwapIntent } from '../../domain/intent.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import { isFresh } from '../../domain/policy.ts'
import type { Quote, Reply, ServiceOrder } from '../../domain/quote.ts'
import type { Address } from '../../domain/units.ts'
import type { Place, Turn } from '../../ports.ts'
import { hearServiceClock } from '../ask.ts'
import { codeStep, permitContracts } from '../authority/code.ts'
import { bookOnPaper, capHit, recordReply, type SubmitReply, withdraw } from '../authorization.ts'
import { barredBy, type Closing, failure, mayNotStart, type Refusal, refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { haltOnEvidence } from '../evidence.ts'
import { clockDoubt, type Step, trouble, tryPatiently, unsigned } from '../patience.ts'
import { paidFor } from './paper.ts'
import { ensureAllowance, isPrepared, isUnwrapping, wrapIfNative } from './prepare.ts'
import {
  quoteFailure,
  quoteRequest,
  SAME_NONCE,
  type Signable,
  STALE,
  STOPPED,
  signable,
  timeOf,
  type Unapproved,
} from './signable.ts'

const APPROVED: Step = { ...STALE }
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
    async clocks() {
      await hearServiceClock(context)
      const { chain, gasless } = context.ports
      return clockDoubt(context, chain, gasless.clockOffsetMs())
    },
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

/** What it depends on has other code than it should, or none can tell; the spender counts as soon as a quote names it. */
function codeRefusal(context: OrderContext, { sell, buy }: SwapIntent, spender?: Address) {
  const { chainId, gasless, pricePath } = context
  const path = pricePath(sell.token, buy.token)
  const used = { sell: sell.token.address, buy: buy.token.address, path, spender }
  return codeStep(context, { chainId, addresses: permitContracts(gasless, used) })
}

type Lining = { readonly place: Place; readonly nearMs: number }

/** Our own transactions are made out of line: they may take minutes. */
async function tryOnce(context: OrderContext, open: OpenSwap, lining: Lining): Promise<Step> {
  const { intent } = open
  const uncompared = context.uncompared('gasless')
  if (uncompared !== undefined) return trouble('chain-unavailable', uncompared)
  const doubtful = codeRefusal(context, intent)
  if (doubtful !== undefined) return doubtful
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
async function sign(context: OrderContext, open: OpenSwap, verified: Signable): Promise<Step> {
  const { journal, signer, gasless } = context.ports
  const { intent } = open
  const { quote, permit, digest, view, feed } = verified
  if (context.closing.aborted) return STOPPED
  const barred = mayNotStart(context, open) ?? tokenRefusal(context, intent)
  if (barred !== undefined) return barred
  const doubtful = codeRefusal(context, intent, permit.spender)
  if (doubtful !== undefined) return doubtful
  const time = timeOf(context, view)
  if (!time.ok) return trouble(time.reason, time.detail)
  if (!isFresh(quote, time.nowMs)) return STALE
  const hit = capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (hit !== undefined) return hit
  // Another quote may have brought the same nonce, and been signed, since this one was verified.
  if (liveNonces(journal.state, intent).has(permit.nonce)) return SAME_NONCE
  if (!coversLivePermits(context, intent, verified)) return STALE
  const { attempt } = open
  const record: PermitRecord = {
    ...permit,
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    quoteId: quote.id,
    digest,
    fromBlock: context.comparedTo('gasless') ?? view.blockNumber,
    feed,
    fee: quote.feeAmount,
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
    return notSigned(signed)
  }
  const { quoteId, clientOrderId: orderId } = record
  const reply = await gasless.submit({ quoteId, signature: signed.value, clientOrderId: orderId })
  await noteForeign(context, reply)
  await recordReply(context, open, { attempt, reply: firstReply(reply) })
  return { tag: 'sent' }
}

/** The feeds may say something else to the signer than to the firewall a moment before: then another quote is asked for. */
function notSigned(refused: Refusal): Step {
  const { reason } = refused
  const hasMoved = reason === 'price-deviation' || reason === 'price-stale'
  return hasMoved ? { tag: 'again', otherwise: barredBy(refused) } : unsigned(refused)
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
async function book(context: OrderContext, open: OpenSwap, verified: Signable): Promise<Step> {
  const { intent } = open
  const { quote, permit, view } = verified
  const time = timeOf(context, view)
  if (!time.ok) return trouble(time.reason, time.detail)
  const barred =
    mayNotStart(context, open) ??
    capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (barred !== undefined) return barred
  const paid = intent.size.side === 'sell' ? permit.amount : paidFor(quote, intent)
  const { buyAmount: received, feeAmount: fee } = quote
  await bookOnPaper(context, open, { paid, received, feed: verified.feed, fee })
  return { tag: 'sent' }
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
