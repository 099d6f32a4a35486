import type { Hex } from 'viem'
import { ERROR_MESSAGES } from '../../../venues/call/client/aggregator-wire.ts'
import { type Rpc, RpcError } from '../../evm/rpc.ts'
import type { Receipt, Sender } from '../../evm/sender.ts'
import type { SandboxLog } from '../../log.ts'
import type { AggregatorSettings } from '../../options.ts'
import { batchCost, splitCosts } from '../account/account-costs.ts'
import type { Accounts } from '../account/accounts.ts'
import { currentFees, executeData, gasOf, nodeReceipt } from '../chain/aggregator-chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { type AggregatedCall, blobsOf, type Call, faultOf, type NodeReceipt } from './calls.ts'
import { blobHashes, readinessOf } from './readiness.ts'

/** A snapshot that another batcher can resume from. */
export type BatcherState = {
  readonly queue: readonly AggregatedCall[]
  /** Calls to execute a second time. */
  readonly doubles: readonly AggregatedCall[]
  readonly batches: readonly Hex[]
}

export type Batcher = ReturnType<typeof createBatcher>

type Fees = Awaited<ReturnType<typeof currentFees>>
/** A call that may join the batch, with its gas as a separate transaction. */
type Ready = { readonly call: AggregatedCall; readonly directGas: bigint }
type BatchItem = Parameters<typeof executeData>[0][number] & Pick<Call, 'blobs'>

/** Gas of the transaction itself; `GAS_PER_CALL` is the multicall's own gas for each call. */
const BATCH_GAS = 100_000n
const GAS_PER_CALL = 60_000n
/** The node's block gas limit. */
const BLOCK_GAS = 30_000_000n
/** As many as one submitted transaction can have. */
const BLOBS_MAX = 6
const REVERTS_MAX = 3
const WAIT_MS = 200
const BATCHES_MAX = 100_000

