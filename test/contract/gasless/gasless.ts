import { afterEach, describe, expect, test } from 'vitest'
import type { Address, BaseUnits, Hex } from '../../../src/domain/money/units.ts'
import type {
  Quote,
  QuoteRequest,
  Reply,
  ServiceFault,
  ServiceOrder,
} from '../../../src/domain/order/quote.ts'
import type { GaslessRoute } from '../../../src/journal/runtime-event.ts'
import type { Gasless } from '../../../src/ports.ts'

/** Faults that a test injects into the service, before it handles a request or after. */
export type GaslessFault = 'rateLimit' | 'errorBefore' | 'errorAfter' | 'dropBefore' | 'dropAfter'

export type GaslessUnderTest = {
  readonly gasless: Gasless
  /** Holds `sellAmount` of `sellToken`, and has allowed it to the Permit2 contract of the quotes. */
  readonly owner: Address
  readonly sellToken: Address
  readonly buyToken: Address
  readonly sellAmount: BaseUnits
  /** An amount of `buyToken` that costs no more than `sellAmount`. */
  readonly buyAmount: BaseUnits
  /** The service's clock, epoch ms. */
  serviceNowMs(): number
  /** Signature of the owner over the typed data of a quote. */
  sign(quote: Quote): Hex
  /** Well-formed signature of another account over the same data. */
  signAsStranger(quote: Quote): Hex
  /** Advances the service's time and lets it work; may be faster than real time. */
  elapse(ms: number): Promise<void>
  /** Advances time past the expiration of a quote. */
  expire(quote: Quote): Promise<void>
  /** Makes the next request on the route fail once. A `rateLimit` names a wait of 2 seconds. */
  failNext(route: GaslessRoute, fault: GaslessFault): Promise<void> | void
  dispose(): Promise<void>
}

const NATIVE_ETH: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'
const UNKNOWN_TOKEN: Address = '0x00000000000000000000000000000000deadbeef'
const POLLS_MAX = 120

/**
 * The contract of every Gasless: the interface description as far as a client can observe it.
 * `makeService` returns a service with a funded owner; each test makes its own and disposes of it.
 */
