import type { IncomingMessage } from 'node:http'
import { GASLESS_CHAIN_ID, type WireToken } from '../../wire/gasless.ts'
import type { Route } from '../faults.ts'
import { answerWithFaults, type FaultReplies } from '../http/fault-injection.ts'
import type { Answer, Reply } from '../http/json-server.ts'
import { createRateLimiter } from '../http/rate-limit.ts'
import type { SandboxToken } from '../tokens.ts'
import { errorReply } from './envelope.ts'
import { createPollRoute, createSubmitRoute } from './order-routes.ts'
import { createQuoteRoute } from './quote-route.ts'
import type { GaslessDeps, GaslessSettings } from './settings.ts'

const PREFIX = '/api/v1'
type Call = {
  readonly request: IncomingMessage
  readonly url: URL
  /** The last part of the path, where it names something. */
  readonly id: string
}

/** Request handler of the REST interface, with every rule, limit and fault in it. */
export function createGaslessService(
  settings: GaslessSettings,
  deps: GaslessDeps,
): (request: IncomingMessage) => Promise<Answer> {
  const limiters = {
    tokens: createRateLimiter(settings.rateLimits.tokens, settings.rateLimitReset),
    quote: createRateLimiter(settings.rateLimits.quote, settings.rateLimitReset),
    orders: createRateLimiter(settings.rateLimits.orders, settings.rateLimitReset),
    order: createRateLimiter(settings.rateLimits.order, settings.rateLimitReset),
  }
  const quoteRoute = createQuoteRoute(settings, deps)
  const submitRoute = createSubmitRoute(settings, deps)
  const pollRoute = createPollRoute(deps.book)
  const handlers: Readonly<Record<Route, (call: Call) => Reply | Promise<Reply>>> = {
    tokens: tokensHandler(deps.tokens, settings.logoURI),
    quote: ({ request }) => quoteRoute(request),
    orders: ({ request }) => submitRoute(request),
    order: ({ id }) => pollRoute(id),
  }
  return (request) => {
    const matched = match(request)
    if (matched === undefined) return Promise.resolve(errorReply('NOT_FOUND', 'no such route'))
    const { route, call } = matched
    const limited = async (): Promise<Reply> => {
      const rate = limiters[route](Date.now())
      if (rate.allowed) return withHeaders(await handlers[route](call), rate.headers)
      return withHeaders(faultReplies(route).rateLimited(rate.retryAfterSeconds), rate.headers)
    }
    return answerWithFaults(deps.faults.forRequest(route), faultReplies(route), limited)
  }
}

function faultReplies(route: Route): FaultReplies {
  return {
    rateLimited: (retryAfterSeconds) =>
      withHeaders(errorReply('RATE_LIMITED', `rate limit exceeded for ${route}`), {
        'retry-after': String(retryAfterSeconds),
      }),
    internal: () => errorReply('INTERNAL_ERROR', 'internal failure'),
    stray: () => ({ status: 200, body: { notice: 'please come again' } }),
  }
}

function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

function match(request: IncomingMessage): { route: Route; call: Call } | undefined {
  const target = request.url ?? '/'
  if (!target.startsWith(`${PREFIX}/`) || !URL.canParse(target, 'http://localhost'))
    return undefined
  const url = new URL(target, 'http://localhost')
  const path = url.pathname.slice(PREFIX.length)
  const at = `${request.method} ${path}`
  if (at === 'GET /tokens') return { route: 'tokens', call: { request, url, id: '' } }
  if (at === 'POST /quote') return { route: 'quote', call: { request, url, id: '' } }
  if (at === 'POST /orders') return { route: 'orders', call: { request, url, id: '' } }
  const id = /^GET \/orders\/([^/]*)$/.exec(at)?.[1]
  return id === undefined ? undefined : { route: 'order', call: { request, url, id } }
}

function tokensHandler(
  tokens: readonly SandboxToken[],
  logoURI: string | undefined,
): (call: Call) => Reply {
  const body: readonly WireToken[] = tokens.map(({ address, symbol, name, decimals }) => ({
    chainId: GASLESS_CHAIN_ID,
    address,
    symbol,
    name,
    decimals,
    ...(logoURI === undefined ? {} : { logoURI: logoURI.replaceAll('{symbol}', symbol) }),
  }))
  return ({ url }) =>
    url.searchParams.get('chainId') === String(GASLESS_CHAIN_ID)
      ? { status: 200, body }
      : errorReply('BAD_REQUEST', `chainId must be ${GASLESS_CHAIN_ID}`)
}
