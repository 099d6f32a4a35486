import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, createTransport } from 'viem'
import type { Observation } from '../../domain/observation.ts'
import type { ChainReply, Clock } from '../../ports.ts'
import { openEndpoint, type RpcEndpoint } from '../http/endpoint.ts'
import { type Answer, answerTo, type Method } from './answers.ts'
import { RpcRefusal, UnusableAnswer } from './batch.ts'
import { BATCH_MAX, createLimit, type Limit, LOG_BLOCKS_MAX, type Lowered } from './limits.ts'
import { openWire, USABLE, type Wire } from './wire.ts'

/** A node as one reading sees it. */
export type Node = {
  /** A bare request, without the 10 us that viem spends around it. Rejects as `ask` does. */
  request<Of extends Method>(method: Of, params: readonly unknown[]): Promise<Answer<Of>>
  /** One of viem's actions on the node. Rejects with RpcRefusal, or with UnusableAnswer naming what was asked for. */
  ask<Value>(what: string, action: (client: Client) => Promise<Value>): Promise<Value>
  /** Blocks that it answers eth_getLogs for at once; absent where nothing is known of it from one search to the next. */
  readonly logBlocks?: Limit
}

/** How many requests a reading makes in its first turn: they share a batch, perhaps with other readings. */
export type Reading = {
  readonly route: string
  readonly size: number
  /** The reading tells which chain it is from, instead of being believed from one only. */
  readonly anyChain?: true
  /** One of many requests of a search: where the nodes limit our pace, it waits and asks again, half a minute at the most. */
  readonly isPatient?: boolean
}

/** What a node was seen to refuse for its size; undefined for what it never did. */
export type NodeLimits = {
  readonly batch: Lowered | undefined
  readonly logBlocks: Lowered | undefined
}

export type Nodes = {
  /**
   * Reads from the node in use. When it is unavailable, or what it says is, the next one is asked, from the beginning;
   * the one that answered is asked first from then on. At most one try a node.
   */
  read<Value>(
    reading: Reading,
    task: (node: Node) => Promise<ChainReply<Value>>,
  ): Promise<ChainReply<Value>>
  /** The same for a request with effects: it goes to the node in use and to no other, once, and shares nothing. */
  send<Value>(
    route: string,
    task: (node: Node) => Promise<ChainReply<Value>>,
  ): Promise<ChainReply<Value>>
  /** Each node by itself, the one in use first: for what several of them have to say alike. */
  apart(): readonly (Pick<Nodes, 'read'> & { limits(): NodeLimits })[]
  close(): Promise<void>
}

