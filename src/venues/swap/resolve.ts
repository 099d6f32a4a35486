import type { OpenSwap } from '../../domain/book/state.ts'
import { openSwaps } from '../../domain/book/swaps.ts'
import type { Permit, PermitRecord } from '../../domain/permit.ts'
import type { Hex } from '../../domain/units.ts'
import type { Chain, Outgoing, PermitView, Sight, TransactionTrace } from '../../ports.ts'
import { executedBy, note, type Resolution, recordDeath, tellUnknown } from '../authorization.ts'
import type { OrderContext } from '../context.ts'
import { type Doubted, tellDoubt } from '../doubt.ts'
import { askFinal, finalSight, isOver, isWatched } from '../finality.ts'
import { hasTaken, names, type ProofInput, proveFill, takenBy } from './prove.ts'

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
 * An unused nonce at a final block past the deadline can never be used any more: the permit is dead (rules G1, T6). The
 * newest block only says when it is worth asking.
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
  if (!isOver(context, deadlineSeconds, { ...final, serviceOffsetMs })) {
    // Of all clocks the service's may be the only one that is not past it, and no time helps where it stands still.
    const isAlone = isOver(context, deadlineSeconds, { ...final, serviceOffsetMs: undefined })
    return isAlone
      ? { tag: 'open', view, waits: clockDoubt(context, permit) }
      : { tag: 'open', view }
  }
  await recordDeath(context, open, { attempt, view: final, how: 'expired' })
  return { tag: 'moved' }
}

function clockDoubt({ ports }: OrderContext, { deadlineSeconds }: PermitRecord): Doubted {
  const offsetSeconds = Math.round((ports.gasless.clockOffsetMs() ?? 0) / 1000)
  const nowSeconds = Math.round(ports.clock.now() / 1000)
  const agoSeconds = nowSeconds - deadlineSeconds
  const detail = `its permit's deadline has passed ${agoSeconds} s ago by chain and machine, and not by the service's clock, which is ${-offsetSeconds} s behind: it counts as live until that clock is past it too`
  return { service: 'gasless', what: 'clock', detail }
}

/** What a transaction shows of an order; `taken` if it took the tokens and did not give what it had to. */
type Verdict = 'proven' | 'taken' | 'nothing'

/** A permit whose nonce is used, and what was read of the chain before its transactions. */
type Claimed = { readonly permit: PermitRecord; readonly view: Sight }

/** Journals a fill that a transaction proves. Nothing is waited for between the judgement and the record. */
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
  await note(context, {
    type: 'fill-proven',
    intentId: open.intent.id,
    attempt: permit.attempt,
    fill: blockHash === undefined ? fill : { ...fill, blockHash },
    executedBySeconds: executedBy(view, trace),
  })
  if (open.ended !== undefined) {
    const detail = `the service said ${open.ended.status}, and the chain shows it filled in ${fill.txHash}`
    tellDoubt(context, open, { service: 'gasless', what: 'ended', detail, moneyWaits: false })
  }
  return 'proven'
}

/**
 * Whether a transaction is from the life of a permit. One that names it is from before its deadline, or was not executed. Of any
 * other the chain says when it was, and nothing but the used nonce ties it to the permit.
 */
async function isWithin(
  context: OrderContext,
  permit: PermitRecord,
  trace: TransactionTrace,
): Promise<boolean> {
  const { blockNumber } = trace
  if (blockNumber < searchedFrom(permit)) return false
  if (names(trace, permit)) return true
  if (!(await isUsedForGood(context, permit))) return false
  const seen = await askFinal(context, 'reading when a transaction was mined', (query) =>
    context.ports.chain.blocks({ ...query, numbers: [blockNumber] }),
  )
  const block = seen?.blocks.get(blockNumber)
  return block !== undefined && block.timeSeconds <= permit.deadlineSeconds
}

/** Whether a nonce is used at a final block: that one node says so proves nothing (rule T6). */
async function isUsedForGood(
  context: OrderContext,
  { owner, nonce }: PermitRecord,
): Promise<boolean> {
  const final = await askFinal(context, 'reading a final nonce', (query) =>
    context.ports.chain.finalPermit({ ...query, owner, nonce }),
  )
  return final?.nonceUsed === true
}

/** What a transaction is judged by: beside the permit itself the wallet's other orders, and what is proven already. */
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
 * Nonces of orders that a transaction names and cannot hold. Where it names more of ours than it holds payments, somebody may
 * only have written them there: the chain says which are not used. Undefined when that cannot be known.
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

/** What was mined before it was recorded did not settle it, whoever names it and however well its amounts fit. */
function searchedFrom({ fromBlock }: PermitRecord): bigint {
  return fromBlock > REORG_BLOCKS ? fromBlock - REORG_BLOCKS : 0n
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
  if (await endWithout(context, open, permit, { found, cancelled })) return true
  if (view.blockTimeSeconds > permit.deadlineSeconds) tellUnknown(context, open, unexplained(open))
  return false
}

function unexplained({ intent }: OpenSwap): string {
  return `its nonce is used, and nothing is found that used it; \`tranched settle ${intent.id}\` shows what is known, and ends it`
}

/** What left the wallet since a permit was recorded, until its deadline. */
export function searchOutgoing(
  { ports }: OrderContext,
  permit: PermitRecord,
  { blockNumber: atLeastBlock }: Sight,
): ReturnType<Chain['outgoing']> {
  const { owner, token, nonce, deadlineSeconds: untilSeconds } = permit
  const fromBlock = searchedFrom(permit)
  return ports.chain.outgoing({ owner, token, nonce, fromBlock, atLeastBlock, untilSeconds })
}

/** Amounts alone may fit a stranger: what names no permit counts only where nothing else explains the nonce. */
export function candidatesIn(
  { traces, cancelled }: Outgoing,
  permit: PermitRecord,
): readonly TransactionTrace[] {
  const named = traces.filter((trace) => names(trace, permit))
  return named.length > 0 || cancelled !== undefined ? named : traces
}

/** Journals the first proof; or else gives the first transaction that took the tokens. */
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

/**
 * Ends an order whose nonce was used up without filling it: by its owner, or by a transaction that took the tokens and gave
 * too little. Only once that is final.
 */
async function endWithout(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  {
    found,
    cancelled,
  }: {
    /** What took the tokens. */
    readonly found: TransactionTrace | undefined
    readonly cancelled: Outgoing['cancelled']
  },
): Promise<boolean> {
  const place = found ?? cancelled
  const view = place && (await finalSight(context, context.ports.chain, place))
  if (view === undefined || !(await isUsedForGood(context, permit))) return false
  // By what is proven now: another order may have claimed a payment of it while the chain was asked.
  const transfers = found && takenBy(proofInput(context, open, permit, found))
  await recordDeath(context, open, {
    ...{ attempt: permit.attempt, view, transfers },
    how: 'cancelled',
  })
  return true
}
