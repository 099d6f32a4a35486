import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { OperatorError } from '../../domain/errors.ts'
import { createAccess, type Tokens } from './access.ts'
import { type EventSource, EventStreams, type EventStreamsOptions } from './event-streams.ts'
import type { PageControl } from './page-control.ts'
import { headersOf, json, type Reply } from './replies.ts'
import {
  bodyOf,
  CONTROL_PATH,
  createHostCheck,
  refusalOf,
  revisionIn,
  targetOf,
} from './requests.ts'

const REQUEST_TIMEOUT_MS = 3_000
const CONNECTIONS_MAX = 64
const HEADER_BYTES_MAX = 8_192
const CLOSE_TIMEOUT_MS = 1_000

/** `details` are shown too, and must be JSON-safe and free of secrets. */
export type Probe = {
  readonly ok: boolean
  /** Causes of a failure; empty when ok. */
  readonly reasons: readonly string[]
  readonly details?: Readonly<Record<string, unknown>>
}

/** Served beside the metrics, only under our own host names. */
export type Site = {
  /** Undefined if the path does not exist. Answers before a client times out. */
  answer(path: string, query: URLSearchParams): Promise<Reply | undefined>
  readonly events: EventSource
}

export type HttpServerOptions = {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Further accepted host names. */
  readonly hosts?: readonly string[]
  readonly metrics: { readonly contentType: string; render(): Promise<string> }
  /** True while the loop is alive; a supervisor may restart the process if not. */
  readonly health: () => Probe
  /** True once the state is loaded, the lock is held and every service is reachable. */
  readonly ready: () => Probe
  readonly site?: Site | undefined
  /** Takes the page's commands; undefined if the config allows none. */
  readonly control?: Pick<PageControl, 'answer'> | undefined
  readonly tokens?: Tokens | undefined
  readonly eventStreams?: EventStreamsOptions
}

export type HttpServer = Awaited<ReturnType<typeof createHttpServer>>

export class PortInUseError extends OperatorError {
  override readonly name = 'PortInUseError'
  readonly means = 'badConfig'
}

/** Serves metrics, probes, and optionally the page and its commands. Rejects with a remedy if it cannot listen. */
export async function createHttpServer(options: HttpServerOptions) {
  const { site, metrics, control, tokens = NO_TOKENS } = options
  const access = createAccess(tokens, Date.now)
  const streams = site && new EventStreams(site.events, options.eventStreams)
  const check = createHostCheck(options.host, options.hosts ?? [])

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = targetOf(request)
    const { path, query, isOfSite, isData } = target
    const to = path === CONTROL_PATH ? 'control' : 'look'
    const refusal =
      (path === CONTROL_PATH && control === undefined ? nothingHere(site) : undefined) ??
      refusalOf(request, target, check) ??
      (isData ? access.refusal(to, request.headers.authorization) : undefined)
    if (refusal === undefined && streams !== undefined && path === '/events') {
      letStay(request.socket)
      response.setHeaders(new Map(Object.entries(headersOf(isOfSite))))
      return streams.open(request, response, revisionIn(request, query))
    }
    const reply = refusal ?? (await replyTo(request, path, query).catch(() => BROKEN))
    // Bodies are mostly not read, and a connection idle until the next scrape would displace others. Keep-alive would save 0.14
    // ms per answer (0.07 instead of 0.21), and a page requests eight.
    response.setHeader('connection', 'close')
    response.writeHead(reply.status, {
      'content-type': reply.contentType,
      'content-length': Buffer.byteLength(reply.body),
      ...headersOf(isOfSite),
      ...reply.headers,
    })
    response.end(reply.body)
  }

  async function replyTo(
    request: IncomingMessage,
    path: string,
    query: URLSearchParams,
  ): Promise<Reply> {
    switch (path) {
      case CONTROL_PATH: {
        const body = await bodyOf(request)
        if (body === undefined) return json(413, { error: 'the command is too long' })
        return (await control?.answer(body)) ?? nothingHere(site)
      }
      case '/metrics':
        return expositionReply(metrics, request.headers['accept-encoding'])
      case '/healthz':
        return probeReply(options.health())
      case '/readyz':
        return probeReply(options.ready())
      default:
        return (await site?.answer(path, query)) ?? nothingHere(site)
    }
  }

  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    (request, response) => void answer(request, response),
  )
  const letStay = boundConnections(server)
  // Also cuts off clients that never read their response.
  server.setTimeout(2 * REQUEST_TIMEOUT_MS, (socket: Socket) => socket.destroy())
  await listen(server, options)
  // An AddressInfo, because the server listens on host and port, never on a pipe.
  const { port } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    /** Base URL without a trailing slash. */
    address: `http://${host}:${port}`,
    port,
    /** Ends streams, stops listening, and gives running responses a second. */
    close(): Promise<void> {
      streams?.close()
      return close(server)
    },
  }
}

const NO_TOKENS: Tokens = { view: undefined, control: undefined }

function nothingHere(site: Site | undefined): Reply {
  const page = site === undefined ? '' : '/, '
  return json(404, { error: `not found; try ${page}/metrics, /healthz or /readyz` })
}

/** Of 5 MB, 0.24 MB are left after 17 ms, beside the main thread. */
const GZIP_FAST = { level: 1 }

async function expositionReply(
  { contentType, render }: HttpServerOptions['metrics'],
  accepted: string | string[] = '',
): Promise<Reply> {
  const body = await render()
  if (!/\bgzip\b(?!\s*;\s*q=0)/.test(`${accepted}`)) return { status: 200, contentType, body }
  const headers = { 'content-encoding': 'gzip', vary: 'accept-encoding' }
  return { status: 200, contentType, body: await promisify(gzip)(body, GZIP_FAST), headers }
}

function probeReply({ ok, reasons, details }: Probe): Reply {
  return json(ok ? 200 : 503, { status: ok ? 'ok' : 'unavailable', reasons, ...details })
}

/** Omits the cause: an error's text may contain secrets. */
const BROKEN = json(500, { error: 'could not make the answer' })

/**
 * Accepts every connection and closes the oldest to make room: responses take milliseconds, so the oldest is idle. Refusing
 * new ones would let 64 silent clients block a health check. The returned function exempts event streams, bounded elsewhere.
 */
function boundConnections(server: Server): (socket: Socket) => void {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    // A set keeps insertion order.
    const [oldest] = open
    if (open.size <= CONNECTIONS_MAX || oldest === undefined) return
    open.delete(oldest)
    oldest.destroy()
  })
  return (socket) => void open.delete(socket)
}

async function listen(server: Server, at: { host: string; port: number }): Promise<void> {
  server.listen({ host: at.host, port: at.port })
  await once(server, 'listening').catch((error) => Promise.reject(listenError(error, at)))
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
  })
}
