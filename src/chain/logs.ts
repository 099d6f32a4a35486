import { numberToHex } from 'viem/utils'
import { type Address, type Hex, maxOf, minOf } from '../../domain/units.ts'
import type { ChainReply } from '../../ports.ts'
import { BatchRefused, RpcRefusal, UnusableAnswer } from './batch.ts'
import { present } from './faults.ts'
import { createLimit, type Limit, LOG_BLOCKS_MAX, type Trial } from './limits.ts'
import type { Node, Nodes } from './nodes.ts'

/** How far a search for an order goes, at the most. */
export const LOG_SEARCH_BLOCKS = 50n * BigInt(LOG_BLOCKS_MAX)
const FILTERS_PER_REQUEST = 12
/** Requests of a search that ends where it has come to. */
const NEWEST_REQUESTS_MAX = 250
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
  /** Filters in one request, and so in one stretch of blocks; fewer for a search that may end early. Default 12. */
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
 * given. Searches at most 100,000 blocks, and is unavailable where its time is not over by then. It takes as many requests as
 * the nodes' limits ask for: each answer brings it a block further at the least.
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

/**
 * Logs that match in a range of blocks, the newest first, as far back as a bounded number of requests goes: `fromBlock` says how
 * far that was.
 */
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

/** What a search has learnt on its way. */
type Course = {
  /** For nodes that have no memory of their own. */
  readonly logBlocks: Limit
  /** Filters that go together; fewer once a node has limited our pace. */
  filtersTogether: number
  hasBegun: boolean
}

function startedOn({ filtersTogether = FILTERS_PER_REQUEST }: LogQuery): Course {
  const logBlocks = createLimit({ max: LOG_BLOCKS_MAX, clock: { now: () => 0 } })
  return { logBlocks, filtersTogether, hasBegun: false }
}

type Stretch = BlockRange & { readonly logs: readonly FoundLog[] }

/** What is read next of a search: one end of what is left. */
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
  const reading = { route, size, isPatient: course.hasBegun }
  const found = await nodes.read(reading, async (node) => ({
    ok: true,
    value: await stretchFrom(node, filters, part),
  }))
  course.hasBegun ||= found.ok
  return found
}

/**
 * As many blocks as the node answers for at once, times as many requests as go together. Where it refuses so many blocks, it is
 * asked for fewer at once, in one request at a time.
 */
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

async function askLogs(
  node: Node,
  filters: readonly LogFilter[],
  ranges: readonly BlockRange[],
): Promise<readonly FoundLog[]> {
  const asked = ranges.flatMap((range) => filtersOf(filters, range))
  const [head, ...logs] = await Promise.all([
    node.request('eth_blockNumber', []),
    ...asked.map((filter) => readLogs(node, filter)),
  ])
  const newest = ranges.map(({ toBlock }) => toBlock).reduce(maxOf)
  // It would answer what it has, and leave out the blocks that it does not have.
  if (BigInt(head) < newest) throw new UnusableAnswer(behind(head, newest))
  return inOrder(logs.flat())
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

/** Whether fewer blocks may be answered. A node words it as it likes, so that words of its own that nobody knows count, too. */
function isAboutSize(refusal: Refusal): boolean {
  const { kind } = refusal
  if (kind === 'other') return refusal instanceof RpcRefusal || refusal instanceof BatchRefused
  return kind === 'range' || kind === 'results' || kind === 'limit'
}

/** What ends a search: no smaller step helps, or not even one block is answered for. */
function finalOf(refusal: Refusal, block: bigint): Refusal {
  const { kind, message } = refusal
  if (kind === 'limit') return new UnusableAnswer(`is limiting us: ${message}`, 'limited', 'pace')
  return kind === 'range' || kind === 'results'
    ? new UnusableAnswer(`does not answer eth_getLogs for block ${block} alone: ${message}`)
    : refusal
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
    const reading = { route, size: some.length * size, isPatient: at > 0 }
    const reply = await nodes.read(reading, async (node) => {
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
