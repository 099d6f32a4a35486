import { type Dispatcher, Pool } from 'undici'
import type { ChainReply, Clock, Observation } from '../ports.ts'
import {
  encodeBatch,
  parseBatch,
  type RpcAnswers,
  type RpcCall,
  type RpcExchange,
  type RpcTrouble,
  UnusableAnswer,
} from './json-rpc-batch.ts'
import { createScrubber } from './scrubber.ts'

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

const TIMEOUT_MS = 10_000
const BODY_BYTES_MAX = 16 * 1024 * 1024
const CONNECTIONS_MAX = 32
const MESSAGE_LENGTH_MAX = 200
/** Statuses of a request all of whose answers could be used, and of one whose parser has a bug. */
const USABLE = '200'
const BROKEN = 'unusable'
const WEB_ADDRESS = /[a-z][a-z0-9+.-]*:\/\/\S+/gi
/** Calls of one shared request, at most: gateways refuse long batches. */
const SHARED_CALLS_MAX = 40

type Node = {
  readonly label: string
  readonly pool: Pool
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly scrub: (text: string) => string
}

/**
 * JSON-RPC 2.0 over HTTP, batches only. Never rejects for what a node does; never lets the address of a node, or a
 * raw transaction, into a message.
 */
export function createJsonRpc(options: JsonRpcOptions): JsonRpc {
  const { urls, observe, clock, timeoutMs = TIMEOUT_MS, bodyBytesMax = BODY_BYTES_MAX } = options
  const nodes = urls.map((url, index) => openNode(url, `node ${index + 1} of ${urls.length}`))
  let current = 0
  let nextId = 1

  /** Requests that reads asked for in this turn of the event loop may still join, by node and route. */
  const joinable = new Map<string, Shared>()

  async function exchange(node: Node, route: string, { calls, parts }: Shared): Promise<void> {
    const firstId = nextId
    nextId += calls.length
    const startedMs = clock.now()
    const body = await post(node, encodeBatch(calls, firstId), { timeoutMs, bodyBytesMax })
    const read = body.ok
      ? parseBatch(body.text, { firstId, count: calls.length }, node.scrub)
      : body
    const durationMs = clock.now() - startedMs
    const status = parts.map((settle) => settle(read)).find((each) => each !== USABLE) ?? USABLE
    observe({ type: 'request', service: 'rpc', route, status, durationMs })
  }

  /** The request that these calls go out with: one that is about to leave, or a new one. */
  function joined(node: Node, route: string, calls: readonly RpcCall[]): Shared {
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
      await Promise.all(nodes.map((node) => node.pool.close()))
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

function openNode(text: string, label: string): Node {
  // The error of the URL parser carries the text it could not parse, key and all.
  if (!URL.canParse(text)) throw new TypeError(`the RPC URL of ${label} is no URL`)
  const url = new URL(text)
  return {
    label,
    // The one deadline in `post` covers every phase, so undici's own timers would only be a second opinion.
    pool: new Pool(url.origin, { connections: CONNECTIONS_MAX, headersTimeout: 0, bodyTimeout: 0 }),
    path: url.pathname + url.search,
    headers: { 'content-type': 'application/json', ...authorization(url) },
    scrub: messageScrub(text),
  }
}

function authorization(url: URL): Readonly<Record<string, string>> {
  if (url.username === '' && url.password === '') return {}
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}

/** Nodes repeat what they were sent: their words are cut to one line, without addresses, keys or raw transactions. */
function messageScrub(url: string): (text: string) => string {
  const scrubber = createScrubber()
  scrubber.add(url)
  return (text) =>
    scrubber
      .text(text)
      .replace(WEB_ADDRESS, '[address]')
      .replace(/\s+/g, ' ')
      .slice(0, MESSAGE_LENGTH_MAX)
}

function nodeAt(nodes: readonly Node[], index: number): Node {
  const node = nodes[index]
  if (node === undefined) throw new RangeError('a chain needs at least one RPC URL')
  return node
}

type Body = { readonly ok: true; readonly text: string } | ({ readonly ok: false } & RpcTrouble)

async function post(
  node: Node,
  body: string,
  bounds: { timeoutMs: number; bodyBytesMax: number },
): Promise<Body> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), bounds.timeoutMs)
  try {
    const response = await node.pool.request({
      method: 'POST',
      path: node.path,
      headers: node.headers,
      body,
      signal: deadline.signal,
    })
    if (response.statusCode !== 200) {
      await response.body.dump()
      const status = String(response.statusCode)
      return { ok: false, status, message: `answered HTTP ${status}` }
    }
    const text = await readBounded(response, bounds.bodyBytesMax)
    if (text === undefined)
      return { ok: false, status: 'malformed', message: 'sent too long a body' }
    return { ok: true, text }
  } catch (error) {
    if (deadline.signal.aborted)
      return {
        ok: false,
        status: 'timeout',
        message: `did not answer within ${bounds.timeoutMs} ms`,
      }
    // Only the code: the text of such an error names the address that was dialled.
    return {
      ok: false,
      status: 'unreachable',
      message: `could not be reached (${errorCode(error)})`,
    }
  } finally {
    clearTimeout(timer)
  }
}

/** Undefined when the body is longer than the bound; the connection is then dropped. */
async function readBounded(
  response: Dispatcher.ResponseData,
  bytesMax: number,
): Promise<string | undefined> {
  const length = Number(response.headers['content-length'] ?? Number.NaN)
  // The HTTP parser holds the node to the length it announced, so that only unannounced bodies need counting.
  if (length <= bytesMax) return response.body.text()
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > bytesMax || length > bytesMax) {
      response.body.destroy()
      return undefined
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^\w{1,40}$/.test(code) ? code : 'no code'
}

function interpret<Value>(
  node: Node,
  exchange: ReturnType<typeof parseBatch>,
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

function silent<Value>(node: Node, message: string): ChainReply<Value> {
  return { ok: false, fault: { tag: 'unavailable', message: `${node.label}: ${message}` } }
}
