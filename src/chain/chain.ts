import { numberToHex } from 'viem/utils'
import type { FeedReading, PriceFeed } from '../domain/money/price.ts'
import type { Pair } from '../domain/money/token.ts'
import { type Address, type Hex, maxOf } from '../domain/money/units.ts'
import type {
  Chain,
  ChainReply,
  ChainView,
  MinedPlace,
  Outgoing,
  Payment,
  PermitView,
  TransactionTrace,
  ViewQuery,
} from '../ports.ts'
import { createCodeReader } from './contract-code.ts'
import {
  type Assembly,
  type AssemblyOptions,
  agreedOn,
  agreedRead,
  createFinality,
  earlier,
  finalBlock,
  openAssembly,
} from './final-blocks.ts'
import {
  type FoundLog,
  foundLogs,
  type LogFilter,
  newestLogs,
  readEach,
  topicOf,
  transactionsOf,
} from './logs.ts'
import { unavailable } from './node/chain-faults.ts'
import { type Node, readValue } from './node/nodes.ts'
import { createSending } from './sending.ts'
import {
  createReadEncoder,
  decodeReads,
  MULTICALL3,
  type Readings,
  type Reads,
} from './snapshot-reads.ts'
import { readTrace, TRACE_SIZE, TRANSFER_TOPIC } from './transaction-trace.ts'

type Wiring = {
  readonly permit2: Address
  readonly encode: (reads: Reads) => Hex
  /** Cache: a feed's decimals never change. */
  readonly feedDecimals: Map<Address, number>
}

const OUTGOING_ROUTE = 'outgoing'
/** Some wrapped coins burn by a transfer to the zero address when they are unwrapped. */
const ZERO_ADDRESS_TOPIC = topicOf('0x0000000000000000000000000000000000000000')
/** Upper bound on transactions in which the owner paid since the permit was recorded. */
const OUTGOING_MAX = 1_000
/** keccak256 of `UnorderedNonceInvalidation(address,uint256,uint256)`: the owner invalidated nonces of one word. */
const INVALIDATION_TOPIC: Hex = '0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d'

export function createChain({
  permit2,
  ...options
}: AssemblyOptions & { readonly permit2: Address }): Chain & { close(): Promise<void> } {
  const assembly = openAssembly(options)
  const { nodes } = assembly
  const wiring: Wiring = { permit2, encode: createReadEncoder(), feedDecimals: new Map() }
  return {
    ...createSending(nodes, options.chainId),
    ...createFinality(assembly),
    code: createCodeReader(assembly),
    view: (query) =>
      readValue(nodes, { route: 'view', size: 2 }, (node) => readView(node, wiring, query)),
    permit: async (query) => {
      const reading = { route: 'permit', size: 2 + TRACE_SIZE }
      const reply = await readValue(nodes, reading, (node) => readPermit(node, wiring, query))
      if (!reply.ok || reply.value.transaction === undefined) return reply
      const transaction = await confirmed(assembly, reply.value.transaction)
      return { ok: true, value: { ...reply.value, transaction } }
    },
    finalPermit: (query) => readFinalPermit(assembly, wiring, query),
    outgoing: (query) => readOutgoing(assembly, permit2, query),
    payments: (query) => readPayments(assembly, query),
    close: () => nodes.close(),
  }
}

async function readView(node: Node, wiring: Wiring, query: ViewQuery): Promise<ChainView> {
  const { permit2, feedDecimals } = wiring
  const { owner, permitNonce } = query
  const feeds = [...new Set(query.feeds.map((feed) => feed.feed))]
  const sequencers = query.feeds.flatMap((feed) => feed.sequencerFeed ?? [])
  const tokens = [...new Set(query.tokens.map((token) => token.address))]
  const rounds = [...new Set([...feeds, ...sequencers])]
  const missing = feeds.filter((feed) => !feedDecimals.has(feed))
  const reads = { owner, permit2, tokens, rounds, decimals: missing, permitNonce }
  const [{ decimals, rounds: found, nonceUsed, ...readings }, code] = await readWithCode(
    node,
    wiring,
    reads,
  )
  for (const [feed, places] of decimals) feedDecimals.set(feed, places)
  return {
    ...readings,
    ownerHasCode: code !== '0x',
    readings: feedReadings(query.feeds, found, feedDecimals),
    permitNonceUsed: nonceUsed,
  }
}

