import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import type { Hex } from '../../../src/domain/money/units.ts'
import type { TrustlessCall } from '../../../src/domain/order/call.ts'
import type { IntentId } from '../../../src/domain/order/intent.ts'
import { callRecorded } from '../../../src/journal/events/order/authorizations.ts'
import {
  type CallProven,
  callProven,
  fillReopened,
} from '../../../src/journal/events/order/fills.ts'
import { intentClosed, orderSettled } from '../../../src/journal/events/order/outcomes.ts'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { TransactionDraft } from '../../../src/ports.ts'
import type { CallLedger } from '../aggregator/ledger.ts'
import type { SimulatedDisk } from '../journal.ts'
import { capsPassedNow, type Outflow } from './caps.ts'
import { CodeCheck } from './code-check.ts'
import { HaltReader, type SigningStatus } from './signing-status.ts'

type RecordedCall = { readonly intentId: IntentId; readonly call: TrustlessCall }

/** Observes every signature over a call, with access to the disk and the true chain. */
export class CallWatch {
  readonly violations: string[] = []
  readonly #halts = new HaltReader()
  readonly #signed = new Set<Hex>()
  /** Calls that an operator's instruction gave up. */
  readonly #forgiven = new Set<Hex>()
  /**
   * Calls on disk by digest, as far as the disk was read. Two daemons of one state may record the same bytes for
   * different slots, because a digest names no slot: it belongs to the slot that it was signed for, else to the last
   * one recorded.
   */
  readonly #calls = new Map<Hex, RecordedCall>()
  #recordsRead = 0
  readonly #disk: SimulatedDisk
  readonly #ledger: CallLedger

  readonly #code: CodeCheck

  constructor(parts: { disk: SimulatedDisk; ledger: CallLedger; chainId: number; depth: number }) {
    this.#disk = parts.disk
    this.#ledger = parts.ledger
    const { ledger, chainId, depth } = parts
    const block = (): number => Number(ledger.block)
    this.#code = new CodeCheck({ chainId, codes: ledger.codes, block, depth })
  }

  get signatures(): number {
    return this.#signed.size
  }

