import { readLately } from '../../adapters/page/lately.ts'
import type { EndedSlot } from '../../adapters/page/sightings.ts'
import { stateFiles } from '../../adapters/state/state-files.ts'

/** The last slot of each strategy that has ended, as far as the newest files of the journal say. */
export async function lastSlotsIn(
  journal: { readonly stateDir: string; readonly archive: string | undefined },
  strategies: readonly string[],
): Promise<ReadonlyMap<string, EndedSlot>> {
  const { stateDir, archive } = journal
  const place = { dir: stateFiles(stateDir).journal, archive }
  const { slots } = await readLately(place, { fills: 0, strategies })
  const last = new Map<string, EndedSlot>()
  // The newest comes first, and then the last one that was skipped.
  for (const { strategy, slot } of slots) if (!last.has(strategy)) last.set(strategy, slot)
  return last
}
