import { numberToHex } from 'viem/utils'
import { type Address, type Hex, maxOf } from '../../domain/units.ts'
import type { ChainReply } from '../../ports.ts'
import { RpcRefusal, UnusableAnswer } from './batch.ts'
import { present } from './faults.ts'
import type { Node, Nodes } from './nodes.ts'

/** Widest range that public nodes answer eth_getLogs for. */
const LOG_BLOCKS_MAX = 2_000n
const LOG_CHUNKS_MAX = 50n
/** How far a search for an order goes, at the most. */
export const LOG_SEARCH_BLOCKS = LOG_CHUNKS_MAX * LOG_BLOCKS_MAX
const FILTERS_PER_REQUEST = 12
/** Stretches that one search asks for, halves of those with too many logs included. */
const LOG_REQUESTS_MAX = 500
/** The same of a search that ends where it has come to. */
const NEWEST_REQUESTS_MAX = 250
/** Our own reader's words for a body that it does not read to its end, and what nodes say under the code of a rate limit. */
const OVERSIZED = /too long a body|is limiting us:.*(?:results|logs|range|size)/i
/** Requests of `readEach` that go together. */
const REQUESTS_TOGETHER = 30

/** Both blocks are included. */
export type BlockRange = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** Logs of a contract, or of any of several, by their topics; null matches every topic in its place. */
export type LogFilter = {
  readonly contract: Address | readonly Address[]
  readonly topics: readonly (Hex | null)[]
}

/** What is looked for, wherever that may be. */
export type LogQuery = {
  /** Name of the requests for the metrics. */
  readonly route: string
  /** A log is found if it matches any of these. */
  readonly filters: readonly LogFilter[]
  /** Filters in one request, and so in one stretch of blocks: fewer for who hopes to end early. Default 12. */
  readonly filtersTogether?: number
}

export type LogSearch = LogQuery & {
  readonly fromBlock: bigint
  /** A node that has not reached this block is not asked. */
  readonly atLeastBlock: bigint
  /** Unix seconds after which nothing is looked for any more. */
  readonly untilSeconds: number
}

/** What is read of nodes, one after the other where one fails. */
export type Readers = Pick<Nodes, 'read'>

/**
 * Logs that match since a block, one stretch of blocks after the other, oldest first; the first fault is the last that is
 * given. Searches at most 100,000 blocks, and is unavailable where its time is not over by then. A stretch with more than
 * a node will answer is searched in halves.
 */
export async function* foundLogs(
  nodes: Readers,
  search: LogSearch,
): AsyncGenerator<ChainReply<readonly FoundLog[]>> {
  const { fromBlock } = search
  const last = await lastBlock(nodes, search)
  if (!last.ok) return yield last
  let requests = 0
  const left = rangesOf({ fromBlock, toBlock: last.value }, stretchOf(search))
  for (let range = left.shift(); range !== undefined; range = left.shift()) {
    requests += 1
    if (requests > LOG_REQUESTS_MAX)
      return yield unavailable(`blocks ${fromBlock} to ${last.value} hold too many logs to search`)
    const found = await readRange(nodes, search, range)
    if (found === TOO_MUCH) left.unshift(...halvesOf(range))
    else yield found
    if (found !== TOO_MUCH && !found.ok) return
  }
}

/**
 * Logs that match in a range of blocks, the newest first, as far back as a bounded number of requests goes: `fromBlock` says how
 * far that was. Where a node will not answer for so many blocks, it is asked for fewer from then on.
 */
export async function newestLogs(
  nodes: Readers,
  search: LogQuery,
  { fromBlock, toBlock }: BlockRange,
): Promise<ChainReply<{ readonly logs: readonly FoundLog[]; readonly fromBlock: bigint }>> {
  const logs: FoundLog[] = []
  let stretch = stretchOf(search)
  let next = toBlock
  for (let requests = 0; next >= fromBlock && requests < NEWEST_REQUESTS_MAX; requests += 1) {
    const range = { fromBlock: maxOf(fromBlock, next - stretch + 1n), toBlock: next }
    const found = await readRange(nodes, search, range)
    if (found === TOO_MUCH) {
      stretch = maxOf(1n, (next - range.fromBlock + 1n) / 2n)
      continue
    }
    if (!found.ok) return found
    logs.push(...found.value)
    next = range.fromBlock - 1n
  }
  return { ok: true, value: { logs, fromBlock: next + 1n } }
}

/** Blocks that are asked for at once. */
function stretchOf({ filters, filtersTogether = FILTERS_PER_REQUEST }: LogQuery): bigint {
  const each = Math.max(1, filters.length)
  return LOG_BLOCKS_MAX * BigInt(Math.max(1, Math.floor(filtersTogether / each)))
}

/** A node would not answer for so many blocks. */
const TOO_MUCH = Symbol('too much')

