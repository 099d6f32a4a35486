import type { DiskSight } from '../../../../adapters/state/disk-sight.ts'
import { type Check, fault, fine, unknown, warning } from '../check.ts'

const MIB = 1024 * 1024
/** The journal needs little; something else on the disk may not. */
const ROOM_LITTLE = 1024 * MIB
const ROOM_NONE = 64 * MIB
/** Every order waits for three or four writes to be on disk. */
const MEDIAN_MS_MAX = 50
/** A daemon that is kept so long from writing says nothing of life meanwhile. */
const WORST_MS_MAX = 3_000

/** The disk under the state directory: what a small write through to it takes, and how much room is left. */
export function judgeDisk(dir: string, sight: DiskSight): readonly Check[] {
  return [judgeRoom(dir, sight.freeBytes), judgeLatency(dir, sight)]
}

function judgeRoom(dir: string, free: number): Check {
  const text = `${roomText(free)} free`
  const remedy =
    'make room, or `stateDir` on another disk; `journal.archive` moves finished files away'
  if (free < ROOM_NONE) return fault('disk-room', `${dir}: ${text}`, remedy)
  return free < ROOM_LITTLE
    ? warning('disk-room', `${dir}: ${text}`, remedy)
    : fine('disk-room', text)
}

function judgeLatency(dir: string, { writes }: DiskSight): Check {
  if (writes === undefined)
    return unknown('disk-latency', 'there is no state directory yet: nothing was written')
  if (!writes.ok)
    return fault(
      'disk-latency',
      `${dir}: nothing can be written (${writes.why})`,
      'give the directory to the user that the daemon runs as, or mend the disk',
    )
  const { medianMs, worstMs } = writes
  const text = `a small write is on disk in ${millis(medianMs)}, at worst ${millis(worstMs)}`
  if (medianMs <= MEDIAN_MS_MAX && worstMs <= WORST_MS_MAX) return fine('disk-latency', text)
  return warning(
    'disk-latency',
    `${dir}: ${text}`,
    'another disk for `stateDir`: an order waits for several such writes, and a network disk may stall',
  )
}

function millis(ms: number): string {
  return ms < 10 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms)} ms`
}

function roomText(bytes: number): string {
  const gib = bytes / 1024 / MIB
  return gib >= 1 ? `${Math.floor(gib)} GiB` : `${Math.floor(bytes / MIB)} MiB`
}
