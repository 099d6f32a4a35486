import { Pool } from 'undici'
import { GASLESS_CHAIN_ID } from '../../../domain/money/token.ts'
import { WITNESS_TYPE_STRING } from '../../../domain/order/permit.ts'
import type { Quote, Reply } from '../../../domain/order/quote.ts'
import type { RoutingPreference } from '../../../domain/settings.ts'
import { outsideText } from '../../../domain/text/outside-text.ts'
import type { GaslessRoute, RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { Clock, Gasless } from '../../../ports.ts'
import { basicAuth } from '../../../system/endpoint.ts'
import {
  type ExchangeOptions,
  exchangeText,
  type HttpHead,
  type TextAnswer,
} from '../../../system/exchange.ts'
import type { Reading } from '../../../system/read-json.ts'
import { type RateLimitReading, readRateLimit, readRetryAfterMs } from '../../queue/rate-limit.ts'
import { faultOf, lossOf, statusLabel, unavailable } from './gasless-fault.ts'
import { quoteBody, readCreatedOrder, readOrder, readQuote, readTokens } from './gasless-orders.ts'
import { ID_LENGTH_MAX } from './gasless-wire.ts'
import { createServiceClock } from './service-clock.ts'

export type GaslessHttpOptions = {
  /** http or https, with an optional path prefix; `/api/v1` is appended. Credentials are sent as basic auth. */
  readonly baseUrl: string
  /** The operator's wire values of these two routing preferences. */
  readonly wire: { readonly preferOwn: string; readonly onlyOwn: string }
  readonly routingPreference: RoutingPreference
  /** Per exchange, including connecting and the body. Default 10,000. */
  readonly timeoutMs?: number
  readonly clock: Pick<Clock, 'now'>
  readonly observe: (event: RuntimeEvent) => void
  /** Called when a reply's headers arrive, before its body. */
  readonly onRateLimit: (route: GaslessRoute, reading: RateLimitReading) => void
  readonly onRetryAfter: (route: GaslessRoute, ms: number) => void
}

export type GaslessHttp = Gasless & {
  close(): Promise<void>
}

/** Enough for every route at full concurrency, so no request waits for a connection. */
const CONNECTIONS_MAX = 256
const TIMEOUT_MS_DEFAULT = 10_000
const RESPONSE_BYTES_MAX = 1024 * 1024
/** Short, because a request on a connection that the service is closing has an unknown outcome. */
const KEEP_ALIVE_MS = 4_000

type Ask<Value> = {
  readonly route: GaslessRoute
  readonly path: string
  /** Sent with POST; without it the request is a GET. */
  readonly body?: unknown
  /** Default: 200 alone. */
  readonly success?: readonly number[]
  readonly read: (text: string) => Reading<Value>
}

type Verdict<Value> = { readonly label: string; readonly reply: Reply<Value> }

/**
 * The live gasless service. One exchange per call, no retries, no redirects. Anything but a complete, readable answer is
 * `unavailable`: the request may have taken effect. Throws for an unusable base URL.
 */
export function createGaslessHttp(options: GaslessHttpOptions): GaslessHttp {
  const { clock, observe } = options
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS_DEFAULT
  const base = parseBaseUrl(options.baseUrl)
  const postHeaders = { ...base.headers, 'content-type': 'application/json' }
  const routing = { preference: options.routingPreference, words: options.wire }
  const serviceClock = createServiceClock()
  const noteWitnessType = createWitnessNotes(observe)
  const pool = new Pool(base.origin, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: timeoutMs },
    // The exchange has one deadline; these timers would restart with each byte.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
  })

  async function ask<Value>(request: Ask<Value>): Promise<Reply<Value>> {
    const { route } = request
    const sentMs = clock.now()
    const { label: status, reply } = await exchange(request, sentMs)
    const durationMs = Math.max(0, clock.now() - sentMs)
    observe({ type: 'request', service: 'gasless', route, status, durationMs })
    return reply
  }

  async function exchange<Value>(request: Ask<Value>, sentMs: number): Promise<Verdict<Value>> {
    try {
      const answer = await exchangeText(pool, {
        request: requestOf(request),
        timeoutMs,
        bytesMax: RESPONSE_BYTES_MAX,
        onHead: (early) => noteHeaders(request.route, early, sentMs),
      })
      return verdictOf(request, answer, serviceNowMs())
    } catch (error) {
      return lossOf(error)
    }
  }

  function requestOf({ path: own, body }: Ask<unknown>): ExchangeOptions['request'] {
    const path = `${base.path}${own}`
    if (body === undefined) return { method: 'GET', path, headers: base.headers }
    return { method: 'POST', path, headers: postHeaders, body: JSON.stringify(body) }
  }

  function noteHeaders(route: GaslessRoute, response: HttpHead, sentMs: number): void {
    const receivedMs = clock.now()
    const { headers, statusCode } = response
    const { age, date } = headers
    // A cached answer carries the time at which it was stored.
    if (age === undefined) serviceClock.sample({ sentMs, receivedMs, date })
    const reading = readRateLimit(headers, serviceNowMs())
    if (reading !== undefined) {
      options.onRateLimit(route, reading)
      observe({ type: 'rate-limit', service: 'gasless', route, remaining: reading.remaining })
    }
    if (statusCode === 429) options.onRetryAfter(route, readRetryAfterMs(headers, serviceNowMs()))
  }

  function serviceNowMs(): number {
    const nowMs = clock.now()
    return nowMs + (serviceClock.offsetMs(nowMs) ?? 0)
  }

  return {
    async tokens() {
      const path = `/tokens?chainId=${GASLESS_CHAIN_ID}`
      return ask({ route: 'tokens', path, read: readTokens })
    },
    async quote(request) {
      const body = quoteBody(request, routing)
      const quoted = await ask({ route: 'quote', path: '/quote', body, read: readQuote })
      if (quoted.ok) noteWitnessType(quoted.value)
      return quoted
    },
    async submit({ quoteId, signature, clientOrderId }) {
      const placed = await ask({
        route: 'submit',
        path: '/orders',
        body: { quoteId, signature, clientOrderId },
        // The interface does not specify which status a replay returns.
        success: [201, 200],
        read: readCreatedOrder,
      })
      if (!placed.ok) return placed
      const { orderId, quoteId: placedFor } = placed.value
      if (placedFor === quoteId) return placed
      const message = outsideText(`${clientOrderId} is its order ${orderId}, of quote ${placedFor}`)
      return { ok: false, fault: { tag: 'foreignOrder', message } }
    },
    async order(orderId) {
      const segment = orderSegment(orderId)
      if (!segment.ok) return segment
      const path = `/orders/${segment.value}`
      return ask({ route: 'poll', path, read: (text) => readOrder(text, orderId) })
    },
    clockOffsetMs: () => serviceClock.offsetMs(clock.now()),
    close: () => pool.close(),
  }
}

