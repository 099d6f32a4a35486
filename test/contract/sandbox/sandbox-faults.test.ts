import type { Hex } from 'viem'
import { afterEach, describe, expect, test } from 'vitest'
import type { OrderRecord } from '../../../src/sandbox/gasless/order-store.ts'
import { THIEF } from '../../../src/sandbox/gasless/tampering.ts'
import {
  admin,
  balanceOf,
  newTrader,
  publicClientOf,
  quoteFor,
  rest,
  sandboxForSuite,
  settled,
  submit,
  tokenOf,
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

function recordAfterSettling(orderId: string): Promise<OrderRecord> {
  return waitFor('an order to settle', async () => {
    const all: OrderRecord[] = (await admin(sandbox(), 'GET', '/orders')).body
    return all.find((order) => order.orderId === orderId && order.status !== 'pending')
  })
}

describe('faults of requests', () => {
  test('rateLimit answers 429 with the given retry-after', async () => {
    sandbox().faults.set({
      rules: [{ kind: 'rateLimit', route: 'tokens', count: 1, retryAfterSeconds: 7 }],
    })
    const response = await rest(sandbox(), 'GET', tokens)
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('7')
    expect(response.body.error.code).toBe('RATE_LIMITED')
    expect((await rest(sandbox(), 'GET', tokens)).status).toBe(200)
  })

  test('errorBefore answers 500 and accepts no order', async () => {
    const trader = await newTrader(sandbox(), funds)
    const quote = await quoteFor(sandbox(), trader)
    sandbox().faults.set({ rules: [{ kind: 'errorBefore', route: 'orders', count: 1 }] })
    const refused = await submit(sandbox(), trader, quote, 'k')
    expect([refused.status, refused.body.error.code]).toEqual([500, 'INTERNAL_ERROR'])
    expect(await ordersOf(trader.address)).toEqual([])
    expect((await submit(sandbox(), trader, quote, 'k')).status).toBe(201)
  })

  test('errorAfter answers 500 after the order was accepted', async () => {
    const trader = await newTrader(sandbox(), funds)
    const quote = await quoteFor(sandbox(), trader)
    sandbox().faults.set({ rules: [{ kind: 'errorAfter', route: 'orders', count: 1 }] })
    expect((await submit(sandbox(), trader, quote, 'k')).status).toBe(500)
    const [taken] = await ordersOf(trader.address)
    const replay = await submit(sandbox(), trader, quote, 'k')
    expect(replay.status).toBe(200)
    expect(replay.body.orderId).toBe(taken?.orderId)
  })

  test('dropBefore cuts the connection and accepts no order; dropAfter accepts it', async () => {
    const trader = await newTrader(sandbox(), funds)
    const quote = await quoteFor(sandbox(), trader)
    sandbox().faults.set({ rules: [{ kind: 'dropBefore', route: 'orders', count: 1 }] })
    await expect(submit(sandbox(), trader, quote, 'k')).rejects.toThrow()
    expect(await ordersOf(trader.address)).toHaveLength(0)
    sandbox().faults.set({ rules: [{ kind: 'dropAfter', route: 'orders', count: 1 }] })
    await expect(submit(sandbox(), trader, quote, 'k')).rejects.toThrow()
    expect(await ordersOf(trader.address)).toHaveLength(1)
  })

  test('slow delays the answer, and wrongDate shifts the clock in it', async () => {
    sandbox().faults.set({
      rules: [
        { kind: 'slow', delayMs: 150 },
        { kind: 'wrongDate', skewMs: 3_600_000 },
      ],
    })
    const startedAt = performance.now()
    const { headers } = await rest(sandbox(), 'GET', tokens)
    expect(performance.now() - startedAt).toBeGreaterThan(140)
    const skew = Date.parse(headers.get('date') ?? '') - Date.now()
    expect(skew).toBeGreaterThan(3_590_000)
  })
})

describe('tampered quotes', () => {
  const signedFields = async (tampering: string) => {
    sandbox().faults.set({ rules: [{ kind: 'tamper', tampering, count: 1 }] })
    const { quote, permit2 } = await quoteFor(sandbox(), traderOf(sandbox()))
    // biome-ignore lint/suspicious/noExplicitAny: the typed data is free-form on the wire
    return { quote, data: permit2.typedData as any }
  }
  const usdc = () => tokenOf(sandbox(), 'USDC').address
  const weth = () => tokenOf(sandbox(), 'WETH').address

  test('each change exactly the promised field', async () => {
    expect((await signedFields('wrongSpender')).data.message.spender).toBe(THIEF)
    expect((await signedFields('wrongToken')).data.message.permitted.token).toBe(weth())
    expect((await signedFields('higherAmount')).data.message.permitted.amount).toBe('50000000')
    expect((await signedFields('foreignRecipient')).data.message.witness.recipient).toBe(THIEF)
    expect((await signedFields('otherTokenOut')).data.message.witness.tokenOut).toBe(usdc())
    expect((await signedFields('lowerMinAmountOut')).data.message.witness.minAmountOut).toBe('1')
    const long = Number((await signedFields('longDeadline')).data.message.deadline)
    expect(long - Date.now() / 1000).toBeGreaterThan(360 * 86_400)
    expect((await signedFields('otherVerifyingContract')).data.domain.verifyingContract).toBe(THIEF)
    expect((await signedFields('otherChainId')).data.domain.chainId).toBe(1)
    const { types } = (await signedFields('extraTypeField')).data
    expect(types.OrderWitness).toHaveLength(4)
  })

  test('badPrice gives a consistent quote at half the market price', async () => {
    const fair = await quoteFor(sandbox(), traderOf(sandbox()))
    const { quote, data } = await signedFields('badPrice')
    expect(data.message.witness.minAmountOut).toBe(quote.minBuyAmount)
    expect(BigInt(quote.buyAmount)).toBe((BigInt(fair.quote.buyAmount) + 1n) / 2n)
  })

  test('are followed by an honest quote', async () => {
    await signedFields('wrongSpender')
    const { permit2 } = await quoteFor(sandbox(), traderOf(sandbox()))
    const { spender } = permit2.typedData['message'] as { spender: string }
    expect(spender).toBe(sandbox().contracts.settlement)
  })

  test('cost the money when a foreign recipient and a minimum of one are signed', async () => {
    const trader = await newTrader(sandbox(), funds)
    const { length } = await ordersOf(trader.address)
    expect(length).toBe(0)
    const before = await balanceOf(sandbox(), 'WETH', THIEF)
    sandbox().faults.set({
      rules: [
        { kind: 'tamper', tampering: 'foreignRecipient' },
        { kind: 'tamper', tampering: 'lowerMinAmountOut' },
      ],
    })
    const { body } = await submit(sandbox(), trader, await quoteFor(sandbox(), trader))
    expect((await settled(sandbox(), body.orderId)).status).toBe('filled')
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(975_000_000n)
    expect((await balanceOf(sandbox(), 'WETH', THIEF)) - before).toBe(1n)
    expect(await balanceOf(sandbox(), 'WETH', trader.address)).toBe(0n)
  })

  test('are accepted but cannot be settled when a foreign domain is signed', async () => {
    const trader = await newTrader(sandbox(), funds)
    sandbox().faults.set({ rules: [{ kind: 'tamper', tampering: 'otherChainId' }] })
    const { body } = await submit(sandbox(), trader, await quoteFor(sandbox(), trader))
    expect((await settled(sandbox(), body.orderId)).status).toBe('failed')
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(1_000_000_000n)
  })
})

describe('faults of orders', () => {
  const orderWith = async (rule: Record<string, unknown>) => {
    const trader = await newTrader(sandbox(), funds)
    sandbox().faults.set({ rules: [{ ...rule, count: 1 }] })
    const { body } = await submit(sandbox(), trader, await quoteFor(sandbox(), trader))
    const orderId: string = body.orderId
    const poll = () => rest(sandbox(), 'GET', `/orders/${orderId}`)
    return { trader, orderId, poll }
  }

  test('lateFill fills the order after its delay', async () => {
    const startedAt = performance.now()
    const { orderId } = await orderWith({ kind: 'lateFill', delayMs: 400 })
    expect((await settled(sandbox(), orderId)).status).toBe('filled')
    expect(performance.now() - startedAt).toBeGreaterThan(390)
  })

  test('revertFill fails with a reverted transaction and moves nothing', async () => {
    const { orderId, trader } = await orderWith({ kind: 'revertFill' })
    const order = await settled(sandbox(), orderId)
    expect(order.status).toBe('failed')
    const receipt = await publicClientOf(sandbox()).getTransactionReceipt({
      hash: order.txHash as Hex,
    })
    expect(receipt.status).toBe('reverted')
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(1_000_000_000n)
  })

  test('lieFailed reports a filled order as failed', async () => {
    const { orderId, trader, poll } = await orderWith({ kind: 'lieFailed' })
    const truth = await recordAfterSettling(orderId)
    expect(truth.status).toBe('filled')
    const { body } = await poll()
    expect(body.status).toBe('failed')
    expect(body.txHash).toBeUndefined()
    expect(await balanceOf(sandbox(), 'USDC', trader.address)).toBe(975_000_000n)
  })

  test('lieFilled reports an order as filled with a transaction that does not exist', async () => {
    const { orderId, poll } = await orderWith({ kind: 'lieFilled' })
    const { body } = await poll()
    expect(body.status).toBe('filled')
    const hash = body.txHash
    await expect(publicClientOf(sandbox()).getTransactionReceipt({ hash })).rejects.toThrow(
      /could not be found/,
    )
    expect((await recordAfterSettling(orderId)).txHash).not.toBe(hash)
  })

  test('notFoundYet hides a fresh order at first', async () => {
    const hidden = await orderWith({ kind: 'notFoundYet', forMs: 3_600_000 })
    expect((await hidden.poll()).status).toBe(404)
    const { orderId, poll } = await orderWith({ kind: 'notFoundYet', forMs: 100 })
    await waitFor('the order', poll, ({ status }) => status === 200)
    expect((await settled(sandbox(), orderId)).status).toBe('filled')
  })
})