/** Executes calls of several accounts in one on-chain transaction. */
export function createBatcher(
  settings: Pick<AggregatorSettings, 'window' | 'callsPerBatch' | 'feeBps' | 'blobCost'>,
  deps: {
    readonly rpc: Rpc
    readonly contracts: AggregatorContracts
    readonly relayer: Sender
    readonly accounts: Accounts
    readonly log: SandboxLog
    /** A call that always reverts, from an account that is not a customer's. */
    readonly hostileCall: () => BatchItem
  },
  former: BatcherState = { queue: [], doubles: [], batches: [] },
) {
  const { rpc, contracts, relayer, accounts } = deps
  let queue: AggregatedCall[] = [...former.queue]
  const doubles: AggregatedCall[] = [...former.doubles]
  const batches = new Set<Hex>(former.batches)

  const finish = (call: AggregatedCall, progress: Call['progress'], charged = 0n): void => {
    queue = queue.filter((queued) => queued !== call)
    accounts.resolve(call.account, { reserved: call.reserved, charged })
    call.progress = progress
    call.blobs = undefined
  }
  /** Wei of a call's blobs at a price of blob gas. */
  const blobCostOf = ({ work }: AggregatedCall, price: bigint): bigint =>
    (work.blobGas ?? 0n) * price + settings.blobCost
  const send = async (calls: readonly BatchItem[], fees: Fees): Promise<Receipt> => {
    const [to, data] = [contracts.multicall, executeData(calls)]
    const terms = { gas: batchGas(calls), fees, blobs: blobsOf(calls) }
    const receipt = await relayer.send({ to, data, ...terms })
    batches.add(receipt.transactionHash)
    const [oldest] = batches.size > BATCHES_MAX ? batches.keys() : []
    if (oldest !== undefined) batches.delete(oldest)
    return receipt
  }
  /** Undefined unless the call may join a batch after earlier calls of its account. Ends a first call that cannot succeed. */
  const examine = async (
    call: AggregatedCall,
    before: readonly AggregatedCall[],
    fees: Fees,
  ): Promise<Ready | undefined> => {
    const deps = { rpc, contracts, relayer: relayer.address }
    const readiness = await readinessOf(call, deps, before)
    const isFirst = before.length === 0
    if (isFirst && readiness.kind === 'never')
      finish(call, { state: 'dropped', reason: readiness.reason })
    if (isFirst && readiness.kind === 'later') call.notBeforeMs = Date.now() + WAIT_MS
    if (readiness.kind !== 'now') return undefined
    const direct = { from: call.account, ...call.work.direct, ...blobHashes([call]) }
    const measured = await gasOf(rpc, direct)
    // A call that fails directly has no direct gas for comparison.
    const directGas = measured ?? call.work.gasLimit
    const blobCostMax = blobCostOf(call, fees.maxFeePerBlobGas)
    if (covers(call, directGas * fees.maxFeePerGas + blobCostMax)) return { call, directGas }
    finish(call, { state: 'dropped', reason: ERROR_MESSAGES.insufficientBalance })
    return undefined
  }
  const examineRun = async (run: readonly AggregatedCall[], fees: Fees): Promise<Ready[]> => {
    const ready: Ready[] = []
    for (const call of run) {
      const before = ready.map((earlier) => earlier.call)
      const found = await examine(call, before, fees)
      if (found === undefined) break
      ready.push(found)
    }
    return ready
  }
  /** Raises the reservation if gas has become more expensive, so that no charge exceeds the deposit. */
  const covers = (call: AggregatedCall, costMax: bigint): boolean => {
    const missing = costMax - call.reserved
    if (missing <= 0n) return true
    if (!accounts.reserve(call.account, missing)) return false
    call.reserved = costMax
    return true
  }
  const execute = async (ready: readonly Ready[], fees: Fees): Promise<void> => {
    const calls = ready.map(({ call }) => call)
    const hostile = calls.some(isSabotaged) ? [deps.hostileCall()] : []
    const receipt = await send([...calls, ...hostile], fees).catch((error: unknown) => {
      if (error instanceof RpcError && blobsOf(calls) !== undefined) return error
      throw error
    })
    if (receipt instanceof RpcError) return refuse(ready, receipt, fees)
    deps.log('aggregator.batch', { calls: calls.length, txHash: receipt.transactionHash })
    if (receipt.status === '0x1') land(ready, receipt)
    else for (const call of calls) revert(call, receipt)
  }
  /** The node refuses a batch if the proof of one blob is wrong: each call is tried alone, and ends if it is refused too. */
  const refuse = async (ready: readonly Ready[], error: RpcError, fees: Fees): Promise<void> => {
    const [first, ...others] = ready
    if (others.length > 0) for (const one of ready) await execute([one], fees)
    else if (first !== undefined)
      finish(first.call, { state: 'dropped', reason: error.message.replace(/^eth_\w+: /, '') })
  }
  const land = (ready: readonly Ready[], receipt: Receipt): void => {
    const blobPrice = BigInt(receipt.blobGasPrice ?? 0)
    const terms = ready.map(({ call, directGas }) => {
      return { directGas, blobCost: blobCostOf(call, blobPrice) }
    })
    const allCosts = splitCosts(batchCost(receipt), terms, settings.feeBps)
    for (const [index, { call }] of ready.entries()) {
      const costs = allCosts[index]
      finish(call, { state: 'landed', receipt, batchSize: ready.length, costs }, costs?.charged)
      if (faultOf(call, 'includedTwice') !== undefined) doubles.push(call)
    }
  }
  const revert = (call: AggregatedCall, receipt: Receipt): void => {
    call.revertedBatches.push(receipt.transactionHash)
    const reason = 'its batch reverted'
    if (faultOf(call, 'batchReverted')?.retry === false)
      finish(call, { state: 'dropped', reason, receipt })
    else if (call.revertedBatches.length >= REVERTS_MAX) finish(call, { state: 'dropped', reason })
  }
  const includeAgain = async (call: AggregatedCall): Promise<void> => {
    const { transactionHash: txHash, status } = await send([call], await currentFees(rpc))
    call.repeatedIn.push(txHash)
    deps.log('aggregator.doubled', { txHash, status })
  }
  return {
    add: (call: AggregatedCall): void => {
      queue.push(call)
    },
    queued: (account: Hex): AggregatedCall[] => queue.filter((call) => call.account === account),
    /** Executes a batch if one is due. */
    async tick(nowMs: number): Promise<void> {
      const [double] = doubles.splice(0, 1)
      if (double !== undefined) await includeAgain(double)
      const runs = runsOf(queue, nowMs)
      if (!runs.some(([head]) => isDue(head, nowMs, settings.window))) return
      const fees = await currentFees(rpc)
      const examined = chosenOf(runs, settings.callsPerBatch).map((run) => examineRun(run, fees))
      const ready = (await Promise.all(examined)).flat()
      const calls = ready.map(({ call }) => call)
      const fitting = ready.filter((_, at) => fits(calls.slice(0, at + 1)))
      if (fitting.length > 0) await execute(fitting, fees)
    },
    /** Null unless the transaction is a batch of this service. Reverted batches count. */
    batchReceipt: async (hash: Hex): Promise<NodeReceipt | null> =>
      batches.has(hash) ? nodeReceipt(rpc, hash) : null,
    state: (): BatcherState => ({ queue, doubles: [...doubles], batches: [...batches] }),
  }
}

