import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import { stateReadings } from '../../src/observe/metrics/readings.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import { ACCOUNT } from '../simulation/stage.ts'

const not = (): undefined => undefined

/** Metrics as a daemon serves them, over an empty state. */
export function servedMetrics(): { readonly metrics: Metrics; readonly state: DaemonState } {
  const metrics = createMetrics({ version: '0.0.0' })
  const state = emptyState()
  metrics.add(
    ...stateReadings({
      state,
      strategies: () => [],
      account: ACCOUNT,
      tokens: [],
      blocks: { lock: not, anchor: not, 'halt-file': not },
      turnedAtMs: Date.now,
      stateBytes: () => [],
      feedUpdated: metrics.feedUpdated,
      now: Date.now,
    }),
  )
  return { metrics, state }
}

/** Names of all series that a daemon may serve. A histogram's three series are separate names. */
export async function servedNames(): Promise<readonly string[]> {
  const text = await servedMetrics().metrics.render()
  return [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name],
  )
}
