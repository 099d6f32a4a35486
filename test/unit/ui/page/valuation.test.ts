import { expect, test } from 'vitest'
import type { Holding } from '../../../../src/domain/money/holding.ts'
import { createValuation, type ObservedHoldings } from '../../../../src/ui/page/server/valuation.ts'
import { USDC, WETH, WETH_USDC } from '../../../simulation/stage.ts'
import { milliWeth, usdc } from '../../../support/builders.ts'

const NOW_MS = 1_800_000_000_000
const DUST = { ...USDC, symbol: 'DUST', address: `0x${'dd'.repeat(20)}` } as const
const TOKENS = [USDC, WETH, DUST]
const value = createValuation({
  wallet: 'trader',
  tokens: new Map(TOKENS.map((token) => [token.symbol, token])),
  prices: new Map([['WETH/USDC', WETH_USDC]]),
})

const USDC_HELD: Holding = {
  ...{ token: 'USDC', decimals: 6, amount: usdc(100), value: usdc(100) },
  ...{ address: USDC.address, price: undefined },
  pricedAtSeconds: undefined,
}
const WETH_HELD: Holding = {
  ...{ token: 'WETH', decimals: 18, amount: milliWeth(1_000), value: usdc(2_500) },
  ...{ address: WETH.address, price: undefined },
  pricedAtSeconds: NOW_MS / 1000 - 40,
}
const UNPRICED = { value: undefined, pricedAtSeconds: undefined, price: undefined }
const DUST_HELD: Holding = {
  ...{ token: 'DUST', address: DUST.address, decimals: 6, amount: usdc(9) },
  ...UNPRICED,
}

function seen(holdings: readonly Holding[], atMs = NOW_MS): ObservedHoldings {
  return {
    portfolio: { valueToken: USDC, holdings, atMs },
    balances: new Map(),
    nowMs: NOW_MS,
  }
}

test('holdings are shown with their value and the time of their price, most valuable first', () => {
  expect(value(seen([USDC_HELD, WETH_HELD, DUST_HELD]))).toEqual({
    valueToken: 'USDC',
    totalValue: '2600',
    holdings: [
      { token: 'WETH', amount: '1', value: '2500', pricedAtMs: NOW_MS - 40_000 },
      { token: 'USDC', amount: '100', value: '100', pricedAtMs: null },
      { token: 'DUST', amount: '9', value: null, pricedAtMs: null },
    ],
    readAtMs: NOW_MS,
  })
})

test('a token without a feed is left out of the total, and an unread one leaves no total', () => {
  expect(value(seen([DUST_HELD]))).toMatchObject({ totalValue: null })
  const unread = { ...WETH_HELD, amount: undefined, value: undefined }
  expect(value(seen([USDC_HELD, unread]))).toMatchObject({
    totalValue: null,
    holdings: [{ token: 'USDC' }, { token: 'WETH', amount: null, value: null }],
  })
  const stale = { ...WETH_HELD, ...UNPRICED }
  expect(value(seen([USDC_HELD, stale]))).toMatchObject({
    totalValue: null,
    holdings: [{ token: 'USDC' }, { token: 'WETH', amount: '1', value: null }],
  })
})

test('a zero balance needs no price', () => {
  const none = { ...WETH_HELD, amount: 0n, ...UNPRICED }
  expect(value(seen([USDC_HELD, none]))).toMatchObject({
    totalValue: '100',
    holdings: [{ token: 'USDC' }, { token: 'WETH', amount: '0', value: '0' }],
  })
})

test('a balance read too long ago is unknown, never zero', () => {
  expect(value(seen([USDC_HELD], NOW_MS - 11 * 60_000))).toMatchObject({
    totalValue: null,
    holdings: [{ token: 'USDC', amount: null, value: null }],
  })
})

test('the age of a price counts from its read, so it does not change every second', () => {
  const first = seen([WETH_HELD])
  const later = { ...first, nowMs: NOW_MS + 30_000 }
  expect(value(later)).toEqual(value(first))
})

test('holdings are empty before the first read', () => {
  const nothing = { portfolio: undefined, balances: new Map(), nowMs: NOW_MS }
  const nothingRead = { valueToken: null, totalValue: null, holdings: [], readAtMs: null }
  expect(value(nothing)).toEqual(nothingRead)
})

test('balances of another wallet are shown under its name, without a value', () => {
  const held = new Map([['ETH', { amount: 10n ** 18n, decimals: 18, atMs: NOW_MS }]])
  const old = new Map([['ETH', { amount: 10n ** 18n, decimals: 18, atMs: 0 }]])
  const balances = new Map([
    ['trader', held],
    ['operator', held],
    ['other', old],
  ])
  const { holdings, totalValue } = value({ ...seen([USDC_HELD]), balances })
  expect(totalValue).toBe('100')
  expect(holdings.slice(1)).toEqual([
    { token: 'ETH (operator)', amount: '1', value: null, pricedAtMs: null },
    { token: 'ETH (other)', amount: null, value: null, pricedAtMs: null },
  ])
})
