import type { OperatorFiles } from '../../../src/engine/daemon.ts'
import { haltLifted, tradingHalted } from '../../../src/journal/events/strategy/stops.ts'
import type { SimulatedDisk } from '../journal.ts'

/** Status of a daemon's process at the moment when it signs. */
export type SigningStatus = {
  /** The state directory that it writes. */
  readonly disk: SimulatedDisk
  /** The operator's files: both the old and the new ones during an exchange. */
  readonly files: readonly OperatorFiles[]
  readonly isHaltFileThere: boolean
}

type Read = { cuts: number; records: number; isHalted: boolean }

/** Reads from the directory, as an outside reader would, whether a halt is on disk. */
export class HaltReader {
  readonly #read = new WeakMap<SimulatedDisk, Read>()

  isHalted({ disk, isHaltFileThere }: SigningStatus): boolean {
    const records = disk.records()
    const known = this.#read.get(disk)
    const isFresh = known === undefined || known.cuts !== disk.cuts
    const read = isFresh ? { cuts: disk.cuts, records: 0, isHalted: false } : known
    for (const { event } of records.slice(read.records)) {
      if (tradingHalted.is(event)) read.isHalted = true
      if (haltLifted.is(event)) read.isHalted = false
    }
    read.records = records.length
    this.#read.set(disk, read)
    return isHaltFileThere || read.isHalted
  }
}
