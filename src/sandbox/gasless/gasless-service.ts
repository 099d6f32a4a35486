import type { Deployment } from '../evm/deploy.ts'
import type { Faults } from '../faults.ts'
import { startJsonServer } from '../http/json-server.ts'
import type { RateLimit } from '../http/rate-limit.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { Market } from '../market/market.ts'
import type { SandboxOptions } from '../options.ts'
import { repeat } from '../repeat.ts'
import { createOrderStore, type OrderStoreState } from './order-store.ts'
import { createGaslessService, internalFailure } from './service.ts'
import { createSettlementWorker } from './settlement-worker.ts'

const RATE_LIMIT_DEFAULT: RateLimit = { limit: 600, windowMs: 10_000 }
const ROUTING_WORDS_DEFAULT = { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' }
const WORKER_TICK_MS = 50
const SWEEP_MS = 30_000

export function routingWordsOf(options: SandboxOptions): { preferOwn: string; onlyOwn: string } {
  return { ...ROUTING_WORDS_DEFAULT, ...options.routingWords }
}

type GaslessParts = {
  readonly deployment: Deployment
  readonly market: Market
  readonly faults: Faults
  readonly log: SandboxLog
  readonly during: During
  /** Of the service that this one resumes. */
  readonly former: OrderStoreState | undefined
}

/** Starts the REST service and its settlement worker; pushes onto `undo` how to end each part. */
export async function startGasless(
  options: SandboxOptions,
  deps: GaslessParts,
  undo: (() => Promise<void>)[],
) {
  const { deployment, market, faults, log } = deps
  const feeBps = options.feeBps ?? 5
  const store = createOrderStore(deps.former)
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
  for (const order of store.all()) if (order.status === 'pending') worker.add(order)
  undo.push(repeat(WORKER_TICK_MS, async () => worker.tick(Date.now()), log))
  undo.push(repeat(SWEEP_MS, async () => store.sweep(Date.now()), log))
  const handle = createGaslessService(
    {
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
    { tokens: deployment.tokens, market, store, faults, onAccepted: worker.add },
  )
  const port = options.ports?.gasless ?? 0
  const onCrash = internalFailure
  const server = await startJsonServer({ name: 'gasless', port, handle, onCrash, log })
  undo.push(() => server.stop())
  return { url: server.url, store, outage: server.outage }
}
