import type { OpenSwap } from '../../domain/book/state.ts'
import type { ServiceOrder } from '../../domain/quote.ts'
import { recordReply, type SubmitReply, tellUnknown } from '../authorization.ts'
import { haltedNow } from '../close.ts'
import type { OrderContext } from '../context.ts'
import type { FollowSteps } from '../venue.ts'
import { resolveSwap } from './resolve.ts'

/** Following a swap: replay the identical submission, poll the order by its id, ask the chain past the deadline. */
export function swapSteps(context: OrderContext, open: OpenSwap): FollowSteps {
  return {
    replay: () => replay(context, open),
    poll: () => poll(context, open),
    resolve: () => resolveSwap(context, open),
  }
}

function isPastDeadline(context: OrderContext, open: OpenSwap): boolean {
  return context.ports.clock.now() > (open.permit?.deadlineSeconds ?? 0) * 1000
}

/**
 * Sends the same bytes under the same id again; signing is deterministic. Any refusal now means unknown (rule G7). Not
 * while the chain is silent, past the deadline, or when the wallet has got code (rule A5): it may never have been
 * signed before a crash. Not while everything is halted: it may never have reached the service.
 */
async function replay(context: OrderContext, open: OpenSwap): Promise<void> {
  const { gasless, queue, signer } = context.ports
  const { permit } = open
  const found = await resolveSwap(context, open)
  if (permit === undefined || found.tag !== 'open' || found.view.ownerHasCode) return
  if (isPastDeadline(context, open) || haltedNow(context) !== undefined) return
  const answer = await queue.run('submit', () =>
    gasless.submit({
      quoteId: permit.quoteId,
      signature: signer.signDigest(permit.digest),
      clientOrderId: permit.clientOrderId,
    }),
  )
  const reply: SubmitReply = answer.ok
    ? { tag: 'accepted', orderId: answer.value.orderId }
    : { tag: 'unknown', message: answer.fault.message }
  await recordReply(context, open, { attempt: permit.attempt, reply })
}

async function poll(context: OrderContext, open: OpenSwap): Promise<void> {
  const { gasless, observe, queue } = context.ports
  const { orderId } = open
  if (orderId === undefined) return
  const reply = await queue.run('poll', () => gasless.order(orderId))
  if (reply.ok) return settle(context, open, reply.value)
  const { tag, message } = reply.fault
  if (tag === 'rateLimited')
    observe({ type: 'retry', service: 'gasless', route: 'poll', cause: tag })
  else tellUnknown(context, open, message)
  if (isPastDeadline(context, open)) await resolveSwap(context, open)
}

/** What the service says, checked: a fill wants proof, and the end of an order does not end its permit. */
async function settle(context: OrderContext, open: OpenSwap, order: ServiceOrder): Promise<void> {
  switch (order.status) {
    case 'pending':
      if (isPastDeadline(context, open)) await resolveSwap(context, open)
      return
    case 'filled':
      await resolveSwap(context, open, order.txHash)
      return
    case 'failed':
    case 'expired':
      return endOrder(context, open, { status: order.status, message: order.error?.message })
  }
}

function endOrder(
  context: OrderContext,
  { attempt, intent }: OpenSwap,
  { status, message = status }: { status: 'failed' | 'expired'; message: string | undefined },
): Promise<void> {
  const { journal } = context.ports
  return journal.append({ type: 'order-ended', intentId: intent.id, attempt, status, message })
}
