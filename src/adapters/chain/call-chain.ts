import type { Observation } from '../../domain/observation.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { CallChain, CallTrace, ChainReply, Clock } from '../../ports.ts'
import { ACCOUNT_SIZE, readAccount } from './account.ts'
import { foundLogs, readEach, readHead } from './logs.ts'
import { type Nodes, openNodes } from './nodes.ts'
import { createSending, simulateCall } from './sending.ts'
import { readCalls, readCallTrace, readInput, TRACE_SIZE } from './trace.ts'

export type CallChainOptions = {
  /** Answers of a node on another chain are not believed (but for `identity`, which reports them). */
  readonly chainId: number
  /** In order of preference. Reads move on to the next when one is unavailable; broadcasts never do. */
  readonly rpcUrls: readonly string[]
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
  /** For one HTTP request. Default 10,000. */
  readonly timeoutMs?: number
}

const CALLS_ROUTE = 'calls'
/** Transactions in one stretch of 2,000 blocks: five a block. */
const CALLS_MAX = 10_000
/** Whole blocks that are read of a chain whose service emits no events: thirteen minutes of Ethereum's. */
const BLOCKS_MAX = 64n
/** Room that a whole block takes in a request, in requests: a few of them are megabytes. */
const BLOCK_SIZE = 8

/** The CallChain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createCallChain(options: CallChainOptions): CallChain & { close(): Promise<void> } {
  const { chainId, rpcUrls, observe, clock, timeoutMs } = options
  const nodes = openNodes({ urls: rpcUrls, chainId, observe, clock, timeoutMs })
  return {
    ...createSending(nodes, chainId),
    account: (query) =>
      nodes.read({ route: 'account', size: ACCOUNT_SIZE }, async (node) => ({
        ok: true,
        value: await readAccount(node, query),
      })),
    simulate: (call) =>
      nodes.read({ route: 'simulate', size: 2 }, (node) => simulateCall(node, call)),
    trace: (hash) =>
      nodes.read({ route: 'trace', size: TRACE_SIZE }, async (node) => ({
        ok: true,
        value: await readCallTrace(node, hash),
      })),
    callsWith: (query) => readCallsWith(nodes, query),
    close: () => nodes.close(),
  }
}

/**
 * `CallChain.callsWith`. The contract's transactions are those that emitted any log of it; searches at most 100,000 blocks.
 * A contract that emits nothing has its transactions read out of the blocks themselves, as long as they are few.
 */
async function readCallsWith(
  nodes: Nodes,
  { contract, mark, fromBlock }: Parameters<CallChain['callsWith']>[0],
): Promise<ChainReply<readonly CallTrace[]>> {
  const search = { route: CALLS_ROUTE, contract, fromBlock, topics: [[]], filtersTogether: 1 }
  const holds = ({ input }: { readonly input: Hex }): boolean =>
    input.toLowerCase().includes(mark.slice(2).toLowerCase())
  let isSilent = true
  for await (const found of foundLogs(nodes, search)) {
    if (!found.ok) return found
    isSilent &&= found.value.length === 0
    const traces = await tracesOf(nodes, found.value, holds)
    if (!traces.ok || traces.value.length > 0) return traces
  }
  return isSilent ? readBlocksFor(nodes, { contract, fromBlock, holds }) : { ok: true, value: [] }
}

type Holds = (transaction: { readonly input: Hex }) => boolean

/** Those of the transactions whose input is looked for, with their receipts. */
async function tracesOf(
  nodes: Nodes,
  hashes: readonly Hex[],
  holds: Holds,
): Promise<ChainReply<readonly CallTrace[]>> {
  if (hashes.length > CALLS_MAX) return unavailable(`${hashes.length} transactions are too many`)
  const inputs = await readEach(nodes, hashes, { route: CALLS_ROUTE, size: 1, read: readInput })
  if (!inputs.ok) return inputs
  const own = inputs.value.filter(holds).map(({ hash }) => hash)
  return readEach(nodes, own, { route: CALLS_ROUTE, size: TRACE_SIZE, read: readCallTrace })
}

/** The same out of whole blocks, for a contract without events. */
async function readBlocksFor(
  nodes: Nodes,
  search: { readonly contract: Address; readonly fromBlock: bigint; readonly holds: Holds },
): Promise<ChainReply<readonly CallTrace[]>> {
  const { contract, fromBlock, holds } = search
  const head = await readHead(nodes, { route: CALLS_ROUTE, fromBlock })
  if (!head.ok) return head
  if (head.value - fromBlock >= BLOCKS_MAX)
    return unavailable(
      `the contract emits no events, and blocks ${fromBlock} to ${head.value} are too many to read`,
    )
  const numbers = Array.from(
    { length: Number(head.value - fromBlock) + 1 },
    (_, n) => fromBlock + BigInt(n),
  )
  const blocks = await readEach(nodes, numbers, {
    route: CALLS_ROUTE,
    size: BLOCK_SIZE,
    read: readCalls,
  })
  if (!blocks.ok) return blocks
  const own = blocks.value.flat().filter((sent) => sent.to === contract && holds(sent))
  const hashes = own.map(({ hash }) => hash)
  return readEach(nodes, hashes, { route: CALLS_ROUTE, size: TRACE_SIZE, read: readCallTrace })
}

function unavailable(message: string): ChainReply<never> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
