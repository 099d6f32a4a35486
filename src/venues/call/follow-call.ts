import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord } from '../../domain/call.ts'
import type { Hex } from '../../domain/units.ts'
import type { AccountView, AggregatorFault } from '../../ports.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import { type Resolution, recordDeath, recordReply, tellUnknown } from '../authorization.ts'
import { haltedNow, type Refusal } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { createDoubts } from '../doubt.ts'
import { attended, exposedAtMs } from '../follow.ts'
import type { TransactionOutcome } from '../transaction.ts'
import type { FollowSteps } from '../venue.ts'
import { createExplainer } from './explain.ts'
import { isOwnCall, resolveCall } from './resolve.ts'
import { directId, sendDirectly, submitCall } from './submit.ts'

const NOT_OURS_WAIT_MS = 60_000
/** Looks at the chain while the service says that a call has not landed, against those while it says nothing. */
const WAITING_LOOKS_RARER = 5
/** About a block: what is mined by then is proven without another round. */
const DIRECT_WAIT_MS = 12_000

const REOPENED =
  'a reorganisation took its execution away, and the chain does not show it again yet'

/** Following a call: send the same bytes again, poll its receipt, ask the chain, and fall back to sending it directly. */
export function callSteps(context: OrderContext, open: OpenCall): FollowSteps {
  const { aggregator } = context
  const { call } = open
  if (aggregator === undefined || call === undefined || !isOwnCall(aggregator, call)) {
    const wait = (): Promise<unknown> => waitForConfig(context, open)
    return { replay: wait, poll: wait, resolve: wait }
  }
  const explain = createExplainer(context, aggregator, open)
  const glance: Glance = { atMs: context.ports.clock.now(), wasSilent: false }
  const doubt = createDoubts(context, open)
  const following = { context, aggregator, open, call, direct: {}, glance, explain, doubt }
  return {
    replay: () => replay(following),
    poll: () => poll(following),
    // The service knew of it, and may name where it is now.
    resolve: () => (open.orderId === undefined ? look(following) : poll(following)),
  }
}

type Following = {
  readonly context: OrderContext
  readonly aggregator: AggregatorContext
  readonly open: OpenCall
  readonly call: CallRecord
  readonly direct: DirectRoute
  readonly glance: Glance
  readonly explain: ReturnType<typeof createExplainer>
  readonly doubt: ReturnType<typeof createDoubts>
}

/** When the chain was last asked without a hint, and what it and the service's answers were. */
type Glance = {
  atMs: number
  wasSilent: boolean
  cause?: AggregatorFault['tag'] | undefined
  /** Why the signer did not sign it again. */
  unsigned?: Refusal['reason'] | undefined
  /** Whether the account had code that nothing may be sent under (rule A4). */
  isBarred?: boolean
}

/** The direct transaction on its way: undefined as long as none is, with its outcome, which is final, or failure at the end. */
type DirectRoute = {
  isSending?: boolean
  outcome?: TransactionOutcome | undefined
  failure?: { readonly error: unknown }
}

/** Without the service, wallet and chain that it was made with nothing can be learned of a call. */
async function waitForConfig(context: OrderContext, open: OpenCall): Promise<void> {
  tellUnknown(context, open, 'the config no longer names the wallet and chain of this call')
  await context.ports.clock.sleep(NOT_OURS_WAIT_MS, context.asked.bell(open.intent.id))
}

/**
 * Sends the same bytes again. Not past the deadline, while the chain is silent or under other code (rule A4): before a
 * crash it may never have been signed. Not when the signer does not sign it again (rule T1): it may never have reached the service.
 */
async function replay(following: Following): Promise<void> {
  const { context, open, call } = following
  const found = await look(following)
  if (found.tag !== 'open' || mayNotReplay(following)) return
  const mayBegin = (): boolean => {
    if (mayNotReplay(following)) return false
    const route = 'sendRawTransaction'
    context.ports.observe({ type: 'retry', service: 'aggregator', route, cause: 'unavailable' })
    const detail = 'the submission was not answered and is made again, the same bytes'
    following.doubt({ service: 'aggregator', what: 'submit', detail })
    return true
  }
  const onBarred = (why: Refusal): void => tellBarred(following, why)
  const answer = submitCall(context, open, { end: context.stop, mayBegin, onBarred })
  const reply = await attended(context, open, { answer, meanwhile: () => lookAgain(following) })
  if (reply !== undefined) await recordReply(context, open, { attempt: call.attempt, reply })
}

