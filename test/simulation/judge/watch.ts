import type { Hex } from '../../../src/domain/money/units.ts'
import type { IntentId } from '../../../src/domain/order/intent.ts'
import type { PermitRecord } from '../../../src/domain/order/permit.ts'
import { permitRecorded } from '../../../src/journal/events/order/authorizations.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionDraft } from '../../../src/ports.ts'
import type { Ledger } from '../chain/ledger.ts'
import { isUnwrapping } from '../chain/mempool.ts'
import type { SimulatedDisk } from '../journal.ts'
import { SIMULATED_CHAIN_ID, WETH_USDC } from '../stage.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { capsPassedNow, type Outflow } from './caps.ts'
import { CodeCheck } from './code-check.ts'
import { HaltReader, type SigningStatus } from './signing-status.ts'

export type RecordedPermit = { readonly intentId: IntentId; readonly permit: PermitRecord }

/** Observes every signature of all daemons, with access to the true history and the true chain. */
export class Watch {
  readonly violations: string[] = []
  /** Whether an operator ever gave up earlier records. */
  hasForgiven = false
  readonly #signed = new Set<Hex>()
  /** Every permit that was ever on a disk, by digest and by intent, as far as the history was read. */
  readonly #byDigest = new Map<Hex, RecordedPermit>()
  readonly #byNonce = new Map<bigint, RecordedPermit>()
  readonly #byIntent = new Map<IntentId, RecordedPermit[]>()
  /** Signed permits that may still execute. */
  readonly #live = new Map<Hex, RecordedPermit>()
  /** Nonces of permits that an operator's instruction gave up: no daemon has them any more. */
  readonly #forgiven = new Set<bigint>()
  readonly #halts = new HaltReader()
  #recordsRead = 0
  readonly #disk: SimulatedDisk
  readonly #ledger: Ledger
  readonly #clock: VirtualClock

  readonly #code: CodeCheck

  constructor(parts: { disk: SimulatedDisk; ledger: Ledger; clock: VirtualClock; depth: number }) {
    this.#disk = parts.disk
    this.#ledger = parts.ledger
    this.#clock = parts.clock
    const { ledger, depth } = parts
    const { codes } = ledger
    const block = (): number => ledger.block
    this.#code = new CodeCheck({ chainId: SIMULATED_CHAIN_ID, codes, block, depth })
  }

  report(what: string): void {
    this.violations.push(`at ${this.#clock.trueMs}: ${what}`)
  }

  get signatures(): number {
    return this.#signed.size
  }

  /** An operator continues with the records of this disk: caps count nothing else from before. */
  forgive(disk: SimulatedDisk): void {
    this.hasForgiven = true
    const known = new Set(recordedPermits(disk.events()).map(({ permit }) => permit.nonce))
    const ever = recordedPermits(this.#disk.history().map(({ event }) => event))
    for (const { permit } of ever) if (!known.has(permit.nonce)) this.#forgiven.add(permit.nonce)
  }

  /** Signed permits that are missing on this disk. */
  unknownTo(disk: SimulatedDisk): readonly RecordedPermit[] {
    this.#readDisk()
    const known = new Set(recordedPermits(disk.events()).map(({ permit }) => permit.digest))
    return [...this.#byDigest].flatMap(([digest, recorded]) => {
      const isGone = this.#signed.has(digest) && !known.has(digest)
      return isGone && !this.#forgiven.has(recorded.permit.nonce) ? [recorded] : []
    })
  }

  isForgiven(nonce: bigint): boolean {
    return this.#forgiven.has(nonce)
  }

