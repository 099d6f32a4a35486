import type { Observation } from '../../domain/observation.ts'
import type { FeedReading, PriceFeed } from '../../domain/price.ts'
import type { Pair } from '../../domain/token.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { Chain, ChainReply, ChainView, Clock, PermitView, ViewQuery } from '../../ports.ts'
import { createReadEncoder, decodeReads, type Readings, type Reads } from './chain-abi.ts'
import { CHAIN_ID, expectChain } from './chain-id.ts'
import { readOutgoing } from './chain-outgoing.ts'
import { createSending } from './chain-sending.ts'
import { traceAt, traceCalls } from './chain-trace.ts'
import { createJsonRpc, type JsonRpc } from './json-rpc.ts'
import type { RpcCall } from './json-rpc-batch.ts'
import { bytes } from './json-rpc-values.ts'
import { multicallOf } from './multicall3.ts'

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
  readonly rpc: JsonRpc
  readonly chainId: number
  readonly permit2: Address
  readonly encode: (reads: Reads) => Hex
  /** A feed's decimals never change, so that each is asked for once. */
  readonly feedDecimals: Map<Address, number>
}

/** The Chain port over a node's JSON-RPC. Every call is bounded in time, in requests and in bytes. */
export function createChain(options: ChainOptions): Chain & { close(): Promise<void> } {
  const { chainId, rpcUrls, permit2, observe, timeoutMs, clock } = options
  const rpc = createJsonRpc({
    urls: rpcUrls,
    observe,
    clock,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  const wiring: Wiring = {
    rpc,
    chainId,
    permit2,
    encode: createReadEncoder(),
    feedDecimals: new Map(),
  }
  return {
    ...createSending({ rpc, chainId }),
    view: (query) => readView(wiring, query),
    permit: (query) => readPermit(wiring, query),
    outgoing: (query) => readOutgoing({ rpc, chainId }, query),
    close: () => rpc.close(),
  }
}

function multicall(wiring: Wiring, reads: Reads): RpcCall {
  return multicallOf(wiring.encode(reads))
}

function readView(wiring: Wiring, query: ViewQuery): Promise<ChainReply<ChainView>> {
  const reads = viewReads(wiring, query)
  const calls: readonly RpcCall[] = [
    CHAIN_ID,
    multicall(wiring, reads),
    { method: 'eth_getCode', params: [query.owner, 'latest'] },
  ]
  return wiring.rpc.read('view', calls, (answers) => {
    expectChain(answers, wiring.chainId)
    const readings = decodeReads(reads, bytes(answers.result(1), 'multicall'))
    for (const [feed, decimals] of readings.decimals) wiring.feedDecimals.set(feed, decimals)
    return {
      ok: true,
      value: {
        blockNumber: readings.blockNumber,
        blockTimeSeconds: readings.blockTimeSeconds,
        nativeBalance: readings.nativeBalance,
        ownerHasCode: bytes(answers.result(2), 'account code') !== '0x',
        balances: readings.balances,
        allowances: readings.allowances,
        readings: feedReadings(query.feeds, readings, wiring.feedDecimals),
        permitNonceUsed: readings.nonceUsed,
      },
    }
  })
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

function readPermit(
  wiring: Wiring,
  query: Parameters<Chain['permit']>[0],
): Promise<ChainReply<PermitView>> {
  const { owner, nonce, txHash } = query
  const reads: Reads = {
    owner,
    permit2: wiring.permit2,
    tokens: [],
    rounds: [],
    decimals: [],
    permitNonce: nonce,
  }
  const traced = txHash === undefined ? [] : traceCalls(txHash)
  const code: RpcCall = { method: 'eth_getCode', params: [owner, 'latest'] }
  const calls = [CHAIN_ID, multicall(wiring, reads), code, ...traced]
  return wiring.rpc.read('permit', calls, (answers) => {
    expectChain(answers, wiring.chainId)
    const readings = decodeReads(reads, bytes(answers.result(1), 'multicall'))
    return {
      ok: true,
      value: {
        blockNumber: readings.blockNumber,
        blockTimeSeconds: readings.blockTimeSeconds,
        nonceUsed: readings.nonceUsed === true,
        ownerHasCode: bytes(answers.result(2), 'account code') !== '0x',
        transaction: txHash === undefined ? undefined : traceAt(answers, 3, txHash),
      },
    }
  })
}
