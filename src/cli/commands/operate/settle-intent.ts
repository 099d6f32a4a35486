import type { JournalView } from '../../../adapters/state/journal-view.ts'
import type { CloseReason } from '../../../domain/book/journal.ts'
import type { IntentId, Outcome } from '../../../domain/intent.ts'
import { nearest } from '../../../domain/nearest.ts'
import type { Settings } from '../../../domain/settings.ts'
import { recordsAtHand } from '../../compose/state.ts'

export type Known =
  | { readonly tag: 'open'; readonly id: IntentId }
  | {
      readonly tag: 'closed'
      readonly id: IntentId
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail: string
    }

/** What was asked for by its id, or by its slot alone where that has one intent; else, in words, what there is. */
export type FoundIntent = Known | { readonly tag: 'unknown'; readonly detail: string }

export function isKnown(found: FoundIntent): found is Known {
  return found.tag !== 'unknown'
}

/** An open intent is in the state; of one that is closed the journal tells. */
export async function findIntent(
  asked: string,
  view: JournalView,
  { settings, tell }: { readonly settings: Settings; readonly tell: (line: string) => void },
): Promise<FoundIntent> {
  const open = [...view.state.intents.keys()]
  const meant = open.filter((id) => isMeant(asked, id))
  const [id] = meant
  if (id !== undefined && meant.length === 1) return { tag: 'open', id }
  if (id !== undefined)
    return { tag: 'unknown', detail: `${asked} has several: ${meant.join(', ')}` }
  const past = await pastOf(view, { settings, tell })
  const closed = past.filter((each) => isMeant(asked, each.id)).at(-1)
  return closed ?? { tag: 'unknown', detail: unknownText(asked, { open, past }) }
}

function isMeant(asked: string, id: IntentId): boolean {
  return id === asked || id.slice(0, id.lastIndexOf(':')) === asked
}

type Closed = Extract<Known, { tag: 'closed' }>

async function pastOf(
  view: JournalView,
  { settings, tell }: { readonly settings: Settings; readonly tell: (line: string) => void },
): Promise<readonly Closed[]> {
  const closed: Closed[] = []
  const { stateDir, journal } = settings
  const records = recordsAtHand(view, { stateDir, archive: journal.archive, tell })
  for await (const { event } of records) {
    if (event.type !== 'intent-closed') continue
    const { intentId: id, outcome, reason, detail = '' } = event
    const why = reason === outcome ? '' : ` (${reason}${detail === '' ? '' : `: ${detail}`})`
    closed.push({ tag: 'closed', id, outcome, reason, detail: `${id} is closed: ${outcome}${why}` })
  }
  return closed
}

function unknownText(
  asked: string,
  { open, past }: { readonly open: readonly IntentId[]; readonly past: readonly Closed[] },
): string {
  const close = nearest(asked, [...open, ...past.map(({ id }) => id)])
  const meant = close === undefined ? '' : `; did you mean ${close}?`
  const there = open.length === 0 ? 'nothing is open' : `open are: ${open.join(', ')}`
  return `there is no intent ${asked}${meant} (${there})`
}
