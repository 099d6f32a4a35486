import type { Hex } from 'viem'
import { ERROR_MESSAGES } from '../../../wire/aggregator.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { Receipt, Sender } from '../../evm/sender.ts'
import type { SandboxLog } from '../../log.ts'
import type { Accounts } from '../account/accounts.ts'
import { splitCosts } from '../account/costs.ts'
import { currentFees, executeData, gasOf, nodeReceipt } from '../chain/chain.ts'
import type { AggregatorContracts } from '../chain/deploy.ts'
import type { AggregatorSettings } from '../settings.ts'
import { type AggregatedCall, type Call, faultOf, type NodeReceipt } from './calls.ts'
import { readinessOf } from './readiness.ts'

export type BatcherDeps = {
  readonly rpc: Rpc
  readonly contracts: AggregatorContracts
  readonly relayer: Sender
  readonly accounts: Accounts
  readonly log: SandboxLog
  /** A call that is certain to fail on the chain, of an account that is no customer's. */
  readonly hostileCall: () => Parameters<typeof executeData>[0][number]
}

export type BatcherSettings = Pick<
  AggregatorSettings,
  'windowMs' | 'callsPerBatch' | 'feeBps' | 'blobCostWei'
>

/** All that waits and was done, so that another one can go on from there. */
export type BatcherState = {
  readonly queue: readonly AggregatedCall[]
  /** Calls that are to be executed a second time. */
  readonly doubles: readonly AggregatedCall[]
  /** Transactions that held a batch. */
  readonly batches: readonly Hex[]
}

/** Puts calls of several accounts into one on-chain transaction. */
export type Batcher = {
  add(call: AggregatedCall): void
  /** Calls of an account that have not landed yet. */
  queued(account: Hex): AggregatedCall[]
  /** Executes a batch if one is due. */
  tick(nowMs: number): Promise<void>
  /** Receipt of a transaction that held a batch, reverted ones included. */
  batchReceipt(hash: Hex): Promise<NodeReceipt | null>
  state(): BatcherState
}

type Fees = Awaited<ReturnType<typeof currentFees>>
type Ready = { readonly call: AggregatedCall; readonly directGas: bigint }

/** Gas of the transaction itself, and of what the multicall adds to each call. */
const BATCH_GAS = 100_000n
const GAS_PER_CALL = 60_000n
const REVERTS_MAX = 3
const WAIT_MS = 200
/** Batches that are remembered. */
const BATCHES_MAX = 100_000

