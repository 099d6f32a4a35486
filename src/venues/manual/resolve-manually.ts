import type { EventOf } from '../../domain/book/journal.ts'
import type { DaemonState, OpenIntent } from '../../domain/book/state.ts'
import type { IntentId } from '../../domain/intent.ts'
import { hasLiveAuthorization } from '../../domain/order.ts'
import type { Hex } from '../../domain/units.ts'
import type { Word } from '../../domain/word.ts'
import type { OrderContext } from '../context.ts'
import { venueOf } from '../venues.ts'
import { type Refused, refusalOf, refused } from './answers.ts'
import { type Evidence, evidenceOf, saidBy } from './evidence.ts'
import type { Findings } from './findings.ts'

/** What was said became true: by the word, or because the chain proves it after all. */
export type Settled =
  | { readonly ok: true; readonly by: 'proof' | 'word'; readonly word: Word }
  | Refused

/** A word on one attempt of an intent: that which was looked at, and none that was made since. */
export type Saying = { readonly word: Word; readonly attempt: number }

export type LookReply = { readonly ok: true; readonly evidence: Evidence } | Refused

/** What an operator may ask of orders of which nobody knows what became of them. */
export type Settling = {
  /** What is known of one, and of a transaction that is named. */
  look(id: IntentId, named?: Hex): Promise<LookReply>
  settle(id: IntentId, saying: Saying): Promise<Settled>
}

/** What is known of an order of which the journal does not know what became of it. Journals nothing. */
export async function lookAt(context: OrderContext, id: IntentId, named?: Hex): Promise<LookReply> {
  const open = liveIn(context.ports.journal.state, id)
  if (!open.ok) return open
  const { findings } = await venueOf(open.value).look(context, open.value, named)
  return { ok: true, evidence: evidenceOf(open.value, findings, named) }
}

/**
 * Takes an operator's word on what nothing else ended, if the chain, asked anew, does not speak against it. What the chain
 * proves is journaled as the proof that it is; else the word is, and nothing is signed for the intent any more. In the
 * order's own turn, or without a daemon: nobody else follows the order meanwhile.
 */
export async function settle(
  context: OrderContext,
  id: IntentId,
  { word, attempt }: Saying,
): Promise<Settled> {
  const { journal } = context.ports
  const live = liveIn(journal.state, id)
  if (!live.ok) return live
  const open = live.value
  if (open.attempt !== attempt) return MOVED_ON
  const before = { ...open }
  const named = word.as === 'executed' ? word.txHash : undefined
  const { findings, prove } = await venueOf(open).look(context, open, named)
  const barred = refusalOf(findings, word)
  if (barred !== undefined) return barred
  if (hasMoved(journal.state, open, before)) return MOVED_ON
  if (word.as === 'executed' && (await prove())) {
    // A proof is not waited for by those who made it, and nobody is told of what is not on disk.
    await journal.append()
    return { ok: true, by: 'proof', word }
  }
  if (hasMoved(journal.state, open, before)) return MOVED_ON
  await journal.append(settledEvent(open, word, findings))
  return { ok: true, by: 'word', word }
}

/** The same in a daemon, which follows whatever may be live: in the order's own turn. */
export function settleInTurn(
  context: OrderContext,
  id: IntentId,
  saying: Saying,
): Promise<Settled> {
  const task = (): Promise<Settled> => settle(context, id, saying)
  return liveIn(context.ports.journal.state, id).ok ? context.asked.run(id, task) : task()
}

const MOVED_ON = refused('moved-on', 'it moved on while it was looked at: look again')

function settledEvent(
  { intent, attempt }: OpenIntent,
  word: Word,
  findings: Findings,
): EventOf<'order-settled'> {
  const { head } = findings
  return {
    type: 'order-settled',
    ...{ intentId: intent.id, attempt, ...word },
    evidence: saidBy(findings),
    blockNumber: head?.blockNumber,
    blockTimeSeconds: head?.blockTimeSeconds,
  }
}

/** An intent whose authorization may be live. */
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

/** Whether anything of an intent is other than it was. */
function hasMoved(state: DaemonState, open: OpenIntent, before: OpenIntent): boolean {
  if (state.intents.get(open.intent.id) !== open) return true
  return Object.entries(before).some(([field, value]) => Reflect.get(open, field) !== value)
}
