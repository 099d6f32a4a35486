import { numberToHex } from 'viem/utils'
import { type Address, type Hex, maxOf, minOf } from '../domain/money/units.ts'
import type { ChainReply } from '../ports.ts'
import { BatchRefused, RpcRefusal, UnusableAnswer } from './node/batch.ts'
import { present, unavailable } from './node/chain-faults.ts'
import { createLimit, type Limit, LOG_BLOCKS_MAX, type Trial } from './node/node-limits.ts'
import { type Node, type Nodes, readValue } from './node/nodes.ts'

/** Upper bound on the range of an order search. */
export const LOG_SEARCH_BLOCKS = 50n * BigInt(LOG_BLOCKS_MAX)
const FILTERS_PER_REQUEST = 12
const NEWEST_REQUESTS_MAX = 250
const REQUESTS_TOGETHER = 30

/** Both ends are inclusive. */
type BlockRange = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** Logs of one or several contracts, by topic; null matches any topic. */
export type LogFilter = {
  readonly contract: Address | readonly Address[]
  readonly topics: readonly (Hex | null)[]
}

type LogQuery = {
  readonly route: string
  readonly filters: readonly LogFilter[]
  /** Filters per request, and so per block range. A search that may end early uses fewer. Default 12. */
  readonly filtersTogether?: number
}

type LogSearch = LogQuery & {
  readonly fromBlock: bigint
  /** Nodes that have not reached this block are skipped. */
  readonly atLeastBlock: bigint
  /** Unix seconds; the search ends here. */
  readonly untilSeconds: number
}

export type Readers = Pick<Nodes, 'read'>

/**
 * Yields matching logs since a block, one block range after another, oldest first. A fault is always the last item. Searches
 * at most `LOG_SEARCH_BLOCKS` blocks, and yields `unavailable` if `untilSeconds` lies beyond. The number of requests depends
 * on the nodes' limits; each answer advances by at least one block.
 */
export async function* foundLogs(
  nodes: Readers,
  search: LogSearch,
): AsyncGenerator<ChainReply<readonly FoundLog[]>> {
  const { fromBlock } = search
  const last = await lastBlock(nodes, search)
  if (!last.ok) return yield last
  const course = startedOn(search)
  for (let next = fromBlock; next <= last.value; ) {
    const range = { fromBlock: next, toBlock: last.value }
    const found = await readStretch(nodes, search, { range, course, isOldestFirst: true })
    if (!found.ok) return yield found
    yield { ok: true, value: found.value.logs }
    next = found.value.toBlock + 1n
  }
}

/** Reads logs newest first, within a bounded number of requests. The result's `fromBlock` is the oldest block searched. */
export async function newestLogs(
  nodes: Readers,
  search: LogQuery,
  { fromBlock, toBlock }: BlockRange,
): Promise<ChainReply<{ readonly logs: readonly FoundLog[]; readonly fromBlock: bigint }>> {
  const logs: FoundLog[] = []
  const course = startedOn(search)
  let next = toBlock
  for (let requests = 0; next >= fromBlock && requests < NEWEST_REQUESTS_MAX; requests += 1) {
    const range = { fromBlock, toBlock: next }
    const found = await readStretch(nodes, search, { range, course, isOldestFirst: false })
    if (!found.ok) return found
    logs.push(...found.value.logs)
    next = found.value.fromBlock - 1n
  }
  return { ok: true, value: { logs, fromBlock: next + 1n } }
}

type Course = {
  /** Used for nodes that keep no limit between searches. */
  readonly logBlocks: Limit
  /** Filters per request; fewer once a node has rate-limited us. */
  filtersTogether: number
  hasBegun: boolean
}

function startedOn({ filtersTogether = FILTERS_PER_REQUEST }: LogQuery): Course {
  const logBlocks = createLimit({ max: LOG_BLOCKS_MAX, clock: { now: () => 0 } })
  return { logBlocks, filtersTogether, hasBegun: false }
}

type Stretch = BlockRange & { readonly logs: readonly FoundLog[] }

type Part = {
  readonly range: BlockRange
  readonly course: Course
  readonly isOldestFirst: boolean
}

async function readStretch(
  nodes: Readers,
  { route, filters }: LogQuery,
  part: Part,
): Promise<ChainReply<Stretch>> {
  const { course } = part
  const size = 1 + Math.max(filters.length, course.filtersTogether)
  const reading = { route, size, waitsOnRateLimit: course.hasBegun }
  const found = await readValue(nodes, reading, (node) => stretchFrom(node, filters, part))
  course.hasBegun ||= found.ok
  return found
}

/** Reads as many blocks as the node allows. After a refusal it requests fewer, one range at a time. */
async function stretchFrom(
  node: Node,
  filters: readonly LogFilter[],
  { range, course, isOldestFirst }: Part,
): Promise<Stretch> {
  const { filtersTogether, logBlocks } = course
  const limit = node.logBlocks ?? logBlocks
  const together = Math.max(1, Math.floor(filtersTogether / Math.max(1, filters.length)))
  let trial: Trial | undefined
  for (;;) {
    const blocks = trial?.size ?? limit.size()
    const isTrying = trial !== undefined || limit.isTrying()
    const stretch = endOf(range, BigInt(blocks * (isTrying ? 1 : together)), isOldestFirst)
    const width = Math.min(blocks, Number(stretch.toBlock - stretch.fromBlock + 1n))
    try {
      const logs = await askLogs(node, filters, rangesOf(stretch, BigInt(blocks)))
      limit.answered(width, trial)
      return { ...stretch, logs }
    } catch (error) {
      const refusal = refusalIn(error)
      if (refusal.kind === 'pace') course.filtersTogether = Math.ceil(filtersTogether / 2)
      if (width === 1 || !isAboutSize(refusal)) throw finalOf(refusal, stretch.fromBlock)
      trial = limit.smaller(width, refusal)
    }
  }
}

