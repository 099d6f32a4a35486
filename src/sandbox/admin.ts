import type { IncomingMessage } from 'node:http'
import type { Hex } from 'viem'
import * as z from 'zod'
import { toTree } from '../config/settings/sandbox-settings.ts'
import type { Fault } from '../config/yaml/document.ts'
import { formatPath } from '../config/yaml/problem.ts'
import { addressText, tokenAmountText } from '../venues/swap/client/gasless-wire.ts'
import { addBalance, type Deployment, fundToken } from './evm/deploy.ts'
import { blockAt, type Rpc } from './evm/rpc.ts'
import type { Faults } from './faults.ts'
import { type OrderStore, recordOf } from './gasless/order-store.ts'
import { type Answer, type Reply, readJson } from './http/json-server.ts'
import { beginPhase, setFeed } from './market/feed-pusher.ts'
import type { Market } from './market/market.ts'
import { readFaults } from './settings/faults.ts'
import type { SandboxToken } from './tokens.ts'

type AdminDeps = {
  readonly rpc: Rpc
  readonly deployment: Deployment
  readonly market: Market
  readonly faults: Faults
  readonly store: OrderStore
  readonly genesisHash: Hex
  readonly stepMarket: () => Promise<void>
  /** While the market is paused, only requests move prices and feeds. */
  readonly setMarketPaused: (paused: boolean) => void
  readonly outage: Readonly<Record<'gasless' | 'aggregator', (ms: number) => Promise<void>>>
  readonly aggregator: AdminRoutes
}

/** Handlers by method and path. The result is the body of the answer. */
export type AdminRoutes = Readonly<Record<string, (body: unknown) => Promise<unknown> | unknown>>

const BODY_BYTES_MAX = 1024 * 1024
const NATIVE = 'ETH'

const fundSchema = z.strictObject({
  address: addressText,
  /** Symbol of a served token, or ETH. */
  token: z.string(),
  amount: tokenAmountText,
})
const priceSchema = z.strictObject({ token: z.string(), usd: tokenAmountText })
/** Bounds of the feed contract's fields. */
const ANSWER_DIGITS_MAX = 52
const FEED_SECONDS_MAX = 2 ** 40 - 1
const feedSchema = z.strictObject({
  feed: addressText,
  answer: z.string().regex(new RegExp(`^-?\\d{1,${ANSWER_DIGITS_MAX}}$`)),
  startedAt: z.int().min(0).max(FEED_SECONDS_MAX),
  updatedAt: z.int().min(0).max(FEED_SECONDS_MAX),
})
const phaseSchema = z.strictObject({ feed: addressText })
const outageSchema = z.strictObject({
  ms: z.int().min(0).max(600_000),
  service: z.enum(['gasless', 'aggregator']).default('gasless'),
})
const pausedSchema = z.strictObject({ paused: z.boolean() })
const stepSchema = z.strictObject({ steps: z.int().min(1).max(10_000).default(1) })

/** An invalid request. The answer contains the message. */
class AdminError extends Error {
  override readonly name = 'AdminError'
}

export function createAdmin(deps: AdminDeps): (request: IncomingMessage) => Promise<Answer> {
  const routes: AdminRoutes = {
    'GET /faults': () => deps.faults.snapshot(),
    'PUT /faults': (body) => {
      const read = readFaults(toTree(withTextNumbers(body)))
      if (!read.ok) throw new AdminError(read.faults.map(faultText).join('; '))
      deps.faults.set(read.faults)
      return deps.faults.snapshot()
    },
    'GET /orders': () => Array.from(deps.store.all(), recordOf),
    'GET /state': () => stateOf(deps),
    'POST /fund': (body) => fund(deps, fundSchema.parse(body)),
    'POST /market/step': (body) => {
      const { steps } = stepSchema.parse(body)
      for (let i = 1; i < steps; i += 1) deps.market.step()
      return deps.stepMarket()
    },
    'PUT /market/price': (body) => setPrice(deps, priceSchema.parse(body)),
    'PUT /market/paused': (body) => deps.setMarketPaused(pausedSchema.parse(body).paused),
    'PUT /feed': (body) => {
      const { feed, answer, startedAt, updatedAt } = feedSchema.parse(body)
      return setFeed(deps.deployment, {
        feed: feedOf(deps, feed),
        answer: BigInt(answer),
        startedAt: BigInt(startedAt),
        updatedAt: BigInt(updatedAt),
      })
    },
    'POST /feed/phase': (body) =>
      beginPhase(deps.deployment, feedOf(deps, phaseSchema.parse(body).feed)),
    'POST /outage': (body) => {
      const { ms, service } = outageSchema.parse(body)
      return deps.outage[service](ms)
    },
    ...deps.aggregator,
  }
  return async (request) => {
    if (isFromPage(request)) return problem(403, FROM_PAGE)
    const path = (request.url ?? '/').split('?')[0]
    const run = routes[`${request.method} ${path}`]
    if (run === undefined) {
      return problem(404, `no such route; there are ${Object.keys(routes).join(', ')}`)
    }
    if (hasNoBody(request)) return attempt(() => run({}))
    const body = await readJson(request, BODY_BYTES_MAX)
    return body.ok ? attempt(() => run(body.value)) : problem(400, `the body is ${body.problem}`)
  }
}

