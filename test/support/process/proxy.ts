import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../../src/domain/random.ts'
import { serve } from './serve.ts'

const MISHAPS = ['dropRequest', 'dropReply', 'delay', 'repeat'] as const
type Mishap = (typeof MISHAPS)[number]

export type Proxy = {
  readonly url: string
  /** How often each fault has happened. */
  readonly happened: Readonly<Record<Mishap, number>>
  /** Forwards everything unchanged from now on. */
  calm(): void
}

export type ProxyOptions = {
  readonly target: string
  readonly seed: number
  /** Probability of each fault for each request; at most 0.25. */
  readonly probability: number
  readonly delayMsMax: number
}

type Reply = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/**
 * A plain HTTP proxy on loopback that loses requests before they were forwarded and replies afterwards, delays replies,
 * and forwards requests twice. The seed decides the fault of each request. It ends with the test.
 */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const random = createRandom(`${options.seed}`).fork('proxy')
  const happened = { dropRequest: 0, dropReply: 0, delay: 0, repeat: 0 }
  let isCalm = false
  const draw = (): Mishap | undefined => {
    const mishap = MISHAPS[Math.floor(random.next() / options.probability)]
    if (isCalm || mishap === undefined) return undefined
    happened[mishap] += 1
    return mishap
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const mishap = draw()
    if (mishap === 'dropRequest') return void request.socket.destroy()
    const first = await forward(options.target, request, body)
    const reply = mishap === 'repeat' ? await forward(options.target, request, body) : first
    if (mishap === 'dropReply') return void request.socket.destroy()
    if (mishap === 'delay') await sleep(random.next() * options.delayMsMax)
    response.writeHead(reply.status, reply.headers).end(reply.body)
  }
  return {
    url: await serve(handle),
    happened,
    calm() {
      isCalm = true
    },
  }
}

/** Forwards a request and returns the result. */
export async function forward(
  target: string,
  request: IncomingMessage,
  body: Buffer,
): Promise<Reply> {
  const { method = 'GET', headers, url = '/' } = request
  const { connection: _, host: __, ...kept } = headers
  const outgoing = send(new URL(url, target), { method, headers: kept, agent: false })
  outgoing.end(body)
  const [incoming]: [IncomingMessage] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { 'transfer-encoding': ___, connection: ____, ...replied } = incoming.headers
  return {
    status: incoming.statusCode ?? 502,
    headers: replied,
    body: await buffer(incoming),
  }
}
