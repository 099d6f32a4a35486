import type { IncomingMessage } from 'node:http'
import type { Hex } from 'viem'
import type { ZodType } from 'zod'
import {
  createOrderRequestSchema,
  GASLESS_CHAIN_ID,
  orderId,
  quoteRequestSchema,
  type WireCreateOrderResponse,
  type WireErrorResponse,
  type WireQuoteRequest,
  type WireToken,
} from '../../venues/swap/client/gasless-wire.ts'
import type { Deployment } from '../evm/deploy.ts'
import type { Faults, Route } from '../faults.ts'
import { answerWithFaults, type FaultReplies } from '../http/fault-injection.ts'
import { type Answer, type BodyProblem, type Reply, readJson } from '../http/json-server.ts'
import { createRateLimiter } from '../http/rate-limit.ts'
import type { Market, Pair } from '../market/market.ts'
import type { SandboxToken } from '../tokens.ts'
import type { GaslessSettings } from './gasless-settings.ts'
import { type Order, type OrderStore, wireOrderOf } from './order-store.ts'
import { createPermitDigest, generalDigest, recoverSigner } from './permit.ts'
import { createQuote, type Quote } from './quotes.ts'
import type { Preference } from './routing.ts'

type GaslessDeps = {
  readonly deployment: Deployment
  readonly market: Market
  readonly store: OrderStore
  readonly faults: Faults
  /** Passes an accepted order to the settlement worker. */
  readonly onAccepted: (order: Order) => void
}

const PREFIX = '/api/v1'
const BODY_BYTES_MAX = 64 * 1024
const NATIVE_PLACEHOLDERS = new Set([
  '0x0000000000000000000000000000000000000000',
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
])
const STATUS: Readonly<Record<WireErrorResponse['error']['code'], number>> = {
  BAD_REQUEST: 400,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
}

type Call = {
  readonly request: IncomingMessage
  readonly url: URL
  /** The order id as sent; empty on other routes. */
  readonly id: string
}
type Handler = (call: Call) => Reply | Promise<Reply>

/** Request handler of the REST interface, with its rules, limits and faults. */
export function createGaslessService(
  settings: GaslessSettings,
  deps: GaslessDeps,
): (request: IncomingMessage) => Promise<Answer> {
  const limited = (route: Route, handle: Handler): ((call: Call) => Promise<Answer>) => {
    const limiter = createRateLimiter(settings.rateLimits[route], settings.rateLimitReset)
    const replies = faultReplies(route)
    return (call) =>
      answerWithFaults(deps.faults.forRequest(route), replies, async () => {
        const { allowed, retryAfterSeconds, headers } = limiter(Date.now())
        const reply = allowed ? await handle(call) : replies.rateLimited(retryAfterSeconds)
        return withHeaders(reply, headers)
      })
  }
  const routes = new Map([
    ['GET /tokens', limited('tokens', tokensHandler(deps.deployment.tokens, settings.logoURI))],
    ['POST /quote', limited('quote', quoteHandler(settings, deps))],
    ['POST /orders', limited('orders', submitHandler(deps))],
    [POLL, limited('order', pollHandler(deps.store))],
  ])
  return async (request) => {
    const target = request.url ?? '/'
    if (!target.startsWith(`${PREFIX}/`) || !URL.canParse(target, 'http://localhost'))
      return NO_ROUTE
    const url = new URL(target, 'http://localhost')
    const at = `${request.method} ${url.pathname.slice(PREFIX.length)}`
    const id = /^GET \/orders\/([^/]*)$/.exec(at)?.[1]
    const answer = routes.get(id === undefined ? at : POLL)
    return answer === undefined ? NO_ROUTE : answer({ request, url, id: id ?? '' })
  }
}

const POLL = 'GET /orders/'
const NO_ROUTE = errorReply('NOT_FOUND', 'no such route')

/** The service's error envelope, with the status for the code. */
function errorReply(code: WireErrorResponse['error']['code'], message: string): Reply {
  const body: WireErrorResponse = { error: { code, message } }
  return { status: STATUS[code], body }
}

function badRequest(message: string): Reply {
  return errorReply('BAD_REQUEST', message)
}

export function internalFailure(): Reply {
  return errorReply('INTERNAL_ERROR', 'internal failure')
}

function faultReplies(route: Route): FaultReplies {
  return {
    rateLimited: (retryAfterSeconds) =>
      withHeaders(errorReply('RATE_LIMITED', `rate limit exceeded for ${route}`), {
        'retry-after': String(retryAfterSeconds),
      }),
    internal: internalFailure,
    stray: () => ({ status: 200, body: { notice: 'please come again' } }),
  }
}

function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

function tokensHandler(tokens: readonly SandboxToken[], logoURI: string | undefined): Handler {
  const body: readonly WireToken[] = tokens.map(({ address, symbol, name, decimals }) => ({
    chainId: GASLESS_CHAIN_ID,
    address,
    symbol,
    name,
    decimals,
    logoURI: logoURI?.replaceAll('{symbol}', symbol),
  }))
  return ({ url }) =>
    url.searchParams.get('chainId') === String(GASLESS_CHAIN_ID)
      ? { status: 200, body }
      : badRequest(`chainId must be ${GASLESS_CHAIN_ID}`)
}

