import type { JournalEvent } from '../../domain/book/journal.ts'
import type { IntentId } from '../../domain/intent.ts'
import type { PermitRecord } from '../../domain/permit.ts'
import type { Hex } from '../../domain/units.ts'
import type { Ledger } from '../chain/ledger.ts'
import type { SimulatedDisk } from '../journal.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export type RecordedPermit = { readonly intentId: IntentId; readonly permit: PermitRecord }

/** Looks over the daemon's shoulder at every signature, with the disk and the true chain at hand. */
export class Watch {
  readonly violations: string[] = []
  readonly #signed = new Set<Hex>()
  /** Permits on disk by digest and by intent, as far as the disk was read. */
  readonly #byDigest = new Map<Hex, RecordedPermit>()
  readonly #byIntent = new Map<IntentId, RecordedPermit[]>()
  #recordsRead = 0
  #cutsSeen = 0
  readonly #disk: SimulatedDisk
  readonly #ledger: Ledger
  readonly #clock: VirtualClock

  constructor(parts: { disk: SimulatedDisk; ledger: Ledger; clock: VirtualClock }) {
    this.#disk = parts.disk
    this.#ledger = parts.ledger
    this.#clock = parts.clock
  }

  report(what: string): void {
    this.violations.push(`at ${this.#clock.trueMs}: ${what}`)
  }

  get signatures(): number {
    return this.#signed.size
  }

  /** Called in the instant before a signature exists. Repeating an old signature is no new one. */
  signing(digest: Hex): void {
    this.#readDisk()
    const own = this.#byDigest.get(digest)
    if (own === undefined) this.report(`${digest} was signed before its record was on disk`)
    if (this.#signed.has(digest)) return
    this.#signed.add(digest)
    for (const { intentId, permit } of own === undefined ? [] : this.#permitsOf(own.intentId)) {
      const rival = permit.digest !== digest
      if (rival && this.#signed.has(permit.digest) && !this.#ledger.isDead(permit))
        this.report(`${intentId} has two live permits`)
    }
  }

  #readDisk(): void {
    const records = this.#disk.records()
    if (this.#cutsSeen !== this.#disk.cuts) this.#recordsRead = 0
    this.#cutsSeen = this.#disk.cuts
    const fresh = records.slice(this.#recordsRead).map(({ event }) => event)
    this.#recordsRead = records.length
    for (const each of recordedPermits(fresh)) {
      this.#byDigest.set(each.permit.digest, each)
      this.#byIntent.set(each.intentId, [...this.#permitsOf(each.intentId), each])
    }
  }

  #permitsOf(id: IntentId): readonly RecordedPermit[] {
    return this.#byIntent.get(id) ?? []
  }
}

/** Every permit that the journal ever recorded, in order. */
export function recordedPermits(events: readonly JournalEvent[]): RecordedPermit[] {
  return events.flatMap((event) =>
    event.type === 'permit-recorded' ? [{ intentId: event.intentId, permit: event.permit }] : [],
  )
}