/** Known values: the whole witness signature, or the part that names the field. */
const WITNESS_TYPES: ReadonlySet<string | undefined> = new Set([
  WITNESS_TYPE_STRING,
  WITNESS_TYPE_STRING.slice(0, WITNESS_TYPE_STRING.indexOf(')') + 1),
])

/** Reports an unknown witness type once. It is harmless, because only the typed data is signed and compared. */
function createWitnessNotes(observe: GaslessHttpOptions['observe']): (quote: Quote) => void {
  let isReported = false
  return ({ witnessTypeString }) => {
    if (isReported || WITNESS_TYPES.has(witnessTypeString)) return
    isReported = true
    const note = `names a witness type string of its own (${outsideText(witnessTypeString ?? 'no text')}): not used`
    observe({ type: 'service-note', service: 'gasless', note })
  }
}

const OK: readonly number[] = [200]

function verdictOf<Value>(
  ask: Ask<Value>,
  answer: TextAnswer,
  serviceNowMs: number,
): Verdict<Value> {
  const { statusCode: status, text } = answer
  const { success = OK } = ask
  if (!success.includes(status))
    return {
      label: statusLabel(status),
      reply: { ok: false, fault: faultOf(answer, serviceNowMs) },
    }
  const read = ask.read(text)
  if (read.ok) return { label: statusLabel(status), reply: read }
  return { label: 'malformed', reply: unavailable(`unreadable reply, ${read.fault}`) }
}

const HEADERS = { accept: 'application/json', 'user-agent': 'tranched' }

/** Splits the configured base URL; `path` includes the API's version prefix. Throws TypeError without quoting the URL. */
function parseBaseUrl(text: string) {
  if (!URL.canParse(text)) throw new TypeError('gasless.baseUrl is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('gasless.baseUrl must begin with http:// or https://')
  if (url.search !== '' || url.hash !== '')
    throw new TypeError('gasless.baseUrl must have no query and no fragment')
  const path = `${url.pathname.replace(/\/+$/, '')}/api/v1`
  return { origin: url.origin, path, headers: { ...HEADERS, ...basicAuth(url) } }
}

/** An order id as one percent-encoded path segment. Dot segments are rejected: URL normalization would remove them. */
function orderSegment(orderId: string): Reply<string> {
  const { length } = orderId
  const encoded = encodeIfWellFormed(orderId)
  const usable = length >= 1 && length <= ID_LENGTH_MAX && orderId !== '.' && orderId !== '..'
  if (usable && encoded !== undefined) return { ok: true, value: encoded }
  const message = 'an order id has 1 to 128 characters and fits in a path'
  return { ok: false, fault: { tag: 'badRequest', message } }
}

function encodeIfWellFormed(text: string): string | undefined {
  try {
    return encodeURIComponent(text)
  } catch {
    // A lone surrogate has no UTF-8 form.
    return undefined
  }
}