function quoteHandler(settings: GaslessSettings, deps: GaslessDeps): Handler {
  const pairOf = createPairFinder(deps)
  const preferences = new Map<string, Preference>([
    ['auto', 'auto'],
    [settings.routingWords.preferOwn, 'preferOwn'],
    [settings.routingWords.onlyOwn, 'onlyOwn'],
  ])
  return posted(quoteRequestSchema, (request) => {
    const pair = pairOf(request)
    if (typeof pair === 'string') return badRequest(pair)
    const preference = preferences.get(request.routingPreference ?? 'auto')
    if (preference === undefined) return badRequest('unknown routingPreference')
    const result = createQuote(settings, deps, {
      request,
      pair,
      preference,
      nowMs: Date.now(),
      tamperings: deps.faults.forQuote(),
    })
    if (typeof result === 'string') return badRequest(result)
    deps.store.addQuote(result.quote)
    return { status: 200, body: result.response }
  })
}

/** Returns text with the reason if the tokens cannot be traded. */
function createPairFinder(deps: GaslessDeps): (request: WireQuoteRequest) => Pair | string {
  const tokens = new Map(
    deps.deployment.tokens.map((token) => [token.address.toLowerCase(), token]),
  )
  return ({ sellToken, buyToken }) => {
    const [sellKey, buyKey] = [sellToken.toLowerCase(), buyToken.toLowerCase()]
    if (NATIVE_PLACEHOLDERS.has(sellKey) || NATIVE_PLACEHOLDERS.has(buyKey))
      return 'native ETH is not traded here: use WETH'
    const sell = tokens.get(sellKey)
    const buy = tokens.get(buyKey)
    if (sell === undefined) return `unsupported token ${sellToken}`
    if (buy === undefined) return `unsupported token ${buyToken}`
    return sell === buy ? 'sellToken and buyToken are the same' : { sell, buy }
  }
}

/**
 * `POST /orders`. Checks the signature, then the idempotency key, then age and use of the quote, so that a late replay finds
 * its order.
 */
function submitHandler(deps: GaslessDeps): Handler {
  const digestOf = createPermitDigest(GASLESS_CHAIN_ID)
  const isSigned = ({ tamperedTypedData, permit, owner }: Quote, signature: Hex): boolean => {
    const digest =
      tamperedTypedData === undefined ? digestOf(permit) : generalDigest(tamperedTypedData)
    return recoverSigner(digest, signature) === owner
  }
  return posted(createOrderRequestSchema, (body) => {
    const { quoteId, clientOrderId } = body
    const signature = body.signature as Hex
    const quote = deps.store.quote(quoteId)
    if (quote === undefined) return badRequest('unknown quote: request a fresh quote')
    if (!isSigned(quote, signature))
      return badRequest('invalid signature: sign permit2.typedData exactly as returned')
    const existing = deps.store.byClientOrderId(quote.owner, clientOrderId)
    if (existing !== undefined) return { status: 200, body: createdBody(existing) }
    const nowMs = Date.now()
    if (nowMs / 1000 >= quote.validTo)
      return badRequest('the quote has expired: request a fresh quote')
    if (deps.store.byQuote(quote.id) !== undefined)
      return badRequest('the quote has been ordered already: request a fresh quote')
    const order = deps.store.accept(
      { clientOrderId, quote, signature, faults: deps.faults.forOrder() },
      nowMs,
    )
    deps.onAccepted(order)
    return { status: 201, body: createdBody(order) }
  })
}

function createdBody(order: Order): WireCreateOrderResponse {
  return { orderId: order.id, quoteId: order.quote.id, status: order.status }
}

function pollHandler(store: OrderStore): Handler {
  return ({ id: idInPath }) => {
    const id = decode(idInPath)
    if (id === undefined || !orderId.safeParse(id).success)
      return badRequest('orderId must have 1 to 128 characters')
    const order = store.byId(id)
    const shown = order === undefined ? undefined : wireOrderOf(order, Date.now())
    return shown === undefined
      ? errorReply('NOT_FOUND', 'unknown order id')
      : { status: 200, body: shown }
  }
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    // The path has a stray percent sign.
    return undefined
  }
}

const PROBLEMS: Readonly<Record<BodyProblem, string>> = {
  notJson: 'content-type must be application/json',
  tooLarge: `the body is larger than ${BODY_BYTES_MAX} bytes`,
  malformed: 'the body is not well-formed JSON',
}

/** Handles a JSON body; answers 400 if it cannot be read or the schema refuses it. */
function posted<Body>(schema: ZodType<Body>, handle: (body: Body) => Reply): Handler {
  return async ({ request }) => {
    const read = await readJson(request, BODY_BYTES_MAX)
    if (!read.ok) return badRequest(PROBLEMS[read.problem])
    const parsed = schema.safeParse(read.value)
    if (parsed.success) return handle(parsed.data)
    const [first] = parsed.error.issues
    return badRequest(`${first?.path.join('.') || 'body'}: ${first?.message ?? 'invalid'}`)
  }
}
