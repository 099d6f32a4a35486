import type { Observation } from '../../domain/observation.ts'
import type { FeedReading, PriceFeed } from '../../domain/price.ts'
import type { Pair } from '../../domain/token.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type {
  Chain,
  ChainReply,
  ChainView,
  Clock,
  PermitView,
  TransactionTrace,
  ViewQuery,
} from '../../ports.ts'
import {
  createReadEncoder,
  decodeReads,
  MULTICALL3,
  type Readings,
  type Reads,
} from './hot-reads.ts'
import { readEach, searchLogs, topicOf } from './logs.ts'
import { type Node, type Nodes, openNodes } from './nodes.ts'
import { createSending } from './sending.ts'
import { readTrace, TRACE_SIZE, TRANSFER_TOPIC } from './trace.ts'

export type ChainOptions = {
  /** Answers of a node on another chain are not believed (but for `identity`, which reports them). */
  readonly chainId: number
  /** In order of preference. Reads move on to the next when one is unavailable; broadcasts never do. */
  readonly rpcUrls: readonly string[]
  readonly permit2: Address
  readonly observe: (event: Observation) => void
  /** For one HTTP request. Default 10,000. */
  readonly timeoutMs?: number
  readonly clock: Pick<Clock, 'now'>
}

type Wiring = {
  readonly permit2: Address
  readonly encode: (reads: Reads) => Hex
  /** A feed's decimals never change, so that each is asked for once. */
  readonly feedDecimals: Map<Address, number>
}

const OUTGOING_ROUTE = 'outgoing'
const OUTGOING_MAX = 100

/** The Chain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createChain(options: ChainOptions): Chain & { close(): Promise<void> } {
  const { chainId, rpcUrls, permit2, observe, timeoutMs, clock } = options
  const nodes = openNodes({ urls: rpcUrls, chainId, observe, clock, timeoutMs })
  const wiring: Wiring = { permit2, encode: createReadEncoder(), feedDecimals: new Map() }
  return {
    ...createSending(nodes, chainId),
    view: (query) =>
      nodes.read({ route: 'view', size: 2 }, async (node) => ({
        ok: true,
        value: await readView(node, wiring, query),
      })),
    permit: (query) =>
      nodes.read({ route: 'permit', size: 2 + TRACE_SIZE }, async (node) => ({
        ok: true,
        value: await readPermit(node, wiring, query),
      })),
    outgoing: (query) => readOutgoing(nodes, query),
    close: () => nodes.close(),
  }
}

async function readView(node: Node, wiring: Wiring, query: ViewQuery): Promise<ChainView> {
  const [readings, code] = await readWithCode(node, wiring, viewReads(wiring, query))
  for (const [feed, decimals] of readings.decimals) wiring.feedDecimals.set(feed, decimals)
  return {
    blockNumber: readings.blockNumber,
    blockTimeSeconds: readings.blockTimeSeconds,
    nativeBalance: readings.nativeBalance,
    ownerHasCode: code !== '0x',
    balances: readings.balances,
    allowances: readings.allowances,
    readings: feedReadings(query.feeds, readings, wiring.feedDecimals),
    permitNonceUsed: readings.nonceUsed,
  }
}

async function readPermit(
  node: Node,
  wiring: Wiring,
  { owner, nonce, txHash }: Parameters<Chain['permit']>[0],
): Promise<PermitView> {
  const { permit2 } = wiring
  const reads = { owner, permit2, tokens: [], rounds: [], decimals: [], permitNonce: nonce }
  const [[readings, code], transaction] = await Promise.all([
    readWithCode(node, wiring, reads),
    txHash === undefined ? undefined : readTrace(node, txHash),
  ])
  return {
    blockNumber: readings.blockNumber,
    blockTimeSeconds: readings.blockTimeSeconds,
    nonceUsed: readings.nonceUsed === true,
    ownerHasCode: code !== '0x',
    transaction,
  }
}

/** A multicall, and whether its owner is a contract. */
async function readWithCode(
  node: Node,
  wiring: Wiring,
  reads: Reads,
): Promise<readonly [Readings, Hex]> {
  const multicall = { to: MULTICALL3, data: wiring.encode(reads) }
  const [data, code] = await Promise.all([
    node.request('eth_call', [multicall, 'latest']),
    node.request('eth_getCode', [reads.owner, 'latest']),
  ])
  return [decodeReads(reads, data), code]
}

function viewReads(wiring: Wiring, query: ViewQuery): Reads {
  const feeds = [...new Set(query.feeds.map((feed) => feed.feed))]
  const sequencers = query.feeds.flatMap((feed) => feed.sequencerFeed ?? [])
  return {
    owner: query.owner,
    permit2: wiring.permit2,
    tokens: [...new Set(query.tokens.map((token) => token.address))],
    rounds: [...new Set([...feeds, ...sequencers])],
    decimals: feeds.filter((feed) => !wiring.feedDecimals.has(feed)),
    permitNonce: query.permitNonce,
  }
}

function feedReadings(
  feeds: readonly PriceFeed[],
  readings: Readings,
  feedDecimals: ReadonlyMap<Address, number>,
): ReadonlyMap<Pair, FeedReading> {
  const found = new Map<Pair, FeedReading>()
  for (const { pair, feed, sequencerFeed } of feeds) {
    const round = readings.rounds.get(feed)
    const decimals = feedDecimals.get(feed)
    const sequencer = sequencerFeed === undefined ? undefined : readings.rounds.get(sequencerFeed)
    // A sequencer feed that cannot be read must not pass for a feed that has none.
    if (round === undefined || decimals === undefined) continue
    if (sequencerFeed !== undefined && sequencer === undefined) continue
    found.set(pair, {
      answer: round.answer,
      decimals,
      updatedAtSeconds: round.updatedAtSeconds,
      sequencer,
    })
  }
  return found
}

/** `Chain.outgoing`. Gives at most the oldest hundred transactions; searches at most 100,000 blocks. */
async function readOutgoing(
  nodes: Nodes,
  { owner, token, fromBlock, untilSeconds }: Parameters<Chain['outgoing']>[0],
): Promise<ChainReply<readonly TransactionTrace[]>> {
  const found = await searchLogs(nodes, {
    route: OUTGOING_ROUTE,
    contract: token,
    fromBlock,
    untilSeconds,
    topics: [[TRANSFER_TOPIC, topicOf(owner)]],
    transactionsMax: OUTGOING_MAX,
  })
  if (!found.ok) return found
  const oldest = found.value.slice(0, OUTGOING_MAX)
  return readEach(nodes, oldest, { route: OUTGOING_ROUTE, size: TRACE_SIZE, read: readTrace })
}
