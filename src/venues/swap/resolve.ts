import type { Hex } from '../../domain/money/units.ts'
import type { Permit, PermitRecord } from '../../domain/order/permit.ts'
import { fillProven } from '../../journal/events/order/fills.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { Chain, Outgoing, PermitView, SeenBlock, TransactionTrace } from '../../ports.ts'
import { executedBy, type Resolution, recordDeath, reportUnknown } from '../authorization.ts'
import { type RejectedClaim, reportConflict } from '../conflict.ts'
import type { OrderContext } from '../context.ts'
import { askFinal, finalSnapshot, isOver, isWatched, searchStart } from '../finality.ts'
import { hasTaken, names, type ProofInput, proveFill, takenBy } from './prove.ts'
import { openSwaps } from './swap-projection.ts'

/**
 * Reads the current permit's outcome from the chain and journals what is certain: a proven fill, or that the permit can
 * never execute. `txHash` is the service's hint and is never trusted.
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
  if (!view.nonceUsed) return expire(context, open, permit, view)
  const moved = await findFill(context, open, permit, view)
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
    if ((await prove(context, open, { permit, view, trace: transaction })) === 'proven') return true
    const { strategy, id: intentId } = open.intent
    const detail = `transaction ${transaction.hash} does not show this order's transfers`
    context.ports.observe({ type: 'proof-failed', strategy, intentId, detail })
  }
  return searchFill(context, open, permit, view)
}

/**
 * A permit is dead once unused at a final block past the deadline (rules G1, T6). The newest block only shows when to check.
 */
