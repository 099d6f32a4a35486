import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { AccountView, AggregatorFault } from '../../ports.ts'
import { type Resolution, recordDeath, recordReply, reportUnknown } from '../authorization.ts'
import { delegationRefusal, haltedNow } from '../close.ts'
import { createConflictReporter } from '../conflict.ts'
import {
  type AggregatorContext,
  type CallContext,
  hasAggregator,
  type OrderContext,
} from '../context.ts'
import { createRefusalReporter, exposedAtMs, whileReadingChain } from '../follow.ts'
import type { FollowSteps } from '../venue.ts'
import type { TransactionOutcome } from '../wallet/transaction.ts'
import { withLimitAdvice } from './call-gas.ts'
import { createExplainer } from './explain.ts'
import { isOwnCall, resolveCall } from './resolve.ts'
import { directId, sendDirectly, submitCall, submitRoute } from './submit.ts'

const NOT_OURS_WAIT_MS = 60_000
/** While the service reports a call as pending, the chain is read this many times less often than while it is silent. */
const WAITING_READS_RARER = 5
/** About one block, so a mined transaction is proven in the same step. */
const DIRECT_WAIT_MS = 12_000

const REOPENED =
  'a reorganisation took its execution away, and the chain does not show it again yet'

/** Follows a call: resends the same bytes, polls its receipt, reads the chain, and falls back to sending it directly. */
export function callSteps(context: OrderContext, open: OpenCall): FollowSteps {
  const { call } = open
  if (!hasAggregator(context) || call === undefined || !isOwnCall(context, call)) {
    const wait = (): Promise<unknown> => waitForConfig(context, open)
    return { replay: wait, poll: wait, resolve: wait }
  }
  const following: Following = {
    context,
    open,
    call,
    direct: {},
    lastRead: { atMs: context.ports.clock.now(), wasSilent: false },
    explain: createExplainer(context, open),
    reportConflict: createConflictReporter(context, open),
    reportRefusal: createRefusalReporter(context, open),
  }
  return {
    replay: () => replay(following),
    poll: () => poll(following),
    // The service knew the call and may name its new transaction.
    resolve: () => (open.orderId === undefined ? readChain(following) : poll(following)),
  }
}

type Following = {
  readonly context: CallContext
  readonly open: OpenCall
  readonly call: CallRecord
  readonly direct: DirectRoute
  readonly lastRead: LastRead
  readonly explain: ReturnType<typeof createExplainer>
  readonly reportConflict: ReturnType<typeof createConflictReporter>
  readonly reportRefusal: ReturnType<typeof createRefusalReporter>
}

type LastRead = {
  atMs: number
  wasSilent: boolean
  cause?: AggregatorFault['tag'] | undefined
  /** True if the account's code forbids submitting (rule A4). */
  isBlocked?: boolean
}

/** The direct transaction: empty until sent, then its final outcome or failure. */
type DirectRoute = {
  isSending?: boolean
  outcome?: TransactionOutcome | undefined
  failure?: { readonly error: unknown }
}

/** A call can be followed only with its original service, wallet and chain. */
async function waitForConfig(context: OrderContext, open: OpenCall): Promise<void> {
  reportUnknown(context, open, 'the config no longer names the wallet and chain of this call')
  await context.ports.clock.sleep(NOT_OURS_WAIT_MS, context.requests.bell(open.intent.id))
}

/**
 * Resends the same bytes, but not past the deadline, while the chain is silent, or under other code (rule A4): before a
 * crash the call may never have been signed. The signer may refuse (rule T1); the call then may never reach the service.
 */
async function replay(following: Following): Promise<void> {
  const { context, open, call } = following
  const found = await readChain(following)
  if (found.tag !== 'open' || mayNotReplay(following)) return
  const mayBegin = (): boolean => {
    if (mayNotReplay(following)) return false
    const route = submitRoute(context.aggregator)
    context.ports.observe({ type: 'retry', service: 'aggregator', route, cause: 'unavailable' })
    const detail = 'the submission was not answered and is made again, the same bytes'
    following.reportConflict({ service: 'aggregator', what: 'submit', detail })
    return true
  }
  const onRefused = following.reportRefusal
  const reply = await whileReadingChain(context, open, {
    ask: (end) => submitCall(context, open, { end, mayBegin, onRefused }),
    meanwhile: () => readAgain(following),
  })
  if (reply !== undefined) await recordReply(context, open, { attempt: call.attempt, reply })
}