export function createBatcher(
  settings: BatcherSettings,
  deps: BatcherDeps,
  former: BatcherState = { queue: [], doubles: [], batches: [] },
): Batcher {
  const { rpc, contracts, relayer, accounts } = deps
  let queue: AggregatedCall[] = [...former.queue]
  const doubles: AggregatedCall[] = [...former.doubles]
  const batches = new Set<Hex>(former.batches)

  const finish = (call: AggregatedCall, progress: Call['progress'], charged = 0n): void => {
    queue = queue.filter((queued) => queued !== call)
    accounts.resolve(call.account, { reserved: call.reserved, charged })
    call.progress = progress
  }
  const send = async (calls: Parameters<typeof executeData>[0], fees: Fees) => {
    const gas = calls.reduce((sum, { work }) => sum + gasFor(work.gasLimit), BATCH_GAS)
    const transaction = { to: contracts.multicall, data: executeData(calls), gas, fees }
    const receipt = await relayer.send(transaction)
    const full = await nodeReceipt(rpc, receipt.transactionHash)
    if (full === null) throw new Error('a receipt that was there is gone')
    batches.add(full.transactionHash)
    const [oldest] = batches.size > BATCHES_MAX ? batches.keys() : []
    if (oldest !== undefined) batches.delete(oldest)
    return { receipt, full }
  }
  const examine = async (call: AggregatedCall, fees: Fees): Promise<Ready[]> => {
    const readiness = await readinessOf(call, { rpc, contracts, relayer: relayer.address })
    if (readiness.kind === 'never') finish(call, { state: 'dropped', reason: readiness.reason })
    if (readiness.kind === 'later') call.notBeforeMs = Date.now() + WAIT_MS
    if (readiness.kind !== 'now') return []
    const measured = await gasOf(rpc, { from: call.account, ...call.work.direct })
    // What cannot be done directly has nothing to be compared with: then its limit is the yardstick.
    const directGas = measured ?? call.work.gasLimit
    if (covers(call, directGas * fees.maxFeePerGas + settings.blobCostWei))
      return [{ call, directGas }]
    finish(call, { state: 'dropped', reason: ERROR_MESSAGES.insufficientBalance })
    return []
  }
  /** Raises the reservation if the price has risen since, so that no charge can exceed the deposit. */
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
    const { receipt, full } = await send([...calls, ...hostile], fees)
    deps.log('aggregator.batch', { calls: calls.length, txHash: full.transactionHash })
    if (receipt.status === '0x1') land(ready, receipt, full)
    else for (const call of calls) revert(call, full)
  }
  const land = (ready: readonly Ready[], receipt: Receipt, full: NodeReceipt): void => {
    const costs = splitCosts(
      {
        gasUsed: BigInt(receipt.gasUsed),
        effectiveGasPrice: BigInt(receipt.effectiveGasPrice),
      },
      ready.map(({ directGas }) => directGas),
      settings,
    )
    for (const [index, { call }] of ready.entries()) {
      const own = costs[index]
      const landed = {
        state: 'landed',
        receipt: full,
        batchSize: ready.length,
        costs: own,
      } as const
      finish(call, landed, own?.charged)
      if (faultOf(call, 'includedTwice') !== undefined) doubles.push(call)
    }
  }
  const revert = (call: AggregatedCall, full: NodeReceipt): void => {
    call.revertedBatches.push(full.transactionHash)
    const reason = 'its batch reverted'
    if (faultOf(call, 'batchReverted')?.retry === false) {
      finish(call, { state: 'dropped', reason, receipt: full })
    } else if (call.revertedBatches.length >= REVERTS_MAX) {
      finish(call, { state: 'dropped', reason })
    }
  }
  const includeAgain = async (call: AggregatedCall): Promise<void> => {
    const { full } = await send([call], await currentFees(rpc))
    call.repeatedIn.push(full.transactionHash)
    deps.log('aggregator.doubled', { txHash: full.transactionHash, status: full.status })
  }
  return {
    add: (call) => {
      queue.push(call)
    },
    queued: (account) => queue.filter((call) => call.account === account),
    async tick(nowMs) {
      const [double] = doubles.splice(0, 1)
      if (double !== undefined) await includeAgain(double)
      const heads = headsOf(queue, nowMs)
      if (!heads.some((call) => isDue(call, nowMs, settings.windowMs))) return
      const fees = await currentFees(rpc)
      const examined = chosenOf(heads, settings.callsPerBatch).map((call) => examine(call, fees))
      const ready = (await Promise.all(examined)).flat()
      if (ready.length > 0) await execute(ready, fees)
    },
    batchReceipt: async (hash) => (batches.has(hash) ? nodeReceipt(rpc, hash) : null),
    state: () => ({ queue, doubles: [...doubles], batches: [...batches] }),
  }
}

/** Gas with which a call can use up its limit: each of two calls on the way to the target keeps a 64th back. */
function gasFor(gasLimit: bigint): bigint {
  return (gasLimit * 64n * 64n) / (63n * 63n) + GAS_PER_CALL
}

/** One call of each account, the lowest nonce first and then the oldest, unless that one must wait. */
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

/** As many as fit, but a call whose batch reverted is tried alone: whoever was at fault then fails by himself. */
function chosenOf(heads: readonly AggregatedCall[], callsMax: number): AggregatedCall[] {
  const suspect = heads.find(({ revertedBatches }) => revertedBatches.length > 0)
  return suspect === undefined ? heads.slice(0, callsMax) : [suspect]
}

function isDue(call: AggregatedCall, nowMs: number, windowMs: number): boolean {
  const waitMs = Math.max(call.patienceMs, windowMs)
  return nowMs >= Math.max(call.acceptedAtMs + waitMs, call.notBeforeMs)
}

/** A sabotaged call meets its hostile neighbour once. */
function isSabotaged(call: AggregatedCall): boolean {
  return faultOf(call, 'batchReverted') !== undefined && call.revertedBatches.length === 0
}
