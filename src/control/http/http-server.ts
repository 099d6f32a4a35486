import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { OperatorError } from '../../domain/errors.ts'
import { type EventSource, EventStreams, type EventStreamsOptions } from './event-streams.ts'
import { createHostCheck, type HostCheck } from './hosts.ts'
import { headersOf, json, type Reply } from './replies.ts'
import { type Asked, askedIn, refusalOf, revisionIn } from './requests.ts'

const REQUEST_TIMEOUT_MS = 3_000
const CONNECTIONS_MAX = 64
const HEADER_BYTES_MAX = 8_192
const CLOSE_TIMEOUT_MS = 1_000

/** Answer of a probe. `details` are shown beside it; they must be JSON-safe and free of secrets. */
export type Probe = {
  readonly ok: boolean
  /** Why not; empty when ok. */
  readonly reasons: readonly string[]
  readonly details?: Readonly<Record<string, unknown>>
}

/** Served beside the metrics, to requests under our own host names. */
export type Site = {
  /** Undefined where nothing is at a path. Never slower than a client waits. */
  answer(path: string, query: URLSearchParams): Promise<Reply | undefined>
  /** What `/events` streams. */
  readonly events: EventSource
}

export type HttpServerOptions = {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Further names that it may be asked by. */
  readonly hosts?: readonly string[]
  readonly metrics: { readonly contentType: string; render(): Promise<string> }
  /** Is the loop alive? A supervisor may restart the process when not. */
  readonly health: () => Probe
  /** Is the state loaded, the lock held, is every service reachable? */
  readonly ready: () => Probe
  /** The page; nothing is at its paths without it. */
  readonly site?: Site | undefined
  readonly eventStreams?: EventStreamsOptions
}

export type HttpServer = {
  /** Base URL without a trailing slash. */
  readonly address: string
  readonly port: number
  /** Ends streams at once, stops listening, lets running answers end for a second, then cuts them off. */
  close(): Promise<void>
}

/** Another program, or another daemon, listens where this one should. */
export class PortInUseError extends OperatorError {
  override readonly name = 'PortInUseError'
  readonly means = 'badConfig'
}

/**
 * Serves `/metrics`, `/healthz` and `/readyz`, and the page where there is one; nothing that changes anything. Rejects with a
 * message that names the port and the remedy when it cannot listen.
 */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { site, hosts = [] } = options
  const streams = site && new EventStreams(site.events, options.eventStreams)
  const served: Served = { ...options, streams, check: createHostCheck({ ...options, hosts }) }
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => void answer({ request, response, letStay }, served),
  )
  const { letStay } = boundConnections(server)
  // Also cuts off clients that never read their answer.
  server.setTimeout(2 * REQUEST_TIMEOUT_MS, (socket: Socket) => socket.destroy())
  await listen(server, options)
  // Listening on host and port: the address is never a pipe's name.
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    address: `http://${host}:${port}`,
    port,
    close() {
      streams?.close()
      return close(server)
    },
  }
}

type Served = HttpServerOptions & {
  readonly streams: EventStreams | undefined
  readonly check: HostCheck
}

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Takes the connection out of those that give way to others. */
  readonly letStay: (socket: Socket) => void
}

async function answer({ request, response, letStay }: Exchange, served: Served): Promise<void> {
  const asked = askedIn(request)
  const refusal = refusalOf(request, asked, served.check)
  const { streams } = served
  if (refusal === undefined && streams !== undefined && asked.path === '/events') {
    letStay(request.socket)
    response.setHeaders(new Map(Object.entries(headersOf(asked))))
    return streams.open(request, response, revisionIn(request, asked.query))
  }
  const reply = refusal ?? (await replyTo(asked, served).catch(brokenReply))
  // A body is never read, and a connection that waits for the next scrape would take the place of another's. Kept open, each
  // answer would come 0.14 ms sooner (0.07 instead of 0.21), of which a page asks for eight.
  response.setHeader('connection', 'close')
  if (reply.status === 405) response.setHeader('allow', 'GET, HEAD')
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': Buffer.byteLength(reply.body),
    ...headersOf(asked),
    ...reply.headers,
  })
  response.end(reply.body)
}

async function replyTo({ path, query }: Asked, served: Served): Promise<Reply> {
  const { metrics, health, ready, site } = served
  switch (path) {
    case '/metrics':
      return { status: 200, contentType: metrics.contentType, body: await metrics.render() }
    case '/healthz':
      return probeReply(health())
    case '/readyz':
      return probeReply(ready())
    default:
      return (await site?.answer(path, query)) ?? nothingHere(site)
  }
}

function nothingHere(site: Site | undefined): Reply {
  const page = site === undefined ? '' : '/, '
  return json(404, { error: `not found; try ${page}/metrics, /healthz or /readyz` })
}

function probeReply({ ok, reasons, details }: Probe): Reply {
  return json(ok ? 200 : 503, { status: ok ? 'ok' : 'unavailable', reasons, ...details })
}

/** The cause stays inside: an error's text may carry what no visitor should read. */
function brokenReply(): Reply {
  return json(500, { error: 'could not make the answer' })
}

/**
 * A new connection is always accepted, and the oldest one is closed for it: an answer takes moments, so that
 * it is one of those that only hold a place. Refusing newcomers would let sixty-four silent ones close out a health check. A
 * stream of events holds its place for a purpose, and is bounded for itself.
 */
function boundConnections(server: Server): { letStay: (socket: Socket) => void } {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    // A set is in the order of arrival.
    const [oldest] = open
    if (open.size <= CONNECTIONS_MAX || oldest === undefined) return
    open.delete(oldest)
    oldest.destroy()
  })
  return { letStay: (socket) => open.delete(socket) }
}

function listen(server: Server, at: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, at)))
    server.listen({ host: at.host, port: at.port }, () => {
      server.removeAllListeners('error')
      resolve()
    })
  })
}

function listenError(error: NodeJS.ErrnoException, at: { host: string; port: number }): Error {
  const remedy =
    'set http.host and http.port in the config, or give --http-port (0 picks a free one)'
  const where = `http port ${at.port} on ${at.host}`
  if (error.code === 'EADDRINUSE')
    return new PortInUseError(`${where} is in use: stop what holds it, or ${remedy}`)
  return new Error(`${where} cannot be opened (${error.code}): ${remedy}`, { cause: error })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS)
    server.close(() => {
      clearTimeout(cutOff)
      resolve()
    })
    server.closeIdleConnections()
  })
}