function mayNotReplay({ context, open, call, direct, lastRead }: Following): boolean {
  const isOver = open.call !== call || open.state !== 'exposed' || isPastDeadline(context, call)
  return isOver || direct.isSending === true || lastRead.isBlocked === true
}

async function poll(following: Following): Promise<void> {
  const { context, open, call, explain, reportConflict } = following
  const orderId = open.orderId as Hex | undefined
  if (orderId === undefined) return
  const reply = await whileReadingChain(context, open, {
    ask: (end) => askReceipt(following, orderId, end),
    meanwhile: () => readAgain(following),
  })
  if (reply === undefined) return
  const batch = reply.ok ? reply.value?.transactionHash : undefined
  const isOver = isPastDeadline(context, call)
  const isDue = batch !== undefined || isOver || mayFallBack(following)
  if (!isDue && !isReadDue(following, reply.ok ? 'waiting' : 'silent'))
    return explain({ orderId, batch })
  const found = await readChain(following, batch)
  if (found.tag !== 'open') return
  const detail = `the service names ${batch} for the call, and the chain does not show the call in it`
  if (batch !== undefined) reportConflict({ service: 'aggregator', what: 'receipt', detail })
  await explain({ orderId, batch })
}

/** The service's transaction for the call: a hint to verify on chain. */
async function askReceipt(
  { context, open, lastRead }: Following,
  orderId: Hex,
  end: AbortSignal,
): Promise<Awaited<ReturnType<AggregatorContext['service']['receipt']>> | undefined> {
  const route = 'getTransactionReceipt'
  const reply = await context.aggregator.service.onTurn(end, route, async (service, turn) => {
    const isFollowed = open.state === 'accepted' || open.state === 'lapsing'
    if (open.orderId !== orderId || !isFollowed) return turn.giveBack()
    const { cause } = lastRead
    if (cause !== undefined)
      context.ports.observe({ type: 'retry', service: 'aggregator', route, cause })
    return service.receipt(orderId)
  })
  lastRead.cause = reply === undefined || reply.ok ? undefined : reply.fault.tag
  if (reply?.ok === false && reply.fault.tag !== 'rateLimited')
    reportUnknown(context, open, reply.fault.message)
  return reply
}

/** Stands in for a silent service: reads the chain, and takes the direct route if due. */
async function readAgain(following: Following): Promise<void> {
  if (isReadDue(following, 'silent')) await readChain(following)
}

/**
 * True if the chain should be read without a hint from the service: at once and every few seconds while the service is
 * silent, less often while it reports the call as pending, which may be wrong.
 */
function isReadDue({ context, lastRead }: Following, service: 'silent' | 'waiting'): boolean {
  const nowMs = context.ports.clock.now()
  const isFirst = service === 'silent' && !lastRead.wasSilent
  lastRead.wasSilent ||= service === 'silent'
  const everyMs = context.policy.silenceMs * (service === 'silent' ? 1 : WAITING_READS_RARER)
  // Absolute distance: a clock that was set back must not stop chain reads.
  if (!isFirst && Math.abs(nowMs - lastRead.atMs) < everyMs) return false
  lastRead.atMs = nowMs
  return true
}

function isPastDeadline(context: OrderContext, call: CallRecord): boolean {
  return call.trust === 'trustless' && context.ports.clock.now() > call.deadlineSeconds * 1000
}