function mayNotReplay({ context, open, call, direct, glance }: Following): boolean {
  const isOver = open.call !== call || open.state !== 'exposed' || isPastDeadline(context, call)
  const isSent = direct.isSending === true
  return isOver || isSent || glance.isBarred === true
}

/** What is not signed again is left to the chain. Said once for each reason. */
function tellBarred({ context, open, glance }: Following, { reason, detail }: Refusal): void {
  if (glance.unsigned === reason) return
  glance.unsigned = reason
  tellUnknown(context, open, `not sent again (${reason}): ${detail}`)
}

async function poll(following: Following): Promise<void> {
  const { context, open, call, explain, doubt } = following
  const orderId = open.orderId as Hex | undefined
  if (orderId === undefined) return
  const answer = askReceipt(following, orderId)
  const reply = await attended(context, open, { answer, meanwhile: () => lookAgain(following) })
  if (reply === undefined) return
  const batch = reply.ok ? reply.value?.transactionHash : undefined
  const isOver = isPastDeadline(context, call)
  const isDue = batch !== undefined || isOver || mayFallBack(following)
  if (!isDue && !isLookDue(following, reply.ok ? 'waiting' : 'silent'))
    return explain({ orderId, batch })
  const found = await look(following, batch)
  if (found.tag !== 'open') return
  const detail = `the service names ${batch} for the call, and the chain does not show the call in it`
  if (batch !== undefined) doubt({ service: 'aggregator', what: 'receipt', detail })
  await explain({ orderId, batch })
}

/** What the service says of the transaction that carried the call: a hint, to be checked on chain. */
async function askReceipt(
  { context, aggregator, open, glance }: Following,
  orderId: Hex,
): Promise<Awaited<ReturnType<AggregatorContext['service']['receipt']>> | undefined> {
  const route = 'getTransactionReceipt'
  const reply = await aggregator.service.onTurn(context.stop, route, async (service, turn) => {
    if (open.orderId !== orderId || !isFollowed(open)) return turn.giveBack()
    const { cause } = glance
    if (cause !== undefined)
      context.ports.observe({ type: 'retry', service: 'aggregator', route, cause })
    return service.receipt(orderId)
  })
  glance.cause = reply === undefined || reply.ok ? undefined : reply.fault.tag
  if (reply?.ok === false && reply.fault.tag !== 'rateLimited')
    tellUnknown(context, open, reply.fault.message)
  return reply
}

/** Accepted, or open again after a reorganisation. */
function isFollowed({ state }: OpenCall): boolean {
  return state === 'accepted' || state === 'lapsing'
}

/** What stands in for a service that does not answer: the chain is asked, and the direct route taken where it is due. */
async function lookAgain(following: Following): Promise<void> {
  if (isLookDue(following, 'silent')) await look(following)
}

/**
 * Whether the chain is to be asked although the service names no transaction: at once when it says nothing, and again every
 * few seconds; less often while it says that the call has not landed, which may be wrong.
 */
function isLookDue({ context, glance }: Following, service: 'silent' | 'waiting'): boolean {
  const nowMs = context.ports.clock.now()
  const isFirst = service === 'silent' && !glance.wasSilent
  glance.wasSilent ||= service === 'silent'
  const everyMs = context.policy.silenceMs * (service === 'silent' ? 1 : WAITING_LOOKS_RARER)
  // The distance and not the difference: a clock that was set back must not keep the chain from being asked.
  if (!isFirst && Math.abs(nowMs - glance.atMs) < everyMs) return false
  glance.atMs = nowMs
  return true
}

function isPastDeadline(context: OrderContext, call: CallRecord): boolean {
  return call.trust === 'trustless' && context.ports.clock.now() > call.deadlineSeconds * 1000
}

