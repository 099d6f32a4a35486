import { multicall } from 'viem/actions'
import { numberToHex, parseAbi } from 'viem/utils'
import { type Address, type Hex, maxOf, minOf } from '../domain/money/units.ts'
import { outsideText } from '../domain/text/outside-text.ts'
import type { ChainReply } from '../ports.ts'
import { type Fees, readFees } from './fees.ts'
import { type AssemblyOptions, finalBlock } from './final-blocks.ts'
import { foundLogs, LOG_SEARCH_BLOCKS } from './logs.ts'
import { UnusableAnswer } from './node/batch.ts'
import { LOG_BLOCKS_MAX } from './node/node-limits.ts'
import { type Node, type NodeLimits, type Nodes, openNodes, readValue } from './node/nodes.ts'
import { MULTICALL3 } from './snapshot-reads.ts'

export type MetNode = {
  readonly chainId: number
  /** Undefined if the node pruned the chain's first block. */
  readonly genesisHash: Hex | undefined
  readonly headNumber: bigint
  readonly headSeconds: number
  /** One small request over an open connection. */
  readonly latencyMs: number
}

/** A node's history. A string states why the node lacks it. */
export type NodeHistory = {
  readonly finalNumber: bigint
  /** Balances at the newest final block, which determine fills and expiry. */
  readonly finalState: true | string
  /** Balances at the chain's first block, which only archive nodes have. */
  readonly firstState: true | string
  /** Logs of recent blocks, in any range that the node allows. */
  readonly newLogs: true | string
  /** Blocks and logs as far back as an order search reads. */
  readonly oldLogs: true | string
  readonly oldLogsFrom: bigint
}

export type NodeInspection = {
  /** `node 1 of 2`. Never the URL, which may contain an access key. */
  readonly label: string
  readonly met: ChainReply<MetNode>
  /** Undefined if the node did not answer or serves another chain. */
  readonly history: ChainReply<NodeHistory> | undefined
  readonly limits: NodeLimits
  /** The node's block at a height that is final on every node that answered. */
  readonly common: { readonly number: bigint; readonly hash: Hex } | undefined
}

/** A token's or feed's own metadata; undefined if the contract does not answer. Anyone can choose it. */
export type TokenInspection = {
  readonly decimals: number | undefined
  readonly symbol: string | undefined
  /** Of a feed: `ETH / USD`. */
  readonly description: string | undefined
}

/** An allowance in Permit2's own table. This daemon's orders never use one, because each carries its own signature. */
export type Permit2Right = {
  readonly token: Address
  readonly spender: Address
  readonly amount: bigint
  readonly expiresAtSeconds: number
}

/** Chain reads for diagnostics; trading does not depend on them. */
export type Inspection = {
  nodes(query: { readonly latestSeconds: number }): Promise<readonly NodeInspection[]>
  fees(): Promise<ChainReply<Fees>>
  code(addresses: readonly Address[]): Promise<ChainReply<ReadonlyMap<Address, Hex>>>
  tokens(addresses: readonly Address[]): Promise<ChainReply<ReadonlyMap<Address, TokenInspection>>>
  /** Non-zero allowances, including expired ones. */
  permit2Rights(query: {
    readonly owner: Address
    readonly permit2: Address
    readonly tokens: readonly Address[]
    readonly spenders: readonly Address[]
  }): Promise<ChainReply<readonly Permit2Right[]>>
  close(): Promise<void>
}

type InspectionOptions = Omit<AssemblyOptions, 'observe' | 'timeoutMs'> & {
  readonly timeoutMs: number
}

const ROUTE = 'inspection'
const NAME_CHARS_MAX = 40
const ABI = parseAbi([
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function description() view returns (string)',
  'function allowance(address owner, address token, address spender) view returns (uint160 amount, uint48 expiration, uint48 nonce)',
])

