import { fnv1a } from '../random.ts'
import type { SlotSeconds } from './schedule.ts'

/** A slot's delay from 0 to `jitterMs`, derived from the strategy's name and the slot (FNV-1a), so it survives restarts. */
export function jitterOf(strategy: string, slot: SlotSeconds, jitterMs: number): number {
  if (jitterMs === 0) return 0
  return fnv1a(`${strategy}:${slot}`) % (jitterMs + 1)
}