/** Asks the chain, sends the call directly where the operator's rule allows it by now, and asks again. */
async function look(following: Following, hint?: Hex): Promise<Resolution<AccountView>> {
  const { context, aggregator, open, call } = following
  const found = await resolveCall(context, open, hint)
  if (found.tag !== 'open') return found
  const barred = delegationRefusal(aggregator, found.view)
  following.glance.isBarred = barred !== undefined
  if (barred !== undefined) tellUnknown(context, open, `nothing more is sent: ${barred.detail}`)
  const isDirect = barred === undefined && mayFallBack(following)
  const outcome = isDirect ? await goDirect(following) : undefined
  const now = isDirect ? await resolveCall(context, open, hint) : found
  if (open.reopened && now.tag === 'open') tellUnknown(context, open, REOPENED)
  if (now.tag !== 'open' || !isRefusedByAll(following, outcome)) return now
  await recordDeath(context, open, { attempt: call.attempt, view: now.view, how: 'expired' })
  return { tag: 'moved' }
}

/**
 * Sends the call directly, or waits a moment for what is on its way. It is followed beside the polls and not before them:
 * a transaction that is never mined must not hide that the service executed the call, nor that its deadline has passed.
 */
async function goDirect(following: Following): Promise<TransactionOutcome | undefined> {
  const { context, open, direct } = following
  if (!direct.isSending && direct.outcome === undefined) await launch(following)
  if (direct.failure !== undefined) throw direct.failure.error
  const { outcome } = direct
  if (outcome?.tag !== 'unsent' && outcome?.tag !== 'barred') return outcome
  const { detail } = outcome.tag === 'barred' ? outcome.closing : outcome
  tellUnknown(context, open, `not sent directly: ${detail}`)
  direct.outcome = undefined
  return outcome
}

async function launch({ context, aggregator, open, call, direct }: Following): Promise<void> {
  direct.isSending = true
  const { intent } = open
  const { clock } = context.ports
  const isSeen = new Promise<void>((resolve) => {
    const done = sendDirectly(context, aggregator, { intent, call }, resolve).then(
      (outcome) => Object.assign(direct, { isSending: false, outcome }),
      (error: unknown) => Object.assign(direct, { isSending: false, failure: { error } }),
    )
    void done.then(() => resolve())
  })
  await Promise.race([isSeen, clock.sleep(DIRECT_WAIT_MS, context.stop)])
}

/**
 * Whether a trusted call is over: the service refused it, and the direct transaction was not made or, as a final block shows,
 * did not execute it. No deadline ever ends such a call. A trustless one stays alive until its own.
 */
function isRefusedByAll(
  { context, open, call, direct }: Following,
  outcome?: TransactionOutcome,
): boolean {
  if (call.trust === 'trustless' || open.ended?.status !== 'rejected') return false
  if (outcome?.tag === 'stopped' || direct.isSending) return false
  if (outcome?.tag === 'unsent' && outcome.why === 'unavailable') return false
  const { directCalls, endedTransactions } = context.ports.journal.state
  // What was executed once was sent, whatever older records still know of it.
  if (!directCalls.has(call.clientOrderId)) return !open.reopened
  const ended = endedTransactions.get(directId(call))
  return ended === 'reverted' || ended === 'lost'
}

/**
 * `rejected-only`: the service said no before it took the call. `after-deadline`: also towards the deadline of what was signed, past
 * which neither route can execute it; only a trustless call, whose nonce lets one of the two do so (rules A1, A2).
 */
function mayFallBack({ context, aggregator, open, call }: Following): boolean {
  const { mode } = aggregator.settings.fallback
  // A slot that was closed once never makes a transaction again.
  if (mode === 'off' || open.reopened || isPastDeadline(context, call)) return false
  if (haltedNow(context) !== undefined) return false
  if (open.ended?.status === 'rejected') return true
  if (mode === 'rejected-only' || call.trust === 'trusted') return false
  const { policy, ports } = context
  // By what was signed: the config may say another lifetime by now.
  const deadlineMs = call.deadlineSeconds * 1000
  const lifetimeMs = deadlineMs - exposedAtMs(context, open)
  const roomMs = Math.min(lifetimeMs * policy.directShare, policy.directMsMax)
  return ports.clock.now() > deadlineMs - roomMs
}
