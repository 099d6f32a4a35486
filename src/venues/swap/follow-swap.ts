import type { Hex } from '../../domain/money/units.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { ServiceOrder } from '../../domain/order/quote.ts'
import { orderEnded } from '../../journal/events/order/outcomes.ts'
import type { RetryCause } from '../../journal/runtime-event.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { PermitView } from '../../ports.ts'
import { type Resolution, recordReply, reportUnknown } from '../authorization.ts'
import { createConflictReporter } from '../conflict.ts'
import type { OrderContext } from '../context.ts'
import { createRefusalReporter, whileReadingChain } from '../follow.ts'
import type { FollowSteps } from '../venue.ts'
import { noteForeign } from './attempt.ts'
import { resolveSwap } from './resolve.ts'

/** Resubmits identically, polls by order id, and reads the chain past the deadline or while the service is silent. */
export function swapSteps(context: OrderContext, open: OpenSwap): FollowSteps {
  const following: Following = {
    context,
    open,
    submission: { cause: 'unavailable' },
    reportRefusal: createRefusalReporter(context, open),
    polls: {},
    chain: { isSilent: false, hasCode: false },
    reportConflict: createConflictReporter(context, open),
  }
  return {
    replay: () => replay(following),
    poll: () => poll(following),
    resolve: () => resolve(following),
  }
}

type Following = {
  readonly context: OrderContext
  readonly open: OpenSwap
  /** Why the last submission must be repeated, if this process knows. */
  readonly submission: { cause: RetryCause }
  readonly reportRefusal: ReturnType<typeof createRefusalReporter>
  /** Why the last poll failed, and when the chain was read instead. */
  readonly polls: { cause?: RetryCause | undefined; chainAskedAtMs?: number }
  /** `isSilent`: the last chain read failed. `hasCode`: the wallet had code at the last successful read. */
  readonly chain: { isSilent: boolean; hasCode: boolean }
  readonly reportConflict: ReturnType<typeof createConflictReporter>
}

/** Reads the permit's outcome from the chain. `hint` is the service's settlement transaction. */
async function readChain(
  { context, open, chain, reportConflict }: Following,
  hint?: Hex,
): Promise<Resolution<PermitView>> {
  const { observe } = context.ports
  if (chain.isSilent)
    observe({ type: 'retry', service: 'rpc', route: 'permit', cause: 'unavailable' })
  const found = await resolveSwap(context, open, hint)
  chain.isSilent = found.tag === 'unknown'
  if (found.tag !== 'open') return found
  chain.hasCode = found.view.ownerHasCode
  if (found.waits !== undefined) reportConflict(found.waits)
  return found
}

/** The chain decides. If only the service's clock delays the end, one more poll refreshes that clock. */
async function resolve(following: Following): Promise<void> {
  const { context, open } = following
  const { orderId } = open
  const found = await readChain(following)
  const isClock = found.tag === 'open' && found.waits?.service === 'gasless'
  if (!isClock || orderId === undefined) return
  const { gasless, queue } = context.ports
  const ask = (end: AbortSignal) =>
    queue.runUnless(end, 'poll', async (turn) =>
      open.state === 'lapsing' ? gasless.order(orderId) : turn.giveBack(),
    )
  await whileReadingChain(context, open, { ask, meanwhile: () => readChain(following) })
}

function isPastDeadline({ context, open }: Following): boolean {
  return context.ports.clock.now() > (open.permit?.deadlineSeconds ?? 0) * 1000
}

/**
 * Resends the same bytes under the same id, because signing is deterministic. From now on a refusal means unknown (rule G7).
 * Does not resend while the chain is silent, past the deadline, or if the wallet has code (rule A5): before a crash the
 * permit may never have been signed. The signer may refuse (rule T1); the permit then may never reach the service.
 */