async function readRange(
  nodes: Readers,
  { route, filters }: LogQuery,
  range: BlockRange,
): Promise<ChainReply<readonly FoundLog[]> | typeof TOO_MUCH> {
  const asked = rangesOf(range, LOG_BLOCKS_MAX).flatMap((each) => filtersOf(filters, each))
  const isOne = range.fromBlock === range.toBlock
  const reply = await nodes.read<readonly FoundLog[] | typeof TOO_MUCH>(
    { route, size: 1 + asked.length },
    async (node) => {
      try {
        const [head, ...logs] = await Promise.all([
          node.request('eth_blockNumber', []),
          ...asked.map((filter) => readLogs(node, filter)),
        ])
        // It would answer what it has, and leave out the blocks that it does not have.
        if (BigInt(head) < range.toBlock) throw new UnusableAnswer(behind(head, range.toBlock))
        return { ok: true, value: inOrder(logs.flat()) }
      } catch (error) {
        if (isOne || !isAboutSize(error)) throw error
        return { ok: true, value: TOO_MUCH }
      }
    },
  )
  if (!reply.ok) return reply
  return reply.value === TOO_MUCH ? TOO_MUCH : { ok: true, value: reply.value }
}

/** Nodes word it as they like; a body that is too long to read is one too. */
function isAboutSize(error: unknown): boolean {
  return (
    error instanceof RpcRefusal ||
    (error instanceof UnusableAnswer && OVERSIZED.test(error.message))
  )
}

/** Reads something of each key, as many of them a request as their size allows. One that a node lacks makes it unusable. */
export async function readEach<Key, Value>(
  nodes: Readers,
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
  nodes: Readers,
  { route, fromBlock, atLeastBlock }: Pick<LogSearch, 'route' | 'fromBlock' | 'atLeastBlock'>,
): Promise<ChainReply<bigint>> {
  const least = atLeastBlock > fromBlock ? atLeastBlock : fromBlock
  return nodes.read({ route, size: 1 }, async (node) => {
    const head = await node.request('eth_blockNumber', [])
    if (BigInt(head) < least) throw new UnusableAnswer(behind(head, least))
    return { ok: true, value: BigInt(head) }
  })
}

function behind(head: Hex, block: bigint): string {
  return `is at block ${BigInt(head)}, behind ${block}`
}

type Filter = {
  readonly address: Address | Address[]
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | null)[]
}

function filtersOf(filters: readonly LogFilter[], range: BlockRange): readonly Filter[] {
  const fromBlock = numberToHex(range.fromBlock)
  const toBlock = numberToHex(range.toBlock)
  return filters.map(({ contract, topics }) => {
    const address = typeof contract === 'string' ? contract : [...contract]
    return { address, fromBlock, toBlock, topics }
  })
}

export type FoundLog = {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly txHash: Hex
  readonly block: bigint
  readonly blockHash: Hex
  readonly index: number
}

/** viem's own action takes events by their ABI and no bare topics, of which a search by place is made. */
async function readLogs(node: Node, filter: Filter): Promise<readonly FoundLog[]> {
  const logs = await node.request('eth_getLogs', [filter])
  return logs.map(
    ({ address, topics, data, transactionHash, blockNumber, blockHash, logIndex }) => ({
      address,
      topics,
      data,
      txHash: transactionHash,
      block: BigInt(blockNumber),
      blockHash: present(blockHash, 'block hash of a log'),
      index: Number(logIndex),
    }),
  )
}

/** Where a search ends: at the newest block, or as far as it may go where its time is over by then. */
async function lastBlock(nodes: Readers, search: LogSearch): Promise<ChainReply<bigint>> {
  const { route, fromBlock, untilSeconds } = search
  const head = await readHead(nodes, search)
  const furthest = fromBlock + LOG_SEARCH_BLOCKS - 1n
  if (!head.ok || head.value <= furthest) return head
  const block = await nodes.read({ route, size: 1 }, async (node) => ({
    ok: true,
    value: present(
      await node.request('eth_getBlockByNumber', [numberToHex(furthest), false]),
      'block',
    ),
  }))
  if (!block.ok) return block
  if (Number(block.value.timestamp) > untilSeconds) return { ok: true, value: furthest }
  return unavailable(
    `blocks ${fromBlock} to ${head.value} are too many to search (at most ${LOG_SEARCH_BLOCKS})`,
  )
}

/** Stretches of blocks, oldest first. */
function rangesOf({ fromBlock, toBlock }: BlockRange, blocks: bigint): BlockRange[] {
  const ranges: BlockRange[] = []
  for (let from = fromBlock; from <= toBlock; from += blocks) {
    const last = from + blocks - 1n
    ranges.push({ fromBlock: from, toBlock: last < toBlock ? last : toBlock })
  }
  return ranges
}

function halvesOf({ fromBlock, toBlock }: BlockRange): readonly BlockRange[] {
  const middle = (fromBlock + toBlock) / 2n
  return [
    { fromBlock, toBlock: middle },
    { fromBlock: middle + 1n, toBlock },
  ]
}

function inOrder(logs: readonly FoundLog[]): readonly FoundLog[] {
  return logs.toSorted((a, b) =>
    a.block === b.block ? a.index - b.index : Number(a.block - b.block),
  )
}

/** Hashes of the transactions behind logs, oldest first, each once. */
export function transactionsOf(logs: readonly FoundLog[]): readonly Hex[] {
  return [...new Set(logs.map(({ txHash }) => txHash))]
}

/** An address as a topic. */
export function topicOf(account: Address): Hex {
  return `0x${account.slice(2).padStart(64, '0')}`
}

function unavailable(message: string): Extract<ChainReply<never>, { ok: false }> {
  return { ok: false, fault: { tag: 'unavailable', message } }
}
