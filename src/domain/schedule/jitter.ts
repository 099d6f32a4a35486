import type { SlotSeconds } from './schedule.ts'

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/**
 * How long after its time a slot is attended, from 0 to `jitterMs`. It follows from the strategy's name and the slot alone
 * (FNV-1a), so that a restart draws no other.
 */
export function jitterOf(strategy: string, slot: SlotSeconds, jitterMs: number): number {
  if (jitterMs === 0) return 0
  let hash = FNV_OFFSET
  for (const character of `${strategy}:${slot}`)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), FNV_PRIME) >>> 0
  return hash % (jitterMs + 1)
}
