import type { Observation } from '../../domain/observation.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Notification } from './webhooks.ts'

/** Where an observation goes. */
export type Observers = {
  readonly log: Log
  readonly metrics: Metrics
  /** Must return at once. */
  readonly notify: (notification: Notification) => void
}

/** One case of the union, by its tag. */
export type Observed<Type extends Observation['type']> = Extract<Observation, { type: Type }>

/** Durations as metrics want them. A clock that was set back must not make one negative. */
export function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}
