import { messageOf } from '../domain/errors.ts'
import type { OrderState } from '../domain/order/order.ts'
import { strangerText } from '../domain/text/nearest.ts'
import type { JournalEvent } from '../journal/events/registry.ts'
import {
  haltLifted,
  strategyPaused,
  strategyResumed,
  tradingHalted,
} from '../journal/events/strategy/stops.ts'
import type { Ports } from '../ports.ts'
import { deadlineOf } from '../venues/projections.ts'

const OPERATOR = 'the operator'

/** Works with or without a running daemon. */
export type ControlPorts = Pick<Ports, 'journal' | 'haltFile'>

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

/** Pauses one strategy, or all: no new slots or signatures, while signed orders continue. Survives restarts. */
export async function pause(
  ports: ControlPorts,
  strategy: string | undefined,
  by = OPERATOR,
): Promise<Controlled> {
  const { strategies } = ports.journal.state
  if (strategy !== undefined && !strategies.has(strategy)) return unknown(ports, strategy)
  const names = namesOf(ports, strategy, false)
  const detail = `paused by ${by}`
  const events = names.map((name) => strategyPaused({ strategy: name, cause: 'operator', detail }))
  await append(ports, events)
  return done(ports, names)
}

/** The kill switch: once it is on disk, nothing new is signed. Signed orders are followed to their end. */
export async function halt(ports: ControlPorts, by = OPERATOR): Promise<Controlled> {
  if (ports.journal.state.halted !== undefined) return done(ports, [])
  const detail = ports.haltFile.status() ?? `halted by ${by}`
  await append(ports, [tradingHalted({ cause: 'operator', detail })])
  return done(ports, ['everything'])
}

/** Journals a halt file, so that the halt holds even if the file is removed by hand. */
export async function noteHaltFile(ports: ControlPorts): Promise<void> {
  if (ports.journal.state.halted === undefined && ports.haltFile.status() !== undefined)
    await halt(ports)
}

/**
 * Ends one strategy's pause, or without a name the halt and every pause. Journals a halt file, removes it, then journals the
 * resume, so a crash at any moment leaves everything halted. `by` is recorded if given.
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
    // A comparison or another operator has halted meanwhile, for a reason that this request does not cover.
    if (now !== undefined && now !== meant)
      return { ok: false, detail: `everything stays halted: ${now.detail}` }
    try {
      haltFile.lift()
    } catch (error) {
      return { ok: false, detail: `everything stays halted: ${messageOf(error)}` }
    }
  }
  const names = namesOf(ports, strategy, true)
  const lifts = strategy === undefined && journal.state.halted !== undefined
  const author = by === undefined ? {} : { detail: `resumed by ${by}` }
  const events: JournalEvent[] = names.map((name) => strategyResumed({ strategy: name, ...author }))
  if (lifts) events.push(haltLifted(author))
  await append(ports, events)
  return done(ports, lifts ? ['everything', ...names] : names)
}

/** One or all strategies, filtered by whether they are paused. */
function namesOf(
  { journal }: ControlPorts,
  strategy: string | undefined,
  isPaused: boolean,
): readonly string[] {
  return [...journal.state.strategies].flatMap(([name, { paused }]) =>
    (strategy ?? name) === name && (paused !== undefined) === isPaused ? [name] : [],
  )
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

export function inFlightOf(state: Ports['journal']['state']): readonly InFlight[] {
  return [...state.intents.values()].map((open) => ({
    intentId: open.intent.id,
    state: open.state,
    deadlineSeconds: deadlineOf(open),
  }))
}
