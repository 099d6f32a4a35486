import { GASLESS_CHAIN_ID } from '../../wire/gasless.ts'
import type { Deployment } from '../evm/deploy.ts'
import type { Faults } from '../faults.ts'
import { startInterruptibleServer } from '../http/interruptible-server.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { Market } from '../market/market.ts'
import type { SandboxOptions } from '../options.ts'
import { repeat } from '../repeat.ts'
import { crashReply } from './envelope.ts'
import { type BookState, createOrderBook, type OrderBook } from './orders.ts'
import { createGaslessService } from './service.ts'
import { createSettlementWorker } from './settlement-worker.ts'

/** The running gasless service. */
export type GaslessVenue = {
  readonly url: string
  readonly book: OrderBook
  /** Cuts all connections and refuses new ones for so long. */
  outage(ms: number): Promise<void>
}

const RATE_LIMIT_DEFAULT: RateLimit = { limit: 600, windowMs: 10_000 }
const ROUTING_WORDS_DEFAULT = { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' }
const WORKER_TICK_MS = 50
const SWEEP_MS = 30_000

/** The operator's words in force. */
export function routingWordsOf(options: SandboxOptions): { preferOwn: string; onlyOwn: string } {
  return { ...ROUTING_WORDS_DEFAULT, ...options.routingWords }
}

export type GaslessParts = {
  readonly deployment: Deployment
  readonly market: Market
  readonly faults: Faults
  readonly log: SandboxLog
  readonly during: During
  /** The book of a service that this one goes on for. */
  readonly former: BookState | undefined
}

/** Starts the REST service and what settles its orders; pushes onto `undo` how to end each part. */
export async function startGasless(
  options: SandboxOptions,
  deps: GaslessParts,
  undo: (() => Promise<void>)[],
): Promise<GaslessVenue> {
  const { deployment, market, faults, log } = deps
  const feeBps = options.feeBps ?? 5
  const book = createOrderBook(deps.former)
  const worker = createSettlementWorker(
    {
      settlement: deployment.settlement,
      feeBps,
      ordersPerTransaction: options.settlement?.ordersPerTransaction ?? 8,
      sameOwnerInTransaction: options.settlement?.sameOwnerInTransaction ?? true,
    },
    { market, operator: deployment.operator, during: deps.during, log },
  )
  undo.push(() => worker.stop())
  for (const order of book.all()) if (order.status === 'pending') worker.add(order)
  undo.push(repeat(WORKER_TICK_MS, async () => worker.tick(Date.now()), log))
  undo.push(repeat(SWEEP_MS, async () => book.sweep(Date.now()), log))
  const handle = createGaslessService(
    {
      chainId: GASLESS_CHAIN_ID,
      permit2: deployment.permit2,
      settlement: deployment.settlement,
      lifetimeSeconds: options.quoteLifetimeSeconds ?? 60,
      feeBps,
      listDomainType: options.listDomainType ?? true,
      logoURI: options.logoURI,
      rateLimits: {
        tokens: RATE_LIMIT_DEFAULT,
        quote: RATE_LIMIT_DEFAULT,
        orders: RATE_LIMIT_DEFAULT,
        order: RATE_LIMIT_DEFAULT,
        ...options.rateLimits,
      },
      rateLimitReset: options.rateLimitReset ?? 'epoch',
      routingWords: routingWordsOf(options),
    },
    { tokens: deployment.tokens, market, book, faults, onAccepted: worker.add },
  )
  const server = await startInterruptibleServer(
    { port: options.ports?.gasless ?? 0, handle, onCrash: crashReply(log, 'gasless') },
    log,
  )
  undo.push(() => server.stop())
  return { url: server.url, book, outage: server.outage }
}
