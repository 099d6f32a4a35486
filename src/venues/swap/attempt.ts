import { type Address, type BaseUnits, BPS, baseUnits, mulDivUp } from '../../domain/money/units.ts'
import { clientOrderId, type SwapIntent } from '../../domain/order/intent.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { Quote, Reply, ServiceOrder } from '../../domain/order/quote.ts'
import { isFresh } from '../../domain/policy.ts'
import { permitRecorded } from '../../journal/events/order/authorizations.ts'
import type { CloseReason } from '../../journal/records.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { Ticket, Turn } from '../../ports.ts'
import { permitContracts } from '../../signing/contract-code-policy.ts'
import {
  capHit,
  recordPaperFill,
  recordReply,
  type SubmitReply,
  withdraw,
} from '../authorization.ts'
import { ABORTED, hearServiceClock, unless } from '../chain-requests.ts'
import {
  blockedBy,
  type Closing,
  failure,
  mayNotStart,
  type Refusal,
  refusal,
  skipped,
} from '../close.ts'
import type { OrderContext } from '../context.ts'
import { haltOnEvidence } from '../evidence.ts'
import {
  clockConflict,
  codeStep,
  retryLater,
  retryUntilEnd,
  type Step,
  unsigned,
} from '../retry.ts'
import { ensureAllowance, isCovered, isPrepared, isUnwrapping, wrapIfNative } from './prepare.ts'
import {
  provisional,
  quoteFailure,
  quoteRequest,
  SAME_NONCE,
  type Signable,
  STALE,
  STOPPED,
  signable,
  timeOf,
  type Unapproved,
  VIEW_AGE_MS_MAX,
} from './signable.ts'
import { liveNonces } from './swap-projection.ts'

const APPROVED: Step = { ...STALE }
/** Time between requesting a quote and its submission's turn: a few round trips, a small part of a quote's life. */
const NEAR_MS = 5_000

/**
 * One attempt of a planned intent: quote, verify, journal, sign, submit. Repeats while only time is lacking. Returns the
 * reason to close the intent; undefined once a permit is recorded and first submitted, answered or not, or if the daemon
 * drains.
 */
export function attemptSwap(context: OrderContext, open: OpenSwap): Promise<Closing | undefined> {
  const { intent } = open
  const ticket = context.ports.queue.ticket({
    first: 'quote',
    second: 'submit',
    rank: intent.slotSeconds,
    mayWait: () => mayNotTrade(context, open) === undefined,
  })
  let nearMs = NEAR_MS
  return retryUntilEnd(context, open, {
    blocked: () => mayNotTrade(context, open),
    async clocks() {
      await hearServiceClock(context)
      const { chain, gasless } = context.ports
      return clockConflict(context, chain, gasless.clockOffsetMs())
    },
    atOnceMax: context.policy.quotesPerAttemptMax,
    async tryOnce() {
      const step = await tryOnce(context, open, { ticket, nearMs })
      // If quotes expire before their submission, request the next one closer to it.
      if (step === STALE) nearMs /= 2
      return step
    },
  })
}

/** A swap abandoned before a crash only unwraps. */
function mayNotTrade(context: OrderContext, open: OpenSwap): Closing | undefined {
  if (isUnwrapping(context, open.intent))
    return failure('attempts-exhausted', 'it was given up before a crash')
  return mayNotStart(context, open) ?? tokenBar(context, open.intent)
}

/** Refuses a token that the service counts otherwise, and skips one that it does not list. */
function tokenBar({ tokenFault }: OrderContext, { sell, buy }: SwapIntent): Closing | undefined {
  const fault = tokenFault(sell.token.address) ?? tokenFault(buy.token.address)
  if (fault === undefined) return undefined
  const { reason, detail } = fault
  return reason === 'token-unlisted' ? skipped(reason, detail) : refusal(reason, detail)
}

/**
 * Rejects unexpected or unknown code of a contract that the order depends on. The spender is checked once a quote names it.
 */
