import { numberToHex } from 'viem/utils'
import type { Address, Hex } from '../../domain/units.ts'
import type { ChainReply } from '../../ports.ts'
import { UnusableAnswer } from './batch.ts'
import type { Node, Nodes } from './nodes.ts'

/** Widest range that public nodes answer eth_getLogs for. */
const LOG_BLOCKS_MAX = 2_000n
const LOG_CHUNKS_MAX = 50n
const FILTERS_PER_REQUEST = 12
/** Requests of `readEach` that go together. */
const REQUESTS_TOGETHER = 30

/** Both blocks are included. */
export type BlockRange = { readonly fromBlock: bigint; readonly toBlock: bigint }

export type LogSearch = {
  /** Name of the requests for the metrics. */
  readonly route: string
  readonly contract: Address
  readonly fromBlock: bigint
  /** Unix seconds after which nothing is looked for any more. */
  readonly untilSeconds: number
  /** A transaction is found if one of its logs matches any of these; null matches every topic in its place. */
  readonly topics: readonly (readonly (Hex | null)[])[]
  /** Filters in one request, and so in one stretch of blocks: fewer for who hopes to end early. Default 12. */
  readonly filtersTogether?: number
}

/**
 * Hashes of the transactions whose logs match since a block, oldest first, each once. Searches at most 100,000 blocks,
 * and is unavailable where its time is not over by then. So is a node that has not reached `fromBlock` yet.
 */
export async function searchLogs(
  nodes: Nodes,
  search: LogSearch & {
    /** The search ends once this many transactions are known, and may know more then. */
    readonly transactionsMax: number
  },
): Promise<ChainReply<readonly Hex[]>> {
  const hashes = new Set<Hex>()
  for await (const found of foundLogs(nodes, search)) {
    if (!found.ok) return found
    for (const txHash of found.value) hashes.add(txHash)
    if (hashes.size >= search.transactionsMax) break
  }
  return { ok: true, value: [...hashes] }
}

/** The same, one stretch of blocks after the other; the first fault is the last that is given. */
export async function* foundLogs(
  nodes: Nodes,
  search: LogSearch,
): AsyncGenerator<ChainReply<readonly Hex[]>> {
  const { route, fromBlock } = search
  const last = await lastBlock(nodes, search)
  if (!last.ok) return yield last
  const ranges = logChunks(fromBlock, last.value).map((range) => filtersOf(search, range))
  for (const filters of grouped(ranges, search.filtersTogether ?? FILTERS_PER_REQUEST)) {
    const found = await nodes.read({ route, size: filters.length }, async (node) => {
      const logs = await Promise.all(filters.map((filter) => readLogs(node, filter)))
      return { ok: true, value: transactionsOf(logs.flat()) }
    })
    yield found
    if (!found.ok) return
  }
}

/** Reads something of each key, as many of them a request as their size allows. One that a node lacks makes it unusable. */
export async function readEach<Key, Value>(
  nodes: Nodes,
  keys: readonly Key[],
  each: {
    readonly route: string
    /** Requests that reading one takes. */
    readonly size: number
    read(node: Node, key: Key): Promise<Value | undefined>
  },
): Promise<ChainReply<readonly Value[]>> {
  const values: Value[] = []
  const { route, size } = each
  const together = Math.max(1, Math.floor(REQUESTS_TOGETHER / size))
  for (let at = 0; at < keys.length; at += together) {
    const some = keys.slice(at, at + together)
    const reply = await nodes.read({ route, size: some.length * size }, async (node) => {
      const found = await Promise.all(some.map((key) => each.read(node, key)))
      if (found.includes(undefined))
        throw new UnusableAnswer('does not have all that it has logs or blocks of')
      return { ok: true, value: found as readonly Value[] }
    })
    if (!reply.ok) return reply
    values.push(...reply.value)
  }
  return { ok: true, value: values }
}

export function readHead(
  nodes: Nodes,
  { route, fromBlock }: Pick<LogSearch, 'route' | 'fromBlock'>,
): Promise<ChainReply<bigint>> {
  return nodes.read({ route, size: 1 }, async (node) => {
    const head = BigInt(await node.request('eth_blockNumber', []))
    if (head < fromBlock) throw new UnusableAnswer(`is at block ${head}, behind ${fromBlock}`)
    return { ok: true, value: head }
  })
}

type Filter = {
  readonly address: Address
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | null)[]
}

function filtersOf({ contract, topics }: LogSearch, range: BlockRange): readonly Filter[] {
  const fromBlock = numberToHex(range.fromBlock)
  const toBlock = numberToHex(range.toBlock)
  return topics.map((each) => ({ address: contract, fromBlock, toBlock, topics: each }))
}

type Found = { readonly hash: Hex; readonly block: bigint; readonly index: number }

/** viem's own action takes events by their ABI and no bare topics, of which a search by place is made. */
async function readLogs(node: Node, filter: Filter): Promise<readonly Found[]> {
  const logs = await node.request('eth_getLogs', [filter])
  return logs.map(({ transactionHash, blockNumber, logIndex }) => ({
    hash: transactionHash,
    block: BigInt(blockNumber),
    index: Number(logIndex),
  }))
}

/** Where a search ends: at the newest block, or as far as it may go where its time is over by then. */
async function lastBlock(
  nodes: Nodes,
  search: Pick<LogSearch, 'route' | 'fromBlock' | 'untilSeconds'>,
): Promise<ChainReply<bigint>> {
  const { route, fromBlock, untilSeconds } = search
  const head = await readHead(nodes, search)
  const furthest = fromBlock + LOG_CHUNKS_MAX * LOG_BLOCKS_MAX - 1n
  if (!head.ok || head.value <= furthest) return head
  const block = await nodes.read({ route, size: 1 }, async (node) => ({
    ok: true,
    value: await node.request('eth_getBlockByNumber', [numberToHex(furthest), false]),
  }))
  if (!block.ok) return block
  if (Number(block.value.timestamp) > untilSeconds) return { ok: true, value: furthest }
  const message = `blocks ${fromBlock} to ${head.value} are too many to search (at most ${LOG_CHUNKS_MAX * LOG_BLOCKS_MAX})`
  return { ok: false, fault: { tag: 'unavailable', message } }
}

/** Ranges of blocks, oldest first. */
function logChunks(fromBlock: bigint, head: bigint): readonly BlockRange[] {
  const chunks: BlockRange[] = []
  for (let from = fromBlock; from <= head; from += LOG_BLOCKS_MAX) {
    const last = from + LOG_BLOCKS_MAX - 1n
    chunks.push({ fromBlock: from, toBlock: last < head ? last : head })
  }
  return chunks
}

/** Filters of whole ranges, oldest first, in requests that a node still takes. */
function grouped(ranges: readonly (readonly Filter[])[], most: number): readonly Filter[][] {
  const requests: Filter[][] = []
  for (const filters of ranges) {
    const last = requests.at(-1)
    if (last !== undefined && last.length + filters.length <= most) last.push(...filters)
    else requests.push([...filters])
  }
  return requests
}

/** Hashes of the transactions behind logs, oldest first, each once. */
function transactionsOf(logs: readonly Found[]): readonly Hex[] {
  const sorted = logs.toSorted((a, b) =>
    a.block === b.block ? a.index - b.index : Number(a.block - b.block),
  )
  return [...new Set(sorted.map(({ hash }) => hash))]
}

/** An address as a topic. */
export function topicOf(account: Address): Hex {
  return `0x${account.slice(2).padStart(64, '0')}`
}