/** Reads the chain, sends the call directly if the operator's fallback rule now allows it, and reads again. */
async function readChain(following: Following, hint?: Hex): Promise<Resolution<AccountView>> {
  const { context, open, call } = following
  const found = await resolveCall(context, open, hint)
  if (found.tag !== 'open') return found
  const blocked = delegationRefusal(context.aggregator, found.view)
  following.lastRead.isBlocked = blocked !== undefined
  if (blocked !== undefined) reportUnknown(context, open, `nothing more is sent: ${blocked.detail}`)
  const isDirect = blocked === undefined && mayFallBack(following)
  const outcome = isDirect ? await goDirect(following) : undefined
  const now = isDirect ? await resolveCall(context, open, hint) : found
  if (open.reopened && now.tag === 'open') reportUnknown(context, open, REOPENED)
  if (now.tag !== 'open' || !isRefusedByAll(following, outcome)) return now
  await recordDeath(context, open, { attempt: call.attempt, view: now.view, how: 'expired' })
  return { tag: 'moved' }
}

/**
 * Sends the call directly, or waits briefly for a pending direct transaction. It runs beside the polls: a transaction that
 * is never mined must not hide an execution by the service, or an expired deadline.
 */
async function goDirect(following: Following): Promise<TransactionOutcome | undefined> {
  const { context, open, call, direct } = following
  if (!direct.isSending && direct.outcome === undefined) await launch(following)
  if (direct.failure !== undefined) throw direct.failure.error
  const { outcome } = direct
  if (outcome?.tag !== 'unsent' && outcome?.tag !== 'blocked') return outcome
  const { detail } = outcome.tag === 'blocked' ? outcome.closing : outcome
  reportUnknown(context, open, `not sent directly: ${withLimitAdvice(detail, call)}`)
  direct.outcome = undefined
  return outcome
}

async function launch({ context, open, call, direct }: Following): Promise<void> {
  direct.isSending = true
  const { clock } = context.ports
  const isSeen = new Promise<void>((resolve) => {
    const done = sendDirectly(context, open.intent.id, call, resolve).then(
      (outcome) => Object.assign(direct, { isSending: false, outcome }),
      (error: unknown) => Object.assign(direct, { isSending: false, failure: { error } }),
    )
    void done.then(() => resolve())
  })
  await Promise.race([isSeen, clock.sleep(DIRECT_WAIT_MS, context.stop)])
}

/**
 * True if a trusted call is over: the service refused it, and its direct transaction was never sent, or a final block shows
 * that it did not execute the call. A trusted call has no deadline; a trustless one lives until its own.
 */
function isRefusedByAll(
  { context, open, call, direct }: Following,
  outcome?: TransactionOutcome,
): boolean {
  if (call.trust === 'trustless' || open.ended?.status !== 'rejected') return false
  if (outcome?.tag === 'stopped' || direct.isSending) return false
  if (outcome?.tag === 'unsent' && outcome.why === 'unavailable') return false
  const { directCalls, endedTransactions } = context.ports.journal.state
  // A reopened call was executed once, so it was sent, even if older records do not show it.
  if (!directCalls.has(call.clientOrderId)) return !open.reopened
  const ended = endedTransactions.get(directId(call))
  return ended === 'reverted' || ended === 'lost'
}

/**
 * `rejected-only`: the service refused the call before accepting it. `after-deadline`: also near the signed deadline, for
 * trustless calls only, because their nonce lets just one route execute (rules A1, A2).
 */
function mayFallBack({ context, open, call }: Following): boolean {
  const { mode } = context.aggregator.settings.fallback
  // A reopened slot was closed once, so it sends no more transactions.
  if (mode === 'off' || open.reopened || isPastDeadline(context, call)) return false
  if (haltedNow(context) !== undefined) return false
  if (open.ended?.status === 'rejected') return true
  if (mode === 'rejected-only' || call.trust === 'trusted') return false
  const { policy, ports } = context
  // Uses the signed deadline, because the config's lifetime may have changed.
  const deadlineMs = call.deadlineSeconds * 1000
  const lifetimeMs = deadlineMs - exposedAtMs(context, open)
  const roomMs = Math.min(lifetimeMs * policy.directShare, policy.directMsMax)
  return ports.clock.now() > deadlineMs - roomMs
}
