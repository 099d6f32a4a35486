import type { OpenSwap } from '../../domain/book/state.ts'
import type { ServiceOrder } from '../../domain/quote.ts'
import { haltedNow } from '../close.ts'
import type { OrderContext } from '../context.ts'
import type { FollowSteps } from '../follow.ts'
import { resolveOnChain } from './resolve.ts'

/** Following a swap: replay the identical submission, poll the order by its id, ask the chain past the deadline. */
export function swapSteps(context: OrderContext, open: OpenSwap): FollowSteps {
  return {
    replay: () => replay(context, open),
    poll: () => poll(context, open),
    resolve: () => resolveOnChain(context, open),
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
  const { gasless, journal, observe, queue, signer } = context.ports
  const { intent, permit } = open
  const found = await resolveOnChain(context, open)
  if (permit === undefined || found.tag !== 'open' || found.view.ownerHasCode) return
  if (isPastDeadline(context, open) || haltedNow(context) !== undefined) return
  const reply = await queue.run('submit', () =>
    gasless.submit({
      quoteId: permit.quoteId,
      signature: signer.signDigest(permit.digest),
      clientOrderId: permit.clientOrderId,
    }),
  )
  const subject = { strategy: intent.strategy, intentId: intent.id, attempt: permit.attempt }
  if (!reply.ok) {
    observe({ type: 'order-unknown', ...subject, message: reply.fault.message })
    return
  }
  const { orderId } = reply.value
  const { attempt } = permit
  await journal.append({ type: 'order-accepted', intentId: intent.id, attempt, orderId })
  observe({ type: 'order-accepted', ...subject, orderId })
}

async function poll(context: OrderContext, open: OpenSwap): Promise<void> {
  const { gasless, observe, queue } = context.ports
  const { intent, orderId } = open
  if (orderId === undefined) return
  const reply = await queue.run('poll', () => gasless.order(orderId))
  if (reply.ok) return settle(context, open, reply.value)
  if (reply.fault.tag === 'rateLimited')
    observe({ type: 'retry', service: 'gasless', route: 'poll', cause: reply.fault.tag })
  else
    observe({
      type: 'order-unknown',
      strategy: intent.strategy,
      intentId: intent.id,
      attempt: open.attempt,
      message: reply.fault.message,
    })
  if (isPastDeadline(context, open)) await resolveOnChain(context, open)
}

/** What the service says, checked: a fill wants proof, and the end of an order does not end its permit. */
async function settle(context: OrderContext, open: OpenSwap, order: ServiceOrder): Promise<void> {
  switch (order.status) {
    case 'pending':
      if (isPastDeadline(context, open)) await resolveOnChain(context, open)
      return
    case 'filled':
      await resolveOnChain(context, open, order.txHash)
      return
    case 'failed':
    case 'expired':
      return endOrder(context, open, order.status, order.error?.message ?? order.status)
  }
}

async function endOrder(
  context: OrderContext,
  open: OpenSwap,
  status: 'failed' | 'expired',
  message: string,
): Promise<void> {
  const { journal, observe } = context.ports
  const { attempt, intent } = open
  await journal.append({ type: 'order-ended', intentId: intent.id, attempt, status, message })
  observe({
    type: 'order-ended',
    strategy: intent.strategy,
    intentId: intent.id,
    attempt,
    status,
    message,
  })
}
