import { InvariantError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { ChainReply, Outgoing, PermitView, TransactionTrace } from '../../ports.ts'
import type { OrderContext } from '../context.ts'
import { askFinal, isOver } from '../finality.ts'
import {
  type ExecutionOutcome,
  type Findings,
  type Found,
  type Inspection,
  NO_FINAL_BLOCK,
  type NonceAt,
  type Signed,
  unseen,
} from '../manual/findings.ts'
import { heldBy } from '../projections.ts'
import { names, proveFill } from './prove.ts'
import { candidatesIn, proofInput, proveAny, searchOutgoing } from './resolve.ts'

const NO_SERVICE = { serviceOffsetMs: undefined }

/** `Venue.look` for a permit: its nonce now and at a final block and, if used, payments out of the wallet. */
export async function inspectSwap(
  context: OrderContext,
  open: OpenSwap,
  named: Hex | undefined,
): Promise<Inspection> {
  const { permit } = open
  if (permit === undefined) throw new InvariantError(`${open.intent.id}: nothing is signed of it`)
  const signed = signedBy(open, permit)
  const { chain } = context.ports
  const { owner, nonce } = permit
  const [reply, snapshot] = await Promise.all([
    chain.permit({ owner, nonce, ...(named === undefined ? {} : { txHash: named }) }),
    askFinal(context, 'looking at an order', (query) =>
      chain.finalPermit({ ...query, owner, nonce }),
    ),
  ])
  if (!reply.ok) return unseen(signed, { tag: 'unknown', why: reply.fault.message })
  const view = reply.value
  const final = snapshot && { ...snapshot, isUsed: snapshot.nonceUsed }
  // Blocks and this machine decide whether a signature has ended: a wrong service clock must not block an operator.
  const isPast = final && isOver(context, permit.deadlineSeconds, { ...final, ...NO_SERVICE })
  const outcome = outcomeOf({ permit, view, final, isPast })
  const searched = outcome.tag === 'used' ? await searchOutgoing(context, permit, view) : undefined
  const found = searched?.ok ? foundIn(context, open, permit, searched.value) : []
  const findings: Findings = {
    signed,
    head: { ...view, isUsed: view.nonceUsed },
    ...{ final, isPast, outcome, found },
    searchFault: searched?.ok === false ? searched.fault.message : undefined,
    named: named && namedIn(context, open, permit, view),
  }
  const traces = candidates(permit, view, searched)
  return {
    findings,
    prove: async () => (await proveAny(context, open, { permit, view, traces })) === 'proven',
  }
}

function signedBy(
  open: OpenSwap,
  { spender, recipient, nonce, deadlineSeconds }: PermitRecord,
): Signed {
  const { token, amount: most } = heldBy(open)
  return { kind: 'permit', token, most, spender, recipient, nonce, deadlineSeconds }
}

function outcomeOf(seen: {
  readonly permit: PermitRecord
  readonly view: PermitView
  readonly final: NonceAt | undefined
  readonly isPast: boolean | undefined
}): ExecutionOutcome {
  const { permit, view, final, isPast } = seen
  const isFinal = final?.isUsed === true
  if (view.nonceUsed || isFinal) return { tag: 'used', isFinal }
  if (final === undefined) return { tag: 'unknown', why: NO_FINAL_BLOCK }
  const until = formatInstant(permit.deadlineSeconds)
  return isPast === true
    ? { tag: 'over', why: `its nonce is unused at a final block past its deadline, ${until}` }
    : {
        tag: 'live',
        why: `its signature may execute until that is past at a final block: ${until}`,
      }
}

function candidates(
  permit: PermitRecord,
  { transaction }: PermitView,
  searched: ChainReply<Outgoing> | undefined,
): readonly TransactionTrace[] {
  const found = searched?.ok ? candidatesIn(searched.value, permit) : []
  return transaction === undefined ? found : [transaction, ...found]
}

function foundIn(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  { traces, cancelled }: Outgoing,
): readonly Found[] {
  const found = traces.map((trace) => seenAs(context, open, permit, trace))
  if (cancelled === undefined) return found
  return [...found, { ...cancelled, success: true, shows: 'cancel' }]
}

function namedIn(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  { transaction }: PermitView,
): Found | 'absent' {
  return transaction === undefined ? 'absent' : seenAs(context, open, permit, transaction)
}

/** A transaction shared with other orders may prove more than is shown here, after further reads. */
function seenAs(
  context: OrderContext,
  open: OpenSwap,
  permit: PermitRecord,
  trace: TransactionTrace,
): Found {
  const { hash: txHash, blockNumber, success } = trace
  const place = { txHash, blockNumber, success }
  if (proveFill(proofInput(context, open, permit, trace)) !== undefined)
    return { ...place, shows: 'proof' }
  return { ...place, shows: names(trace, permit) ? 'mention' : 'nothing' }
}