export function gaslessContract(
  name: string,
  makeService: () => Promise<GaslessUnderTest> | GaslessUnderTest,
): void {
  describe(`${name} as a Gasless`, () => {
    const made: GaslessUnderTest[] = []

    async function start(): Promise<GaslessUnderTest> {
      const service = await makeService()
      made.push(service)
      return service
    }

    afterEach(async () => {
      for (const service of made.splice(0)) await service.dispose()
    })

    test('lists its tokens', async () => {
      const { gasless, sellToken, buyToken } = await start()
      const tokens = granted(await gasless.tokens())
      expect(tokens.map((token) => token.address)).toEqual(
        expect.arrayContaining([sellToken, buyToken]),
      )
      for (const { address, decimals } of tokens) {
        expect(address).toMatch(/^0x[0-9a-f]{40}$/)
        expect(decimals).toBeGreaterThanOrEqual(0)
        expect(decimals).toBeLessThanOrEqual(255)
      }
    })

    test.each(['sell', 'buy'] as const)('quotes an exact %s as requested', async (side) => {
      const service = await start()
      const request = requestOf(service, side)
      const quote = granted(await service.gasless.quote(request))
      const { from, receiver, sellToken, buyToken } = request
      expect(quote).toMatchObject({ from, sellToken, buyToken, side })
      expect([undefined, receiver]).toContain(quote.receiver)
      expect(quote.minBuyAmount).toBeLessThanOrEqual(quote.buyAmount)
      if (side === 'sell') expect(quote.sellAmount).toBe(request.size.amount)
    })

    test('quotes with typed data for a permit on this chain, with enough lifetime to sign', async () => {
      const service = await start()
      const quote = granted(await service.gasless.quote(requestOf(service)))
      expect(quote.typedData).toMatchObject({
        primaryType: 'PermitWitnessTransferFrom',
        domain: { name: 'Permit2' },
        types: expect.anything(),
        message: expect.anything(),
      })
      expect(quote.expirationMs).toBeGreaterThan(service.serviceNowMs() + 10_000)
      expect(quote.validToSeconds * 1000).toBeGreaterThan(service.serviceNowMs() + 10_000)
    })

    test('gives each quote its own id', async () => {
      const service = await start()
      const first = granted(await service.gasless.quote(requestOf(service)))
      const second = granted(await service.gasless.quote(requestOf(service)))
      expect(second.id).not.toBe(first.id)
    })

    test.each([
      ['native ETH', NATIVE_ETH],
      ['a token it does not list', UNKNOWN_TOKEN],
    ])('refuses to quote %s', async (_what, buyToken) => {
      const service = await start()
      const reply = await service.gasless.quote({ ...requestOf(service), buyToken })
      expect(faultOf(reply)).toMatchObject({ tag: 'badRequest' })
    })

    test('accepts a signed order and returns its id', async () => {
      const service = await start()
      const { quote, order } = await signedOrder(service)
      const taken = granted(await service.gasless.submit(order))
      expect(taken.quoteId).toBe(quote.id)
      const read = granted(await service.gasless.order(taken.orderId))
      expect(read).toMatchObject({ orderId: taken.orderId, quoteId: quote.id })
    })

    test.each(['sell', 'buy'] as const)('fills an exact %s', async (side) => {
      const service = await start()
      const { order } = await signedOrder(service, { side })
      const taken = granted(await service.gasless.submit(order))
      const ended = await untilOver(service, taken.orderId)
      expect(ended.status).toBe('filled')
      expect(ended.txHash ?? `0x${'0'.repeat(64)}`).toMatch(/^0x[0-9a-f]{64}$/)
    })

    test('answers a replay with the existing order', async () => {
      const service = await start()
      const { order } = await signedOrder(service)
      const first = granted(await service.gasless.submit(order))
      expect(granted(await service.gasless.submit(order)).orderId).toBe(first.orderId)
      await untilOver(service, first.orderId)
      expect(granted(await service.gasless.submit(order)).orderId).toBe(first.orderId)
    })

    test('never returns the order of another quote for a submission', async () => {
      const service = await start()
      const { order } = await signedOrder(service)
      granted(await service.gasless.submit(order))
      const other = await signedOrder(service)
      const reply = await service.gasless.submit({
        ...other.order,
        clientOrderId: order.clientOrderId,
      })
      expect(reply).toMatchObject({ ok: false, fault: { tag: 'foreignOrder' } })
    })

    test("refuses a stranger's signature", async () => {
      const service = await start()
      const { quote, order } = await signedOrder(service)
      const signature = service.signAsStranger(quote)
      const reply = await service.gasless.submit({ ...order, signature })
      expect(faultOf(reply)).toMatchObject({ tag: 'badRequest' })
    })

    test('refuses a signature for another quote', async () => {
      const service = await start()
      const { order } = await signedOrder(service)
      const other = await signedOrder(service)
      const reply = await service.gasless.submit({ ...order, signature: other.order.signature })
      expect(faultOf(reply)).toMatchObject({ tag: 'badRequest' })
    })

    test('refuses an order for an expired quote', async () => {
      const service = await start()
      const { quote, order } = await signedOrder(service)
      await service.expire(quote)
      expect(faultOf(await service.gasless.submit(order))).toMatchObject({ tag: 'badRequest' })
    })

    test('refuses an order for an unknown quote', async () => {
      const service = await start()
      const { order } = await signedOrder(service)
      const reply = await service.gasless.submit({ ...order, quoteId: 'no-such-quote' })
      expect(faultOf(reply)).toMatchObject({ tag: 'badRequest' })
    })

    test('does not find an order that was never submitted', async () => {
      const { gasless } = await start()
      expect(faultOf(await gasless.order('no-such-order'))).toMatchObject({ tag: 'notFound' })
    })

    test.each(['', 'o'.repeat(129)])(
      'returns a fault for an order id out of bounds',
      async (orderId) => {
        const { gasless } = await start()
        expect((await gasless.order(orderId)).ok).toBe(false)
      },
    )

    test.each(['tokens', 'quote', 'submit', 'poll'] as const)(
      'returns the wait when route %s is rate-limited, and serves it afterwards',
      async (route) => {
        const service = await start()
        const { order } = await signedOrder(service)
        const taken = granted(await service.gasless.submit(order))
        const calls: Readonly<Record<GaslessRoute, () => Promise<Reply<unknown>>>> = {
          tokens: () => service.gasless.tokens(),
          quote: () => service.gasless.quote(requestOf(service)),
          submit: () => service.gasless.submit(order),
          poll: () => service.gasless.order(taken.orderId),
        }
        await service.failNext(route, 'rateLimit')
        expect(faultOf(await calls[route]())).toMatchObject({
          tag: 'rateLimited',
          retryAfterMs: 2_000,
        })
        await service.elapse(2_000)
        expect((await calls[route]()).ok).toBe(true)
      },
    )

    test.each(['errorBefore', 'dropBefore', 'errorAfter', 'dropAfter'] as const)(
      'leaves a submission unknown after %s, and a replay of the same bytes resolves it',
      async (fault) => {
        const service = await start()
        const { quote, order } = await signedOrder(service)
        await service.failNext('submit', fault)
        expect(faultOf(await service.gasless.submit(order))).toMatchObject({ tag: 'unavailable' })
        const first = granted(await service.gasless.submit(order))
        expect(first.quoteId).toBe(quote.id)
        const second = granted(await service.gasless.submit(order))
        expect(second.orderId).toBe(first.orderId)
        expect((await untilOver(service, first.orderId)).status).toBe('filled')
      },
    )

    test.each(['tokens', 'quote', 'poll'] as const)(
      'is unavailable on route %s while the service fails, and available afterwards',
      async (route) => {
        const service = await start()
        const { order } = await signedOrder(service)
        const { orderId } = granted(await service.gasless.submit(order))
        const calls = {
          tokens: () => service.gasless.tokens(),
          quote: () => service.gasless.quote(requestOf(service)),
          poll: () => service.gasless.order(orderId),
        }
        for (const fault of ['errorBefore', 'dropBefore'] as const) {
          await service.failNext(route, fault)
          expect(faultOf(await calls[route]())).toMatchObject({ tag: 'unavailable' })
        }
        expect((await calls[route]()).ok).toBe(true)
      },
    )

    test("knows the service's clock to about a second after a reply", async () => {
      const service = await start()
      expect(service.gasless.clockOffsetMs()).toBeUndefined()
      granted(await service.gasless.tokens())
      const offsetMs = service.gasless.clockOffsetMs()
      expect(offsetMs).toBeDefined()
      expect(Math.abs(offsetMs ?? Number.NaN)).toBeLessThan(5_000)
    })
  })
}

