import type { Hex } from '../../domain/units.ts'
import type { ChainReply } from '../../ports.ts'
import { CHAIN_ID, expectChain } from './chain-id.ts'
import type { ChainNode } from './chain-sending.ts'
import { type RpcAnswers, type RpcCall, UnusableAnswer } from './json-rpc-batch.ts'
import { count, hash, list, object, quantity } from './json-rpc-values.ts'

/** Widest range that public nodes answer eth_getLogs for. */
const LOG_BLOCKS_MAX = 2_000n
const LOG_CHUNKS_MAX = 50n
const LOG_CALLS_PER_REQUEST = 12
const TRACES_PER_REQUEST = 15

/** Both blocks are included. */
export type BlockRange = { readonly fromBlock: bigint; readonly toBlock: bigint }

export type LogSearch = {
  /** Name of the requests for the metrics. */
  readonly route: string
  readonly fromBlock: bigint
  /** The eth_getLogs calls for one range: a transaction is found if any of them finds a log of it. */
  filters(range: BlockRange): readonly RpcCall[]
  /** The search ends once this many transactions are known, and may know more then. */
  readonly transactionsMax: number
}

/**
 * Hashes of the transactions whose logs match since a block, oldest first, each once. Searches at most 100,000
 * blocks. A node that has not reached `fromBlock` yet is unavailable.
 */
export async function searchLogs(
  node: ChainNode,
  search: LogSearch,
): Promise<ChainReply<readonly Hex[]>> {
  const head = await readHead(node, search)
  if (!head.ok) return head
  const chunks = logChunks(search.fromBlock, head.value)
  if (chunks === undefined) {
    const message = `blocks ${search.fromBlock} to ${head.value} are too many to search (at most ${LOG_CHUNKS_MAX * LOG_BLOCKS_MAX})`
    return { ok: false, fault: { tag: 'unavailable', message } }
  }
  const requests = groupCalls(chunks.map((chunk) => search.filters(chunk)))
  const hashes = new Set<Hex>()
  for (const calls of requests) {
    if (hashes.size >= search.transactionsMax) break
    const found = await node.rpc.read(search.route, [CHAIN_ID, ...calls], (answers) => {
      expectChain(answers, node.chainId)
      const logs = calls.flatMap((_, index) => list(answers.result(index + 1), 'logs'))
      return { ok: true, value: transactionsOf(logs) }
    })
    if (!found.ok) return found
    for (const txHash of found.value) hashes.add(txHash)
  }
  return { ok: true, value: [...hashes] }
}

/** Reads something of each transaction, a few of them a request. */
export async function readEach<Value>(
  node: ChainNode,
  hashes: readonly Hex[],
  each: {
    readonly route: string
    calls(txHash: Hex): readonly RpcCall[]
    /** The value from the answers to `calls`, which begin at `index`. */
    read(answers: RpcAnswers, index: number, txHash: Hex): Value | undefined
  },
): Promise<ChainReply<readonly Value[]>> {
  const values: Value[] = []
  for (let at = 0; at < hashes.length; at += TRACES_PER_REQUEST) {
    const some = hashes.slice(at, at + TRACES_PER_REQUEST)
    const calls = some.map((txHash) => each.calls(txHash))
    const reply = await node.rpc.read(each.route, [CHAIN_ID, ...calls.flat()], (answers) => {
      expectChain(answers, node.chainId)
      let next = 1
      const value = some.map((txHash, index) => {
        const found = each.read(answers, next, txHash)
        next += calls[index]?.length ?? 0
        if (found === undefined) throw new UnusableAnswer('knows a log without its receipt')
        return found
      })
      return { ok: true, value }
    })
    if (!reply.ok) return reply
    values.push(...reply.value)
  }
  return { ok: true, value: values }
}

function readHead(node: ChainNode, { route, fromBlock }: LogSearch): Promise<ChainReply<bigint>> {
  const calls: readonly RpcCall[] = [CHAIN_ID, { method: 'eth_blockNumber', params: [] }]
  return node.rpc.read(route, calls, (answers) => {
    expectChain(answers, node.chainId)
    const head = quantity(answers.result(1), 'block number')
    if (head < fromBlock) throw new UnusableAnswer(`is at block ${head}, behind ${fromBlock}`)
    return { ok: true, value: head }
  })
}

/** Ranges of blocks, oldest first; undefined when there would be too many. */
function logChunks(fromBlock: bigint, head: bigint): readonly BlockRange[] | undefined {
  if (head - fromBlock >= LOG_CHUNKS_MAX * LOG_BLOCKS_MAX) return undefined
  const chunks: BlockRange[] = []
  for (let from = fromBlock; from <= head; from += LOG_BLOCKS_MAX) {
    const last = from + LOG_BLOCKS_MAX - 1n
    chunks.push({ fromBlock: from, toBlock: last < head ? last : head })
  }
  return chunks
}

/** Calls of whole ranges, oldest first, in requests that a node still takes. */
function groupCalls(ranges: readonly (readonly RpcCall[])[]): readonly RpcCall[][] {
  const requests: RpcCall[][] = []
  for (const calls of ranges) {
    const last = requests.at(-1)
    if (last !== undefined && last.length + calls.length <= LOG_CALLS_PER_REQUEST)
      last.push(...calls)
    else requests.push([...calls])
  }
  return requests
}

/** Hashes of the transactions behind logs, oldest first, each once. */
function transactionsOf(entries: readonly unknown[]): readonly Hex[] {
  const logs = entries.map((entry) => {
    const log = object<'transactionHash' | 'blockNumber' | 'logIndex'>(entry, 'log')
    return {
      hash: hash(log.transactionHash, 'log transaction'),
      block: quantity(log.blockNumber, 'log block'),
      index: count(log.logIndex, 'log index'),
    }
  })
  logs.sort((a, b) => (a.block === b.block ? a.index - b.index : Number(a.block - b.block)))
  return [...new Set(logs.map((log) => log.hash))]
}
