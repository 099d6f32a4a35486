import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'

/** A state that shares nothing with another. */
export function copyOf(state: DaemonState): DaemonState {
  const copy = structuredClone({ ...state, intents: [...state.intents] })
  const { intents } = emptyState()
  for (const [id, open] of copy.intents) intents.set(id, open)
  return { ...copy, intents }
}
