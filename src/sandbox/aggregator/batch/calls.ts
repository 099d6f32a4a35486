import { type BlobSidecar, type Hex, sidecarsToVersionedHashes } from 'viem'
import type { CallFault } from '../../faults.ts'
import type { CallCosts } from '../account/account-costs.ts'
import type { Authorization } from './raw-transaction.ts'

/** A receipt as the node returns it. */
export type NodeReceipt = Readonly<Record<string, unknown>> & {
  readonly transactionHash: Hex
  readonly blockNumber: Hex
  readonly status: Hex
}

/** How the service executes an accepted transaction. */
export type Work =
  | {
      readonly kind: 'aggregated'
      readonly proposer: 'trusted' | 'trustless'
      /** Arguments of `onCall`. */
      readonly target: Hex
      readonly data: Hex
      readonly value: bigint
      /** Gas that the account's code may use. */
      readonly gasLimit: bigint
      /** Gas of the transaction's own blobs. Missing in snapshots of earlier versions. */
      readonly blobGas?: bigint
      /** The same call as a separate transaction, for the comparison of costs. */
      readonly direct: { readonly to: Hex; readonly data: Hex; readonly value: bigint }
      /** Order within the account: `nestedNonce`, or the transaction's nonce. */
      readonly nonce: bigint
      /** Unix seconds after which the account's code refuses the call. */
      readonly deadline: bigint | undefined
    }
  | { readonly kind: 'delegation'; readonly authorization: Authorization }
  | { readonly kind: 'direct' }

type Progress =
  | { readonly state: 'queued' }
  | {
      readonly state: 'landed'
      readonly receipt: NodeReceipt
      readonly batchSize: number
      readonly costs: CallCosts | undefined
    }
  /** `receipt`: the reverted batch's, if the service shows it. */
  | { readonly state: 'dropped'; readonly reason: string; readonly receipt?: NodeReceipt }

export type Call = {
  readonly hash: Hex
  readonly account: Hex
  readonly work: Work
  readonly acceptedAtMs: number
  readonly faults: readonly CallFault[]
  /** The submitted bytes without blobs, where the endpoint also answers for a node. */
  readonly onChain?: Hex
  /** First block that may include the call. */
  readonly earliestBlock: bigint
  /** Time that the call waits for others to share a batch. */
  readonly patienceMs: number

  progress: Progress
  /** Maximum cost, wei. */
  reserved: bigint
  notBeforeMs: number
  /** Blobs for its batch, until it ends. */
  blobs?: readonly BlobSidecar<Hex>[] | undefined
  readonly revertedBatches: Hex[]
  /** On-chain transactions that included the call again after it landed. */
  readonly repeatedIn: Hex[]
}

/** A call that runs through its account's proposer code. */
export type AggregatedCall = Call & { readonly work: Extract<Work, { kind: 'aggregated' }> }

const CALLS_MAX = 100_000

export function trustedWork(
  call: AggregatedCall['work']['direct'],
  {
    gas,
    nonce,
    blobGas = 0n,
  }: { readonly gas: bigint; readonly nonce: number; readonly blobGas?: bigint },
): AggregatedCall['work'] {
  return {
    kind: 'aggregated',
    proposer: 'trusted',
    target: call.to,
    data: call.data,
    value: call.value,
    gasLimit: gas,
    blobGas,
    direct: call,
    nonce: BigInt(nonce),
    deadline: undefined,
  }
}

export function newCall<W extends Work>(
  call: Pick<Call, 'hash' | 'account' | 'faults'> & { readonly work: W },
  terms: Partial<Pick<Call, 'onChain' | 'reserved' | 'earliestBlock' | 'patienceMs' | 'blobs'>>,
): Call & { readonly work: W } {
  const acceptedAtMs = Date.now()
  return {
    ...call,
    acceptedAtMs,
    reserved: 0n,
    earliestBlock: 0n,
    patienceMs: 0,
    progress: { state: 'queued' },
    notBeforeMs: acceptedAtMs + (faultOf(call, 'lateInclusion')?.delayMs ?? 0),
    revertedBatches: [],
    repeatedIn: [],
    ...terms,
  }
}

/** All blobs of a batch in the order of its calls, under the names that nodes use; undefined without any. */
export function blobsOf(calls: readonly Pick<Call, 'blobs'>[]) {
  const sidecars = calls.flatMap(({ blobs }) => blobs ?? [])
  if (sidecars.length === 0) return undefined
  return {
    blobs: sidecars.map(({ blob }) => blob),
    commitments: sidecars.map(({ commitment }) => commitment),
    proofs: sidecars.map(({ proof }) => proof),
    blobVersionedHashes: sidecarsToVersionedHashes({ sidecars, to: 'hex' }),
  }
}

export type CallStore = ReturnType<typeof createCallStore>

/** Accepted transactions by hash, the latest 100,000. `former`: calls of an earlier run, oldest first. */
export function createCallStore(former: readonly Call[] = []) {
  const calls = new Map<Hex, Call>(former.map((call) => [call.hash, call]))
  return {
    add(call: Call): void {
      calls.set(call.hash, call)
      const [oldest] = calls.size > CALLS_MAX ? calls.keys() : []
      if (oldest !== undefined) calls.delete(oldest)
    },
    get: (hash: Hex): Call | undefined => calls.get(hash),
    all: (): Iterable<Call> => calls.values(),
  }
}

export function faultOf<K extends CallFault['kind']>(
  call: Pick<Call, 'faults'>,
  kind: K,
): Extract<CallFault, { kind: K }> | undefined {
  return call.faults.find((fault): fault is Extract<CallFault, { kind: K }> => fault.kind === kind)
}
