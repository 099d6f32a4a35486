import type { Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import type { Verdict } from '../../domain/order/manual-resolution.ts'
import { hasLiveAuthorization } from '../../domain/order/order.ts'
import { orderSettled } from '../../journal/events/order/outcomes.ts'
import type { DaemonState, OpenIntent } from '../../journal/state/daemon-state.ts'
import type { OrderContext } from '../context.ts'
import { venueOf } from '../venues.ts'
import { type Refused, refusalOf, refused } from './manual-answers.ts'
import { type Evidence, evidenceOf, saidBy } from './manual-evidence.ts'

/** Resolved manually, or proven by the chain. */
export type Settled =
  | { readonly ok: true; readonly by: 'proof' | 'word'; readonly verdict: Verdict }
  | Refused

/** A resolution of one attempt: the inspected one, never a later one. */
type Stated = { readonly verdict: Verdict; readonly attempt: number }

type InspectReply = { readonly ok: true; readonly evidence: Evidence } | Refused

export type Settling = {
  inspect(id: IntentId, named?: Hex): Promise<InspectReply>
  settle(id: IntentId, saying: Stated): Promise<Settled>
}

/** Evidence about an order with unknown outcome. Journals nothing. */
export async function inspectOrder(
  context: OrderContext,
  id: IntentId,
  named?: Hex,
): Promise<InspectReply> {
  const open = liveIn(context.ports.journal.state, id)
  if (!open.ok) return open
  const { findings } = await venueOf(open.value).inspect(context, open.value, named)
  return { ok: true, evidence: evidenceOf(open.value, findings, named) }
}

/**
 * Accepts an operator's resolution unless the chain, read again, contradicts it. A proof on chain is journaled as a proof;
 * otherwise the resolution is, and nothing more is signed for the intent. Runs in the order's own turn, or without a daemon,
 * so nothing else changes the order meanwhile.
 */
export async function settle(
  context: OrderContext,
  id: IntentId,
  { verdict, attempt }: Stated,
): Promise<Settled> {
  const { journal } = context.ports
  const live = liveIn(journal.state, id)
  if (!live.ok) return live
  const open = live.value
  if (open.attempt !== attempt) return MOVED_ON
  const before = { ...open }
  const named = verdict.as === 'executed' ? verdict.txHash : undefined
  const { findings, prove } = await venueOf(open).inspect(context, open, named)
  const blocked = refusalOf(findings, verdict)
  if (blocked !== undefined) return blocked
  if (hasMoved(journal.state, open, before)) return MOVED_ON
  if (verdict.as === 'executed' && (await prove())) {
    // Proofs are appended without waiting for fsync; the reply must wait for it.
    await journal.append()
    return { ok: true, by: 'proof', verdict }
  }
  if (hasMoved(journal.state, open, before)) return MOVED_ON
  const { head } = findings
  const event = orderSettled({
    ...{ intentId: id, attempt, ...verdict },
    evidence: saidBy(findings),
    blockNumber: head?.blockNumber,
    blockTimeSeconds: head?.blockTimeSeconds,
  })
  await journal.append(event)
  return { ok: true, by: 'word', verdict }
}

export function settleInTurn(
  context: OrderContext,
  id: IntentId,
  saying: Stated,
): Promise<Settled> {
  const task = (): Promise<Settled> => settle(context, id, saying)
  return liveIn(context.ports.journal.state, id).ok ? context.requests.run(id, task) : task()
}

const MOVED_ON = refused('moved-on', 'it changed while it was inspected: try again')

function liveIn(
  state: DaemonState,
  id: IntentId,
): { readonly ok: true; readonly value: OpenIntent } | Refused {
  const open = state.intents.get(id)
  if (open === undefined) return refused('not-open', `intent ${id} is not open`)
  if (hasLiveAuthorization(open.state)) return { ok: true, value: open }
  return refused('nothing-signed', notLive(open))
}

function notLive({ intent, state, settled }: OpenIntent): string {
  if (settled !== undefined) return `${intent.id} is settled, and closes when its daemon runs`
  if (state === 'planned')
    return `nothing is signed for ${intent.id} now: \`tranched pause ${intent.strategy}\`, \`tranched halt\`, or taking its strategy file away ends it`
  return `${intent.id} is ${state}: the chain proves it, and only our own after-work is left`
}

function hasMoved(state: DaemonState, open: OpenIntent, before: OpenIntent): boolean {
  if (state.intents.get(open.intent.id) !== open) return true
  return Object.entries(before).some(([field, value]) => Reflect.get(open, field) !== value)
}
