import { type Client, createClient, createTransport } from 'viem'
import type { Observation } from '../../domain/observation.ts'
import type { ChainReply, Clock } from '../../ports.ts'
import { openEndpoint, type RpcEndpoint } from '../http/endpoint.ts'
import { type Answer, answerTo, type Method } from './answers.ts'
import { RpcRefusal, UnusableAnswer } from './batch.ts'
import { openWire, USABLE, type Wire } from './wire.ts'

/** A node as one reading sees it. */
export type Node = {
  /** A bare request, without the 10 us that viem spends around it. Rejects as `ask` does. */
  request<Of extends Method>(method: Of, params: readonly unknown[]): Promise<Answer<Of>>
  /** One of viem's actions on the node. Rejects with RpcRefusal, or with UnusableAnswer naming what was asked for. */
  ask<Value>(what: string, action: (client: Client) => Promise<Value>): Promise<Value>
}

/** How many requests a reading makes in its first turn: they share a batch, perhaps with other readings. */
export type Reading = {
  readonly route: string
  readonly size: number
  /** The reading tells which chain it is from, instead of being believed from one only. */
  readonly anyChain?: true
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
  apart(): readonly Pick<Nodes, 'read'>[]
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

/** A node among others, with its wires by route. */
type Seat = { readonly endpoint: RpcEndpoint; readonly lanes: Map<string, Lane> }

type Lane = Node & Pick<Wire, 'enter'>

/** JSON-RPC nodes of one chain. Never rejects for what a node does; no message holds its address or raw bytes. */
export function openNodes(options: NodesOptions): Nodes {
  const { urls, chainId, observe, clock, timeoutMs, bodyBytesMax } = options
  const seats = urls.map((url, index): Seat => {
    const label = `node ${index + 1} of ${urls.length}`
    return { endpoint: openEndpoint({ url, label, timeoutMs, bodyBytesMax }), lanes: new Map() }
  })
  let current = 0
  let nextId = 1

  function laneOf({ endpoint, lanes }: Seat, { route, anyChain }: Omit<Reading, 'size'>): Lane {
    const known = lanes.get(route)
    if (known !== undefined) return known
    const fresh = openLane(endpoint, route, anyChain ? undefined : chainId)
    lanes.set(route, fresh)
    return fresh
  }

  function openLane(endpoint: RpcEndpoint, route: string, expected: number | undefined): Lane {
    const takeIds = (count: number): number => {
      nextId += count
      return nextId - count
    }
    const wire = openWire({ endpoint, route, chainId: expected, observe, clock, takeIds })
    return { ...nodeOver(wire), enter: wire.enter }
  }

  function readOnce<Value>(
    index: number,
    reading: Reading,
    task: (node: Node) => Promise<ChainReply<Value>>,
  ): Promise<{ readonly reply: ChainReply<Value>; readonly status: string }> {
    const seat = seatAt(seats, index)
    return attempt(seat, laneOf(seat, reading), reading.size, task)
  }

  return {
    async read(reading, task) {
      const { route } = reading
      const first = current
      for (let tried = 1; ; tried += 1) {
        const index = (first + tried - 1) % seats.length
        const { reply, status } = await readOnce(index, reading, task)
        const usable = reply.ok || reply.fault.tag !== 'unavailable'
        if (usable) current = index
        if (usable || tried >= seats.length) return reply
        observe({ type: 'retry', service: 'rpc', route, cause: status })
      }
    },
    async send(route, task) {
      const seat = seatAt(seats, current)
      const lane = openLane(seat.endpoint, route, undefined)
      return (await attempt(seat, lane, 1, task)).reply
    },
    apart() {
      const first = current
      return seats.map((_, n) => ({
        read: async (reading, task) =>
          (await readOnce((first + n) % seats.length, reading, task)).reply,
      }))
    },
    async close() {
      await Promise.all(seats.map(({ endpoint }) => endpoint.close()))
    },
  }
}

function seatAt(seats: readonly Seat[], index: number): Seat {
  const seat = seats[index]
  if (seat === undefined) throw new RangeError('a chain needs at least one RPC URL')
  return seat
}

/** One try at one node. What the node did wrong becomes `unavailable`; a bug rejects. */
async function attempt<Value>(
  { endpoint }: Seat,
  lane: Lane,
  size: number,
  task: (node: Node) => Promise<ChainReply<Value>>,
): Promise<{ readonly reply: ChainReply<Value>; readonly status: string }> {
  const leave = lane.enter(size)
  let status = 'unusable'
  try {
    const reply = await task(lane)
    status = USABLE
    return { reply, status }
  } catch (error) {
    if (error instanceof UnusableAnswer) status = error.status
    else if (!(error instanceof RpcRefusal)) throw error
    const text = error instanceof RpcRefusal ? `error ${error.code}: ` : ''
    const message = `${endpoint.label}: ${text}${error.message}`
    return { reply: { ok: false, fault: { tag: 'unavailable', message } }, status }
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
