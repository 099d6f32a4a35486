import type { GaslessFault } from '../../contract/gasless/gasless.ts'
import type { RecordedRequest, ScriptedReply } from '../process/scripted-server.ts'
import { goldenExample } from './gasless-golden.ts'

type ModelRoute = 'tokens' | 'quote' | 'orders' | 'order'
type ModelQuote = { readonly body: Readonly<Record<string, unknown>>; readonly expiresMs: number }
type ModelOrder = { readonly orderId: string; readonly quoteId: string; readonly takenMs: number }

type GaslessModel = {
  answer(request: RecordedRequest): ScriptedReply
  failNext(route: ModelRoute, fault: GaslessFault): void
  nowMs(): number
  elapse(ms: number): void
}

export const MODEL_TOKENS = {
  sell: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  buy: '0x4200000000000000000000000000000000000006',
} as const
const QUOTE_LIFE_MS = 60_000
const FILL_MS = 2_500

/** The model's stand-in for the owner's signature over a quote: it has no keys. */
export function modelSignature(quoteId: string): `0x${string}` {
  return `0x${Buffer.from(quoteId).toString('hex')}`
}

/** A gasless service without a chain: quotes, orders by idempotency key, expiry, faults. */
export function createGaslessModel(): GaslessModel {
  const quotes = new Map<string, ModelQuote>()
  const orders = new Map<string, ModelOrder>()
  const orderByKey = new Map<string, ModelOrder>()
  const faults = new Map<ModelRoute, GaslessFault>()
  let shiftMs = 0
  const nowMs = () => Date.now() + shiftMs

  function giveQuote(body: Readonly<Record<string, unknown>>): ScriptedReply {
    const tokens: readonly unknown[] = Object.values(MODEL_TOKENS)
    if (!tokens.includes(body['sellToken']) || !tokens.includes(body['buyToken']))
      return refused('unsupported token')
    const id = `quote-${quotes.size + 1}`
    const expiresMs = nowMs() + QUOTE_LIFE_MS
    const example = goldenExample('quote-response')
    const quote = {
      ...(example['quote'] as object),
      sellToken: body['sellToken'],
      buyToken: body['buyToken'],
      receiver: body['receiver'],
      kind: body['kind'],
      sellAmount: body['sellAmountBeforeFee'] ?? '1000000',
      validTo: Math.ceil(expiresMs / 1000),
    }
    const expiration = new Date(expiresMs).toISOString()
    const reply = { ...example, id, from: body['from'], expiration, quote }
    quotes.set(id, { body: reply, expiresMs })
    return { status: 200, body: reply }
  }

  function takeOrder(body: Readonly<Record<string, unknown>>): ScriptedReply {
    const key = String(body['clientOrderId'])
    const known = orderByKey.get(key)
    if (known !== undefined) return { status: 200, body: statusOf(known) }
    const quoteId = String(body['quoteId'])
    const quote = quotes.get(quoteId)
    if (quote === undefined) return refused('unknown quote')
    if (quote.expiresMs <= nowMs()) return refused('quote expired, ask for a fresh one')
    if (body['signature'] !== modelSignature(quoteId)) return refused('invalid signature')
    const order = { orderId: `order-${orders.size + 1}`, quoteId, takenMs: nowMs() }
    orders.set(order.orderId, order)
    orderByKey.set(key, order)
    return { status: 201, body: statusOf(order) }
  }

  function statusOf({ orderId, quoteId, takenMs }: ModelOrder): object {
    const status = nowMs() - takenMs >= FILL_MS ? 'filled' : 'pending'
    return { orderId, quoteId, status }
  }

  function serve(route: ModelRoute, request: RecordedRequest): ScriptedReply {
    if (route === 'quote') return giveQuote(JSON.parse(request.body))
    if (route === 'orders') return takeOrder(JSON.parse(request.body))
    if (route === 'tokens') {
      const token = goldenExample('token')
      const body = Object.values(MODEL_TOKENS).map((address) => ({ ...token, address }))
      return { status: 200, body }
    }
    const order = orders.get(request.path.split('/').at(-1) ?? '')
    if (order === undefined) return failure(404, 'NOT_FOUND')
    return { status: 200, body: statusOf(order) }
  }

  return {
    answer(request) {
      const route = routeOf(request)
      const fault = faults.get(route)
      faults.delete(route)
      const date = { date: new Date(nowMs()).toUTCString() }
      if (fault === 'dropBefore') return { drop: 'before-headers' }
      if (fault === 'errorBefore') return failure(500, 'INTERNAL_ERROR')
      if (fault === 'rateLimit')
        return { ...failure(429, 'RATE_LIMITED'), headers: { ...date, 'retry-after': '2' } }
      const reply = serve(route, request)
      if (fault === 'dropAfter') return { drop: 'before-headers' }
      if (fault === 'errorAfter') return failure(500, 'INTERNAL_ERROR')
      return { ...reply, headers: date }
    },
    failNext: (route, fault) => {
      faults.set(route, fault)
    },
    nowMs,
    elapse: (ms) => {
      shiftMs += ms
    },
  }
}

function routeOf({ method, path }: RecordedRequest): ModelRoute {
  if (path.startsWith('/api/v1/tokens')) return 'tokens'
  if (path === '/api/v1/quote') return 'quote'
  return method === 'POST' ? 'orders' : 'order'
}

function failure(status: number, code: string): ScriptedReply {
  return { status, body: { error: { code, message: code.toLowerCase() } } }
}

function refused(message: string): ScriptedReply {
  return { status: 400, body: { error: { code: 'BAD_REQUEST', message } } }
}
