import type { OpenSwap } from '../../domain/book/state.ts'
import type { RetryCause } from '../../domain/observation.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import type { ServiceOrder } from '../../domain/quote.ts'
import type { Hex } from '../../domain/units.ts'
import type { PermitView } from '../../ports.ts'
import { type Resolution, recordReply, tellUnknown } from '../authorization.ts'
import type { Refusal } from '../close.ts'
import type { OrderContext } from '../context.ts'
import { createDoubts } from '../doubt.ts'
import { attended } from '../follow.ts'
import type { FollowSteps } from '../venue.ts'
import { noteForeign } from './attempt.ts'
import { resolveSwap } from './resolve.ts'

/**
 * Following a swap: replay the identical submission, poll the order by its id, and ask the chain past the deadline or while
 * the service says nothing.
 */
export function swapSteps(context: OrderContext, open: OpenSwap): FollowSteps {
  const following: Following = {
    context,
    open,
    submission: { cause: 'unavailable' },
    polls: {},
    chain: { isSilent: false, hasCode: false },
    doubt: createDoubts(context, open),
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
  /** Why the last submission has to be repeated, as far as this process knows, and why the signer does not let it. */
  readonly submission: { cause: RetryCause; barred?: Refusal['reason'] | undefined }
  /** Why the last poll said nothing, and when the chain was asked instead. */
  readonly polls: { cause?: RetryCause | undefined; chainAskedAtMs?: number }
  /** Whether the chain did not answer the last look at it, and whether the wallet had code at the last that it answered. */
  readonly chain: { isSilent: boolean; hasCode: boolean }
  readonly doubt: ReturnType<typeof createDoubts>
}

/** Asks the chain what became of the permit. `hint` is the service's word for where it was settled. */
async function look(
  { context, open, chain, doubt }: Following,
  hint?: Hex,
): Promise<Resolution<PermitView>> {
  const { observe } = context.ports
  if (chain.isSilent)
    observe({ type: 'retry', service: 'rpc', route: 'permit', cause: 'unavailable' })
  const found = await resolveSwap(context, open, hint)
  chain.isSilent = found.tag === 'unknown'
  if (found.tag !== 'open') return found
  chain.hasCode = found.view.ownerHasCode
  if (found.waits !== undefined) doubt(found.waits)
  return found
}

/**
 * The service is done with the order, and the chain decides. Its clock is known by its answers alone: where that is what is
 * waited for, it is asked for the order once more, or it would stay as it was when it was last heard.
 */
async function resolve(following: Following): Promise<void> {
  const { context, open } = following
  const { orderId } = open
  const found = await look(following)
  const isClock = found.tag === 'open' && found.waits?.service === 'gasless'
  if (!isClock || orderId === undefined) return
  const { gasless, queue } = context.ports
  const answer = queue.runUnless(context.stop, 'poll', async (turn) =>
    open.state === 'lapsing' ? gasless.order(orderId) : turn.giveBack(),
  )
  await attended(context, open, { answer, meanwhile: () => look(following) })
}

function isPastDeadline({ context, open }: Following): boolean {
  return context.ports.clock.now() > (open.permit?.deadlineSeconds ?? 0) * 1000
}

/**
 * Sends the same bytes under the same id again; signing is deterministic. Any refusal now means unknown (rule G7). Not
 * while the chain is silent, past the deadline, or when the wallet has got code (rule A5): it may never have been
 * signed before a crash. Not when the signer does not sign it again (rule T1): it may never have reached the service.
 */
async function replay(following: Following): Promise<void> {
  const { context, open, submission } = following
  const { gasless, observe, queue, signer } = context.ports
  const { permit } = open
  const found = await look(following)
  if (permit === undefined || found.tag !== 'open') return
  if (mayNotReplay(following, permit)) return
  const sent = queue.runUnless(context.stop, 'submit', async (turn) => {
    // It may have waited for its turn for minutes, in which the chain was asked again and again.
    if (mayNotReplay(following, permit)) return turn.giveBack()
    const signed = signer.permit(open.intent.id)
    if (!signed.ok) {
      tellBarred(following, signed)
      return turn.giveBack()
    }
    submission.barred = undefined
    const { cause } = submission
    observe({ type: 'retry', service: 'gasless', route: 'submit', cause })
    const detail = `the submission was not answered (${cause}) and is made again, the same bytes under the same id`
    following.doubt({ service: 'gasless', what: 'submit', detail })
    const { quoteId, clientOrderId } = permit
    return gasless.submit({ quoteId, signature: signed.value, clientOrderId })
  })
  const meanwhile = (): Promise<void> => askChainAgain(following)
  const reply = await attended(context, open, { answer: sent, meanwhile })
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

/** What is not signed again is left to the chain. Said once for each reason. */
function tellBarred({ context, open, submission }: Following, { reason, detail }: Refusal): void {
  if (submission.barred === reason) return
  submission.barred = reason
  tellUnknown(context, open, `not sent again (${reason}): ${detail}`)
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
  const asked = queue.runUnless(context.stop, 'poll', async (turn) => {
    if (open.orderId !== orderId || open.state !== 'accepted') return turn.giveBack()
    const { cause } = polls
    if (cause !== undefined) observe({ type: 'retry', service: 'gasless', route: 'poll', cause })
    return gasless.order(orderId)
  })
  const meanwhile = (): Promise<void> => askChainAgain(following)
  const reply = await attended(context, open, { answer: asked, meanwhile })
  if (reply === undefined) return
  polls.cause = reply.ok ? undefined : reply.fault.tag
  if (reply.ok) return settle(following, reply.value)
  const { tag, message } = reply.fault
  if (tag !== 'rateLimited') tellUnknown(context, open, message)
  await askChainAgain(following)
}

/**
 * What stands in for a service that says nothing: a settled order is found on the chain as well. At once the first time, then
 * no sooner than `silenceMs` after the time before; an unused nonce changes nothing before the deadline.
 */
async function askChainAgain(following: Following): Promise<void> {
  const { context, polls } = following
  const { chainAskedAtMs } = polls
  const nowMs = context.ports.clock.now()
  // The distance and not the difference: a clock that was set back must not keep the chain from being asked.
  const isSoon =
    chainAskedAtMs !== undefined && Math.abs(nowMs - chainAskedAtMs) < context.policy.silenceMs
  if (isSoon) return
  polls.chainAskedAtMs = nowMs
  await look(following)
}

/** What the service says, checked: a fill wants proof, and the end of an order does not end its permit. */
async function settle(following: Following, order: ServiceOrder): Promise<void> {
  const { context, open } = following
  switch (order.status) {
    case 'pending':
      if (isPastDeadline(following)) await look(following)
      return
    case 'filled':
      return settleFilled(following, order)
    case 'failed':
    case 'expired':
      return endOrder(context, open, { status: order.status, message: order.error?.message })
  }
}

/** A fill wants proof. For a moment it is normal that the chain does not show it yet. */
async function settleFilled(following: Following, { txHash }: ServiceOrder): Promise<void> {
  const found = await look(following, txHash)
  if (found.tag !== 'open') return
  const why = found.view.nonceUsed ? 'shows no fill of it' : "has its permit's nonce unused"
  const detail = `the service says filled${txHash === undefined ? '' : ` in ${txHash}`}, and the chain ${why}`
  following.doubt({ service: 'gasless', what: 'filled', detail })
}

function endOrder(
  context: OrderContext,
  { attempt, intent }: OpenSwap,
  { status, message = status }: { status: 'failed' | 'expired'; message: string | undefined },
): Promise<void> {
  const { journal } = context.ports
  return journal.append({ type: 'order-ended', intentId: intent.id, attempt, status, message })
}
