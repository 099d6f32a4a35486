import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { recordOf } from '../../../src/sandbox/gasless/order-store.ts'
import {
  createOrderResponseSchema,
  errorResponseSchema,
  orderSchema,
} from '../../../src/venues/swap/client/gasless-wire.ts'
import {
  admin,
  approve,
  balanceOf,
  expectError,
  expectRateHeaders,
  newTrader,
  publicClientOf,
  quoteFor,
  rest,
  sandboxForSuite,
  settleAnother,
  settled,
  signBlindly,
  submit,
} from '../../support/sandbox.ts'

const sandbox = sandboxForSuite()
const usdcAndWeth = { USDC: '1000000000', WETH: '1000000000000000000' }

describe('POST /orders', () => {
  test('accepts a signed sale, which settles on chain and moves the tokens', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const before = await balanceOf(sandbox(), 'WETH', trader.address)
    const quote = await quoteFor(sandbox(), trader)
    const response = await submit(sandbox(), trader, quote, 'weekly:1:0:1')
    expect(response.status).toBe(201)
    expectRateHeaders(response)
    const created = createOrderResponseSchema.parse(response.body)
    expect(created).toMatchObject({ quoteId: quote.id, status: 'pending' })
    const order = orderSchema.parse(await settled(sandbox(), created.orderId))
    expect(order).toMatchObject({ status: 'filled', executedSellAmount: '25000000' })
    const received = (await balanceOf(sandbox(), 'WETH', trader.address)) - before
    expect(received).toBe(BigInt(order.executedBuyAmount ?? 0))
    expect(received).toBeGreaterThanOrEqual(BigInt(quote.quote.minBuyAmount ?? 'none'))
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(975_000_000n)
    const receipt = await publicClientOf(sandbox()).getTransactionReceipt({
      hash: order.txHash as `0x${string}`,
    })
    expect(receipt.status).toBe('success')
    expect(receipt.to).toBe(sandbox().contracts.settlement)
  })

  test('settles a purchase at exactly the requested amount, to a foreign receiver, for at most the maximum', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const receiver = '0x00000000000000000000000000000000000000bb'
    const request = { kind: 'buy', buyAmountAfterFee: '10000000000000000', receiver }
    const quote = await quoteFor(sandbox(), trader, request)
    const { body } = await submit(sandbox(), trader, quote)
    const order = await settled(sandbox(), body.orderId)
    expect(order.executedBuyAmount).toBe('10000000000000000')
    expect(await balanceOf(sandbox(), 'WETH', receiver)).toBe(10_000_000_000_000_000n)
    expect(BigInt(order.executedSellAmount ?? 0)).toBeLessThan(BigInt(quote.quote.sellAmount))
  })

  test('answers a replay with the same key with the same order and status 200', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const quote = await quoteFor(sandbox(), trader)
    const first = await submit(sandbox(), trader, quote, 'same')
    const again = await submit(sandbox(), trader, quote, 'same')
    expect([first.status, again.status]).toEqual([201, 200])
    expect(again.body.orderId).toBe(first.body.orderId)
    const other = await submit(sandbox(), trader, await quoteFor(sandbox(), trader), 'same')
    expect(other.body).toMatchObject({ orderId: first.body.orderId, quoteId: quote.id })
    await settled(sandbox(), first.body.orderId)
    const all = (await admin(sandbox(), 'GET', '/orders')).body as ReturnType<typeof recordOf>[]
    expect(all.filter((order) => order.owner === trader.address.toLowerCase())).toHaveLength(1)
  })

  test('treats the same key of another owner as another order', async () => {
    const [a, b] = [
      await newTrader(sandbox(), usdcAndWeth),
      await newTrader(sandbox(), usdcAndWeth),
    ]
    const first = await submit(sandbox(), a, await quoteFor(sandbox(), a), 'shared')
    const second = await submit(sandbox(), b, await quoteFor(sandbox(), b), 'shared')
    expect(second.status).toBe(201)
    expect(second.body.orderId).not.toBe(first.body.orderId)
  })

  test('makes one order per quote', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const quote = await quoteFor(sandbox(), trader)
    await submit(sandbox(), trader, quote, 'a')
    expectError(await submit(sandbox(), trader, quote, 'b'), 400, 'BAD_REQUEST', /fresh quote/)
  })

  test('refuses the signature of another account and invalid signature bytes', async () => {
    const [owner, stranger] = [
      await newTrader(sandbox(), usdcAndWeth),
      await newTrader(sandbox(), {}),
    ]
    const quote = await quoteFor(sandbox(), owner)
    for (const signature of [
      await signBlindly(stranger, quote),
      '0x12',
      '0x123',
      `0x${'ff'.repeat(65)}`,
    ]) {
      const body = { quoteId: quote.id, signature }
      expectError(
        await rest(sandbox(), 'POST', '/orders', body),
        400,
        'BAD_REQUEST',
        /invalid signature/,
      )
    }
  })

  test.each([
    ['no quote id', { signature: '0x12' }],
    ['an empty quote id', { quoteId: '', signature: '0x12' }],
    ['a quote id of 129 characters', { quoteId: 'q'.repeat(129), signature: '0x12' }],
    ['a signature that is not hex', { quoteId: 'q', signature: 'sig' }],
    ['an empty client order id', { quoteId: 'q', signature: '0x12', clientOrderId: '' }],
    ['a client order id with a blank', { quoteId: 'q', signature: '0x12', clientOrderId: 'a b' }],
    [
      'a client order id of 129 characters',
      { quoteId: 'q', signature: '0x12', clientOrderId: 'c'.repeat(129) },
    ],
    ['an unknown quote', { quoteId: 'nothing', signature: '0x12' }],
  ])('refuses %s', async (_, body) => {
    expectError(await rest(sandbox(), 'POST', '/orders', body), 400, 'BAD_REQUEST')
  })

  test('fails an order that Permit2 cannot execute, with a reverted transaction', async () => {
    const trader = await newTrader(sandbox(), {})
    await approve(sandbox(), trader, 'USDC')
    const { body } = await submit(sandbox(), trader, await quoteFor(sandbox(), trader))
    const order = orderSchema.parse(await settled(sandbox(), body.orderId))
    expect(order).toMatchObject({ status: 'failed', error: { code: 'SETTLEMENT_FAILED' } })
    const hash = order.txHash as `0x${string}`
    const receipt = await publicClientOf(sandbox()).getTransactionReceipt({ hash })
    expect(receipt.status).toBe('reverted')
  })

  test('keeps an order waiting while the market is below its minimum, and fills it when the price returns', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const quote = await quoteFor(sandbox(), trader)
    const { market } = sandbox()
    market.setUsdPrice('WETH', 4000n * 10n ** 18n)
    const { body } = await submit(sandbox(), trader, quote)
    await settleAnother(sandbox())
    expect((await rest(sandbox(), 'GET', `/orders/${body.orderId}`)).body.status).toBe('pending')
    market.setUsdPrice('WETH', 3000n * 10n ** 18n)
    expect((await settled(sandbox(), body.orderId)).status).toBe('filled')
  })
})

