import { describe, expect, test } from 'vitest'
import {
  newTrader,
  quoteFor,
  sandboxForSuite,
  settleAnother,
  settled,
  submit,
  traderOf,
} from '../../support/sandbox.ts'

const sandbox = sandboxForSuite()
const funds = { USDC: '1000000000' }

test('orders of several owners due at once share transactions', async () => {
  const traders = await Promise.all(Array.from({ length: 6 }, () => newTrader(sandbox(), funds)))
  const { market } = sandbox()
  const quotes = await Promise.all(traders.map((trader) => quoteFor(sandbox(), trader)))
  // At this price no order can fill, so all six wait until the price returns.
  market.setUsdPrice('WETH', 4_000n * 10n ** 18n)
  const submitted = await Promise.all(
    quotes.map((quote, index) => submit(sandbox(), traders[index] ?? traderOf(sandbox()), quote)),
  )
  await settleAnother(sandbox())
  market.setUsdPrice('WETH', 3_000n * 10n ** 18n)
  const orders = await Promise.all(submitted.map(({ body }) => settled(sandbox(), body.orderId)))
  expect(orders.map(({ status }) => status)).toEqual(Array(6).fill('filled'))
  expect(new Set(orders.map(({ txHash }) => txHash)).size).toBeLessThan(6)
})

test('an order that cannot be settled does not block others in the same transaction', async () => {
  const [good, poor] = [
    await newTrader(sandbox(), funds),
    await newTrader(sandbox(), { USDC: '1' }),
  ]
  const { market } = sandbox()
  const traders = [good, poor, good]
  const quotes = await Promise.all(traders.map((trader) => quoteFor(sandbox(), trader)))
  market.setUsdPrice('WETH', 4_000n * 10n ** 18n)
  const submitted = await Promise.all(
    quotes.map((quote, index) => submit(sandbox(), traders[index] ?? good, quote)),
  )
  await settleAnother(sandbox())
  market.setUsdPrice('WETH', 3_000n * 10n ** 18n)
  const orders = await Promise.all(submitted.map(({ body }) => settled(sandbox(), body.orderId)))
  expect(orders.map(({ status }) => status)).toEqual(['filled', 'failed', 'filled'])
})

describe('orders of one owner due at once', () => {
  const apart = sandboxForSuite({ gasless: { sameOwnerInTransaction: false } })

  async function transactionsOfThree(running: ReturnType<typeof sandbox>): Promise<number> {
    const trader = await newTrader(running, funds)
    const quotes = await Promise.all([1, 2, 3].map(() => quoteFor(running, trader)))
    running.market.setUsdPrice('WETH', 4_000n * 10n ** 18n)
    const submitted = await Promise.all(quotes.map((quote) => submit(running, trader, quote)))
    await settleAnother(running)
    running.market.setUsdPrice('WETH', 3_000n * 10n ** 18n)
    const orders = await Promise.all(submitted.map(({ body }) => settled(running, body.orderId)))
    expect(orders.map(({ status }) => status)).toEqual(Array(3).fill('filled'))
    return new Set(orders.map(({ txHash }) => txHash)).size
  }

  test('share a transaction by default', async () => {
    expect(await transactionsOfThree(sandbox())).toBeLessThan(3)
  })

  test('have one transaction each when configured', async () => {
    expect(await transactionsOfThree(apart())).toBe(3)
  })
})
