import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SandboxLog } from '../log.ts'

/** An answer. With an undefined body, none is sent. */
export type Reply = {
  readonly status: number
  readonly body: unknown
  readonly headers?: OutgoingHttpHeaders
}

/** `drop` closes the connection without an answer. */
export type Answer = Reply | 'drop'

const REQUEST_MS_MAX = 30_000
const EXPOSED_HEADERS =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, allow'

type JsonServerOptions = {
  /** Name in the log. */
  readonly name: string
  readonly port: number
  readonly handle: (request: IncomingMessage) => Promise<Answer>
  /** The answer when `handle` throws. That is a bug, and the server logs it. */
  readonly onCrash: () => Reply
  /** Methods that pages of every origin may call (CORS). Without them, browsers keep pages away. */
  readonly pageMethods?: string
  readonly log: SandboxLog
}

/** Serves on 127.0.0.1 only. */
export async function startJsonServer(options: JsonServerOptions) {
  const { name, port, handle, onCrash, pageMethods, log } = options
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    const failed = (error: unknown): Reply => {
      log('sandbox.handlerFailed', { server: name, error: String(error) })
      return onCrash()
    }
    if (pageMethods !== undefined) {
      response.setHeader('access-control-allow-origin', '*')
      response.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
      if (isPreflight(request)) {
        response.writeHead(204, preflightHeaders(request, pageMethods)).end()
        return
      }
    }
    void handle(request)
      .catch(failed)
      .then((answer) => {
        if (answer === 'drop') request.socket.destroy()
        else write(request, response, answer)
      })
  })
  // A connection that cannot be accepted must not end the server.
  server.on('error', () => undefined)
  const listen = async (at: number): Promise<void> => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await listen(port)
  const { port: taken } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${taken}`
  let back: NodeJS.Timeout | undefined
  const comeBack = (): void =>
    void listen(taken).catch((error: unknown) =>
      log('sandbox.restartFailed', { url, error: String(error) }),
    )
  return {
    url,
    /** Closes all connections and refuses new ones for `ms` milliseconds. */
    async outage(ms: number): Promise<void> {
      await close()
      clearTimeout(back)
      back = setTimeout(comeBack, ms)
    },
    async stop(): Promise<void> {
      clearTimeout(back)
      await close()
    },
  }
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

function preflightHeaders({ headers }: IncomingMessage, methods: string): OutgoingHttpHeaders {
  const wantsLoopback = headers['access-control-request-private-network'] === 'true'
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': headers['access-control-request-headers'] ?? 'content-type',
    'access-control-max-age': '600',
    ...(wantsLoopback && { 'access-control-allow-private-network': 'true' }),
  }
}

function write(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const text = reply.body === undefined ? '' : JSON.stringify(reply.body)
  const ofBody = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  }
  const headers: OutgoingHttpHeaders = { ...(reply.status !== 204 && ofBody), ...reply.headers }
  // The server does not read the rest of an oversized body.
  if (request.isPaused()) headers.connection = 'close'
  response.writeHead(reply.status, headers)
  response.end(text)
}

export type BodyProblem = 'notJson' | 'tooLarge' | 'malformed'

/** Reads a JSON body of at most `bytesMax`. Rejects if the client disconnects. */
export async function readJson(
  request: IncomingMessage,
  bytesMax: number,
): Promise<{ ok: true; value: unknown } | { ok: false; problem: BodyProblem }> {
  const read = await readJsonText(request, bytesMax)
  if (!read.ok) return read
  try {
    return { ok: true, value: JSON.parse(read.text) }
  } catch {
    return { ok: false, problem: 'malformed' }
  }
}

/** The text of a JSON body exactly as sent, for signatures over it. */
export async function readJsonText(
  request: IncomingMessage,
  bytesMax: number,
): Promise<{ ok: true; text: string } | { ok: false; problem: Exclude<BodyProblem, 'malformed'> }> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') return { ok: false, problem: 'notJson' }
  const declared = request.headers['content-length']
  if (declared !== undefined && Number.parseInt(declared, 10) > bytesMax) {
    request.pause()
    return { ok: false, problem: 'tooLarge' }
  }
  const text = await readText(request, bytesMax)
  return text === undefined ? { ok: false, problem: 'tooLarge' } : { ok: true, text }
}

function readText(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= bytesMax) chunks.push(chunk)
      else {
        request.pause()
        resolve(undefined)
      }
    })
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    request.on('error', reject)
    request.on('aborted', () => reject(new Error('the client went away')))
  })
}