async function readPermit(
  node: Node,
  wiring: Wiring,
  { txHash, ...permit }: Parameters<Chain['permit']>[0],
): Promise<PermitView> {
  const [[{ blockNumber, blockTimeSeconds, nonceUsed }, code], transaction] = await Promise.all([
    readWithCode(node, wiring, nonceReads(wiring, permit)),
    txHash === undefined ? undefined : readTrace(node, txHash),
  ])
  return {
    blockNumber,
    blockTimeSeconds,
    nonceUsed: nonceUsed === true,
    ownerHasCode: code !== '0x',
    transaction,
  }
}

function nonceReads(
  { permit2 }: Wiring,
  { owner, nonce }: { readonly owner: Address; readonly nonce: bigint },
): Reads {
  return { owner, permit2, tokens: [], rounds: [], decimals: [], permitNonce: nonce }
}

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

function feedReadings(
  feeds: readonly PriceFeed[],
  rounds: Readings['rounds'],
  feedDecimals: ReadonlyMap<Address, number>,
): ReadonlyMap<Pair, FeedReading> {
  const found = new Map<Pair, FeedReading>()
  for (const { pair, feed, sequencerFeed } of feeds) {
    const round = rounds.get(feed)
    const decimals = feedDecimals.get(feed)
    const sequencer = sequencerFeed === undefined ? undefined : rounds.get(sequencerFeed)
    // An unreadable sequencer feed must not look like a missing one.
    if (round === undefined || decimals === undefined) continue
    if (sequencerFeed !== undefined && sequencer === undefined) continue
    const { id, answer, updatedAtSeconds, answeredInId } = round
    found.set(pair, { id, answer, updatedAtSeconds, answeredInId, decimals, sequencer })
  }
  return found
}

function readFinalPermit(
  assembly: Assembly,
  wiring: Wiring,
  { latestSeconds, ...permit }: Parameters<Chain['finalPermit']>[0],
): ReturnType<Chain['finalPermit']> {
  return agreedRead(
    assembly,
    {
      doing: 'reading a final nonce',
      keyOf: ({ nonceUsed }) => (nonceUsed ? 'used' : 'unused'),
      reading: { route: 'final-permit', size: 2 },
      // Reads the nonce and the time in one multicall, so that both come from one block.
      async read(node) {
        const { final } = await finalBlock(node, assembly.rule, latestSeconds)
        const reads = nonceReads(wiring, permit)
        const multicall = { to: MULTICALL3, data: wiring.encode(reads) }
        const data = await node.request('eth_call', [multicall, numberToHex(final)])
        const { blockNumber, blockTimeSeconds, nonceUsed } = decodeReads(reads, data)
        return { blockNumber, blockTimeSeconds, nonceUsed: nonceUsed === true }
      },
    },
    earlier,
  )
}

/** Searches at most `LOG_SEARCH_BLOCKS` blocks. */
async function readOutgoing(
  assembly: Assembly,
  permit2: Address,
  { owner, token, nonce, ...range }: Parameters<Chain['outgoing']>[0],
): Promise<ChainReply<Outgoing>> {
  const { nodes } = assembly
  const invalidations = { contract: permit2, topics: [INVALIDATION_TOPIC, topicOf(owner)] }
  const filters = [{ contract: token, topics: [TRANSFER_TOPIC, topicOf(owner)] }, invalidations]
  const paid: FoundLog[] = []
  let invalidated: FoundLog | undefined
  for await (const found of foundLogs(nodes, { route: OUTGOING_ROUTE, ...range, filters })) {
    if (!found.ok) return found
    paid.push(...found.value.filter((log) => log.address === token && isPayment(log)))
    invalidated ??= found.value.find((log) => log.address === permit2 && invalidates(log, nonce))
  }
  const hashes = transactionsOf(paid)
  if (hashes.length > OUTGOING_MAX) return unavailable(`${hashes.length} payments are too many`)
  const traces = await readEach(nodes, hashes, {
    route: OUTGOING_ROUTE,
    size: TRACE_SIZE,
    read: readTrace,
  })
  if (!traces.ok) return traces
  const [cancelled, ...known] = await Promise.all([
    invalidated && confirmedCancel(assembly, invalidations, { log: invalidated, nonce }),
    ...traces.value.map((trace) => confirmed(assembly, trace)),
  ])
  return { ok: true, value: { traces: known.filter((trace) => trace !== undefined), cancelled } }
}

