import type { IncomingMessage } from 'node:http'
import type { Hex } from 'viem'
import * as z from 'zod'
import { GASLESS_CHAIN_ID } from '../../domain/money/token.ts'
import {
  createOrderRequestSchema,
  createOrderResponseSchema,
  ID_LENGTH_MAX,
  orderId,
  orderSchema,
  quoteRequestSchema,
  quoteResponseSchema,
  tokenListSchema,
  type WireCreateOrderResponse,
  type WireQuoteRequest,
  type WireQuoteResponse,
  type WireToken,
} from '../../venues/swap/client/gasless-wire.ts'
import type { Deployment } from '../evm/deploy.ts'
import type { Faults, Route, Tampering } from '../faults.ts'
import { answerWithFaults, type FaultReplies } from '../http/fault-injection.ts'
import type { Answer, Reply } from '../http/json-server.ts'
import { answerMethod, originOf, withHeaders } from '../http/methods.ts'
import { createRateLimiter } from '../http/rate-limit.ts'
import type { Market, Pair } from '../market/market.ts'
import type { GaslessSettings } from '../options.ts'
import type { SandboxToken } from '../tokens.ts'
import { createExamples, openApiDocument } from './openapi.ts'
import { badRequest, errorReply, given, matched, type Operation, posted } from './operation.ts'
import { type Order, type OrderStore, wireOrderOf } from './order-store.ts'
import { digestOf, recoverSigner, typedDataOf } from './permit.ts'
import { createQuote, type Quote } from './quotes.ts'
import type { Preference } from './routing.ts'

type GaslessDeps = {
  readonly deployment: Deployment
  readonly market: Market
  readonly store: OrderStore
  readonly faults: Faults
  readonly onAccepted: (order: Order) => void
}

const PREFIX = '/api/v1'
const NATIVE_PLACEHOLDERS = new Set([
  '0x0000000000000000000000000000000000000000',
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
])

/** Request handler of the REST interface, with its rules, limits and faults. */
export function createGaslessService(
  settings: GaslessSettings,
  deps: GaslessDeps,
): (request: IncomingMessage) => Promise<Answer> {
  const limited = (operation: Operation) => {
    const { route, handle } = operation
    const limiter = createRateLimiter(settings.rateLimits[route], settings.rateLimitReset)
    const replies = faultReplies(route)
    const answer = (...call: Parameters<typeof handle>): Promise<Answer> =>
      answerWithFaults(deps.faults.forRequest(route), replies, async () => {
        const { allowed, retryAfterSeconds, headers } = limiter(Date.now())
        const reply = allowed ? await handle(...call) : replies.rateLimited(retryAfterSeconds)
        return withHeaders(reply, headers)
      })
    return { operation, answer }
  }
  const tokens = tokenList(deps.deployment.tokens, settings.logoURI)
  const quote = createQuoter(settings, deps)
  const operations = operationsOf(deps, { tokens, quote })
  const routes = operations.map(limited)
  const describe = async (request: IncomingMessage): Promise<Reply> => {
    const examples = await createExamples(tokens, (wanted) => {
      const quoted = quote(wanted, () => [])
      return typeof quoted === 'string' ? undefined : quoted
    })
    const shown = {
      base: `${originOf(request)}${PREFIX}`,
      reset: settings.rateLimitReset,
      examples,
    }
    return { status: 200, body: openApiDocument(operations, shown) }
  }
  return async (request) => {
    const target = request.url ?? '/'
    if (!target.startsWith(`${PREFIX}/`) || !URL.canParse(target, 'http://localhost'))
      return refused(404)
    const url = new URL(target, 'http://localhost')
    const at = url.pathname.slice(PREFIX.length)
    if (/^\/openapi\.json\/?$/.test(at))
      return answerMethod(request.method, { GET: () => describe(request) }, refused)
    const found = routes.flatMap(({ operation, answer }) => {
      const match = matched(operation, at, url)
      return match ? [[operation.method, () => answer(request, match.value)] as const] : []
    })
    return answerMethod(request.method, Object.fromEntries(found), refused)
  }
}

/** The interface has no code for a wrong method; the nearest names the client's mistake. */
function refused(status: 404 | 405): Reply {
  if (status === 404) return errorReply('NOT_FOUND', 'no such route')
  return {
    ...badRequest('the path does not take this method: the header Allow lists its methods'),
    status,
  }
}

