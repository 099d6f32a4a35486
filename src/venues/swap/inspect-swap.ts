import type { OpenSwap } from '../../domain/book/state.ts'
import { heldBy } from '../../domain/book/venues.ts'
import { InvariantError } from '../../domain/errors.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { Hex } from '../../domain/units.ts'
import type { ChainReply, Outgoing, PermitView, TransactionTrace } from '../../ports.ts'
import type { OrderContext } from '../context.ts'
import { askFinal, isOver } from '../finality.ts'
import {
  type Fate,
  type Findings,
  type Found,
  type Looked,
  NO_FINAL_BLOCK,
  type NonceAt,
  type Signed,
  unseen,
} from '../settle/findings.ts'
import { names, proveFill } from './prove.ts'
import { candidatesIn, proofInput, proveAny, searchOutgoing } from './resolve.ts'

const NO_SERVICE = { serviceOffsetMs: undefined }

/** `Venue.look` for a permit: its nonce bit now and at a final block, and where that is used, what left the wallet. */
export async function lookAtSwap(
  context: OrderContext,
  open: OpenSwap,
  named: Hex | undefined,
): Promise<Looked> {
  const { permit } = open
  if (permit === undefined) throw new InvariantError(`${open.intent.id}: nothing is signed of it`)
  const signed = signedBy(open, permit)
  const { chain } = context.ports
  const { owner, nonce } = permit
  const [reply, sight] = await Promise.all([
    chain.permit({ owner, nonce, ...(named === undefined ? {} : { txHash: named }) }),
    askFinal(context, 'looking at an order', (query) =>
      chain.finalPermit({ ...query, owner, nonce }),
    ),
  ])
  if (!reply.ok) return unseen(signed, { tag: 'unknown', why: reply.fault.message })
  const view = reply.value
  const final = sight && { ...sight, isUsed: sight.nonceUsed }
  // Blocks and this machine say when a signature has ended: a service whose clock is wrong does not hold an operator up.
  const isPast = final && isOver(context, permit.deadlineSeconds, { ...final, ...NO_SERVICE })
  const fate = fateOf({ permit, view, final, isPast })
  const searched = fate.tag === 'used' ? await searchOutgoing(context, permit, view) : undefined
  const found = searched?.ok ? foundIn(context, open, permit, searched.value) : []
  const findings: Findings = {
    signed,
    head: { ...view, isUsed: view.nonceUsed },
    ...{ final, isPast, fate, found },
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

function fateOf(seen: {
  readonly permit: PermitRecord
  readonly view: PermitView
  readonly final: NonceAt | undefined
  readonly isPast: boolean | undefined
}): Fate {
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

/** One that others of our orders share may yet prove more than is seen here: that takes further reads. */
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
