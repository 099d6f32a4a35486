import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ScriptedReply = {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Text is sent unchanged; anything else as JSON. */
  readonly body?: unknown
  readonly delayMs?: number
  /** Break the connection before the headers, or after half of the body. */
  readonly drop?: 'before-headers' | 'mid-body'
  /** Send the body one byte at a time, with this interval. */
  readonly dripMs?: number
}

export type RecordedRequest = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type ScriptedServer = {
  readonly url: string
  readonly requests: RecordedRequest[]
  /** TCP connections accepted so far. */
  connections(): number
  /** The next answers, in order. A request without one is answered with status 599. */
  willReply(...replies: readonly ScriptedReply[]): void
  /** Answers each request from its content instead of the script. */
  answerWith(answer: (request: RecordedRequest) => ScriptedReply | Promise<ScriptedReply>): void
  close(): Promise<void>
}

/** A loopback HTTP server with scripted answers. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = []
  const script: ScriptedReply[] = []
  let answer = (_request: RecordedRequest): ScriptedReply | Promise<ScriptedReply> =>
    script.shift() ?? { status: 599, body: 'no reply was scripted' }
  let connections = 0
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', async () => {
      const request = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString(),
      }
      requests.push(request)
      const reply = await answer(request)
      setTimeout(() => send(response, reply), reply.delayMs ?? 0).unref()
    })
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    willReply: (...replies) => {
      script.push(...replies)
    },
    answerWith: (next) => {
      answer = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function send(response: ServerResponse, reply: ScriptedReply): void {
  if (reply.drop === 'before-headers') {
    response.socket?.destroy()
    return
  }
  const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {})
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  response.statusCode = reply.status ?? 200
  response.setHeader('content-length', Buffer.byteLength(body))
  if (reply.drop === 'mid-body') {
    response.write(body.slice(0, body.length / 2), () => response.socket?.destroy())
    return
  }
  if (reply.dripMs === undefined) {
    response.end(body)
    return
  }
  drip(response, body, reply.dripMs)
}

function drip(response: ServerResponse, body: string, everyMs: number): void {
  let sent = 0
  const timer = setInterval(() => {
    if (sent < body.length && !response.destroyed) response.write(body.charAt(sent++))
    else {
      clearInterval(timer)
      response.end()
    }
  }, everyMs)
}
