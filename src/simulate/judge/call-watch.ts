import type { EventOf, JournalEvent } from '../../domain/book/journal.ts'
import type { TrustlessCall } from '../../domain/call.ts'
import type { IntentId } from '../../domain/intent.ts'
import type { Hex } from '../../domain/units.ts'
import type { CallLedger } from '../aggregator/ledger.ts'
import type { SimulatedDisk } from '../journal.ts'

type RecordedCall = { readonly intentId: IntentId; readonly call: TrustlessCall }

/** Looks over the daemon's shoulder at every signature over a call, with the disk and the true chain at hand. */
export class CallWatch {
  readonly violations: string[] = []
  readonly #signed = new Set<Hex>()
  /** Calls on disk, as far as the disk was read. */
  readonly #calls: RecordedCall[] = []
  #recordsRead = 0
  readonly #disk: SimulatedDisk
  readonly #ledger: CallLedger

  constructor(parts: { disk: SimulatedDisk; ledger: CallLedger }) {
    this.#disk = parts.disk
    this.#ledger = parts.ledger
  }

  get signatures(): number {
    return this.#signed.size
  }

  /** Called in the instant before a signature exists. Repeating an old signature is no new one. */
  signing(digest: Hex): void {
    const calls = this.#readCalls()
    const own = calls.find(({ call }) => call.digest === digest)
    if (own === undefined)
      this.violations.push(`${digest} was signed before its record was on disk`)
    if (this.#signed.has(digest)) return
    this.#signed.add(digest)
    for (const { intentId, call } of calls) {
      if (call.digest === digest || !this.#signed.has(call.digest)) continue
      if (this.#isLive(call)) this.violations.push(`${intentId} has a live call beside a new one`)
      if (intentId === own?.intentId && this.#hasExecuted(call))
        this.violations.push(`${intentId} was signed again after it had executed`)
    }
  }

  /** What may never have happened by now, in words: doubled executions, and books that say something else. */
  all(): readonly string[] {
    const closed = new Set<IntentId>()
    const proofs = new Map<IntentId, EventOf<'call-proven'>>()
    const spokenFor = new Set<IntentId>()
    for (const event of this.#disk.events()) {
      if (event.type === 'intent-closed') closed.add(event.intentId)
      if (event.type === 'call-proven') proofs.set(event.intentId, event)
      if (event.type === 'order-settled' && event.as === 'executed') spokenFor.add(event.intentId)
      if (event.type !== 'fill-reopened') continue
      closed.delete(event.intentId)
      proofs.delete(event.intentId)
    }
    return [
      ...this.violations,
      ...this.#readCalls().flatMap((each) =>
        this.#wrongs(each, {
          isClosed: closed.has(each.intentId) && !spokenFor.has(each.intentId),
          proof: proofs.get(each.intentId),
        }),
      ),
    ]
  }

  #readCalls(): readonly RecordedCall[] {
    const records = this.#disk.records()
    const fresh = records.slice(this.#recordsRead).map(({ event }) => event)
    this.#recordsRead = records.length
    this.#calls.push(...recordedCalls(fresh))
    return this.#calls
  }

  #wrongs(
    { intentId, call }: RecordedCall,
    booked: { readonly isClosed: boolean; readonly proof: EventOf<'call-proven'> | undefined },
  ): string[] {
    const { isClosed, proof } = booked
    const runs = this.#ledger.executions.filter(({ digest }) => digest === call.digest)
    const wrongs: string[] = []
    if (runs.length > 1) wrongs.push(`${intentId} executed ${runs.length} times`)
    if (proof?.attempt === call.attempt && proof.execution.txHash !== runs[0]?.hash)
      wrongs.push(`${intentId} is proven by a transaction that is not its own`)
    if (isClosed && runs.length > 0 && proof === undefined)
      wrongs.push(`${intentId} was closed as not executed, but it was`)
    return wrongs
  }

  #isLive(call: TrustlessCall): boolean {
    const { nestedNonce, timeSeconds } = this.#ledger
    return call.nonce >= nestedNonce && timeSeconds <= call.deadlineSeconds
  }

  #hasExecuted(call: TrustlessCall): boolean {
    return this.#ledger.executions.some(({ digest }) => digest === call.digest)
  }
}

/** Every trustless call that the journal ever recorded, in order. */
function recordedCalls(events: readonly JournalEvent[]): RecordedCall[] {
  return events.flatMap((event) =>
    event.type === 'call-recorded' && event.call.trust === 'trustless'
      ? [{ intentId: event.intentId, call: event.call }]
      : [],
  )
}
