import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient, createTransport } from 'viem'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { ChainReply, Clock } from '../../ports.ts'
import { openEndpoint, type RpcEndpoint } from '../../system/endpoint.ts'
import { RpcRefusal, UnusableAnswer } from './batch.ts'
import { type Answer, answerTo, type Method } from './node-answers.ts'
import { BATCH_MAX, createLimit, type Limit, LOG_BLOCKS_MAX, type Lowered } from './node-limits.ts'
import { openWire, USABLE, type Wire } from './wire.ts'

export type Node = {
  /** A raw request, without viem's overhead of 10 us. Rejects like `ask`. */
  request<Of extends Method>(method: Of, params: readonly unknown[]): Promise<Answer<Of>>
  /** Runs a viem action on the node. Rejects with RpcRefusal, or with UnusableAnswer that names `what`. */
  ask<Value>(what: string, action: (client: Client) => Promise<Value>): Promise<Value>
  /** Blocks per eth_getLogs request; absent if no limits are kept between searches. */
  readonly logBlocks?: Limit
}

/** A group of requests made in one turn of the event loop. They share a batch, possibly with other readings. */
export type Reading = {
  readonly route: string
  readonly size: number
  /** Accepts any chain, because the reading itself reports which one. */
  readonly anyChain?: true
  /** Part of a long search: waits and retries on a rate limit, for at most 30 seconds. */
  readonly waitsOnRateLimit?: boolean
}

/** Sizes that a node has refused; undefined if it never did. */
export type NodeLimits = {
  readonly batch: Lowered | undefined
  readonly logBlocks: Lowered | undefined
}

type Task<Value> = (node: Node) => Promise<ChainReply<Value>>

export type Nodes = {
  /**
   * Reads from the current node. If the node or its answer is unavailable, the reading restarts on the next node, at most
   * once per node. The node that answered becomes the current one.
   */
  read<Value>(reading: Reading, task: Task<Value>): Promise<ChainReply<Value>>
  /** Sends a request with side effects: to the current node only, once, in a batch of its own. */
  send<Value>(route: string, task: Task<Value>): Promise<ChainReply<Value>>
  /** Each node separately, the current one first, for quorum reads. */
  apart(): readonly (Pick<Nodes, 'read'> & { limits(): NodeLimits })[]
  close(): Promise<void>
}

/** Reads a value. Only a failure of the node makes it fail. */
export function readValue<Value>(
  nodes: Pick<Nodes, 'read'>,
  reading: Reading,
  task: (node: Node) => Promise<Value>,
): Promise<ChainReply<Value>> {
  return nodes.read(reading, async (node) => ({ ok: true, value: await task(node) }))
}

type NodesOptions = {
  /** In order of preference. */
  readonly urls: readonly string[]
  /** Required chain; undefined accepts any. */
  readonly chainId: number | undefined
  readonly observe: (event: RuntimeEvent) => void
  readonly clock: Pick<Clock, 'now'>
  /** Per request, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number | undefined
  /** Longer bodies are aborted. Default 16 MiB. */
  readonly bodyBytesMax?: number | undefined
}

type Seat = {
  readonly endpoint: RpcEndpoint
  readonly lanes: Map<string, Lane>
  readonly batch: Limit
  readonly logBlocks: Limit
}

const WAITS_MAX = 5
/** First wait on a rate limit; doubles each time. */
const WAIT_MS = 1_000

type Lane = Node & Pick<Wire, 'enter'>

/** JSON-RPC nodes of one chain. Node failures never reject, and no message contains a URL or raw bytes. */
export function openNodes(options: NodesOptions): Nodes {
  const { urls, chainId, observe, clock, timeoutMs, bodyBytesMax } = options
  const seats = urls.map((url, index): Seat => {
    const label = `node ${index + 1} of ${urls.length}`
    const note = (text: (lowered: Lowered) => string) => (lowered: Lowered) => {
      const note = `${label} ${text(lowered)}: ${lowered.refused.message}`
      observe({ type: 'service-note', service: 'rpc', note })
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

  function readOnce<Value>(index: number, reading: Reading, task: Task<Value>) {
    const seat = seatAt(seats, index)
    return attempt(seat, laneOf(seat, reading), reading.size, task)
  }

  async function readAny<Value>(reading: Reading, task: Task<Value>): Promise<Attempt<Value>> {
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
    { waitsOnRateLimit, route }: Reading,
    once: () => Promise<Attempt<Value>>,
  ): Promise<ChainReply<Value>> {
    const { signal } = closing
    for (let waits = 0; ; waits += 1) {
      const { reply, status, isLimited } = await once()
      if (!isLimited || waitsOnRateLimit !== true || waits >= WAITS_MAX) return reply
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
  readonly isLimited: boolean
}

/** One attempt at one node. Node failures become `unavailable`; bugs reject. */
async function attempt<Value>(
  { endpoint }: Seat,
  lane: Lane,
  size: number,
  task: Task<Value>,
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
        throw failureOfNode(error) ?? new UnusableAnswer(`answered no usable ${what}`)
      }
    },
  }
}

/**
 * viem over one wire, with its own retries, caches and off-chain lookups disabled. `createPublicClient` would load every
 * action and add 27 ms to each start (an empty process takes 97 ms), so actions are imported one by one.
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

function failureOfNode(error: unknown): RpcRefusal | UnusableAnswer | undefined {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof RpcRefusal || each instanceof UnusableAnswer) return each
  return undefined
}
