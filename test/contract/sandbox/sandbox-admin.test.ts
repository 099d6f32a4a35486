import type { Hex } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import type { OrderRecord } from '../../../src/sandbox/gasless/order-store.ts'
import { THIEF } from '../../../src/sandbox/gasless/tampering.ts'
import {
  admin,
  newTrader,
  quoteBody,
  quoteFor,
  rest,
  sandboxForSuite,
  settled,
  submit,
  traderOf,
} from '../../support/sandbox.ts'
import { waitFor } from '../../support/wait-for.ts'

const sandbox = sandboxForSuite()
const funds = { USDC: '1000000000' }
const tokens = '/tokens?chainId=8453'

afterEach(() => sandbox().faults.set({}))

async function ordersOf(owner: Hex): Promise<OrderRecord[]> {
  const all: OrderRecord[] = (await admin(sandbox(), 'GET', '/orders')).body
  return all.filter((order) => order.owner === owner.toLowerCase())
}

describe('the admin port', () => {
  test('shows and replaces the faults, and refuses invalid faults', async () => {
    const put = await admin(sandbox(), 'PUT', '/faults', {
      seed: 9,
      rules: [{ kind: 'errorBefore', route: 'tokens', count: 1 }],
    })
    expect(put.status).toBe(200)
    expect((await rest(sandbox(), 'GET', tokens)).status).toBe(500)
    const shown = await admin(sandbox(), 'GET', '/faults')
    expect(shown.body).toMatchObject({ seed: 9, rules: [{ kind: 'errorBefore', applied: 1 }] })
    const rate = { rules: [{ kind: 'slow', delayMs: '5', probability: 0.5 }] }
    expect((await admin(sandbox(), 'PUT', '/faults', rate)).status).toBe(200)
    const part = { rules: [{ kind: 'errorAfter', count: 1.5 }] }
    expect((await admin(sandbox(), 'PUT', '/faults', part)).body.error.message).toMatch(
      /^rules\[0\]\.count: .*expected a whole number/,
    )
    const refused = await admin(sandbox(), 'PUT', '/faults', {
      rules: [{ kind: 'slow', route: 'tokens' }, { kind: 'slaw' }],
    })
    expect(refused.status).toBe(400)
    expect(refused.body.error.message).toMatch(
      /^rules\[0\]\.delayMs: this key is missing, expected .*; rules\[1\]\.kind: there is no such fault, .*; did you mean slow\?$/,
    )
  })

  test('lists every order with its true state', async () => {
    const trader = await newTrader(sandbox(), funds)
    const quote = await quoteFor(sandbox(), trader)
    const { body } = await submit(sandbox(), trader, quote, 'a:1:0:1')
    const order = await settled(sandbox(), body.orderId)
    const { nonce } = quote.permit2.typedData['message'] as { nonce: string }
    expect(await ordersOf(trader.address)).toEqual([
      expect.objectContaining({
        orderId: body.orderId,
        clientOrderId: 'a:1:0:1',
        quoteId: quote.id,
        status: 'filled',
        nonce,
        txHash: order.txHash,
        executedSellAmount: '25000000',
        executedBuyAmount: order.executedBuyAmount,
        error: null,
      }),
    ])
  })

  test('returns the genesis hash, the last block and counts of orders in its state', async () => {
    const { body } = await admin(sandbox(), 'GET', '/state')
    expect(body.genesisHash).toBe(sandbox().genesisHash)
    expect(body.block.number).toBeGreaterThan(10)
    expect(body.usdPrices.WETH).toMatch(/^\d+$/)
    expect(Object.keys(body.orders)).toEqual(['pending', 'filled', 'failed', 'expired'])
  })

  test('sets prices, which change the next quote', async () => {
    const before = await quoteFor(sandbox(), traderOf(sandbox()))
    const set = { token: 'WETH', usd: (6_000n * 10n ** 18n).toString() }
    await admin(sandbox(), 'PUT', '/market/price', set)
    const after = await quoteFor(sandbox(), traderOf(sandbox()))
    await admin(sandbox(), 'PUT', '/market/price', {
      ...set,
      usd: (3_000n * 10n ** 18n).toString(),
    })
    const ratio = (BigInt(before.quote.buyAmount) * 100n) / BigInt(after.quote.buyAmount)
    expect(ratio).toBe(200n)
  })

  test('starts an outage, which refuses connections until the service returns on its port', async () => {
    const trader = traderOf(sandbox())
    await admin(sandbox(), 'POST', '/outage', { ms: 5_000 })
    await expect(rest(sandbox(), 'GET', tokens)).rejects.toThrow()
    await waitFor('the service', () => rest(sandbox(), 'GET', tokens))
    const body = quoteBody(sandbox(), trader.address)
    expect((await rest(sandbox(), 'POST', '/quote', body)).status).toBe(200)
  })

  test.each([
    ['POST', '/fund', { address: '0x12', token: 'USDC', amount: '1' }, 400],
    ['POST', '/fund', { address: THIEF, token: 'XYZ', amount: '1' }, 400],
    ['PUT', '/market/price', { token: 'XYZ', usd: '1' }, 400],
    ['PUT', '/market/price', { token: 'WETH', usd: '3060' }, 400],
    ['PUT', '/feed', { feed: THIEF, answer: '1', startedAt: 1, updatedAt: 1 }, 400],
    ['PUT', '/feed', { feed: THIEF, answer: '9'.repeat(53), startedAt: 1, updatedAt: 1 }, 400],
    ['POST', '/feed/phase', { feed: THIEF }, 400],
    ['GET', '/nothing', undefined, 404],
  ])('%s %s with %j is %i', async (method, path, body, status) => {
    const response = await admin(sandbox(), method, path, body)
    expect(response.status).toBe(status)
    expect(response.body.error.message).not.toBe('')
  })
})