function codeRefusal(context: OrderContext, { sell, buy }: SwapIntent, spender?: Address) {
  const { chainId, gasless, pricePath } = context
  const path = pricePath(sell.token, buy.token)
  const used = { sell: sell.token.address, buy: buy.token.address, path, spender }
  return codeStep(context, { chainId, addresses: permitContracts(gasless, used) })
}

type Queued = { readonly ticket: Ticket; readonly nearMs: number }

/** Wallet transactions run outside the queue, because they may take minutes. */
async function tryOnce(context: OrderContext, open: OpenSwap, queued: Queued): Promise<Step> {
  const { intent } = open
  const uncompared = context.compared.trader.missing()
  if (uncompared !== undefined) return retryLater('chain-unavailable', uncompared)
  const unexplained = codeRefusal(context, intent)
  if (unexplained !== undefined) return unexplained
  const wrapped = await wrapIfNative(context, intent)
  if (!isPrepared(wrapped)) return wrapped
  const step = await tryInTurn(context, open, queued)
  if (step.tag !== 'unapproved') return step
  const blocked = mayNotTrade(context, open)
  if (blocked !== undefined) return blocked
  const allowed = await ensureAllowance(context, intent, step.view)
  return isPrepared(allowed) ? APPROVED : allowed
}

/** Requests the quote when its submission can follow soon. Failing orders let others pass. */
async function tryInTurn(
  context: OrderContext,
  open: OpenSwap,
  { ticket, nearMs }: Queued,
): Promise<Step | Unapproved> {
  const { closing, ports } = context
  if (!(await ticket.near(closing, nearMs))) return { tag: 'blocked' }
  try {
    const request = quoteRequest(open.intent)
    const quoted = await ticket.first(closing, () => ports.gasless.quote(request))
    if (quoted === undefined || closing.aborted) return { tag: 'blocked' }
    if (!quoted.ok) return quoteFailure(quoted.fault)
    const step =
      provisional(context, open.intent, quoted.value) ??
      (await signable(context, open.intent, quoted.value))
    if (step.tag !== 'signable') return step
    if (closing.aborted) return STOPPED
    if (context.mode === 'dry-run') return await fillSwapOnPaper(context, open, step)
    const done = await ticket.second(closing, (turn) => signAndSubmit(context, open, step, turn))
    return done ?? { tag: 'blocked' }
  } finally {
    ticket.leave()
  }
}

/** Runs when the queue allows the submission. A turn without a request is given back and counts against no limit. */
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
 * Reads chain data again if it aged in our queue. If the price has moved away from the quote meanwhile, requests another.
 * Absolute distance: a clock that was set back must not make data look recent.
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