/** Time-bounded reads over a chain's nodes. Node failures never reject. */
export function createInspection(options: InspectionOptions): Inspection {
  const { chainId, rpcUrls: urls, clock, timeoutMs } = options
  const nodes = openNodes({ urls, chainId, observe: () => undefined, clock, timeoutMs })
  const seats = nodes.apart()
  return {
    async nodes(query) {
      const seen = await Promise.all(
        seats.map(async (seat) => ({ seat, ...(await sightOf(seat, options, query)) })),
      )
      const finals = seen.flatMap(({ history }) => (history?.ok ? [history.value.finalNumber] : []))
      const common = finals.length === 0 ? undefined : finals.reduce(minOf)
      return Promise.all(
        seen.map(async ({ seat, met, history }, index): Promise<NodeInspection> => {
          const number = history?.ok ? common : undefined
          const hash = number === undefined ? undefined : await hashAt(seat, number)
          return {
            label: `node ${index + 1} of ${seats.length}`,
            met,
            history,
            limits: seat.limits(),
            common: number === undefined || hash === undefined ? undefined : { number, hash },
          }
        }),
      )
    },
    fees: () => readFees(nodes),
    code: (addresses) =>
      readValue(nodes, { route: ROUTE, size: addresses.length }, async (node) => {
        const codes = addresses.map(
          async (each) => [each, await node.request('eth_getCode', [each, 'latest'])] as const,
        )
        return new Map(await Promise.all(codes))
      }),
    tokens: (addresses) => readTokens(nodes, addresses),
    permit2Rights: (query) => readRights(nodes, query),
    close: () => nodes.close(),
  }
}

type Seat = ReturnType<Nodes['apart']>[number]
type Seen = Pick<NodeInspection, 'met' | 'history'>

async function sightOf(
  seat: Seat,
  { chainId, rule, clock }: InspectionOptions,
  { latestSeconds }: Parameters<Inspection['nodes']>[0],
): Promise<Seen> {
  const reading = { route: ROUTE, size: 3, anyChain: true } as const
  const met = await readValue(seat, reading, async (node) => {
    const [served, head, first] = await Promise.all([
      node.request('eth_chainId', []),
      node.request('eth_getBlockByNumber', ['latest', false]),
      node.request('eth_getBlockByNumber', ['0x0', false]),
    ])
    if (head?.number === undefined || head.number === null)
      throw new UnusableAnswer('has no newest block')
    const startedMs = clock.now()
    await node.request('eth_blockNumber', [])
    const latencyMs = Math.max(0, clock.now() - startedMs)
    return {
      chainId: Number(served),
      genesisHash: first?.hash ?? undefined,
      headNumber: BigInt(head.number),
      headSeconds: Number(head.timestamp),
      latencyMs,
    }
  })
  if (!met.ok || met.value.chainId !== chainId) return { met, history: undefined }
  const final = await readValue(seat, { route: ROUTE, size: 2 }, (node) =>
    finalBlock(node, rule, latestSeconds),
  )
  if (!final.ok) return { met, history: final }
  const finalNumber = final.value.final
  const oldLogsFrom = maxOf(0n, met.value.headNumber - LOG_SEARCH_BLOCKS)
  await tries(seat, ORDER_REQUESTS, (node) =>
    Promise.all(Array.from({ length: ORDER_REQUESTS }, () => node.request('eth_blockNumber', []))),
  )
  const [finalState, firstState] = await Promise.all([
    stateAt(seat, finalNumber),
    stateAt(seat, minOf(1n, finalNumber)),
  ])
  // Sent in a separate batch: a gateway that refuses the logs may refuse the whole batch.
  const newLogs = await newLogsOf(seat, met.value.headNumber)
  const oldLogs = await logsAt(seat, oldLogsFrom)
  const logs = { newLogs, oldLogs, oldLogsFrom }
  return { met, history: { ok: true, value: { finalNumber, finalState, firstState, ...logs } } }
}

/** Longest batch that an order waits for: a draft plus the chain id. */
const ORDER_REQUESTS = 6