/**
 * Confirms by quorum the transaction in which the owner invalidated a nonce: a cancelled order is not searched for again.
 */
async function confirmedCancel(
  assembly: Assembly,
  filter: LogFilter,
  { log, nonce }: { readonly log: FoundLog; readonly nonce: bigint },
): Promise<MinedPlace | undefined> {
  const { txHash, block, blockHash } = log
  const place = { txHash, blockNumber: block, blockHash }
  if (assembly.rule.agree === 1) return place
  const reply = await agreedOn<boolean>(assembly, {
    doing: `reading whether ${txHash} used up a nonce`,
    keyOf: (isThere) => (isThere ? 'used up' : 'nothing of it'),
    ask: async (node) => {
      const query = { route: OUTGOING_ROUTE, filters: [filter] }
      const found = await newestLogs(node, query, { fromBlock: block, toBlock: block })
      if (!found.ok) return found
      const isSame = (each: FoundLog): boolean =>
        each.txHash === txHash && each.blockHash === blockHash && invalidates(each, nonce)
      return { ok: true, value: found.value.logs.some(isSame) }
    },
  })
  return reply.ok && reply.value[0] === true ? place : undefined
}

/** Confirms by quorum what a transaction moved: it counts against caps, so a single node must not decide it. */
async function confirmed(
  assembly: Assembly,
  trace: TransactionTrace,
): Promise<TransactionTrace | undefined> {
  if (assembly.rule.agree === 1) return trace
  const reply = await agreedRead(assembly, {
    doing: `reading transaction ${trace.hash}`,
    keyOf: traceKey,
    reading: { route: 'trace', size: TRACE_SIZE },
    read: (node) => readTrace(node, trace.hash),
  })
  return reply.ok ? reply.value : undefined
}

function traceKey(trace: TransactionTrace | undefined): string {
  if (trace === undefined) return 'nothing of it'
  const { success, blockHash, transfers } = trace
  const moved = transfers.map(
    ({ token, from, to, amount, logIndex }) =>
      `${logIndex}: ${amount} of ${token} ${from} to ${to}`,
  )
  return `${success ? 'mined' : 'reverted'} in ${blockHash} (${moved.join(', ')})`
}

/** Payments that any node of the quorum reports. Logs arrive late, so a node without them proves nothing. */
async function readPayments(
  assembly: Assembly,
  { owner, tokens, ...range }: Parameters<Chain['payments']>[0],
): ReturnType<Chain['payments']> {
  const filters = [{ contract: tokens, topics: [TRANSFER_TOPIC, topicOf(owner)] }]
  const seen = await agreedOn(assembly, {
    doing: 'searching payments',
    keyOf: () => 'answered',
    ask: (node) => newestLogs(node, { route: 'payments', filters }, range),
  })
  if (!seen.ok) return { ok: false, fault: { ...seen.fault, tag: 'unavailable' } }
  const payments = new Map<string, Payment>()
  for (const log of seen.value.flatMap(({ logs }) => logs))
    if (isPayment(log) && log.topics[2] !== ZERO_ADDRESS_TOPIC)
      payments.set(`${log.txHash}:${log.index}`, paymentOf(log))
  const fromBlock = seen.value.map((each) => each.fromBlock).reduce(maxOf)
  return { ok: true, value: { payments: [...payments.values()].toSorted(byPlace), fromBlock } }
}

function byPlace(a: Payment, b: Payment): number {
  return a.blockNumber === b.blockNumber
    ? a.logIndex - b.logIndex
    : Number(a.blockNumber - b.blockNumber)
}

function paymentOf({ address, data, txHash, block, index }: FoundLog): Payment {
  const token = address.toLowerCase() as Address
  return { token, amount: BigInt(data), logIndex: index, txHash, blockNumber: block }
}

/** A zero transfer is not a payment: anyone can emit one in another account's name. */
function isPayment({ data }: FoundLog): boolean {
  return /[1-9a-f]/.test(data.slice(2))
}

/** `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)` of Permit2. */
function invalidates({ data }: FoundLog, nonce: bigint): boolean {
  if (data.length !== 2 + 2 * 64) return false
  const [word, mask] = [BigInt(data.slice(0, 66)), BigInt(`0x${data.slice(66)}`)]
  return word === nonce >> 8n && ((mask >> (nonce & 255n)) & 1n) === 1n
}