/** Gas with which a call can use its whole limit. Each of the two outer calls keeps back a 64th (EIP-150). */
function gasFor(gasLimit: bigint): bigint {
  return (gasLimit * 64n * 64n) / (63n * 63n) + GAS_PER_CALL
}

function batchGas(calls: readonly BatchItem[]): bigint {
  return calls.reduce((sum, { work }) => sum + gasFor(work.gasLimit), BATCH_GAS)
}

/** Whether one transaction can hold the calls with their gas and blobs. */
function fits(calls: readonly BatchItem[]): boolean {
  const blobs = blobsOf(calls)?.blobs.length ?? 0
  return calls.length === 1 || (batchGas(calls) <= BLOCK_GAS && blobs <= BLOBS_MAX)
}

type Run = readonly [AggregatedCall, ...AggregatedCall[]]

/**
 * Each account's calls by nonce, up to the first that must wait. Ordered by acceptance time plus `patienceMs` of the first
 * call. A call whose batch reverted ends the run before it, so that it is tried first and alone.
 */
function runsOf(queue: readonly AggregatedCall[], nowMs: number): Run[] {
  const accounts = new Map<Hex, AggregatedCall[]>()
  for (const call of queue)
    accounts.set(call.account, [...(accounts.get(call.account) ?? []), call])
  const runs: Run[] = []
  for (const calls of accounts.values()) {
    const [head, ...others] = calls.sort((a, b) => Number(a.work.nonce - b.work.nonce))
    if (head === undefined || head.notBeforeMs > nowMs) continue
    const end = others.findIndex(
      (call) => call.notBeforeMs > nowMs || call.revertedBatches.length > 0,
    )
    runs.push([head, ...(end < 0 ? others : others.slice(0, end))])
  }
  return runs.sort(([a], [b]) => a.acceptedAtMs + a.patienceMs - (b.acceptedAtMs + b.patienceMs))
}

/**
 * At most `callsMax` calls: one of each account, then more. A call whose batch reverted is retried alone, so that it cannot
 * revert others.
 */
function chosenOf(runs: readonly Run[], callsMax: number): (readonly AggregatedCall[])[] {
  const suspect = runs.find(([head]) => head.revertedBatches.length > 0)
  if (suspect !== undefined) return [[suspect[0]]]
  const first = runs.slice(0, callsMax)
  let room = callsMax - first.length
  return first.map((run) => {
    const taken = run.slice(0, 1 + room)
    room -= taken.length - 1
    return taken
  })
}

function isDue(call: AggregatedCall, nowMs: number, windowMs: number): boolean {
  const waitMs = Math.max(call.patienceMs, windowMs)
  return nowMs >= Math.max(call.acceptedAtMs + waitMs, call.notBeforeMs)
}

/** The hostile call joins only the first batch of a call. */
function isSabotaged(call: AggregatedCall): boolean {
  return faultOf(call, 'batchReverted') !== undefined && call.revertedBatches.length === 0
}