async function expire(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<Resolution<PermitView>> {
  const { owner, nonce, attempt, deadlineSeconds } = permit
  if (view.blockTimeSeconds <= deadlineSeconds) return { tag: 'open', view }
  const final = await askFinal(context, 'finding an order dead', (query) =>
    context.ports.chain.finalPermit({ ...query, owner, nonce }),
  )
  if (final === undefined || final.nonceUsed) return { tag: 'open', view }
  const serviceOffsetMs = context.ports.gasless.clockOffsetMs()
  if (!isOver(context, deadlineSeconds, final, serviceOffsetMs)) {
    // Only the service's clock is not past the deadline; waiting does not help if it stands still.
    const isAlone = isOver(context, deadlineSeconds, final, undefined)
    return { tag: 'open', view, waits: isAlone ? clockConflict(context, permit) : undefined }
  }
  await recordDeath(context, open, { attempt, view: final, how: 'expired' })
  return { tag: 'moved' }
}

function clockConflict({ ports }: OrderContext, { deadlineSeconds }: PermitRecord): RejectedClaim {
  const offsetSeconds = Math.round((ports.gasless.clockOffsetMs() ?? 0) / 1000)
  const nowSeconds = Math.round(ports.clock.now() / 1000)
  const agoSeconds = nowSeconds - deadlineSeconds
  const detail = `its permit's deadline has passed ${agoSeconds} s ago by chain and machine, and not by the service's clock, which is ${-offsetSeconds} s behind: it counts as live until that clock is past it too`
  return { service: 'gasless', what: 'clock', detail }
}

/** `taken`: the transaction took the tokens and did not deliver the minimum. */
type Verdict = 'proven' | 'taken' | 'nothing'

/** A permit with a used nonce, and the chain snapshot read before its transactions. */
type Claimed = { readonly permit: PermitRecord; readonly view: SeenBlock }

/** Journals a proven fill. Proof and record must happen without yielding in between. */
async function prove(
  context: OrderContext,
  open: OpenSwap,
  { permit, view, trace }: Claimed & { readonly trace: TransactionTrace },
): Promise<Verdict> {
  if (!(await isWithin(context, permit, trace))) return 'nothing'
  let input = proofInput(context, open, permit, trace)
  if (input.mates.length > 0 && !hasTaken(input)) {
    const absent = await absentAmong(context, input.mates, trace)
    if (absent === undefined) return 'nothing'
    const { mates, ...now } = proofInput(context, open, permit, trace)
    input = { ...now, mates: mates.filter(({ nonce }) => !absent.has(nonce)) }
  }
  const fill = proveFill(input)
  if (fill === undefined) return hasTaken(input) ? 'taken' : 'nothing'
  const blockHash = isWatched(context.finality) ? trace.blockHash : undefined
  context.ports.journal.note(
    fillProven({
      intentId: open.intent.id,
      attempt: permit.attempt,
      fill: blockHash === undefined ? fill : { ...fill, blockHash },
      executedBySeconds: executedBy(view, trace),
    }),
  )
  if (open.ended !== undefined) {
    const detail = `the service said ${open.ended.status}, and the chain shows it filled in ${fill.txHash}`
    reportConflict(context, open, { service: 'gasless', what: 'ended', detail, moneyWaits: false })
  }
  return 'proven'
}

/**
 * True if a transaction lies within a permit's life. If it names the permit, it was mined before the deadline, or failed.
 * For any other, the block time decides, because only the used nonce links it to the permit.
 */
async function isWithin(
  context: OrderContext,
  permit: PermitRecord,
  trace: TransactionTrace,
): Promise<boolean> {
  const { blockNumber } = trace
  if (blockNumber < searchStart(permit)) return false
  if (names(trace, permit)) return true
  if (!(await isUsedForGood(context, permit))) return false
  const seen = await askFinal(context, 'reading when a transaction was mined', (query) =>
    context.ports.chain.blocks({ ...query, numbers: [blockNumber] }),
  )
  const block = seen?.blocks.get(blockNumber)
  return block !== undefined && block.timeSeconds <= permit.deadlineSeconds
}

/** True if a nonce is used at a final block. A single node's answer proves nothing (rule T6). */
async function isUsedForGood(
  context: OrderContext,
  { owner, nonce }: PermitRecord,
): Promise<boolean> {
  const final = await askFinal(context, 'reading a final nonce', (query) =>
    context.ports.chain.finalPermit({ ...query, owner, nonce }),
  )
  return final?.nonceUsed === true
}

/** Inputs of a proof: the permit, the wallet's other orders, and transfers that already prove orders. */
export function proofInput(
  { ports }: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  trace: TransactionTrace,
): ProofInput {
  const { state } = ports.journal
  const mates: PermitRecord[] = []
  for (const other of openSwaps(state)) {
    if (other === open || other.state === 'filled' || other.permit === undefined) continue
    if (names(trace, other.permit)) mates.push(other.permit)
  }
  return { permit, trace, mates, claimed: state.claimedTransfers }
}

/**
 * Nonces of orders that a transaction names but cannot settle. If it names more of our orders than it has payments, some
 * may only be mentioned: the chain shows which are unused. Undefined if that cannot be determined.
 */
async function absentAmong(
  context: OrderContext,
  mates: readonly Permit[],
  { blockNumber }: TransactionTrace,
): Promise<ReadonlySet<bigint> | undefined> {
  const absent = new Set<bigint>()
  for (const { owner, nonce } of mates) {
    const final = await askFinal(context, 'reading which orders a transaction holds', (query) =>
      context.ports.chain.finalPermit({ ...query, owner, nonce }),
    )
    if (final === undefined) return undefined
    if (final.nonceUsed) continue
    if (final.blockNumber < blockNumber) return undefined
    absent.add(nonce)
  }
  return absent
}

/**
 * The nonce is used in an unknown transaction: searches payments out of the wallet since the record. Only a match ends it,
 * never a missing one, because nodes know nonces before logs and receipts (rule T7).
 */
async function searchFill(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  view: PermitView,
): Promise<boolean> {
  const { observe } = context.ports
  const reply = await searchOutgoing(context, permit, view)
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: 'searching a fill', message: reply.fault.message })
    return false
  }
  const { cancelled } = reply.value
  const traces = candidatesIn(reply.value, permit)
  const found = await proveAny(context, open, { permit, view, traces })
  if (found === 'proven') return true
  // Unfilled: cancelled, or taken for too little. The permit ends only once that is final.
  const place = found ?? cancelled
  const final = place && (await finalSnapshot(context, context.ports.chain, place))
  if (final !== undefined && (await isUsedForGood(context, permit))) {
    // Computed again: another order may have claimed one of its payments meanwhile.
    const transfers = found && takenBy(proofInput(context, open, permit, found))
    const { attempt } = permit
    await recordDeath(context, open, { attempt, view: final, how: 'cancelled', transfers })
    return true
  }
  if (view.blockTimeSeconds > permit.deadlineSeconds) {
    const message = `its nonce is used, and nothing is found that used it; \`tranched settle ${open.intent.id}\` shows what is known, and ends it`
    reportUnknown(context, open, message)
  }
  return false
}

/** Payments out of the wallet from a permit's record to its deadline. */
export function searchOutgoing(
  { ports }: OrderContext,
  permit: PermitRecord,
  { blockNumber: atLeastBlock }: SeenBlock,
): ReturnType<Chain['outgoing']> {
  const { owner, token, nonce, deadlineSeconds: untilSeconds } = permit
  const fromBlock = searchStart(permit)
  return ports.chain.outgoing({ owner, token, nonce, fromBlock, atLeastBlock, untilSeconds })
}

/**
 * Amounts may match by chance: a transaction that does not name the permit counts only if nothing else explains the nonce.
 */
export function candidatesIn(
  { traces, cancelled }: Outgoing,
  permit: PermitRecord,
): readonly TransactionTrace[] {
  const named = traces.filter((trace) => names(trace, permit))
  return named.length > 0 || cancelled !== undefined ? named : traces
}

/** Journals the first proof; otherwise returns the first transaction that took the tokens. */
export async function proveAny(
  context: OrderContext,
  open: OpenSwap,
  { permit, view, traces }: Claimed & { readonly traces: readonly TransactionTrace[] },
): Promise<'proven' | TransactionTrace | undefined> {
  let taken: TransactionTrace | undefined
  for (const trace of traces) {
    const verdict = await prove(context, open, { permit, view, trace })
    if (verdict === 'proven') return verdict
    if (verdict === 'taken') taken ??= trace
  }
  return taken
}