/** viem's own action takes events by ABI, not by bare topics, which a search by position needs. */
async function askLogs(
  node: Node,
  filters: readonly LogFilter[],
  ranges: readonly BlockRange[],
): Promise<readonly FoundLog[]> {
  const queries = ranges.flatMap((range) => {
    const [fromBlock, toBlock] = [numberToHex(range.fromBlock), numberToHex(range.toBlock)]
    return filters.map(({ contract: address, topics }) => ({ address, fromBlock, toBlock, topics }))
  })
  const [head, ...logs] = await Promise.all([
    node.request('eth_blockNumber', []),
    ...queries.map((filter) => node.request('eth_getLogs', [filter])),
  ])
  const newest = ranges.map(({ toBlock }) => toBlock).reduce(maxOf)
  // A node answers without the blocks that it does not have, so its head must cover the range.
  if (BigInt(head) < newest) throw new UnusableAnswer(behind(head, newest))
  const found = logs.flat().map((log) => ({
    address: log.address,
    topics: log.topics,
    data: log.data,
    txHash: log.transactionHash,
    block: BigInt(log.blockNumber),
    blockHash: present(log.blockHash, 'block hash of a log'),
    index: Number(log.logIndex),
  }))
  return found.toSorted((a, b) =>
    a.block === b.block ? a.index - b.index : Number(a.block - b.block),
  )
}

function endOf(
  { fromBlock, toBlock }: BlockRange,
  blocks: bigint,
  isOldestFirst: boolean,
): BlockRange {
  return isOldestFirst
    ? { fromBlock, toBlock: minOf(toBlock, fromBlock + blocks - 1n) }
    : { fromBlock: maxOf(fromBlock, toBlock - blocks + 1n), toBlock }
}

type Refusal = RpcRefusal | UnusableAnswer

function refusalIn(error: unknown): Refusal {
  if (error instanceof RpcRefusal || error instanceof UnusableAnswer) return error
  throw error
}

/** True if a smaller block range might succeed. Unknown refusals count too, because nodes word them freely. */
function isAboutSize(refusal: Refusal): boolean {
  const { kind } = refusal
  if (kind === 'other') return refusal instanceof RpcRefusal || refusal instanceof BatchRefused
  return kind === 'range' || kind === 'results' || kind === 'limit'
}

function finalOf(refusal: Refusal, block: bigint): Refusal {
  const { kind, message } = refusal
  if (kind === 'limit') return new UnusableAnswer(`is limiting us: ${message}`, 'limited', 'pace')
  return kind === 'range' || kind === 'results'
    ? new UnusableAnswer(`does not answer eth_getLogs for block ${block} alone: ${message}`)
    : refusal
}

/** Reads each key, in batches by size. A node without one of the values is unusable. */
export async function readEach<Key, Value>(
  nodes: Readers,
  keys: readonly Key[],
  each: {
    readonly route: string
    readonly size: number
    read(node: Node, key: Key): Promise<Value | undefined>
  },
): Promise<ChainReply<readonly Value[]>> {
  const values: Value[] = []
  const { route, size } = each
  const together = Math.max(1, Math.floor(REQUESTS_TOGETHER / size))
  for (let at = 0; at < keys.length; at += together) {
    const some = keys.slice(at, at + together)
    const reading = { route, size: some.length * size, waitsOnRateLimit: at > 0 }
    const reply = await readValue(nodes, reading, async (node) => {
      const found = await Promise.all(some.map((key) => each.read(node, key)))
      if (found.includes(undefined))
        throw new UnusableAnswer('does not have all that it has logs or blocks of')
      return found as readonly Value[]
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
  const least = maxOf(atLeastBlock, fromBlock)
  return readValue(nodes, { route, size: 1 }, async (node) => {
    const head = await node.request('eth_blockNumber', [])
    if (BigInt(head) < least) throw new UnusableAnswer(behind(head, least))
    return BigInt(head)
  })
}

function behind(head: Hex, block: bigint): string {
  return `is at block ${BigInt(head)}, behind ${block}`
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

/** The end of a search: the newest block, or the last allowed block if its time is past `untilSeconds`. */
async function lastBlock(nodes: Readers, search: LogSearch): Promise<ChainReply<bigint>> {
  const { route, fromBlock, untilSeconds } = search
  const head = await readHead(nodes, search)
  const furthest = fromBlock + LOG_SEARCH_BLOCKS - 1n
  if (!head.ok || head.value <= furthest) return head
  const block = await readValue(nodes, { route, size: 1 }, async (node) =>
    present(await node.request('eth_getBlockByNumber', [numberToHex(furthest), false]), 'block'),
  )
  if (!block.ok) return block
  if (Number(block.value.timestamp) > untilSeconds) return { ok: true, value: furthest }
  return unavailable(
    `blocks ${fromBlock} to ${head.value} are too many to search (at most ${LOG_SEARCH_BLOCKS})`,
  )
}

/** Oldest first. */
function rangesOf({ fromBlock, toBlock }: BlockRange, blocks: bigint): BlockRange[] {
  const ranges: BlockRange[] = []
  for (let from = fromBlock; from <= toBlock; from += blocks) {
    ranges.push({ fromBlock: from, toBlock: minOf(from + blocks - 1n, toBlock) })
  }
  return ranges
}

/** Distinct transaction hashes of the logs, oldest first. */
export function transactionsOf(logs: readonly FoundLog[]): readonly Hex[] {
  return [...new Set(logs.map(({ txHash }) => txHash))]
}

export function topicOf(account: Address): Hex {
  return `0x${account.slice(2).padStart(64, '0')}`
}
