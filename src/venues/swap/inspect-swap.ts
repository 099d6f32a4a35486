import { InvariantError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { OpenSwap } from '../../journal/state/daemon-state.ts'
import type { Outgoing, PermitView, TransactionTrace } from '../../ports.ts'
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
  unusedOutcome,
} from '../manual/findings.ts'
import { heldBy } from '../projections.ts'
import { names, proveFill } from './prove.ts'
import { candidatesIn, proofInput, proveAny, searchOutgoing } from './resolve.ts'

/** `Venue.inspect` for a permit: its nonce now and at a final block and, if used, payments out of the wallet. */
export async function inspectSwap(
  context: OrderContext,
  open: OpenSwap,
  named: Hex | undefined,
): Promise<Inspection> {
  const { permit } = open
  if (permit === undefined) throw new InvariantError(`${open.intent.id}: nothing is signed of it`)
  const { spender, recipient, deadlineSeconds } = permit
  const { token, amount: most } = heldBy(open)
  const terms = { token, most, spender, recipient, nonce: permit.nonce, deadlineSeconds }
  const signed: Signed = { kind: 'permit', ...terms }
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
  // Only blocks and this machine's clock end a signature here: a wrong service clock must not block an operator.
  const isPast = final && isOver(context, permit.deadlineSeconds, final, undefined)
  const outcome = outcomeOf(permit, view, final, isPast)
  const searched = outcome.tag === 'used' ? await searchOutgoing(context, permit, view) : undefined
  const { traces, cancelled } = searched?.ok ? searched.value : NOTHING
  // A transaction shared with other orders may prove more after further reads than is shown here.
  const seenAs = (trace: TransactionTrace): Found => {
    const { hash: txHash, blockNumber, success } = trace
    const isProof = proveFill(proofInput(context, open, permit, trace)) !== undefined
    const mention = names(trace, permit) ? 'mention' : 'nothing'
    return { txHash, blockNumber, success, shows: isProof ? 'proof' : mention }
  }
  const cancels: readonly Found[] =
    cancelled === undefined ? [] : [{ ...cancelled, success: true, shows: 'cancel' }]
  const { transaction } = view
  const findings: Findings = {
    signed,
    head: { ...view, isUsed: view.nonceUsed },
    ...{ final, isPast, outcome },
    found: [...traces.map(seenAs), ...cancels],
    searchFault: searched?.ok === false ? searched.fault.message : undefined,
    named: named && (transaction === undefined ? 'absent' : seenAs(transaction)),
  }
  const candidates = candidatesIn({ traces, cancelled }, permit)
  const input = {
    permit,
    view,
    traces: transaction === undefined ? candidates : [transaction, ...candidates],
  }
  return {
    findings,
    prove: async () => (await proveAny(context, open, input)) === 'proven',
  }
}

const NOTHING: Outgoing = { traces: [], cancelled: undefined }

function outcomeOf(
  { deadlineSeconds }: PermitRecord,
  view: PermitView,
  final: NonceAt | undefined,
  isPast: boolean | undefined,
): ExecutionOutcome {
  const isFinal = final?.isUsed === true
  if (view.nonceUsed || isFinal) return { tag: 'used', isFinal }
  if (final === undefined) return { tag: 'unknown', why: NO_FINAL_BLOCK }
  return unusedOutcome(deadlineSeconds, isPast)
}