const FROM_PAGE =
  'the admin port refuses requests of web pages: send them from a program, such as curl'

/** Browsers send a page's simple requests, such as a POST without a body, without asking the server first. */
function isFromPage({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'none'
  return headers.origin !== undefined || !['none', 'same-origin'].includes(String(site))
}

function hasNoBody({ headers }: IncomingMessage): boolean {
  return (headers['content-length'] ?? '0') === '0' && headers['transfer-encoding'] === undefined
}

async function attempt(run: () => Promise<unknown> | unknown): Promise<Reply> {
  try {
    return { status: 200, body: (await run()) ?? {} }
  } catch (error) {
    if (error instanceof z.ZodError) return problem(400, z.prettifyError(error))
    if (error instanceof AdminError) return problem(400, error.message)
    throw error
  }
}

/** Fractions as text, as in a file. */
function withTextNumbers(body: unknown): unknown {
  const text = (_: string, value: unknown) => (typeof value === 'number' ? String(value) : value)
  return JSON.parse(JSON.stringify(body ?? null), text)
}

function faultText({ path, message, expected, suggestion }: Fault): string {
  const meant = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  return `${formatPath(path)}: ${message}, expected ${expected}${meant}`
}

const CODES = { 400: 'BAD_REQUEST', 403: 'FORBIDDEN', 404: 'NOT_FOUND' } as const

function problem(status: keyof typeof CODES, message: string): Reply {
  return { status, body: { error: { code: CODES[status], message } } }
}

async function stateOf(deps: AdminDeps): Promise<unknown> {
  const block = await blockAt(deps.rpc, 'latest')
  const counts = { pending: 0, filled: 0, failed: 0, expired: 0 }
  for (const order of deps.store.all()) counts[order.status] += 1
  const { tokens } = deps.deployment
  const prices = tokens.map(({ symbol }) => [symbol, deps.market.usdPrice(symbol).toString()])
  return {
    genesisHash: deps.genesisHash,
    block: { number: Number(block.number), timestamp: Number(block.timestamp), hash: block.hash },
    orders: counts,
    usdPrices: Object.fromEntries(prices),
  }
}

async function fund(deps: AdminDeps, wanted: z.infer<typeof fundSchema>): Promise<void> {
  const to = wanted.address.toLowerCase() as Hex
  const amount = BigInt(wanted.amount)
  if (wanted.token === NATIVE) return addBalance(deps.rpc, to, amount)
  await fundToken(deps.deployment.deployer, { token: tokenOf(deps, wanted.token), to, amount })
}

function tokenOf({ deployment }: AdminDeps, symbol: string): SandboxToken {
  const token = deployment.tokens.find((each) => each.symbol === symbol)
  if (token === undefined) throw new AdminError(`no token ${symbol}`)
  return token
}

/** In 10^-18 dollars. The feeds have eight decimals, so they cannot show a smaller price. */
const LEAST_PRICE = 10n ** 10n

function setPrice(deps: AdminDeps, { token, usd }: z.infer<typeof priceSchema>): void {
  const { symbol } = tokenOf(deps, token)
  const price = BigInt(usd)
  if (price < LEAST_PRICE)
    throw new AdminError(
      `usd is in 10^-18 dollars, and no feed can show ${usd} of them: 3000 dollars are 3000000000000000000000`,
    )
  deps.market.setUsdPrice(symbol, price)
}

function feedOf({ deployment }: AdminDeps, wanted: string): Hex {
  const known = [deployment.sequencerFeed, ...deployment.feeds.map(({ address }) => address)]
  const feed = known.find((address) => address.toLowerCase() === wanted.toLowerCase())
  if (feed === undefined) throw new AdminError(`no feed ${wanted}`)
  return feed
}