/** Journals the exposure before signing (rule G2), and checks freshness before and after. */
async function sign(context: OrderContext, open: OpenSwap, verified: Signable): Promise<Step> {
  const { journal, signer, gasless } = context.ports
  const { intent } = open
  const { quote, permit, digest, view, feed, worth } = verified
  if (context.closing.aborted) return STOPPED
  const blocked = mayNotStart(context, open) ?? tokenBar(context, intent)
  if (blocked !== undefined) return blocked
  const unexplained = codeRefusal(context, intent, permit.spender)
  if (unexplained !== undefined) return unexplained
  const time = timeOf(context, view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  if (!isFresh(quote, time.nowMs)) return STALE
  const hit = capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (hit !== undefined) return hit
  // Another quote with the same nonce may have been signed since this one was verified.
  if (liveNonces(journal.state, intent).has(permit.nonce)) return SAME_NONCE
  // Another order of the token may have been signed since the allowance was read, which must cover both.
  if (!isCovered(context, intent, view, permit.amount)) return STALE
  const { attempt } = open
  const record: PermitRecord = {
    ...permit,
    attempt,
    clientOrderId: clientOrderId(intent.id, attempt),
    quoteId: quote.id,
    digest,
    fromBlock: context.compared.trader.upTo() ?? view.blockNumber,
    feed,
    worth,
    fee: quote.feeAmount,
  }
  const refused = await putOnRecord(context, open, { verified, record })
  if (refused !== undefined) return refused
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

/**
 * Journals the permit. What was judged by the tick's market is read beside the record and judged again. Withdraws the record
 * and returns why if it may not be signed.
 */
async function putOnRecord(
  context: OrderContext,
  open: OpenSwap,
  { verified, record }: { readonly verified: Signable; readonly record: PermitRecord },
): Promise<Step | undefined> {
  const { intent } = open
  const { quote, isProvisional } = verified
  const recorded = context.ports.journal.append(
    permitRecorded({ intentId: intent.id, permit: record }),
  )
  const reading = isProvisional && unless(context.closing, signable(context, intent, quote, true))
  const [confirmed = verified] = await Promise.all([reading, recorded])
  const refused = mayNotStart(context, open) ?? refusedBy(context, confirmed)
  if (refused === undefined) return undefined
  // The market has changed since the tick, or cannot be read: the next try reads it first.
  context.market.latest = undefined
  await withdraw(context, open, { attempt: record.attempt, reason: reasonOf(refused) })
  return refused.tag === 'unapproved' ? STALE : refused
}

function refusedBy(
  context: OrderContext,
  confirmed: Signable | Step | Unapproved | typeof ABORTED,
): Step | Unapproved | undefined {
  if (confirmed === ABORTED) return STOPPED
  if (confirmed.tag === 'signable') {
    const time = timeOf(context, confirmed.view)
    return time.ok && isFresh(confirmed.quote, time.nowMs) ? undefined : STALE
  }
  const hasMoved = confirmed.tag === 'closing' && confirmed.reason === 'price-deviation'
  return hasMoved ? { tag: 'again', otherwise: confirmed } : confirmed
}

function reasonOf(step: Step | Unapproved): CloseReason {
  if (step.tag === 'again') return reasonOf(step.otherwise)
  return 'reason' in step ? step.reason : 'quote-stale'
}

/** The signer may see newer prices than the firewall did; another quote is requested then. */
function notSigned(refused: Refusal): Step {
  const { reason } = refused
  const hasMoved = reason === 'price-deviation' || reason === 'price-stale'
  return hasMoved ? { tag: 'again', otherwise: blockedBy(refused) } : unsigned(refused)
}

/** Halts if the service has an order under our id that we did not place. */
export async function noteForeign(
  context: OrderContext,
  reply: Reply<ServiceOrder>,
): Promise<void> {
  if (reply.ok || reply.fault.tag !== 'foreignOrder') return
  await haltOnEvidence(context, `the service has another order under ours: ${reply.fault.message}`)
}

/** Only the first answer may be a rejection; a later 400 proves nothing (rule G7). */
function firstReply(reply: Reply<ServiceOrder>): SubmitReply {
  if (reply.ok) return { tag: 'accepted', orderId: reply.value.orderId }
  const { tag, message } = reply.fault
  return { tag: tag === 'badRequest' ? 'rejected' : 'unknown', message }
}

/** Dry run: all checks passed and nothing is signed; the order counts as filled at its quote. */
async function fillSwapOnPaper(
  context: OrderContext,
  open: OpenSwap,
  verified: Signable,
): Promise<Step> {
  const { intent } = open
  const { quote, permit, view, feed, worth } = verified
  const time = timeOf(context, view)
  if (!time.ok) return retryLater(time.reason, time.detail)
  const blocked =
    mayNotStart(context, open) ??
    capHit(context, open, { amount: permit.amount, nowMs: time.nowMs })
  if (blocked !== undefined) return blocked
  const paid = intent.size.side === 'sell' ? permit.amount : paidFor(quote, intent)
  const { buyAmount: received, feeAmount: fee } = quote
  await recordPaperFill(context, open, { paid, received, feed, worth, fee })
  return { tag: 'sent' }
}

/** Exact output: the permit includes slippage, which paper orders do not have. Rounded up. */
function paidFor({ sellAmount }: Quote, { slippageBps }: SwapIntent): BaseUnits {
  return baseUnits(mulDivUp(sellAmount, BPS, BPS + BigInt(slippageBps)))
}
