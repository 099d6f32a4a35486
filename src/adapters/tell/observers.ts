import type { Observation } from '../../domain/observation.ts'
import type { Log } from './log.ts'
import { closedLabels } from './metrics/closed-labels.ts'
import type { Metrics } from './metrics.ts'

/** Where an observation goes. */
export type Observers = {
  readonly log: Log
  readonly metrics: Metrics
}

/** What outlives one event: the closed label sets, and the troubles that were told lately. */
export type Memory = {
  readonly labels: Readonly<Record<'route' | 'status' | 'cause', (value: string) => string>>
  /** Whether a trouble was not told in the last minute, or in the time given. */
  readonly isNews: (trouble: string, repeatAfterMs?: number) => boolean
}

/** One case of the union, by its tag. */
export type Observed<Type extends Observation['type']> = Extract<Observation, { type: Type }>

/** How each observation is told; a new one is a compile error until it has its entry. */
export type Tellers = {
  readonly [Type in Observation['type']]: (
    event: Observed<Type>,
    to: Observers,
    memory: Memory,
  ) => void
}

/** Durations as metrics want them. A clock that was set back must not make one negative. */
export function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}

/** A moment for a line of text, UTC. */
export function instantText(epochSeconds: number): string {
  return new Date(epochSeconds * 1_000).toISOString()
}

const REPEAT_AFTER_MS = 60_000
const TROUBLES_MAX = 100

/** Make one for each observer. */
export function createMemory(): Memory {
  return {
    labels: { route: closedLabels(), status: closedLabels(), cause: closedLabels() },
    isNews: rememberTroubles(),
  }
}

/** A node that is down for hours is one line a minute, not one a tick. */
function rememberTroubles(): Memory['isNews'] {
  const toldAt = new Map<string, number>()
  return (trouble, repeatAfterMs = REPEAT_AFTER_MS) => {
    const nowMs = performance.now()
    const lastMs = toldAt.get(trouble)
    if (lastMs !== undefined && nowMs - lastMs < repeatAfterMs) return false
    if (toldAt.size >= TROUBLES_MAX) toldAt.clear()
    toldAt.set(trouble, nowMs)
    return true
  }
}
