import type { OpenSwap } from '../../domain/book/state.ts'
import { openSwaps } from '../../domain/book/swaps.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import type { Hex } from '../../domain/units.ts'
import type { MinedPlace, PermitView, TransactionTrace } from '../../ports.ts'
import { type Resolution, recordDeath, tellUnknown } from '../authorization.ts'
import type { OrderContext } from '../context.ts'
import { tellDoubt } from '../doubt.ts'
import { askFinal, finalSight, isOver, isWatched } from '../finality.ts'
import { hasTaken, matesIn, names, type ProofInput, proveFill } from './prove.ts'

/** A reorganisation may put a settlement into a block below the head that its permit was recorded at. */
const REORG_BLOCKS = 64n

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

/**
 * An unused nonce at a final block past the deadline can never be used any more: the permit is dead (rules G1, T6). The
 * newest block only says when it is worth asking.
 */
async function expire(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  { blockTimeSeconds }: PermitView,
): Promise<boolean> {
  const { owner, nonce, attempt, deadlineSeconds } = permit
  if (blockTimeSeconds <= deadlineSeconds) return false
  const final = await askFinal(context, 'finding an order dead', (query) =>
    context.ports.chain.finalPermit({ ...query, owner, nonce }),
  )
  if (final === undefined || final.nonceUsed) return false
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  if (!isOver(context, deadlineSeconds, { ...final, serviceOffsetMs })) return false
  await recordDeath(context, open, { attempt, view: final, how: 'expired' })
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
  const seen = await proofInput(context, open, permit, trace)
  const fill = seen && proveFill(seen)
  if (fill === undefined) return false
  const blockHash = isWatched(context.finality) ? trace.blockHash : undefined
  await journal.append({
    type: 'fill-proven',
    intentId: intent.id,
    attempt: permit.attempt,
    fill: blockHash === undefined ? fill : { ...fill, blockHash },
  })
  if (open.ended !== undefined) {
    const detail = `the service said ${open.ended.status}, and the chain shows it filled in ${fill.txHash}`
    tellDoubt(context, open, { service: 'gasless', what: 'ended', detail, moneyWaits: false })
  }
  return true
}

/**
 * What a transaction is judged with. Where it names more of our orders than it holds payments, somebody may only have
 * written them there: the chain says which of them can be in it at all. Undefined when that cannot be known.
 */
async function proofInput(
  { ports }: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  trace: TransactionTrace,
): Promise<ProofInput | undefined> {
  const { state } = ports.journal
  const others = openSwaps(state).flatMap((other) =>
    other !== open && other.state !== 'filled' ? (other.permit ?? []) : [],
  )
  const input = { permit, trace, others, claimed: state.claimedTransfers }
  if (matesIn(input).length === 0 || hasTaken(input)) return input
  const used: PermitRecord[] = []
  for (const mate of matesIn({ trace, others }) as PermitRecord[]) {
    const reply = await ports.chain.permit({ owner: mate.owner, nonce: mate.nonce })
    if (!reply.ok) return undefined
    if (reply.value.nonceUsed) used.push(mate)
  }
  return { ...input, others: used }
}

/**
 * The nonce is used and nobody told us where: look through what left the wallet since the permit was recorded. It ends only
 * by what is found, and never by what is not: a node knows of a nonce before it has logs and receipts (rule T7).
 */
async function searchFill(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<boolean> {
  const { chain, observe } = context.ports
  const { owner, token, nonce, deadlineSeconds } = permit
  const fromBlock = permit.fromBlock > REORG_BLOCKS ? permit.fromBlock - REORG_BLOCKS : 0n
  const reply = await chain.outgoing({
    ...{ owner, token, nonce, fromBlock },
    atLeastBlock: view.blockNumber,
    untilSeconds: deadlineSeconds,
  })
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: 'searching a fill', message: reply.fault.message })
    return false
  }
  const { traces, cancelled } = reply.value
  const named = traces.filter((trace) => names(trace, permit))
  for (const trace of named) if (await prove(context, open, permit, trace)) return true
  // Amounts alone may fit a stranger: what names no permit counts only where nothing else explains the nonce.
  const isExplained = named.length > 0 || cancelled !== undefined
  for (const trace of isExplained ? [] : traces)
    if (await prove(context, open, permit, trace)) return true
  if (await endWithout(context, open, permit, { named, cancelled })) return true
  if (view.blockTimeSeconds > deadlineSeconds)
    tellUnknown(context, open, 'its nonce is used, and nothing is found that used it')
  return false
}

/**
 * What used up a nonce without filling its order: its owner, or a transaction that took the tokens and gave too little. Only
 * once that is final.
 */
async function endWithout(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  found: {
    readonly named: readonly TransactionTrace[]
    readonly cancelled: MinedPlace | undefined
  },
): Promise<boolean> {
  const taken = await firstTaken(context, open, permit, found.named)
  const place = taken ?? found.cancelled
  const view = place && (await finalSight(context, context.ports.chain, place))
  if (view === undefined) return false
  await recordDeath(context, open, { attempt: permit.attempt, view, how: 'cancelled' })
  return true
}

async function firstTaken(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  traces: readonly TransactionTrace[],
): Promise<TransactionTrace | undefined> {
  for (const trace of traces) {
    const input = await proofInput(context, open, permit, trace)
    if (input !== undefined && hasTaken(input)) return trace
  }
  return undefined
}
