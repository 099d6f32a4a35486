import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { OpenIntents } from '../../../src/journal/state/open-intents.ts'

/** A state that shares nothing with another. */
export function copyOf(state: DaemonState): DaemonState {
  const copy = structuredClone({ ...state, intents: [...state.intents] })
  const intents = new OpenIntents()
  for (const [id, open] of copy.intents) intents.set(id, open)
  return { ...copy, intents }
}
