import { fnv1a } from '../random.ts'
import type { SlotSeconds } from './schedule.ts'

/**
 * How long after its time a slot is attended, from 0 to `jitterMs`. It follows from the strategy's name and the slot alone
 * (FNV-1a), so that a restart draws no other.
 */
export function jitterOf(strategy: string, slot: SlotSeconds, jitterMs: number): number {
  if (jitterMs === 0) return 0
  return fnv1a(`${strategy}:${slot}`) % (jitterMs + 1)
}