describe('GET /orders/{orderId}', () => {
  test('returns the rate-limit headers', async () => {
    const trader = await newTrader(sandbox(), usdcAndWeth)
    const { body } = await submit(sandbox(), trader, await quoteFor(sandbox(), trader))
    const response = await rest(sandbox(), 'GET', `/orders/${body.orderId}`)
    expect(response.status).toBe(200)
    expectRateHeaders(response)
    orderSchema.parse(response.body)
  })

  test('returns 404 for an unknown id', async () => {
    expectError(await rest(sandbox(), 'GET', '/orders/nothing'), 404, 'NOT_FOUND')
  })

  test.each(['', 'x'.repeat(129), '%E0%A4%A'])('returns 400 for the id "%s"', async (id) => {
    expectError(await rest(sandbox(), 'GET', `/orders/${id}`), 400, 'BAD_REQUEST')
  })
})

describe('the envelope', () => {
  test.each([
    ['GET', '/nothing'],
    ['GET', '/orders/a/b'],
  ])('returns 404 for %s %s', async (method, path) => {
    expectError(await rest(sandbox(), method, path), 404, 'NOT_FOUND')
  })

  test.each([
    ['DELETE', '/orders', 'POST, OPTIONS'],
    ['PUT', '/orders/a', 'GET, HEAD, OPTIONS'],
    ['GET', '/quote/', 'POST, OPTIONS'],
  ])('returns 405 with the methods of the path for %s %s', async (method, path, allow) => {
    const response = await rest(sandbox(), method, path)
    expectError(response, 405, 'BAD_REQUEST')
    expect(response.headers.get('allow')).toBe(allow)
  })

  test('returns 404 for a path outside the version prefix', async () => {
    const response = await fetch(`${sandbox().gaslessUrl}/tokens?chainId=8453`)
    expect(response.status).toBe(404)
    errorResponseSchema.parse(await response.json())
  })

  test.each([
    ['malformed JSON', 'application/json', '{', /well-formed/],
    ['another content type', 'text/plain', '{}', /content-type/],
    ['a body that is too large', 'application/json', `"${'x'.repeat(70_000)}"`, /larger/],
    ['an array', 'application/json', '[]', /./],
    ['null', 'application/json', 'null', /./],
  ])('returns 400 for %s', async (_, type, body, message) => {
    const response = await fetch(`${sandbox().gaslessUrl}/api/v1/quote`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    const { status, headers } = response
    expectError({ status, headers, body: await response.json() }, 400, 'BAD_REQUEST', message)
  })

  test('refuses a chunked body that grows too large before its end', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        `${sandbox().gaslessUrl}/api/v1/quote`,
        { method: 'POST', headers: { 'content-type': 'application/json' } },
        (response) => {
          resolve(response.statusCode)
          request.destroy()
        },
      )
      request.on('error', reject)
      request.write('x'.repeat(70_000))
    })
    expect(status).toBe(400)
  })
})
