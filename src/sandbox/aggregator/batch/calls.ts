import type { Hex } from 'viem'
import type { CallFault } from '../../faults.ts'
import type { CallCosts } from '../account/costs.ts'
import type { Authorization } from './raw-transaction.ts'

/** A receipt as the node gives it. */
export type NodeReceipt = Readonly<Record<string, unknown>> & {
  readonly transactionHash: Hex
  readonly blockNumber: Hex
  readonly status: Hex
}

/** What is to be done for a transaction that was accepted. */
export type Work =
  | {
      readonly kind: 'aggregated'
      readonly proposer: 'trusted' | 'trustless'
      /** Arguments of onCall. */
      readonly target: Hex
      readonly data: Hex
      readonly value: bigint
      /** Gas that the account's code may use. */
      readonly gasLimit: bigint
      /** The same call as a transaction of its own, for the comparison of costs. */
      readonly direct: { readonly to: Hex; readonly data: Hex; readonly value: bigint }
      /** Order within the account: nestedNonce, or the transaction's nonce. */
      readonly nonce: bigint
      /** Unix seconds after which the account's code refuses it. */
      readonly deadline: bigint | undefined
    }
  | { readonly kind: 'delegation'; readonly authorization: Authorization }
  | { readonly kind: 'direct' }

export type Progress =
  | { readonly state: 'queued' }
  | {
      readonly state: 'landed'
      readonly receipt: NodeReceipt
      readonly batchSize: number
      readonly costs: CallCosts | undefined
    }
  /** Given up; the receipt is that of a reverted batch, if that is what is shown. */
  | { readonly state: 'dropped'; readonly reason: string; readonly receipt?: NodeReceipt }

/** A transaction that the service took. */
export type Call = {
  readonly hash: Hex
  readonly account: Hex
  readonly work: Work
  readonly acceptedAtMs: number
  readonly faults: readonly CallFault[]
  /** In no batch before this block. */
  readonly earliestBlock: bigint
  /** Waits this long for others to share a batch with. */
  readonly patienceMs: number

  progress: Progress
  /** Wei reserved for it: what it can cost at most. */
  reserved: bigint
  /** Not tried before this moment. */
  notBeforeMs: number
  /** On-chain transactions that held it and reverted. */
  readonly revertedBatches: Hex[]
  /** On-chain transactions that held it again after it had landed. */
  readonly repeatedIn: Hex[]
}

/** A call that goes through its account's proposer code. */
export type AggregatedCall = Call & { readonly work: Extract<Work, { kind: 'aggregated' }> }

/** Every transaction taken, by its hash. */
export type CallBook = {
  add(call: Call): void
  get(hash: Hex): Call | undefined
  all(): Iterable<Call>
}

const CALLS_MAX = 100_000

/** Keeps the latest hundred thousand. `former` are those of a book that this one goes on for, oldest first. */
export function createCallBook(former: readonly Call[] = []): CallBook {
  const calls = new Map<Hex, Call>(former.map((call) => [call.hash, call]))
  return {
    add(call) {
      calls.set(call.hash, call)
      const [oldest] = calls.size > CALLS_MAX ? calls.keys() : []
      if (oldest !== undefined) calls.delete(oldest)
    },
    get: (hash) => calls.get(hash),
    all: () => calls.values(),
  }
}

/** Whether a fault of the given kind was drawn for the call. */
export function faultOf<K extends CallFault['kind']>(
  call: Pick<Call, 'faults'>,
  kind: K,
): Extract<CallFault, { kind: K }> | undefined {
  return call.faults.find((fault): fault is Extract<CallFault, { kind: K }> => fault.kind === kind)
}
