import type { Token } from '../../../src/domain/money/token.ts'
import type { Reply, ServiceOrder, TokenInfo } from '../../../src/domain/order/quote.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { GaslessRoute } from '../../../src/journal/runtime-event.ts'
import type { Gasless } from '../../../src/ports.ts'
import type { SimulatedProcess } from '../process.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { ServiceFaults, Silence } from './faults.ts'
import type { LimitReading } from './rate-limits.ts'
import type { SimulatedService } from './service.ts'

const LATENCY_MS_MAX = 150
const RETRY_AFTER_MS_MAX = 3_000
/** Timeout of a client's request. */
const TIMEOUT_MS = 10_000

export type GaslessOptions = {
  readonly service: SimulatedService
  readonly faults: ServiceFaults
  readonly random: SeededRandom
  readonly process: SimulatedProcess
  readonly clock: VirtualClock
  readonly tokens: readonly Token[]
  /** Receives the rate-limit headers of a reply. */
  readonly onRateLimit?: ((route: GaslessRoute, reading: LimitReading) => void) | undefined
  readonly onRetryAfter?: ((route: GaslessRoute, ms: number) => void) | undefined
  /** For requests beside orders, so that they do not change the orders' outcomes. Defaults to the other one. */
  readonly aside?: SeededRandom
}

/** The service as one process sees it over the network. */
export function createSimulatedGasless(options: GaslessOptions): Gasless {
  const { service, faults, random, process, clock, tokens } = options
  let offsetMs: number | undefined

  const ask = async <Value>(
    route: GaslessRoute,
    answer: () => Reply<Value>,
    aside?: SeededRandom,
  ): Promise<Reply<Value>> => {
    const { reply, reading, dateMs } = await process.ask(
      () => ({ ...limitedReply(route, answer, aside), dateMs: service.nowMs }),
      LATENCY_MS_MAX + faults.slowMs,
      aside,
    )
    if (reading !== undefined) options.onRateLimit?.(route, reading)
    if (!reply.ok && reply.fault.tag === 'rateLimited')
      options.onRetryAfter?.(route, reply.fault.retryAfterMs)
    if (reply.ok || reply.fault.tag !== 'unavailable')
      offsetMs = dateMs - (clock.trueMs + clock.offsetMs)
    return reply
  }

  const limitedReply = <Value>(
    route: GaslessRoute,
    answer: () => Reply<Value>,
    aside: SeededRandom = random,
  ): { reply: Reply<Value>; reading?: LimitReading } => {
    if (faults.down) return { reply: unavailable() }
    const { ok, reading } = service.limits.ask(route, faults.limit)
    const shown = reading === undefined ? {} : { reading }
    const heldMs = (faults.holdsUntilMs ?? 0) - clock.trueMs
    if (heldMs > 0) return { reply: limited(heldMs) }
    if (ok) return { reply: disturbed(answer, aside), ...shown }
    return { reply: limited(Math.ceil((reading?.resetInMs ?? 0) / 1_000) * 1_000), ...shown }
  }

  const disturbed = <Value>(answer: () => Reply<Value>, random: SeededRandom): Reply<Value> => {
    if (random.chance(faults.failsBefore)) return unavailable()
    if (random.chance(faults.rateLimited)) return limited(random.between(100, RETRY_AFTER_MS_MAX))
    const reply = answer()
    return random.chance(faults.failsAfter) ? unavailable() : reply
  }

  const listed = (): Reply<readonly TokenInfo[]> => {
    const shift = faults.listsWrongDecimals ? 12 : 0
    const known = tokens.filter(({ symbol }) => !faults.unlisted.includes(symbol))
    const value = known.map(({ address, symbol, decimals }) => ({
      ...{ address, symbol, name: symbol },
      decimals: (decimals + shift) % 24,
    }))
    return { ok: true, value }
  }

  return {
    tokens: () => ask('tokens', listed, options.aside),
    quote: (request) => ask('quote', () => service.quote(request)),
    submit: async (order) =>
      namedAs(order.quoteId, await ask('submit', () => service.submit(order))),
    async order(orderId) {
      const silence = service.silenceOn(orderId)
      if (silence === 'hang') await process.clock().sleep(TIMEOUT_MS)
      return ask('poll', () => {
        if (silence !== undefined) return saysNothing(silence)
        return random.chance(faults.forgets) ? notFound() : service.order(orderId)
      })
    },
    clockOffsetMs: () => offsetMs,
  }
}

/** The order of another quote is evidence of another writer, and leaves the submitted order's outcome unknown. */
function namedAs(quoteId: string, reply: Reply<ServiceOrder>): Reply<ServiceOrder> {
  if (!reply.ok || reply.value.quoteId === quoteId) return reply
  const message = `the order ${reply.value.orderId} of quote ${reply.value.quoteId}`
  return { ok: false, fault: { tag: 'foreignOrder', message } }
}

function saysNothing(silence: Silence): Reply<never> {
  switch (silence) {
    case 'not-found':
      return notFound()
    case 'limit':
      return limited(RETRY_AFTER_MS_MAX)
    case 'error':
    case 'hang':
      return unavailable()
  }
}

function notFound(): Reply<never> {
  return { ok: false, fault: { tag: 'notFound', message: 'unknown order' } }
}

function limited(retryAfterMs: number): Reply<never> {
  return { ok: false, fault: { tag: 'rateLimited', retryAfterMs, message: 'too many requests' } }
}

function unavailable(): { ok: false; fault: { tag: 'unavailable'; message: string } } {
  return { ok: false, fault: { tag: 'unavailable', message: 'internal error or silence' } }
}
