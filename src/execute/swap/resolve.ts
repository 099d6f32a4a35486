import type { OpenSwap } from '../../domain/book/state.ts'
import { openSwaps } from '../../domain/book/swaps.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import type { Hex } from '../../domain/units.ts'
import type { PermitView, TransactionTrace } from '../../ports.ts'
import { type Resolution, recordDeath } from '../authorization.ts'
import type { OrderContext } from '../context.ts'
import { tellDoubt } from '../doubt.ts'
import { proveFill } from './prove.ts'

/**
 * A used nonce without a fill that can be found counts as cancelled only this long after the permit's deadline:
 * nodes index logs later than state.
 */
const CANCELLED_AFTER_SECONDS = 120

/**
 * Asks the chain, the only judge, what became of the current permit, and journals what is certain: a proven fill, or
 * that the permit can never execute. `txHash` is the service's hint, never believed.
 */
export async function resolveSwap(
  context: OrderContext,
  open: OpenSwap,
  txHash?: Hex,
): Promise<Resolution<PermitView>> {
  const { permit } = open
  if (permit === undefined) return { tag: 'unknown' }
  const { chain, observe } = context.ports
  const reply = await chain.permit({
    owner: permit.owner,
    nonce: permit.nonce,
    ...(txHash === undefined ? {} : { txHash }),
  })
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: 'resolving an order', message: reply.fault.message })
    return { tag: 'unknown' }
  }
  const view = reply.value
  const moved = view.nonceUsed
    ? await findFill(context, open, permit, view)
    : await expire(context, open, permit, view)
  return moved ? { tag: 'moved' } : { tag: 'open', view }
}

async function findFill(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<boolean> {
  const { transaction } = view
  if (transaction !== undefined) {
    if (await prove(context, open, permit, transaction)) return true
    const { strategy, id: intentId } = open.intent
    const detail = `transaction ${transaction.hash} does not show this order's transfers`
    context.ports.observe({ type: 'proof-failed', strategy, intentId, detail })
  }
  return searchFill(context, open, permit, view)
}

/** An unused nonce at a block past the deadline can never be used any more: the permit is dead (rule G1). */
async function expire(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<boolean> {
  if (view.blockTimeSeconds <= permit.deadlineSeconds) return false
  await recordDeath(context, open, { attempt: permit.attempt, view, how: 'expired' })
  return true
}

async function prove(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  trace: TransactionTrace,
): Promise<boolean> {
  const { journal } = context.ports
  const { intent } = open
  const fill = proveFill({
    permit,
    trace,
    others: othersOf(context, open),
    claimed: journal.state.claimedTransfers,
  })
  if (fill === undefined) return false
  await journal.append({ type: 'fill-proven', intentId: intent.id, attempt: permit.attempt, fill })
  if (open.ended !== undefined) {
    const detail = `the service said ${open.ended.status}, and the chain shows it filled in ${fill.txHash}`
    tellDoubt(context, open, { service: 'gasless', what: 'ended', detail, moneyWaits: false })
  }
  return true
}

function othersOf(context: OrderContext, open: OpenSwap): readonly PermitRecord[] {
  return openSwaps(context.ports.journal.state).flatMap((other) =>
    other !== open && other.state !== 'filled' ? (other.permit ?? []) : [],
  )
}

/** The nonce is used and nobody told us where: look through what left the wallet since the permit was recorded. */
async function searchFill(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<boolean> {
  const { chain, observe } = context.ports
  const reply = await chain.outgoing({
    owner: permit.owner,
    token: permit.token,
    fromBlock: permit.fromBlock,
    untilSeconds: permit.deadlineSeconds,
  })
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: 'searching a fill', message: reply.fault.message })
    return false
  }
  for (const trace of inOrderOfLikelihood(permit, reply.value)) {
    if (await prove(context, open, permit, trace)) return true
  }
  if (view.blockTimeSeconds <= permit.deadlineSeconds + CANCELLED_AFTER_SECONDS) return false
  await recordDeath(context, open, { attempt: permit.attempt, view, how: 'cancelled' })
  return true
}

/** Transactions whose calldata names the permit's nonce first: amounts alone may fit a stranger. */
function inOrderOfLikelihood(
  permit: PermitRecord,
  traces: readonly TransactionTrace[],
): readonly TransactionTrace[] {
  const nonce = permit.nonce.toString(16).padStart(64, '0')
  const named = traces.filter((trace) => trace.input?.includes(nonce))
  return named.length > 0 ? named : traces
}