export type NodesOptions = {
  /** In order of preference; at least one. */
  readonly urls: readonly string[]
  /** The chain that readings have to be from; undefined where any will do. */
  readonly chainId: number | undefined
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
  /** For a whole request, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** A longer body is not read to its end. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
}

/** A node among others, with its wires by route and what all of them know of its limits. */
type Seat = {
  readonly endpoint: RpcEndpoint
  readonly lanes: Map<string, Lane>
  readonly batch: Limit
  readonly logBlocks: Limit
}

const WAITS_MAX = 5
/** The first wait for a node that limits our pace; each other is twice as long. */
const WAIT_MS = 1_000

type Lane = Node & Pick<Wire, 'enter'>

/** JSON-RPC nodes of one chain. Never rejects for what a node does; no message holds its address or raw bytes. */
export function openNodes(options: NodesOptions): Nodes {
  const { urls, chainId, observe, clock, timeoutMs, bodyBytesMax } = options
  const seats = urls.map((url, index): Seat => {
    const label = `node ${index + 1} of ${urls.length}`
    const note = (text: (lowered: Lowered) => string) => (lowered: Lowered) => {
      const words = `${label} ${text(lowered)}: ${lowered.refused.message}`
      observe({ type: 'service-note', service: 'rpc', note: words })
    }
    const batched = note(
      ({ size, refused }) =>
        `refuses a batch of ${refused.size} requests, and gets ${size} at once from now on`,
    )
    const searched = note(
      ({ size, refused }) =>
        `refuses eth_getLogs for ${refused.size} blocks, and is asked for ${size} at once from now on`,
    )
    return {
      endpoint: openEndpoint({ url, label, timeoutMs, bodyBytesMax }),
      lanes: new Map(),
      batch: createLimit({ max: BATCH_MAX, clock, onLowered: batched }),
      logBlocks: createLimit({ max: LOG_BLOCKS_MAX, clock, onLowered: searched }),
    }
  })
  const closing = new AbortController()
  let current = 0
  let nextId = 1

  function laneOf(seat: Seat, { route, anyChain }: Omit<Reading, 'size'>): Lane {
    const known = seat.lanes.get(route)
    if (known !== undefined) return known
    const fresh = openLane(seat, route, anyChain ? undefined : chainId)
    seat.lanes.set(route, fresh)
    return fresh
  }

  function openLane(seat: Seat, route: string, expected: number | undefined): Lane {
    const { endpoint, batch: limit, logBlocks } = seat
    const takeIds = (count: number): number => {
      nextId += count
      return nextId - count
    }
    const wire = openWire({ endpoint, route, chainId: expected, limit, observe, clock, takeIds })
    return { ...nodeOver(wire), enter: wire.enter, logBlocks }
  }

  function readOnce<Value>(
    index: number,
    reading: Reading,
    task: (node: Node) => Promise<ChainReply<Value>>,
  ): Promise<Attempt<Value>> {
    const seat = seatAt(seats, index)
    return attempt(seat, laneOf(seat, reading), reading.size, task)
  }

  async function readAny<Value>(
    reading: Reading,
    task: (node: Node) => Promise<ChainReply<Value>>,
  ): Promise<Attempt<Value>> {
    const first = current
    for (let tried = 1; ; tried += 1) {
      const index = (first + tried - 1) % seats.length
      const made = await readOnce(index, reading, task)
      const usable = made.reply.ok || made.reply.fault.tag !== 'unavailable'
      if (usable) current = index
      if (usable || tried >= seats.length) return made
      observe({ type: 'retry', service: 'rpc', route: reading.route, cause: made.status })
    }
  }

  async function waitingOut<Value>(
    { isPatient, route }: Reading,
    once: () => Promise<Attempt<Value>>,
  ): Promise<ChainReply<Value>> {
    const { signal } = closing
    for (let waits = 0; ; waits += 1) {
      const { reply, status, isLimited } = await once()
      if (!isLimited || isPatient !== true || waits >= WAITS_MAX) return reply
      await sleep(WAIT_MS * 2 ** waits, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return reply
      observe({ type: 'retry', service: 'rpc', route, cause: status })
    }
  }

  return {
    read: (reading, task) => waitingOut(reading, () => readAny(reading, task)),
    async send(route, task) {
      const seat = seatAt(seats, current)
      return (await attempt(seat, openLane(seat, route, undefined), 1, task)).reply
    },
    apart() {
      const first = current
      return seats.map((_, n) => {
        const index = (first + n) % seats.length
        const { batch, logBlocks } = seatAt(seats, index)
        return {
          read: (reading, task) => waitingOut(reading, () => readOnce(index, reading, task)),
          limits: () => ({ batch: batch.lowered(), logBlocks: logBlocks.lowered() }),
        }
      })
    },
    async close() {
      closing.abort()
      await Promise.all(seats.map(({ endpoint }) => endpoint.close()))
    },
  }
}

function seatAt(seats: readonly Seat[], index: number): Seat {
  const seat = seats[index]
  if (seat === undefined) throw new RangeError('a chain needs at least one RPC URL')
  return seat
}

type Attempt<Value> = {
  readonly reply: ChainReply<Value>
  readonly status: string
  /** The node limits our pace, so that the same may pass later. */
  readonly isLimited: boolean
}

/** One try at one node. What the node did wrong becomes `unavailable`; a bug rejects. */
async function attempt<Value>(
  { endpoint }: Seat,
  lane: Lane,
  size: number,
  task: (node: Node) => Promise<ChainReply<Value>>,
): Promise<Attempt<Value>> {
  const leave = lane.enter(size)
  let status = 'unusable'
  try {
    const reply = await task(lane)
    status = USABLE
    return { reply, status, isLimited: false }
  } catch (error) {
    if (!(error instanceof UnusableAnswer || error instanceof RpcRefusal)) throw error
    if (error instanceof UnusableAnswer) status = error.status
    const text = error instanceof RpcRefusal ? `error ${error.code}: ` : ''
    const message = `${endpoint.label}: ${text}${error.message}`
    const reply = { ok: false, fault: { tag: 'unavailable', message } } as const
    return { reply, status, isLimited: error.kind === 'pace' }
  } finally {
    leave(status)
  }
}

function nodeOver(wire: Wire): Node {
  async function request<Of extends Method>(
    method: Of,
    params: readonly unknown[],
  ): Promise<Answer<Of>> {
    const answer = answerTo(method, await wire.request({ method, params }))
    if (answer === undefined) throw new UnusableAnswer(`gave no usable answer to ${method}`)
    return answer
  }
  const client = clientOver(request)
  return {
    request,
    async ask(what, action) {
      try {
        return await action(client)
      } catch (error) {
        throw nodesWord(error) ?? new UnusableAnswer(`answered no usable ${what}`)
      }
    },
  }
}

/**
 * viem over one wire: its own retries, caches and off-chain lookups stay off. `createPublicClient` would be the same with
 * every action there is, which costs 27 ms of each start (an empty process takes 97 there); actions are imported one by one.
 */
function clientOver(request: Node['request']): Client {
  const transport = createTransport({
    key: 'node',
    name: 'a node',
    type: 'batched',
    retryCount: 0,
    request: ({ method, params }) =>
      request(method as Method, (params ?? []) as unknown[]) as never,
  })
  return createClient({ transport: () => transport, cacheTime: 0, ccipRead: false })
}

/** What the node itself said, inside whatever viem wrapped around it. */
function nodesWord(error: unknown): RpcRefusal | UnusableAnswer | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof RpcRefusal || each instanceof UnusableAnswer) return each
  return undefined
}
