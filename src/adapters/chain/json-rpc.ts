import type { Observation } from '../../domain/observation.ts'
import type { ChainReply, Clock } from '../../ports.ts'
import { type HttpAnswer, openEndpoint, type RpcEndpoint } from '../http/endpoint.ts'
import {
  encodeBatch,
  parseBatch,
  type RpcAnswers,
  type RpcCall,
  type RpcExchange,
  UnusableAnswer,
} from './json-rpc-batch.ts'

/** Turns a batch's answers into a value or a fault; throws UnusableAnswer for answers it cannot use. */
export type RpcParse<Value> = (answers: RpcAnswers) => ChainReply<Value>

export type JsonRpc = {
  /**
   * The calls as a batch, in one HTTP request that reads of the same route share when they are asked for in the
   * same turn of the event loop; what becomes of it becomes of all of them. When the node is unavailable, or what it says is, the next node
   * is asked; the one that answered is asked first from then on. At most one request a node.
   */
  read<Value>(
    route: string,
    calls: readonly RpcCall[],
    parse: RpcParse<Value>,
  ): Promise<ChainReply<Value>>
  /** The same for a call with effects: it goes to the node in use and to no other, once. */
  send<Value>(
    route: string,
    calls: readonly RpcCall[],
    parse: RpcParse<Value>,
  ): Promise<ChainReply<Value>>
  close(): Promise<void>
}

export type JsonRpcOptions = {
  /** In order of preference; at least one. */
  readonly urls: readonly string[]
  /** For a whole request, from connecting to the last byte. Default 10,000. */
  readonly timeoutMs?: number
  /** A longer body is not read to its end. Default 16 MiB. */
  readonly bodyBytesMax?: number
  readonly observe: (event: Observation) => void
  readonly clock: Pick<Clock, 'now'>
}

/** Statuses of a request all of whose answers could be used, and of one whose parser has a bug. */
const USABLE = '200'
const BROKEN = 'unusable'
/** Calls of one shared request, at most: gateways refuse long batches. */
const SHARED_CALLS_MAX = 40

/**
 * JSON-RPC 2.0 over HTTP, batches only. Never rejects for what a node does; never lets the address of a node, or a
 * raw transaction, into a message.
 */
export function createJsonRpc(options: JsonRpcOptions): JsonRpc {
  const { urls, observe, clock, timeoutMs, bodyBytesMax } = options
  const bounds = {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(bodyBytesMax === undefined ? {} : { bodyBytesMax }),
  }
  const nodes = urls.map((url, index) =>
    openEndpoint({ url, label: `node ${index + 1} of ${urls.length}`, ...bounds }),
  )
  let current = 0
  let nextId = 1

  /** Requests that reads asked for in this turn of the event loop may still join, by node and route. */
  const joinable = new Map<string, Shared>()

  async function exchange(
    node: RpcEndpoint,
    route: string,
    { calls, parts }: Shared,
  ): Promise<void> {
    const firstId = nextId
    nextId += calls.length
    const startedMs = clock.now()
    const answer = await node.post(encodeBatch(calls, firstId))
    const read = readAnswer(answer, { firstId, count: calls.length }, node.scrub)
    const durationMs = clock.now() - startedMs
    const status = parts.map((settle) => settle(read)).find((each) => each !== USABLE) ?? USABLE
    observe({ type: 'request', service: 'rpc', route, status, durationMs })
  }

  /** The request that these calls go out with: one that is about to leave, or a new one. */
  function joined(node: RpcEndpoint, route: string, calls: readonly RpcCall[]): Shared {
    const key = `${node.label} ${route}`
    const open = joinable.get(key)
    if (open !== undefined && open.calls.length + calls.length <= SHARED_CALLS_MAX) return open
    const fresh: Shared = { calls: [], parts: [] }
    joinable.set(key, fresh)
    setImmediate(() => {
      if (joinable.get(key) === fresh) joinable.delete(key)
      void exchange(node, route, fresh)
    })
    return fresh
  }

  return {
    async read(route, calls, parse) {
      const first = current
      for (let tried = 1; ; tried++) {
        const index = (first + tried - 1) % nodes.length
        const node = nodeAt(nodes, index)
        const request = joined(node, route, calls)
        const { reply, status } = await takePart(request, calls, (read) =>
          interpret(node, read, parse),
        )
        const usable = reply.ok || reply.fault.tag !== 'unavailable'
        if (usable) current = index
        if (usable || tried >= nodes.length) return reply
        observe({ type: 'retry', service: 'rpc', route, cause: status })
      }
    },
    async send(route, calls, parse) {
      const node = nodeAt(nodes, current)
      const request: Shared = { calls: [], parts: [] }
      const outcome = takePart(request, calls, (read) => interpret(node, read, parse))
      void exchange(node, route, request)
      return (await outcome).reply
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()))
    },
  }
}

/** A batch under way to a node, with what is to be done with each caller's part of its answer. */
type Shared = {
  readonly calls: RpcCall[]
  /** Gives how the part ended, for the metrics. Never throws. */
  readonly parts: ((read: RpcExchange) => string)[]
}

/** Adds calls to a request; resolves to what is made of their answers. */
function takePart<Outcome extends { readonly status: string }>(
  request: Shared,
  calls: readonly RpcCall[],
  interpretPart: (read: RpcExchange) => Outcome,
): Promise<Outcome> {
  const first = request.calls.push(...calls) - calls.length
  return new Promise((resolve, reject) => {
    request.parts.push((read) => {
      try {
        const outcome = interpretPart(partOf(read, first))
        resolve(outcome)
        return outcome.status
      } catch (error) {
        reject(error)
        return BROKEN
      }
    })
  })
}

/** The answers to the calls of one caller, which begin at `first`. */
function partOf(read: RpcExchange, first: number): RpcExchange {
  if (!read.ok) return read
  const { answers } = read
  return {
    ok: true,
    answers: {
      result: (index) => answers.result(first + index),
      error: (index) => answers.error(first + index),
    },
  }
}

function nodeAt(nodes: readonly RpcEndpoint[], index: number): RpcEndpoint {
  const node = nodes[index]
  if (node === undefined) throw new RangeError('a chain needs at least one RPC URL')
  return node
}

function readAnswer(
  answer: HttpAnswer,
  expected: { firstId: number; count: number },
  scrub: (text: string) => string,
): RpcExchange {
  if (!answer.ok) return answer
  if (answer.statusCode === 200) return parseBatch(answer.text, expected, scrub)
  const status = String(answer.statusCode)
  return { ok: false, status, message: `answered HTTP ${status}` }
}

function interpret<Value>(
  node: RpcEndpoint,
  exchange: RpcExchange,
  parse: RpcParse<Value>,
): { reply: ChainReply<Value>; status: string } {
  if (!exchange.ok) return { reply: silent(node, exchange.message), status: exchange.status }
  try {
    return { reply: parse(exchange.answers), status: USABLE }
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error
    return { reply: silent(node, error.message), status: 'unusable' }
  }
}

function silent<Value>(node: RpcEndpoint, message: string): ChainReply<Value> {
  return { ok: false, fault: { tag: 'unavailable', message: `${node.label}: ${message}` } }
}
