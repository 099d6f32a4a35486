import type { Hex } from 'viem'
import { ERROR_MESSAGES } from '../../../venues/call/client/aggregator-wire.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { Receipt, Sender } from '../../evm/sender.ts'
import type { SandboxLog } from '../../log.ts'
import { batchCost, splitCosts } from '../account/account-costs.ts'
import type { Accounts } from '../account/accounts.ts'
import type { AggregatorSettings } from '../aggregator-settings.ts'
import { currentFees, executeData, gasOf, nodeReceipt } from '../chain/aggregator-chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import { type AggregatedCall, type Call, faultOf, type NodeReceipt } from './calls.ts'
import { readinessOf } from './readiness.ts'

/** A snapshot that another batcher can resume from. */
export type BatcherState = {
  readonly queue: readonly AggregatedCall[]
  /** Calls to execute a second time. */
  readonly doubles: readonly AggregatedCall[]
  readonly batches: readonly Hex[]
}

export type Batcher = ReturnType<typeof createBatcher>

type Fees = Awaited<ReturnType<typeof currentFees>>
type Ready = { readonly call: AggregatedCall; readonly directGas: bigint }

/** Gas of the transaction itself; `GAS_PER_CALL` is the multicall's own gas for each call. */
const BATCH_GAS = 100_000n
const GAS_PER_CALL = 60_000n
const REVERTS_MAX = 3
const WAIT_MS = 200
const BATCHES_MAX = 100_000

/** Executes calls of several accounts in one on-chain transaction. */
export function createBatcher(
  settings: Pick<AggregatorSettings, 'windowMs' | 'callsPerBatch' | 'feeBps' | 'blobCostWei'>,
  deps: {
    readonly rpc: Rpc
    readonly contracts: AggregatorContracts
    readonly relayer: Sender
    readonly accounts: Accounts
    readonly log: SandboxLog
    /** A call that always reverts, from an account that is not a customer's. */
    readonly hostileCall: () => Parameters<typeof executeData>[0][number]
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
  }
  const send = async (calls: Parameters<typeof executeData>[0], fees: Fees): Promise<Receipt> => {
    const gas = calls.reduce((sum, { work }) => sum + gasFor(work.gasLimit), BATCH_GAS)
    const transaction = { to: contracts.multicall, data: executeData(calls), gas, fees }
    const receipt = await relayer.send(transaction)
    batches.add(receipt.transactionHash)
    const [oldest] = batches.size > BATCHES_MAX ? batches.keys() : []
    if (oldest !== undefined) batches.delete(oldest)
    return receipt
  }
  const examine = async (call: AggregatedCall, fees: Fees): Promise<Ready[]> => {
    const readiness = await readinessOf(call, { rpc, contracts, relayer: relayer.address })
    if (readiness.kind === 'never') finish(call, { state: 'dropped', reason: readiness.reason })
    if (readiness.kind === 'later') call.notBeforeMs = Date.now() + WAIT_MS
    if (readiness.kind !== 'now') return []
    const measured = await gasOf(rpc, { from: call.account, ...call.work.direct })
    // A call that fails directly has no direct gas for comparison.
    const directGas = measured ?? call.work.gasLimit
    if (covers(call, directGas * fees.maxFeePerGas + settings.blobCostWei))
      return [{ call, directGas }]
    finish(call, { state: 'dropped', reason: ERROR_MESSAGES.insufficientBalance })
    return []
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
    const receipt = await send([...calls, ...hostile], fees)
    deps.log('aggregator.batch', { calls: calls.length, txHash: receipt.transactionHash })
    if (receipt.status === '0x1') land(ready, receipt)
    else for (const call of calls) revert(call, receipt)
  }
  const land = (ready: readonly Ready[], receipt: Receipt): void => {
    const directGases = ready.map(({ directGas }) => directGas)
    const allCosts = splitCosts(batchCost(receipt), directGases, settings)
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
      const heads = headsOf(queue, nowMs)
      if (!heads.some((call) => isDue(call, nowMs, settings.windowMs))) return
      const fees = await currentFees(rpc)
      const examined = chosenOf(heads, settings.callsPerBatch).map((call) => examine(call, fees))
      const ready = (await Promise.all(examined)).flat()
      if (ready.length > 0) await execute(ready, fees)
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

/** Each account's call with the lowest nonce, unless it must wait. Ordered by acceptance time plus `patienceMs`. */
function headsOf(queue: readonly AggregatedCall[], nowMs: number): AggregatedCall[] {
  const heads = new Map<Hex, AggregatedCall>()
  for (const call of queue) {
    const head = heads.get(call.account)
    if (head === undefined || call.work.nonce < head.work.nonce) heads.set(call.account, call)
  }
  return [...heads.values()]
    .filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
    .sort((a, b) => a.acceptedAtMs + a.patienceMs - (b.acceptedAtMs + b.patienceMs))
}

/** The first `callsMax` calls. A call whose batch reverted is retried alone, so that it cannot revert others. */
function chosenOf(heads: readonly AggregatedCall[], callsMax: number): AggregatedCall[] {
  const suspect = heads.find(({ revertedBatches }) => revertedBatches.length > 0)
  return suspect === undefined ? heads.slice(0, callsMax) : [suspect]
}

function isDue(call: AggregatedCall, nowMs: number, windowMs: number): boolean {
  const waitMs = Math.max(call.patienceMs, windowMs)
  return nowMs >= Math.max(call.acceptedAtMs + waitMs, call.notBeforeMs)
}

/** The hostile call joins only the first batch of a call. */
function isSabotaged(call: AggregatedCall): boolean {
  return faultOf(call, 'batchReverted') !== undefined && call.revertedBatches.length === 0
}
