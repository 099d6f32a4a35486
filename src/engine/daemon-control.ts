import type { JournalEvent } from '../domain/book/journal.ts'
import { deadlineOf } from '../domain/book/venues.ts'
import { strangerText } from '../domain/nearest.ts'
import type { OrderState } from '../domain/order.ts'
import type { Ports } from '../ports.ts'

/** Who asks, where nobody says how it came. */
const OPERATOR = 'the operator'

/** What stopping and resuming needs: the journal and the file, whether or not a daemon runs. */
export type ControlPorts = Pick<Ports, 'journal' | 'haltFile'>

/** What is still in flight after a stop, so that nobody believes it gone. */
export type InFlight = {
  readonly intentId: string
  readonly state: OrderState
  readonly deadlineSeconds: number | undefined
}

export type Controlled =
  | {
      readonly ok: true
      readonly changed: readonly string[]
      readonly inFlight: readonly InFlight[]
    }
  | { readonly ok: false; readonly detail: string }

/**
 * Stops strategies from opening slots: one, or all that the journal knows. What is signed goes on to its end, what is not
 * never is. It survives restarts. `by` says in the record who asked.
 */
export async function pause(
  ports: ControlPorts,
  strategy: string | undefined,
  by = OPERATOR,
): Promise<Controlled> {
  const { strategies } = ports.journal.state
  if (strategy !== undefined && !strategies.has(strategy)) return unknown(ports, strategy)
  const names = [...strategies.keys()].filter(
    (name) => (strategy ?? name) === name && strategies.get(name)?.paused === undefined,
  )
  const detail = `paused by ${by}`
  const events = names.map(
    (name) => ({ type: 'strategy-paused', strategy: name, cause: 'operator', detail }) as const,
  )
  await append(ports, events)
  return done(ports, names)
}

/** The kill switch: from the moment it is on disk nothing new is signed. Orders already signed are followed to their end. */
export async function halt(ports: ControlPorts, by = OPERATOR): Promise<Controlled> {
  if (ports.journal.state.halted !== undefined) return done(ports, [])
  const detail = ports.haltFile.standing() ?? `halted by ${by}`
  await append(ports, [{ type: 'halted', cause: 'operator', detail }])
  return done(ports, ['everything'])
}

/** Journals a halt that somebody put beside the journal. From then on it holds even if the file is taken away by hand. */
export async function noteHaltFile(ports: ControlPorts): Promise<void> {
  if (ports.journal.state.halted === undefined && ports.haltFile.standing() !== undefined)
    await halt(ports)
}

/**
 * Ends a pause of one strategy; without a name, the halt and every pause. The journal has the halt before its file goes,
 * and loses it only when the file is gone: a crash at any moment leaves it halted. `by` goes into the record where it is given.
 */
export async function resume(
  ports: ControlPorts,
  strategy: string | undefined,
  by?: string,
): Promise<Controlled> {
  const { journal, haltFile } = ports
  const { strategies } = journal.state
  if (strategy !== undefined && !strategies.has(strategy)) return unknown(ports, strategy)
  if (strategy === undefined) {
    const noting = noteHaltFile(ports)
    const meant = journal.state.halted
    await noting
    const now = journal.state.halted
    // The comparison, or another operator, has halted for a reason that this word does not know of.
    if (now !== undefined && now !== meant)
      return { ok: false, detail: `everything stays halted: ${now.detail}` }
    const fault = faultOf(() => haltFile.lift())
    if (fault !== undefined) return { ok: false, detail: `everything stays halted: ${fault}` }
  }
  const names = [...strategies.keys()].filter(
    (name) => (strategy ?? name) === name && strategies.get(name)?.paused !== undefined,
  )
  const lifts = strategy === undefined && journal.state.halted !== undefined
  const told = by === undefined ? {} : { detail: `resumed by ${by}` }
  const events: JournalEvent[] = names.map((name) => ({
    type: 'strategy-resumed',
    strategy: name,
    ...told,
  }))
  if (lifts) events.push({ type: 'halt-lifted', ...told })
  await append(ports, events)
  return done(ports, lifts ? ['everything', ...names] : names)
}

function faultOf(lift: () => void): string | undefined {
  try {
    lift()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

async function append(ports: ControlPorts, events: readonly JournalEvent[]): Promise<void> {
  if (events.length > 0) await ports.journal.append(...events)
}

function unknown({ journal }: ControlPorts, strategy: string): Controlled {
  return { ok: false, detail: strangerText(strategy, journal.state.strategies.keys()) }
}

function done({ journal }: ControlPorts, changed: readonly string[]): Controlled {
  return { ok: true, changed, inFlight: inFlightOf(journal.state) }
}

/** Orders whose end is not known yet. */
export function inFlightOf(state: Ports['journal']['state']): readonly InFlight[] {
  return [...state.intents.values()].map((open) => ({
    intentId: open.intent.id,
    state: open.state,
    deadlineSeconds: deadlineOf(open),
  }))
}
