import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type {
  Aggregator,
  AggregatorFault,
  AggregatorReply,
  TransactionDraft,
} from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import type { SimulatedProcess } from '../process.ts'
import { decodeTransaction } from '../signer.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { type CallLedger, decodeOnCall, delegationTo } from './ledger.ts'

const LATENCY_MS_MAX = 150
const DELAY_MS_MIN = 2_000
const DELAY_MS_MAX = 12_000

/** Faults of the aggregation service. Probabilities are per request; all may be changed while the simulation runs. */
export type CallServiceFaults = {
  down: boolean
  /** Gives no answer to a submission that it refused, or that it took. */
  failsBefore: number
  failsAfter: number
  /** Refuses submissions, without taking them or although it takes them. */
  rejection: AggregatorFault | undefined
  rejectsButTakes: boolean
  neverExecutes: boolean
  /** Broadcasts transactions unchanged instead of putting them into a batch. */
  broadcastsAlone: boolean
  /** Delays execution by this much. */
  delayMs: number
  receipts: 'honest' | 'null' | 'not-found'
  /** Gives no answer to receipt requests. */
  receiptsLost: number
  /** The reported status of every transaction. */
  status: Readonly<Record<string, unknown>>
  /** Rejects the login of the account's wallet. */
  refusesLogin: boolean
  /** The hash in every receipt, in place of the transaction that executed the call. */
  namesHash: Hex | undefined
}

export function noCallServiceFaults(): CallServiceFaults {
  return {
    down: false,
    failsBefore: 0,
    failsAfter: 0,
    rejection: undefined,
    rejectsButTakes: false,
    neverExecutes: false,
    broadcastsAlone: false,
    delayMs: 0,
    receipts: 'honest',
    receiptsLost: 0,
    status: {},
    refusesLogin: false,
    namesHash: undefined,
  }
}

export type CallServiceOptions = {
  readonly ledger: CallLedger
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly faults: CallServiceFaults
  readonly trustlessProposer: Address
  readonly trustedProposer: Address
}

/** The aggregation service itself. It identifies a transaction by its bytes, and outlives every client. */
export class SimulatedCallService {
  /** All received transactions, in order. */
  /** Blocks that bundles named, in order. */
  readonly bundledFor: bigint[] = []
  readonly received: Hex[] = []
  readonly #options: CallServiceOptions
  readonly #landed = new Map<Hex, Hex | undefined>()

  constructor(options: CallServiceOptions) {
    this.#options = options
  }

  submit(raw: Hex): AggregatorReply<Hex> {
    const { faults } = this.#options
    this.received.push(raw)
    // Its own id for the transaction, which no client can compute.
    const hash = fingerprint(`taken ${raw}`)
    if (faults.rejection !== undefined && !faults.rejectsButTakes)
      return { ok: false, fault: faults.rejection }
    this.#take(hash, raw)
    return faults.rejection === undefined
      ? { ok: true, value: hash }
      : { ok: false, fault: faults.rejection }
  }

  receipt(hash: Hex): AggregatorReply<{ readonly transactionHash: Hex } | undefined> {
    const { receipts, namesHash } = this.#options.faults
    const message = 'Transaction not found'
    if (receipts === 'not-found')
      return { ok: false, fault: { tag: 'transactionNotFound', message } }
    const landed = namesHash ?? this.#landed.get(hash)
    const isShown = receipts === 'honest' && landed !== undefined
    return { ok: true, value: isShown ? { transactionHash: landed } : undefined }
  }

  #take(hash: Hex, raw: Hex): void {
    if (this.#landed.has(hash)) return
    this.#landed.set(hash, undefined)
    const draft = decodeTransaction(raw)
    const { clock, random, faults } = this.#options
    const delayMs = random.between(DELAY_MS_MIN, DELAY_MS_MAX) + faults.delayMs
    if (draft !== undefined)
      clock.schedule(clock.trueMs + delayMs, () => this.#execute({ hash, raw, draft }))
  }

  #execute(taken: { hash: Hex; raw: Hex; draft: TransactionDraft }): void {
    const { hash, raw, draft } = taken
    const { from, to, data, value } = draft
    const { ledger, faults, trustlessProposer, trustedProposer } = this.#options
    if (faults.neverExecutes) return
    if (faults.broadcastsAlone) {
      this.#landed.set(hash, ledger.broadcast(raw, { isLost: false }))
      return
    }
    const isTrustless = ledger.code === delegationTo(trustlessProposer)
    if (to === trustlessProposer || (to === from && isTrustless))
      this.#landed.set(hash, ledger.batch(decodeOnCall(data)))
    else if (ledger.code === delegationTo(trustedProposer))
      this.#landed.set(hash, ledger.batch({ target: to, data, value }))
  }
}

/** The service as one process sees it over the network. */
export function createSimulatedAggregator(options: {
  readonly service: SimulatedCallService
  readonly ledger: CallLedger
  readonly faults: CallServiceFaults
  readonly random: SeededRandom
  readonly process: SimulatedProcess
}): Aggregator {
  const { service, ledger, faults, random, process } = options
  const ask = <Value>(answer: () => AggregatorReply<Value>): Promise<AggregatorReply<Value>> =>
    process.ask(() => (faults.down ? silence() : answer()), LATENCY_MS_MAX)
  const submit = (raw: Hex): Promise<AggregatorReply<Hex>> =>
    ask(() => {
      if (random.chance(faults.failsBefore)) return silence()
      const reply = service.submit(raw)
      return random.chance(faults.failsAfter) ? silence() : reply
    })
  const receipt: Aggregator['receipt'] = (hash) =>
    ask(() => (random.chance(faults.receiptsLost) ? silence() : service.receipt(hash)))
  return {
    sendRawTransaction: submit,
    sendBundle(raw, block) {
      service.bundledFor.push(block)
      return submit(raw)
    },
    receipt,
    batchedReceipt: receipt,
    accountInfo: () =>
      ask(() =>
        faults.refusesLogin
          ? { ok: false, fault: { tag: 'unauthenticated', message: 'unknown signature' } }
          : { ok: true, value: { balance: ledger.gasTank, outstandingCharge: 0n } },
      ),
    transactionStatus: () => ask(() => ({ ok: true, value: faults.status })),
  }
}

function silence(): { ok: false; fault: AggregatorFault } {
  return { ok: false, fault: { tag: 'unavailable', message: 'no answer' } }
}