/** True, or the reason why the node does not answer. */
async function tries(
  seat: Seat,
  size: number,
  task: (node: Node) => Promise<unknown>,
): Promise<true | string> {
  const reply = await readValue(seat, { route: ROUTE, size }, task)
  return reply.ok || reply.fault.message
}

function stateAt(seat: Seat, number: bigint): Promise<true | string> {
  return tries(seat, 1, (node) => node.request('eth_getBalance', [MULTICALL3, numberToHex(number)]))
}

/** The first step of a log search, which also finds how many blocks the node allows per request. */
async function newLogsOf(seat: Seat, head: bigint): Promise<true | string> {
  const filters = [{ contract: MULTICALL3, topics: [] }]
  const fromBlock = maxOf(0n, head - BigInt(LOG_BLOCKS_MAX) + 1n)
  const range = { fromBlock, atLeastBlock: fromBlock, untilSeconds: Number.MAX_SAFE_INTEGER }
  const search = foundLogs(seat, { route: ROUTE, filters, filtersTogether: 1, ...range })
  for await (const found of search) return found.ok ? true : found.fault.message
  return true
}

/** Queries a contract that emits no logs. Some nodes return an empty list for blocks that they do not have. */
function logsAt(seat: Seat, number: bigint): Promise<true | string> {
  const block = numberToHex(number)
  return tries(seat, 2, async (node) => {
    const [found] = await Promise.all([
      node.request('eth_getBlockByNumber', [block, false]),
      node.request('eth_getLogs', [{ address: MULTICALL3, fromBlock: block, toBlock: block }]),
    ])
    if (found === null) throw new UnusableAnswer(`does not have block ${number}`)
  })
}

async function hashAt(seat: Seat, number: bigint): Promise<Hex | undefined> {
  const reply = await readValue(seat, { route: ROUTE, size: 1 }, (node) =>
    node.request('eth_getBlockByNumber', [numberToHex(number), false]),
  )
  return reply.ok ? (reply.value?.hash ?? undefined) : undefined
}

function readTokens(nodes: Nodes, addresses: readonly Address[]): ReturnType<Inspection['tokens']> {
  return readValue(nodes, { route: ROUTE, size: 1 }, async (node) => {
    const reads = await node.ask('multicall', (client) =>
      multicall(client, {
        multicallAddress: MULTICALL3,
        batchSize: 0,
        contracts: addresses.flatMap((address) => [
          { abi: ABI, address, functionName: 'decimals' as const },
          { abi: ABI, address, functionName: 'symbol' as const },
          { abi: ABI, address, functionName: 'description' as const },
        ]),
      }),
    )
    const named = (said: unknown) =>
      typeof said === 'string' ? outsideText(said).slice(0, NAME_CHARS_MAX) : undefined
    const inspected = addresses.map((address, n): [Address, TokenInspection] => {
      const [decimals, symbol, description] = reads.slice(3 * n).map(({ result }) => result)
      return [
        address,
        {
          decimals: typeof decimals === 'number' ? decimals : undefined,
          symbol: named(symbol),
          description: named(description),
        },
      ]
    })
    return new Map(inspected)
  })
}

function readRights(
  nodes: Nodes,
  { owner, permit2, tokens, spenders }: Parameters<Inspection['permit2Rights']>[0],
): ReturnType<Inspection['permit2Rights']> {
  const rights = tokens.flatMap((token) => spenders.map((spender) => ({ token, spender })))
  return readValue(nodes, { route: ROUTE, size: 1 }, async (node) => {
    const reads = await node.ask('multicall', (client) =>
      multicall(client, {
        multicallAddress: MULTICALL3,
        batchSize: 0,
        allowFailure: false,
        contracts: rights.map(({ token, spender }) => ({
          abi: ABI,
          address: permit2,
          functionName: 'allowance' as const,
          args: [owner, token, spender] as const,
        })),
      }),
    )
    return rights.flatMap((each, n): readonly Permit2Right[] => {
      const [amount = 0n, expiresAtSeconds = 0] = reads[n] ?? []
      return amount === 0n ? [] : [{ ...each, amount, expiresAtSeconds }]
    })
  })
}
