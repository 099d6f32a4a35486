import { describe, expect, test } from 'vitest'
import { goldenExample } from '../../../support/gasless/gasless-golden.ts'
import {
  calls,
  created,
  envelope,
  order,
  request,
  routes,
  successes,
  useGaslessHttp,
} from '../../../support/gasless/gasless-http-rig.ts'
import { waitFor } from '../../../support/wait-for.ts'

const rig = useGaslessHttp()

describe('endpoints', () => {
  test('the token list is requested by chain', async () => {
    rig.server.willReply(successes.tokens)
    expect(await rig.connect().tokens()).toMatchObject({ ok: true, value: [{ symbol: 'USDC' }] })
    expect(rig.server.requests).toMatchObject([
      { method: 'GET', path: '/api/v1/tokens?chainId=8453' },
    ])
  })

  test('a quote is requested with the receiver and the configured routing preference', async () => {
    rig.server.willReply(successes.quote)
    expect(await rig.connect().quote(request)).toMatchObject({ ok: true, value: { id: 'quote-1' } })
    const [sent] = rig.server.requests
    expect(sent).toMatchObject({
      method: 'POST',
      path: '/api/v1/quote',
      headers: { 'content-type': 'application/json' },
    })
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      chainId: 8453,
      from: request.from,
      receiver: request.receiver,
      sellToken: request.sellToken,
      buyToken: request.buyToken,
      kind: 'sell',
      sellAmountBeforeFee: '25000000',
      slippageBps: 30,
      routingPreference: 'preferHouse',
      signingScheme: 'eip712',
    })
  })

  test('an order is submitted with its quote, signature and idempotency key', async () => {
    rig.server.willReply(successes.submit)
    expect(await rig.connect().submit(order)).toMatchObject({
      ok: true,
      value: { status: 'pending' },
    })
    const [sent] = rig.server.requests
    expect(sent).toMatchObject({ method: 'POST', path: '/api/v1/orders' })
    expect(JSON.parse(sent?.body ?? '')).toEqual(order)
  })

  test.each([200, 201])('a submit answered with %i is an order', async (status) => {
    rig.server.willReply({ status, body: created })
    expect(await rig.connect().submit(order)).toMatchObject({
      ok: true,
      value: { orderId: 'order-1' },
    })
    expect(rig.labels()).toEqual([String(status)])
  })

  test('an order is read by its ID', async () => {
    rig.server.willReply(successes.poll)
    expect(await rig.connect().order('order-1')).toMatchObject({
      ok: true,
      value: { status: 'filled' },
    })
    expect(rig.server.requests).toMatchObject([{ method: 'GET', path: '/api/v1/orders/order-1' }])
  })

  test('an order ID is one encoded segment of the path', async () => {
    const orderId = '../a b?c=d#e%/ü'
    rig.server.willReply({ body: { ...goldenExample('order'), orderId } })
    expect(await rig.connect().order(orderId)).toMatchObject({ ok: true, value: { orderId } })
    expect(rig.server.requests[0]?.path).toBe('/api/v1/orders/..%2Fa%20b%3Fc%3Dd%23e%25%2F%C3%BC')
  })

  test.each(['o', 'o'.repeat(128)])('an order ID of valid length is requested', async (orderId) => {
    rig.server.willReply({ body: { ...goldenExample('order'), orderId } })
    expect(await rig.connect().order(orderId)).toMatchObject({ ok: true })
  })

  test.each(['', 'o'.repeat(129), '.', '..', '\ud800'])(
    'rejects an order ID that cannot be a path segment without a request (case %#)',
    async (orderId) => {
      expect(await rig.connect().order(orderId)).toMatchObject({ fault: { tag: 'badRequest' } })
      expect(rig.server.requests).toEqual([])
    },
  )

  test('requests carry no authorization header', async () => {
    rig.server.willReply(...routes.map((route) => successes[route]))
    const service = rig.connect()
    for (const route of routes) expect(await calls[route](service)).toMatchObject({ ok: true })
    for (const { headers } of rig.server.requests) expect(headers.authorization).toBeUndefined()
  })
})

describe('the base URL', () => {
  test.each(['', '/'])('may have a path prefix, ending in "%s"', async (end) => {
    rig.server.willReply(successes.tokens)
    await rig.connect({ baseUrl: `${rig.server.url}/gateway/swap${end}` }).tokens()
    expect(rig.server.requests[0]?.path).toBe('/gateway/swap/api/v1/tokens?chainId=8453')
  })

  test('may carry credentials, which become basic authorization', async () => {
    rig.server.willReply(successes.tokens)
    await rig.connect({ baseUrl: rig.server.url.replace('://', '://us%40er:pa%3Ass@') }).tokens()
    const encoded = Buffer.from('us@er:pa:ss').toString('base64')
    expect(rig.server.requests[0]?.headers.authorization).toBe(`Basic ${encoded}`)
  })

  test.each([
    '',
    'swap.example',
    'ftp://u:secret@swap.example',
    'http://u:secret@x/?a=1',
    'http://x/#secret',
  ])('is rejected without being quoted (case %#)', (baseUrl) => {
    expect(() => rig.connect({ baseUrl })).toThrow(/^gasless\.baseUrl (?!.*secret)/)
  })
})

