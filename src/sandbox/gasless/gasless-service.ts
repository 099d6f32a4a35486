import type { Deployment } from '../evm/deploy.ts'
import type { Faults } from '../faults.ts'
import { startJsonServer } from '../http/json-server.ts'
import type { During } from '../keep/gate.ts'
import type { SandboxLog } from '../log.ts'
import type { Market } from '../market/market.ts'
import type { AllSettings } from '../options.ts'
import { repeat } from '../repeat.ts'
import { createOrderStore, type OrderStoreState } from './order-store.ts'
import { createGaslessService, internalFailure } from './service.ts'
import { createSettlementWorker } from './settlement-worker.ts'

const WORKER_TICK_MS = 50
const SWEEP_MS = 30_000

type GaslessParts = {
  readonly deployment: Deployment
  readonly market: Market
  readonly faults: Faults
  readonly log: SandboxLog
  readonly during: During
  /** State of the service to resume. */
  readonly former: OrderStoreState | undefined
}

/** Starts the REST service and its settlement worker. Pushes a function that ends each part onto `undo`. */
export async function startGasless(
  { gasless: settings, ports: { gasless: port } }: AllSettings,
  deps: GaslessParts,
  undo: (() => Promise<void>)[],
) {
  const { deployment, market, faults, during, log } = deps
  const { operator, settlement } = deployment
  const store = createOrderStore(deps.former)
  const worker = createSettlementWorker(settings, { market, operator, settlement, during, log })
  undo.push(() => worker.stop())
  for (const order of store.all()) if (order.status === 'pending') worker.add(order)
  undo.push(repeat(WORKER_TICK_MS, async () => worker.tick(Date.now()), log))
  undo.push(repeat(SWEEP_MS, async () => store.sweep(Date.now()), log))
  const parts = { deployment, market, store, faults, onAccepted: worker.add }
  const handle = createGaslessService(settings, parts)
  const onCrash = internalFailure
  const pageMethods = 'GET, POST'
  const server = await startJsonServer({ name: 'gasless', port, handle, onCrash, pageMethods, log })
  undo.push(() => server.stop())
  return { url: server.url, store, outage: server.outage }
}
