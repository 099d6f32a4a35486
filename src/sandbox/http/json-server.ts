import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

/** An answer; a body of undefined sends none. */
export type Reply = {
  readonly status: number
  readonly body: unknown
  readonly headers?: OutgoingHttpHeaders
}

/** What a handler may do to the connection instead of, or before, answering. */
export type Answer = Reply | 'drop'

export type JsonServer = {
  readonly url: string
  /** Stops listening and cuts open connections. */
  stop(): Promise<void>
}

const REQUEST_MS_MAX = 30_000

export type JsonServerOptions = {
  readonly port: number
  readonly handle: (request: IncomingMessage) => Promise<Answer>
  readonly onCrash: (error: unknown) => Reply
}

/** Serves on 127.0.0.1 only. A handler that throws is answered by `onCrash`. */
export async function startJsonServer(options: JsonServerOptions): Promise<JsonServer> {
  const answerTo = async (request: IncomingMessage): Promise<Answer> => {
    try {
      return await options.handle(request)
    } catch (error) {
      return options.onCrash(error)
    }
  }
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    void answerTo(request).then((answer) => {
      if (answer === 'drop') request.socket.destroy()
      else write(request, response, answer)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  let stopping: Promise<void> | undefined
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      stopping ??= new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      return stopping
    },
  }
}

function write(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  const text = reply.body === undefined ? '' : JSON.stringify(reply.body)
  const headers: OutgoingHttpHeaders = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...reply.headers,
  }
  // The rest of a body that was refused for its size is not worth reading.
  if (request.isPaused()) headers.connection = 'close'
  response.writeHead(reply.status, headers)
  response.end(text)
}

/** Why a request body cannot be used. */
export type BodyProblem = 'notJson' | 'tooLarge' | 'malformed'

/** Reads a JSON body of at most `bytesMax`. Rejects if the client goes away. */
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

/** The text of a JSON body exactly as it was sent: what a signature over the body covers. */
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
