import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord } from '../../domain/call.ts'
import type { Hex } from '../../domain/units.ts'
import type { AccountView } from '../../ports.ts'
import { delegationRefusal } from '../authority/delegation.ts'
import { type Resolution, recordDeath, recordReply, tellUnknown } from '../authorization.ts'
import { haltedNow } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { exposedAtMs } from '../follow.ts'
import type { TransactionOutcome } from '../transaction.ts'
import type { FollowSteps } from '../venue.ts'
import { createExplainer } from './explain.ts'
import { isOwnCall, resolveCall } from './resolve.ts'
import { directId, sendDirectly, submitCall } from './submit.ts'

const NOT_OURS_WAIT_MS = 60_000
/** About a block: what is mined by then is proven without another round. */
const DIRECT_WAIT_MS = 12_000

/** Following a call: send the same bytes again, poll its receipt, ask the chain, and fall back to sending it directly. */
export function callSteps(context: OrderContext, open: OpenCall): FollowSteps {
  const { aggregator } = context
  const { call } = open
  if (aggregator === undefined || call === undefined || !isOwnCall(aggregator, call)) {
    const wait = (): Promise<unknown> => waitForConfig(context, open)
    return { replay: wait, poll: wait, resolve: wait }
  }
  const explain = createExplainer(context, aggregator, open)
  const following = { context, aggregator, open, call, direct: {}, explain }
  return {
    replay: () => replay(following),
    poll: () => poll(following),
    resolve: () => look(following),
  }
}

type Following = {
  readonly context: OrderContext
  readonly aggregator: AggregatorContext
  readonly open: OpenCall
  readonly call: CallRecord
  readonly direct: DirectRoute
  readonly explain: ReturnType<typeof createExplainer>
}

/** The direct transaction on its way: undefined as long as none is, with its outcome or failure at the end. */
type DirectRoute = {
  isSending?: boolean
  outcome?: TransactionOutcome | undefined
  failure?: { readonly error: unknown }
}

/** Without the service, wallet and chain that it was made with nothing can be learned of a call. */
async function waitForConfig(context: OrderContext, open: OpenCall): Promise<void> {
  tellUnknown(context, open, 'the config no longer names the wallet and chain of this call')
  await context.ports.clock.sleep(NOT_OURS_WAIT_MS, context.stop)
}

/**
 * Sends the same bytes again. Not past the deadline, while the chain is silent or under other code (rule A4): before a
 * crash it may never have been signed.
 */
async function replay(following: Following): Promise<void> {
  const { context, aggregator, open, call } = following
  const found = await look(following)
  if (found.tag !== 'open' || isPastDeadline(context, call) || following.direct.isSending) return
  if (delegationRefusal(aggregator, found.view) !== undefined) return
  if (haltedNow(context) !== undefined) return
  const reply = await submitCall(aggregator, call, 'replay')
  await recordReply(context, open, { attempt: call.attempt, reply })
}

async function poll(following: Following): Promise<void> {
  const { context, open, call, explain } = following
  const orderId = open.orderId as Hex | undefined
  if (orderId === undefined) return
  const batch = await namedBatch(following, orderId)
  const isOver = isPastDeadline(context, call)
  if (batch === undefined && !mayFallBack(following) && !isOver) return explain({ orderId, batch })
  const found = await look(following, batch)
  if (found.tag === 'open') await explain({ orderId, batch })
}

/** The transaction that the service says carried the call: a hint, to be checked on chain. */
async function namedBatch(
  { context, aggregator, open }: Following,
  orderId: Hex,
): Promise<Hex | undefined> {
  const reply = await aggregator.service.receipt(orderId)
  if (reply.ok) return reply.value?.transactionHash
  const { tag, message } = reply.fault
  const route = 'getTransactionReceipt'
  if (tag === 'rateLimited')
    context.ports.observe({ type: 'retry', service: 'aggregator', route, cause: tag })
  else tellUnknown(context, open, message)
  return undefined
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
  if (barred !== undefined) tellUnknown(context, open, `nothing more is sent: ${barred.detail}`)
  const isDirect = barred === undefined && mayFallBack(following)
  const outcome = isDirect ? await goDirect(following) : undefined
  const now = isDirect ? await resolveCall(context, open, hint) : found
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
  if (outcome?.tag !== 'unsent') return outcome
  tellUnknown(context, open, `not sent directly: ${outcome.detail}`)
  direct.outcome = undefined
  return outcome
}

async function launch({ context, aggregator, open, call, direct }: Following): Promise<void> {
  direct.isSending = true
  const done = sendDirectly(context, aggregator, open, call).then(
    (outcome) => Object.assign(direct, { isSending: false, outcome }),
    (error: unknown) => Object.assign(direct, { isSending: false, failure: { error } }),
  )
  await Promise.race([done, context.ports.clock.sleep(DIRECT_WAIT_MS, context.stop)])
}

/**
 * Whether a trusted call is over: the service refused it, and the direct transaction was not made or did not execute
 * it. No deadline ever ends such a call. A trustless one stays alive until its own.
 */
function isRefusedByAll(
  { context, open, call, direct }: Following,
  outcome?: TransactionOutcome,
): boolean {
  if (call.trust === 'trustless' || open.ended?.status !== 'rejected') return false
  if (outcome?.tag === 'stopped' || direct.isSending) return false
  if (outcome?.tag === 'unsent' && outcome.why === 'unavailable') return false
  const { directCalls, endedTransactions } = context.ports.journal.state
  if (!directCalls.has(call.clientOrderId)) return true
  const ended = endedTransactions.get(directId(call))
  return ended === 'reverted' || ended === 'lost'
}

/**
 * `rejected-only`: the service said no before it took the call. `after-deadline`: also when it has been silent for the
 * deadline; only a trustless call, whose nonce lets one of the two routes execute (rules A1, A2).
 */
function mayFallBack({ context, aggregator, open, call }: Following): boolean {
  const { mode, deadlineMs } = aggregator.settings.fallback
  if (mode === 'off' || isPastDeadline(context, call)) return false
  if (haltedNow(context) !== undefined) return false
  if (open.ended?.status === 'rejected') return true
  if (mode === 'rejected-only' || call.trust === 'trusted') return false
  return context.ports.clock.now() - exposedAtMs(context, open) > deadlineMs
}
