import { afterEach, beforeEach } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { QuoteRequest, Reply } from '../../../src/domain/order/quote.ts'
import type { GaslessRoute, RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { RateLimitReading } from '../../../src/venues/queue/rate-limit.ts'
import {
  createGaslessHttp,
  type GaslessHttp,
  type GaslessHttpOptions,
} from '../../../src/venues/swap/client/gasless-client.ts'
import { type ScriptedServer, startScriptedServer } from '../process/scripted-server.ts'
import { goldenExample } from './gasless-golden.ts'

export const request: QuoteRequest = {
  from: '0x1111111111111111111111111111111111111111',
  receiver: '0x2222222222222222222222222222222222222222',
  sellToken: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  buyToken: '0x4200000000000000000000000000000000000006',
  size: { side: 'sell', amount: baseUnits(25_000_000n) },
  slippageBps: 30,
}
export const order = {
  quoteId: 'quote-1',
  signature: `0x${'ab'.repeat(65)}`,
  clientOrderId: 'weekly:1795176000:0:1',
} as const
export const created = goldenExample('create-order-response')
export const calls: Readonly<
  Record<GaslessRoute, (service: GaslessHttp) => Promise<Reply<unknown>>>
> = {
  tokens: (service) => service.tokens(),
  quote: (service) => service.quote(request),
  submit: (service) => service.submit(order),
  poll: (service) => service.order('order-1'),
}
export const successes: Readonly<Record<GaslessRoute, { status: number; body: unknown }>> = {
  tokens: { status: 200, body: [goldenExample('token')] },
  quote: { status: 200, body: goldenExample('quote-response') },
  submit: { status: 201, body: created },
  poll: { status: 200, body: goldenExample('order') },
}
export const routes: readonly GaslessRoute[] = ['tokens', 'quote', 'submit', 'poll']

export const envelope = (message: string, code = 'BAD_REQUEST') => ({ error: { code, message } })

export type GaslessHttpRig = {
  /** Fresh for each test. */
  readonly server: ScriptedServer
  readonly observed: readonly RuntimeEvent[]
  readonly readings: readonly [GaslessRoute, RateLimitReading][]
  readonly blocks: readonly [GaslessRoute, number][]
  /** The adapter against the server; closed after the test. */
  connect(overrides?: Partial<GaslessHttpOptions>): GaslessHttp
  /** Status labels of the requests so far. */
  labels(): readonly string[]
}

/** Gives each test of the calling file a scripted server and all reports of the adapter. */
export function useGaslessHttp(): GaslessHttpRig {
  let server: ScriptedServer
  let observed: RuntimeEvent[] = []
  let readings: [GaslessRoute, RateLimitReading][] = []
  let blocks: [GaslessRoute, number][] = []
  const open: GaslessHttp[] = []

  beforeEach(async () => {
    server = await startScriptedServer()
    observed = []
    readings = []
    blocks = []
  })
  afterEach(async () => {
    await server.close()
    for (const service of open.splice(0)) await service.close()
  })

  return {
    get server() {
      return server
    },
    get observed() {
      return observed
    },
    get readings() {
      return readings
    },
    get blocks() {
      return blocks
    },
    connect(overrides = {}) {
      const service = createGaslessHttp({
        baseUrl: server.url,
        wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
        routingPreference: 'preferOwn',
        clock: { now: () => Date.now() },
        observe: (event) => observed.push(event),
        onRateLimit: (route, reading) => readings.push([route, reading]),
        onRetryAfter: (route, ms) => blocks.push([route, ms]),
        ...overrides,
      })
      open.push(service)
      return service
    },
    labels: () => observed.flatMap((event) => (event.type === 'request' ? [event.status] : [])),
  }
}
