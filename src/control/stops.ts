import { messageOf } from '../domain/errors.ts'
import type { Controlled } from '../engine/daemon-control.ts'
import type { DaemonState, Pause } from '../journal/state/daemon-state.ts'
import type { Clock } from '../ports.ts'

/** How long a question stays open. */
export const QUESTION_MS = 60_000

/** Halts and pauses that a resume would end. `file` is the text of the file HALT. */
export type Lifting = ReturnType<typeof liftingOf>

export type Stops = {
  readonly state: DaemonState
  /** Text of the file HALT, if present. */
  readonly haltFile: string | undefined
}

export function liftingOf({ state, haltFile }: Stops, strategy: string | undefined) {
  const paused = [...state.strategies].flatMap(([name, record]) =>
    record.paused !== undefined && (strategy ?? name) === name
      ? [[name, record.paused] as const]
      : [],
  )
  const isAll = strategy === undefined
  const halted = isAll ? state.halted : undefined
  const file = isAll ? haltFile : undefined
  const isNothing = halted === undefined && file === undefined && paused.length === 0
  return { halted, file, paused, isNothing }
}

/** Equal for the same halt and the same pauses. */
export function liftingKey({ halted, file, paused }: Lifting): string {
  const keyOf = (pause: Pause): string => `${pause.atMs} ${pause.cause} ${pause.detail}`
  const pauses = paused.map(([name, pause]) => `${name} ${keyOf(pause)}`)
  return JSON.stringify([halted && keyOf(halted), file, ...pauses])
}

/** A question whether to resume, which its code answers once. */
export type Question = {
  readonly strategy: string | undefined
  /** Halts and pauses at the time of the question: a confirmation covers nothing else. */
  readonly lifts: string
  readonly code: string
  readonly untilMs: number
}

/** A question also closes if the clock is set back. */
export function isAnswer({ code, untilMs }: Question, given: string, nowMs: number): boolean {
  return given === code && nowMs <= untilMs && nowMs >= untilMs - QUESTION_MS
}

/** Bounds the wait for a slow disk, because another halt may come meanwhile. */
const DONE_MS_MAX = 10_000

/** The result of a command. Never rejects. `late`: the disk has not confirmed it yet, and may do so later. */
export async function doneWithin(command: Promise<Controlled>, clock: Pick<Clock, 'sleep'>) {
  const done = new AbortController()
  const detail = `the disk has not confirmed it within ${DONE_MS_MAX / 1_000} s`
  const late = clock
    .sleep(DONE_MS_MAX, done.signal)
    .then(() => ({ ok: false, detail, late: true }) as const)
  const failed = (error: unknown): Controlled => ({ ok: false, detail: messageOf(error) })
  try {
    return await Promise.race([command.catch(failed), late])
  } finally {
    done.abort()
  }
}