  /** Called just before a signature is made. Repeating an old signature adds none. */
  signing(digest: Hex, status: SigningStatus): void {
    this.#readDisk()
    const own = this.#byDigest.get(digest)
    if (own === undefined) this.report(`${digest} was signed before its record was on disk`)
    if (this.#halts.isHalted(status)) this.report(`${own?.intentId} was signed under a halt`)
    if (own !== undefined) this.#checkFiles(own, status)
    if (own !== undefined) {
      const { permit2, spender, token, tokenOut } = own.permit
      const used = [permit2, spender, token, tokenOut, WETH_USDC.feed]
      for (const violation of this.#code.violations(status, used))
        this.report(`${own.intentId}: ${violation}`)
    }
    if (this.#signed.has(digest)) return
    this.#signed.add(digest)
    if (own === undefined) return
    for (const { intentId, permit } of this.#permitsOf(own.intentId)) {
      const rival = permit.digest !== digest
      if (rival && this.#signed.has(permit.digest) && !this.#ledger.isDead(permit))
        this.report(`${intentId} has two live permits`)
    }
    this.#live.set(digest, own)
  }

  /** The same for a transaction: only an unwrap is allowed under a halt. */
  sending(draft: TransactionDraft, status: SigningStatus): void {
    if (this.#halts.isHalted(status) && !isUnwrapping(draft))
      this.report(`transaction ${draft.nonce} was signed under a halt`)
    if (isUnwrapping(draft)) return
    for (const violation of this.#code.violations(status, [draft.to]))
      this.report(`transaction ${draft.nonce}: ${violation}`)
  }

  #checkFiles(own: RecordedPermit, { files }: SigningStatus): void {
    const strategy = strategyOf(own)
    const isNamed = files.some((each) =>
      each.strategies.some(({ name, enabled }) => enabled && name === strategy),
    )
    // Orders by hand have no file.
    if (!isNamed && strategy !== 'manual')
      this.report(`${own.intentId} was signed, and its strategy's file is gone`)
    const { token, amount } = own.permit
    const requested = { strategy, token, amount, timeMs: Number.POSITIVE_INFINITY }
    const others = [...this.#gone(own.permit), ...this.#pending(own.permit)]
    const by = { nowMs: this.#clock.trueMs, files, others }
    for (const violation of capsPassedNow(requested, by))
      this.report(`${own.intentId}: ${violation}`)
  }

  /** Amounts that left the wallet in settlements. */
  #gone({ nonce: own }: PermitRecord): readonly Outflow[] {
    return this.#ledger.transactions.flatMap(({ settled, timeSeconds }) =>
      settled.flatMap(({ permit: { nonce, token }, paid: amount }) => {
        const recorded = this.#byNonce.get(nonce)
        if (recorded === undefined || nonce === own || this.#forgiven.has(nonce)) return []
        return { strategy: strategyOf(recorded), token, amount, timeMs: timeSeconds * 1000 }
      }),
    )
  }

  /** Amounts that may still leave it, beside one permit. */
  #pending({ nonce: own }: PermitRecord): readonly Outflow[] {
    const timeMs = Number.POSITIVE_INFINITY
    const pending: Outflow[] = []
    for (const [digest, recorded] of this.#live) {
      const { permit } = recorded
      // A reorganisation may free a nonce, but never extends a deadline.
      if (this.#ledger.isPast(permit)) this.#live.delete(digest)
      const isLive = !this.#ledger.isDead(permit) && permit.nonce !== own
      if (!isLive || this.#forgiven.has(permit.nonce)) continue
      const { token, amount } = permit
      pending.push({ strategy: strategyOf(recorded), token, amount, timeMs })
    }
    return pending
  }

  #readDisk(): void {
    const records = this.#disk.history()
    const fresh = records.slice(this.#recordsRead).map(({ event }) => event)
    this.#recordsRead = records.length
    for (const each of recordedPermits(fresh)) {
      this.#byDigest.set(each.permit.digest, each)
      this.#byNonce.set(each.permit.nonce, each)
      this.#byIntent.set(each.intentId, [...this.#permitsOf(each.intentId), each])
    }
  }

  #permitsOf(id: IntentId): readonly RecordedPermit[] {
    return this.#byIntent.get(id) ?? []
  }
}

function strategyOf({ intentId }: { readonly intentId: IntentId }): string {
  return intentId.split(':')[0] ?? ''
}

/** Every permit that the journal ever recorded, in order. */
export function recordedPermits(events: readonly JournalEvent[]): RecordedPermit[] {
  return events.flatMap((event) =>
    permitRecorded.is(event) ? [{ intentId: event.intentId, permit: event.permit }] : [],
  )
}