function requestOf(service: GaslessUnderTest, side: 'sell' | 'buy' = 'sell'): QuoteRequest {
  return {
    from: service.owner,
    receiver: service.owner,
    sellToken: service.sellToken,
    buyToken: service.buyToken,
    size: { side, amount: side === 'sell' ? service.sellAmount : service.buyAmount },
    slippageBps: 50,
  }
}

async function signedOrder(
  service: GaslessUnderTest,
  options: { readonly side?: 'sell' | 'buy' } = {},
): Promise<{ quote: Quote; order: Parameters<Gasless['submit']>[0] }> {
  const quote = granted(await service.gasless.quote(requestOf(service, options.side)))
  // A test signs each quote once, so the quote id is a unique order key.
  const clientOrderId = `contract:${quote.id.replaceAll(/[^A-Za-z0-9:_-]/g, '_').slice(-100)}`
  return { quote, order: { quoteId: quote.id, signature: service.sign(quote), clientOrderId } }
}

async function untilOver(service: GaslessUnderTest, orderId: string): Promise<ServiceOrder> {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const order = granted(await service.gasless.order(orderId))
    expect(order.orderId).toBe(orderId)
    if (order.status !== 'pending') return order
    await service.elapse(1_000)
  }
  throw new Error(`order still pending after ${POLLS_MAX} polls`)
}

function granted<Value>(reply: Reply<Value>): Value {
  if (!reply.ok) throw new Error(`the service answered ${reply.fault.tag}: ${reply.fault.message}`)
  return reply.value
}

function faultOf(reply: Reply<unknown>): ServiceFault {
  if (reply.ok) throw new Error(`the service granted ${JSON.stringify(reply.value, bigintText)}`)
  return reply.fault
}

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