async function replay(following: Following): Promise<void> {
  const { context, open, submission, reportRefusal } = following
  const { gasless, observe, queue, signer } = context.ports
  const { permit } = open
  const found = await readChain(following)
  if (permit === undefined || found.tag !== 'open') return
  if (mayNotReplay(following, permit)) return
  const ask = (end: AbortSignal) =>
    queue.runUnless(end, 'submit', async (turn) => {
      // It may have waited for minutes, with many chain reads in between.
      if (mayNotReplay(following, permit)) return turn.giveBack()
      const signed = signer.permit(open.intent.id)
      reportRefusal(signed.ok ? undefined : signed)
      if (!signed.ok) return turn.giveBack()
      const { cause } = submission
      observe({ type: 'retry', service: 'gasless', route: 'submit', cause })
      const detail = `the submission was not answered (${cause}) and is made again, the same bytes under the same id`
      following.reportConflict({ service: 'gasless', what: 'submit', detail })
      const { quoteId, clientOrderId } = permit
      return gasless.submit({ quoteId, signature: signed.value, clientOrderId })
    })
  const meanwhile = (): Promise<void> => askChainAgain(following)
  const reply = await whileReadingChain(context, open, { ask, meanwhile })
  if (reply === undefined) return
  const { attempt } = permit
  if (reply.ok) {
    const { orderId } = reply.value
    return recordReply(context, open, { attempt, reply: { tag: 'accepted', orderId } })
  }
  await noteForeign(context, reply)
  const { tag, message } = reply.fault
  submission.cause = tag
  return recordReply(context, open, { attempt, reply: { tag: 'unknown', message } })
}

function mayNotReplay(following: Following, permit: PermitRecord): boolean {
  const { open, chain } = following
  const isOver = open.permit !== permit || open.state !== 'exposed'
  return isOver || isPastDeadline(following) || chain.isSilent || chain.hasCode
}

async function poll(following: Following): Promise<void> {
  const { context, open, polls } = following
  const { gasless, observe, queue } = context.ports
  const { orderId } = open
  if (orderId === undefined) return
  const ask = (end: AbortSignal) =>
    queue.runUnless(end, 'poll', async (turn) => {
      if (open.orderId !== orderId || open.state !== 'accepted') return turn.giveBack()
      const { cause } = polls
      if (cause !== undefined) observe({ type: 'retry', service: 'gasless', route: 'poll', cause })
      return gasless.order(orderId)
    })
  const meanwhile = (): Promise<void> => askChainAgain(following)
  const reply = await whileReadingChain(context, open, { ask, meanwhile })
  if (reply === undefined) return
  polls.cause = reply.ok ? undefined : reply.fault.tag
  if (reply.ok) return settle(following, reply.value)
  const { tag, message } = reply.fault
  if (tag !== 'rateLimited') reportUnknown(context, open, message)
  await askChainAgain(following)
}

/**
 * Stands in for a silent service, because the chain also shows settled orders. Reads at once the first time, then at most
 * every `silenceMs`; an unused nonce changes nothing before the deadline.
 */
async function askChainAgain(following: Following): Promise<void> {
  const { context, polls } = following
  const { chainAskedAtMs } = polls
  const nowMs = context.ports.clock.now()
  // Absolute distance: a clock that was set back must not stop chain reads.
  const isSoon =
    chainAskedAtMs !== undefined && Math.abs(nowMs - chainAskedAtMs) < context.policy.silenceMs
  if (isSoon) return
  polls.chainAskedAtMs = nowMs
  await readChain(following)
}

/** Checks the service's claim: a fill needs proof, and the end of an order does not end its permit. */
async function settle(following: Following, order: ServiceOrder): Promise<void> {
  const { context, open } = following
  switch (order.status) {
    case 'pending':
      if (isPastDeadline(following)) await readChain(following)
      return
    case 'filled':
      return settleFilled(following, order)
    case 'failed':
    case 'expired': {
      const { status, error } = order
      const { attempt, intent } = open
      const end = { intentId: intent.id, attempt, status, message: error?.message ?? status }
      return context.ports.journal.append(orderEnded(end))
    }
  }
}

/** A fill needs proof. The chain may lag briefly. */
async function settleFilled(following: Following, { txHash }: ServiceOrder): Promise<void> {
  const found = await readChain(following, txHash)
  if (found.tag !== 'open') return
  const why = found.view.nonceUsed ? 'shows no fill of it' : "has its permit's nonce unused"
  const detail = `the service says filled${txHash === undefined ? '' : ` in ${txHash}`}, and the chain ${why}`
  following.reportConflict({ service: 'gasless', what: 'filled', detail })
}
