import type { JournalEvent } from '../domain/book/journal.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { nearest } from '../domain/nearest.ts'
import type { Ports } from '../ports.ts'

/** Something that nothing is signed for until an operator approves it. */
export type Approval = {
  readonly kind: 'strategy'
  /** What `tranched approve` takes. */
  readonly name: string
  readonly sinceMs: number
  readonly detail: string
}

export type Approved =
  | {
      readonly ok: true
      readonly approved: readonly string[]
      /** What still waits. */
      readonly waiting: readonly Approval[]
    }
  | { readonly ok: false; readonly detail: string }

/** An approval that is due, with the record that gives it. */
type Pending = Approval & { readonly record: (detail: string) => JournalEvent }

/** Every kind of approval, each with its own function. */
function pendingIn(state: DaemonState): readonly Pending[] {
  return [...heldStrategies(state)]
}

function heldStrategies(state: DaemonState): readonly Pending[] {
  return [...state.strategies].flatMap(([name, { held }]) => {
    if (held === undefined) return []
    const { atMs: sinceMs, terms, detail } = held
    const record = (by: string): JournalEvent => ({
      ...{ type: 'hold-lifted', strategy: name, terms },
      ...{ cause: 'operator', detail: by },
    })
    return [{ kind: 'strategy', name, sinceMs, detail, record }]
  })
}

/** What waits for an operator, oldest first. */
export function approvalsIn(state: DaemonState): readonly Approval[] {
  return pendingIn(state)
    .map(({ kind, name, sinceMs, detail }) => ({ kind, name, sinceMs, detail }))
    .sort((one, other) => one.sinceMs - other.sinceMs)
}

/** Journals an operator's approval of what waits under a name. It holds across restarts. */
export async function approve(
  { journal }: Pick<Ports, 'journal'>,
  name: string,
): Promise<Approved> {
  const due = pendingIn(journal.state).filter((each) => each.name === name)
  if (due.length === 0) return { ok: false, detail: strangerText(name, journal.state) }
  await journal.append(...due.map(({ record }) => record('approved by the operator')))
  return { ok: true, approved: [name], waiting: approvalsIn(journal.state) }
}

function strangerText(name: string, state: DaemonState): string {
  const names = approvalsIn(state).map((each) => each.name)
  if (names.length === 0) return `${name} waits for no approval; nothing does`
  const meant = nearest(name, names)
  return meant === undefined
    ? `${name} waits for no approval; these do: ${names.join(', ')}`
    : `${name} waits for no approval; did you mean ${meant}?`
}
