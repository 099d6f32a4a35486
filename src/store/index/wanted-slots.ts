import type { SlotRange } from '../../journal/events/event.ts'
import { type ReadRecord, slotsOf } from '../../journal/events/registry.ts'
import { programEnded } from '../../journal/events/strategy/strategies.ts'

/** Slots by strategy. */
export type Wanted = ReadonlyMap<string, readonly SlotRange[]>

export function byStrategy(slots: readonly SlotRange[]): Wanted {
  const wanted = new Map<string, SlotRange[]>()
  for (const each of slots) {
    const own = wanted.get(each.strategy) ?? []
    wanted.set(each.strategy, own)
    own.push(each)
  }
  return wanted
}

export function overlaps(
  wanted: Wanted,
  [strategy, first, last]: readonly [string, number, number, ...unknown[]],
): boolean {
  const slots = wanted.get(strategy) ?? []
  return slots.some(({ firstSeconds, lastSeconds }) => firstSeconds <= last && first <= lastSeconds)
}

export async function* about(
  parts: AsyncIterable<Iterable<ReadRecord>> | Iterable<Iterable<ReadRecord>>,
  wanted: Wanted,
): AsyncGenerator<ReadRecord> {
  for await (const reads of parts) {
    for (const read of reads) if (isWanted(read, wanted)) yield read
  }
}

function isWanted(read: ReadRecord, wanted: Wanted): boolean {
  const { event } = read
  if (programEnded.is(event) && wanted.has(event.strategy)) return true
  return slotsOf(read).some((each) => overlaps(wanted, spanOf(each)))
}

function spanOf({ strategy, firstSeconds, lastSeconds }: SlotRange) {
  return [strategy, firstSeconds, lastSeconds] as const
}

/** Ascending numbers as runs without gaps; ends are exclusive. */
export function runsOf(
  numbers: readonly number[],
): readonly (readonly [from: number, until: number])[] {
  const runs: [number, number][] = []
  for (const number of numbers) {
    const last = runs.at(-1)
    if (last?.[1] === number) last[1] = number + 1
    else runs.push([number, number + 1])
  }
  return runs
}
