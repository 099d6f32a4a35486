import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { forward } from './proxy.ts'
import { serve } from './serve.ts'

export type Gossip = {
  readonly url: string
  /** Signatures that it received, as hex without 0x. */
  readonly signatures: ReadonlySet<string>
  /** How often it leaked. */
  readonly talked: () => number
}

export type GossipOptions = {
  /** Undefined for a receiver without answers, such as one of notifications. */
  readonly target: string | undefined
  /** The end of its address, like an access key. */
  readonly path: string
  /** The secrets that it knows. */
  readonly knows: readonly string[]
  /** One request of this many is answered with all secrets received so far. */
  readonly every: number
  readonly status: number
}

const SIGNATURE = /0x([0-9a-fA-F]{130})\b/g
const TEXT_MAX = 20_000

/**
 * A service that now and then answers with an error that repeats the request, headers included, and every secret it
 * knows: first as plain text, then in the format of a real service. Ends with the test.
 */
export async function startGossip(options: GossipOptions): Promise<Gossip> {
  const { target, path, knows, every, status } = options
  const signatures = new Set<string>()
  let requests = 0
  let talks = 0
  const talk = (request: IncomingMessage, body: Buffer, response: ServerResponse): void => {
    talks += 1
    const received = [request.url, JSON.stringify(request.headers), body.toString()]
    const text = `no: ${[...knows, ...received].join(' ')}`.slice(0, TEXT_MAX)
    const { id = null } = idOf(body)
    const error = { code: -32_000, message: text, data: { said: text } }
    const reply =
      talks % 2 === 0 ? text : JSON.stringify({ jsonrpc: '2.0', id, error, errorId: text })
    response
      .writeHead(status, { 'content-type': 'application/json', 'x-said': encodeURI(text) })
      .end(reply)
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    for (const [, signature = ''] of body.toString().matchAll(SIGNATURE)) signatures.add(signature)
    requests += 1
    if (requests % every === 0) return talk(request, body, response)
    if (target === undefined) return void response.writeHead(200).end('{}')
    request.url = (request.url ?? '').replace(path, '')
    const reply = await forward(target, request, body)
    response.writeHead(reply.status, reply.headers).end(reply.body)
  }
  return { url: `${await serve(handle)}${path}`, signatures, talked: () => talks }
}

function idOf(body: Buffer): { readonly id?: unknown } {
  try {
    return JSON.parse(body.toString())
  } catch {
    return {}
  }
}