describe('limits', () => {
  const limited = (remaining: string) => ({
    'x-ratelimit-limit': '10',
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': '2000',
  })

  test.each(routes)('the headers of route %s are passed on and counted', async (route) => {
    rig.server.willReply({ ...successes[route], headers: limited('4') })
    await calls[route](rig.connect())
    expect(rig.readings).toEqual([[route, { limit: 10, remaining: 4, resetInMs: 2_000 }]])
    expect(rig.observed).toContainEqual({
      type: 'rate-limit',
      service: 'gasless',
      route,
      remaining: 4,
    })
  })

  test('unclear headers are ignored', async () => {
    rig.server.willReply({ ...successes.quote, headers: limited('4, 5') }, successes.quote)
    const service = rig.connect()
    expect([await service.quote(request), await service.quote(request)]).toMatchObject([
      { ok: true },
      { ok: true },
    ])
    expect(rig.readings).toEqual([])
  })

  test('a reset in epoch time uses the clock of the service', async () => {
    const serviceMs = Date.now() + 3_600_000
    const headers = {
      ...limited('0'),
      'x-ratelimit-reset': String(serviceMs + 30_000),
      date: new Date(serviceMs).toUTCString(),
    }
    rig.server.willReply({ ...successes.quote, headers })
    await rig.connect().quote(request)
    const resetInMs = rig.readings[0]?.[1].resetInMs ?? 0
    // The date header has whole seconds.
    expect(resetInMs).toBeLessThan(31_001)
    expect(resetInMs).toBeGreaterThan(serviceMs + 29_000 - (Date.now() + 3_600_000))
  })

  test('only a 429 blocks a route', async () => {
    const headers = { 'retry-after': '9' }
    rig.server.willReply({ ...successes.quote, headers }, { status: 503, headers })
    const service = rig.connect()
    await service.quote(request)
    await service.quote(request)
    expect(rig.blocks).toEqual([])
  })

  test('a 429 without a wait blocks its route for a second', async () => {
    rig.server.willReply({ status: 429, body: envelope('slow down', 'RATE_LIMITED') })
    expect(await rig.connect().order('order-1')).toMatchObject({ fault: { retryAfterMs: 1_000 } })
    expect(rig.blocks).toEqual([['poll', 1_000]])
  })
})

describe('clock and connections', () => {
  test('the clock offset is unknown before the first reply and known after it', async () => {
    const serviceMs = Math.floor(Date.now() / 1_000 - 90) * 1_000
    const date = new Date(serviceMs).toUTCString()
    rig.server.willReply({ status: 500, headers: { date } })
    const service = rig.connect()
    expect(service.clockOffsetMs()).toBeUndefined()
    await service.tokens()
    expect(service.clockOffsetMs()).toBeLessThan(-88_999)
    expect(service.clockOffsetMs()).toBeGreaterThan(serviceMs - Date.now() - 1)
  })

  test('the answer of a cache does not set the clock', async () => {
    rig.server.willReply({ ...successes.tokens, headers: { age: '30' } })
    const service = rig.connect()
    await service.tokens()
    expect(service.clockOffsetMs()).toBeUndefined()
  })

  test('each request is observed once with its route and duration', async () => {
    rig.server.willReply({ ...successes.tokens, delayMs: 30 })
    await rig.connect().tokens()
    expect(rig.observed).toEqual([
      {
        type: 'request',
        service: 'gasless',
        route: 'tokens',
        status: '200',
        durationMs: expect.any(Number),
      },
    ])
    expect(rig.observed[0]).toSatisfy((event: { durationMs: number }) => event.durationMs >= 28)
  })

  test('consecutive requests reuse their connections', async () => {
    rig.server.answerWith(() => successes.poll)
    const service = rig.connect()
    for (let count = 0; count < 20; count++) await service.order('order-1')
    // Two connections, because each is checked briefly after an answer.
    expect(rig.server.connections()).toBeLessThanOrEqual(2)
  })

  test('concurrent requests do not wait for each other', async () => {
    rig.server.answerWith(async () => {
      await waitFor('all requests', () => rig.server.requests.length, 20)
      return successes.quote
    })
    const service = rig.connect()
    const replies = await Promise.all(Array.from({ length: 20 }, () => service.quote(request)))
    expect(replies.every((reply) => reply.ok)).toBe(true)
  })
})