  /** Called just before a signature is made. Repeating an old signature adds none. */
  signing(digest: Hex, status: SigningStatus): void {
    const calls = this.#readCalls()
    const own = calls.find(({ call }) => call.digest === digest)
    if (this.#halts.isHalted(status))
      this.violations.push(`${own?.intentId} was signed under a halt`)
    if (own !== undefined) this.#checkFiles(own, status)
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

  /** The same for a transaction. */
  sending(draft: TransactionDraft, status: SigningStatus): void {
    if (this.#halts.isHalted(status))
      this.violations.push(`transaction ${draft.nonce} of the account was signed under a halt`)
    for (const violation of this.#code.violations(status, [draft.to]))
      this.violations.push(`transaction ${draft.nonce} of the account: ${violation}`)
  }

  /** An operator continues with the records of this disk: caps count nothing else from before. */
  forgive(disk: SimulatedDisk): void {
    const known = new Set(recordedCalls(disk.events()).map(({ call }) => call.digest))
    for (const { call } of this.#readCalls())
      if (!known.has(call.digest)) this.#forgiven.add(call.digest)
  }

  /** The account's spent ether, by the recorded calls that caps count. */
  outflows(): readonly Outflow[] {
    const calls = this.#readCalls().filter(({ call }) => !this.#forgiven.has(call.digest))
    return this.#ledger.executions.flatMap(({ digest, value, hash }) => {
      const own = calls.find(({ call }) => call.digest === digest)
      const mined = this.#ledger.mined.find((each) => each.hash === hash)
      if (own === undefined || mined === undefined) return []
      const timeMs = this.#ledger.timeOf(Number(mined.blockNumber)) * 1000
      return { strategy: strategyOf(own), token: NATIVE_TOKEN, amount: value, timeMs }
    })
  }

  #checkFiles(own: RecordedCall, status: SigningStatus): void {
    const { files } = status
    const strategy = strategyOf(own)
    const isNamed = files.some((each) =>
      each.strategies.some(({ name, enabled }) => enabled && name === strategy),
    )
    if (!isNamed) this.violations.push(`${own.intentId} was signed, and its file is gone`)
    const { value: amount, digest, target } = own.call
    for (const violation of this.#code.violations(status, [target]))
      this.violations.push(`${own.intentId}: ${violation}`)
    const requested = { strategy, token: NATIVE_TOKEN, amount, timeMs: Number.POSITIVE_INFINITY }
    const pending = this.#readCalls()
      .filter(({ call }) => call.digest !== digest && this.#signed.has(call.digest))
      .filter(({ call }) => this.#isLive(call) && !this.#forgiven.has(call.digest))
      .map((each) => ({ ...requested, strategy: strategyOf(each), amount: each.call.value }))
    const isOwn = this.#hasExecuted(own.call)
    const others = isOwn ? pending : [...this.outflows(), ...pending]
    const nowMs = this.#ledger.timeSeconds * 1000
    for (const violation of capsPassedNow(requested, { nowMs, files, others }))
      this.violations.push(`${own.intentId}: ${violation}`)
  }

  /** Violations so far: doubled executions, and records that contradict the chain. */
  all(disk: SimulatedDisk): readonly string[] {
    const closed = new Set<IntentId>()
    const proofs = new Map<IntentId, CallProven>()
    const settledByOperator = new Set<IntentId>()
    const known = new Set(recordedCalls(disk.events()).map(({ call }) => call.digest))
    for (const event of disk.events()) {
      if (intentClosed.is(event)) closed.add(event.intentId)
      if (callProven.is(event)) proofs.set(event.intentId, event)
      if (orderSettled.is(event) && event.as === 'executed') settledByOperator.add(event.intentId)
      if (!fillReopened.is(event)) continue
      closed.delete(event.intentId)
      proofs.delete(event.intentId)
    }
    return [
      ...this.violations,
      ...this.#doubled(),
      ...this.#readCalls()
        .filter(({ call }) => known.has(call.digest))
        .flatMap((each) =>
          this.#violationsOf(each, {
            isClosed: closed.has(each.intentId) && !settledByOperator.has(each.intentId),
            proof: proofs.get(each.intentId),
          }),
        ),
    ]
  }

  /** Each intent executes at most once, whichever attempt it is; and every execution has a record. */
  #doubled(): string[] {
    const owners = new Map(this.#readCalls().map(({ intentId, call }) => [call.digest, intentId]))
    const seen = new Set<IntentId>()
    return this.#ledger.executions.flatMap(({ digest }) => {
      if (digest === undefined) return []
      const intentId = owners.get(digest)
      if (intentId === undefined) return ['a call without a record executed']
      if (seen.has(intentId)) return [`${intentId} executed more than once`]
      seen.add(intentId)
      return []
    })
  }

  #readCalls(): readonly RecordedCall[] {
    const records = this.#disk.history()
    const fresh = records.slice(this.#recordsRead).map(({ event }) => event)
    this.#recordsRead = records.length
    for (const each of recordedCalls(fresh))
      if (!this.#signed.has(each.call.digest)) this.#calls.set(each.call.digest, each)
    return [...this.#calls.values()]
  }

  #violationsOf(
    { intentId, call }: RecordedCall,
    recorded: { readonly isClosed: boolean; readonly proof: CallProven | undefined },
  ): string[] {
    const { isClosed, proof } = recorded
    const runs = this.#ledger.executions.filter(({ digest }) => digest === call.digest)
    const violations: string[] = []
    if (proof?.attempt === call.attempt && proof.execution.txHash !== runs[0]?.hash)
      violations.push(`${intentId} is proven by a transaction that is not its own`)
    if (isClosed && runs.length > 0 && proof === undefined)
      violations.push(`${intentId} was closed as not executed, but it was`)
    return violations
  }

  #isLive(call: TrustlessCall): boolean {
    const { nestedNonce, timeSeconds } = this.#ledger
    return call.nonce >= nestedNonce && timeSeconds <= call.deadlineSeconds
  }

  #hasExecuted(call: TrustlessCall): boolean {
    return this.#ledger.executions.some(({ digest }) => digest === call.digest)
  }
}

function strategyOf({ intentId }: RecordedCall): string {
  return intentId.split(':')[0] ?? ''
}

/** Every trustless call that the journal ever recorded, in order. */
function recordedCalls(events: readonly JournalEvent[]): RecordedCall[] {
  return events.flatMap((event) =>
    callRecorded.is(event) && event.call.trust === 'trustless'
      ? [{ intentId: event.intentId, call: event.call }]
      : [],
  )
}