function operationsOf(
  deps: GaslessDeps,
  parts: { readonly tokens: WireToken[]; readonly quote: ReturnType<typeof createQuoter> },
): readonly Operation[] {
  const { tokens, quote } = parts
  return [
    {
      operationId: 'listTokens',
      method: 'GET',
      path: '/tokens',
      route: 'tokens',
      summary: 'Lists the tokens that can be traded.',
      ...given(
        {
          name: 'chainId',
          in: 'query',
          schema: z.literal(String(GASLESS_CHAIN_ID)),
          rule: `must be ${GASLESS_CHAIN_ID}`,
        },
        () => ({ status: 200, body: tokens }),
      ),
      result: tokenListSchema,
      replies: { 200: 'the tokens' },
    },
    {
      operationId: 'requestQuote',
      method: 'POST',
      path: '/quote',
      route: 'quote',
      summary: 'Prices a sale or a purchase, and answers the typed data to sign.',
      ...posted(quoteRequestSchema, (request) => {
        const quoted = quote(request, deps.faults.forQuote)
        return typeof quoted === 'string' ? badRequest(quoted) : { status: 200, body: quoted }
      }),
      result: quoteResponseSchema,
      replies: { 200: 'the quote' },
    },
    {
      operationId: 'submitOrder',
      method: 'POST',
      path: '/orders',
      route: 'orders',
      summary: 'Takes the signature of a quote as an order.',
      ...posted(createOrderRequestSchema, submitter(deps)),
      result: createOrderResponseSchema,
      replies: {
        200: 'the earlier order of this owner with this clientOrderId',
        201: 'the new order',
      },
    },
    {
      operationId: 'getOrder',
      method: 'GET',
      path: '/orders/{orderId}',
      route: 'order',
      summary: 'Answers the status of an order.',
      ...given(
        {
          name: 'orderId',
          in: 'path',
          schema: orderId,
          rule: `must have 1 to ${ID_LENGTH_MAX} characters`,
        },
        (id) => {
          const order = deps.store.byId(id)
          const shown = order === undefined ? undefined : wireOrderOf(order, Date.now())
          return shown === undefined
            ? errorReply('NOT_FOUND', 'unknown order id')
            : { status: 200, body: shown }
        },
      ),
      result: orderSchema,
      replies: { 200: 'the order' },
    },
  ]
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

function tokenList(tokens: readonly SandboxToken[], logoURI: string | undefined): WireToken[] {
  return tokens.map(({ address, symbol, name, decimals }) => ({
    chainId: GASLESS_CHAIN_ID,
    address,
    symbol,
    name,
    decimals,
    logoURI: logoURI?.replaceAll('{symbol}', symbol),
  }))
}

/** Makes and keeps a quote. Returns text with the reason if it cannot. */
function createQuoter(settings: GaslessSettings, deps: GaslessDeps) {
  const pairOf = createPairFinder(deps)
  const preferences = new Map<string, Preference>([
    ['auto', 'auto'],
    [settings.wire.preferOwn, 'preferOwn'],
    [settings.wire.onlyOwn, 'onlyOwn'],
  ])
  return (
    request: WireQuoteRequest,
    tamperings: () => readonly Tampering[],
  ): WireQuoteResponse | string => {
    const pair = pairOf(request)
    if (typeof pair === 'string') return pair
    const preference = preferences.get(request.routingPreference ?? 'auto')
    if (preference === undefined) return 'unknown routingPreference'
    const nowMs = Date.now()
    const wanted = { request, pair, preference, nowMs, tamperings: tamperings() }
    const result = createQuote(settings, deps, wanted)
    if (typeof result === 'string') return result
    deps.store.addQuote(result.quote)
    return result.response
  }
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
function submitter(deps: GaslessDeps) {
  const isSigned = ({ tamperedTypedData, permit, owner }: Quote, signature: Hex): boolean => {
    const typedData = tamperedTypedData ?? typedDataOf(permit, { listDomainType: false })
    return recoverSigner(digestOf(typedData), signature) === owner
  }
  return (body: z.output<typeof createOrderRequestSchema>): Reply => {
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
  }
}

function createdBody(order: Order): WireCreateOrderResponse {
  return { orderId: order.id, quoteId: order.quote.id, status: order.status }
}
