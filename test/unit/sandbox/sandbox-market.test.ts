import { describe, expect, test } from 'vitest'
import { createRandom } from '../../../src/domain/random.ts'
import { bestRoute, type Preference, type Route } from '../../../src/sandbox/gasless/routing.ts'
import { createMarket, type Market } from '../../../src/sandbox/market/market.ts'
import { SANDBOX_DEFAULTS } from '../../../src/sandbox/settings/sandbox-schema.ts'
import { type SandboxToken, TOKEN_SPECS } from '../../../src/sandbox/tokens.ts'

const tokens: readonly SandboxToken[] = TOKEN_SPECS.map((spec) => ({ ...spec, address: '0x00' }))
const market = (seed: number): Market => createMarket(tokens, { ...SANDBOX_DEFAULTS.market, seed })
const pairOf = (sell: string, buy: string) => {
  const find = (symbol: string): SandboxToken => {
    const token = tokens.find((candidate) => candidate.symbol === symbol)
    if (token === undefined) throw new Error(symbol)
    return token
  }
  return { sell: find(sell), buy: find(buy) }
}
const usdcToWeth = pairOf('USDC', 'WETH')

function pricesAfter(seed: number, steps: number): bigint[] {
  const walked = market(seed)
  for (let i = 0; i < steps; i += 1) walked.step()
  return tokens.map(({ symbol }) => walked.usdPrice(symbol))
}

describe('the price process', () => {
  test('gives the same prices for the same seed and steps', () => {
    expect(pricesAfter(7, 500)).toEqual(pricesAfter(7, 500))
  })

  test('gives fixed prices for seed 1 after 100 steps, on any machine', () => {
    expect(pricesAfter(1, 100)).toMatchInlineSnapshot(`
      [
        1000000000000000000n,
        2997471870995440280724n,
        999993999080005752n,
        1246680621284964102n,
      ]
    `)
  })

  test('gives other prices for another seed, and USDC never moves', () => {
    const [usdc, weth] = pricesAfter(7, 500)
    const [, otherWeth] = pricesAfter(8, 500)
    expect(weth).not.toBe(otherWeth)
    expect(usdc).toBe(10n ** 18n)
  })

  test('stays within a few percent over a thousand steps', () => {
    const [, weth = 0n] = pricesAfter(3, 1_000)
    expect(weth).toBeGreaterThan(2_800n * 10n ** 18n)
    expect(weth).toBeLessThan(3_200n * 10n ** 18n)
  })

  test('quotes WETH in USDC with eight decimals', () => {
    expect(market(1).pairPrice('WETH', 'USDC', 8)).toBe(300_000_000_000n)
  })
})

describe('a pool', () => {
  test('gives less per unit for a larger trade', () => {
    const small = market(1).buyAmount('own', usdcToWeth, 1_000n * 10n ** 6n) ?? 0n
    const large = market(1).buyAmount('own', usdcToWeth, 100_000n * 10n ** 6n) ?? 0n
    expect(large).toBeLessThan(small * 100n)
  })

  test('rises in price with each fill and drifts back with each step', () => {
    const moved = market(1)
    const ask = () => moved.buyAmount('own', usdcToWeth, 10n ** 9n) ?? 0n
    const before = ask()
    moved.applyOwnFill(usdcToWeth, 10n ** 11n, 33n * 10n ** 18n)
    const after = ask()
    expect(after).toBeLessThan(before)
    moved.setUsdPrice('WETH', moved.usdPrice('WETH'))
    for (let i = 0; i < 80; i += 1) moved.step()
    moved.setUsdPrice('WETH', 3_000n * 10n ** 18n)
    expect(ask()).toBe(before)
  })

  test('charges at least as much for an exact output as the same exact input yields', () => {
    const input = 5_000n * 10n ** 6n
    const output = market(1).buyAmount('own', usdcToWeth, input) ?? 0n
    const cost = market(1).sellAmount('own', usdcToWeth, output) ?? 0n
    expect(cost).toBeGreaterThanOrEqual(input - 1n)
    expect(cost).toBeLessThanOrEqual(input + 2n)
  })

  test('has no offer beyond its depth', () => {
    expect(market(1).buyAmount('own', usdcToWeth, 10n ** 12n)).toBeUndefined()
    expect(market(1).sellAmount('own', usdcToWeth, 10n ** 21n)).toBeUndefined()
  })
})

describe('routing', () => {
  const route = (preference: Preference, usdc: bigint): Route | undefined =>
    bestRoute(market(1), usdcToWeth, { kind: 'sell', amount: usdc * 10n ** 6n, preference })

  test('sends small trades entirely to the own pool', () => {
    expect(route('auto', 100n)?.ownSellAmount).toBe(100n * 10n ** 6n)
  })

  test('splits medium trades over both venues', () => {
    const split = route('auto', 20_000n)
    expect(split?.ownSellAmount).toBeGreaterThan(0n)
    expect(split?.ownSellAmount).toBeLessThan(20_000n * 10n ** 6n)
  })

  test('stays in the own pool under preferOwn while the extra cost is small', () => {
    const near = route('preferOwn', 3_000n)
    expect(near?.ownSellAmount).toBe(near?.sellAmount)
    const far = route('preferOwn', 200_000n)
    expect(far?.ownSellAmount).toBeLessThan(200_000n * 10n ** 6n)
  })

  test('has no route beyond the own pool under onlyOwn', () => {
    expect(route('onlyOwn', 1_000_000n)).toBeUndefined()
    expect(route('auto', 1_000_000n)).toBeDefined()
  })

  test('buys exactly the requested output over both venues', () => {
    const buyAmount = 7n * 10n ** 18n
    const bought = bestRoute(market(1), usdcToWeth, {
      kind: 'buy',
      amount: buyAmount,
      preference: 'auto',
    })
    expect(bought?.buyAmount).toBe(buyAmount)
    expect(bought?.sellAmount).toBeGreaterThan(21_000n * 10n ** 6n)
  })
})

test('streams of one seed differ by label, and repeat', () => {
  const draw = (label: string) => {
    const random = createRandom('42').fork(label)
    return Array.from({ length: 5 }, () => random.next())
  }
  expect(draw('a')).toEqual(draw('a'))
  expect(draw('a')).not.toEqual(draw('b'))
  expect(draw('a').every((value) => value >= 0 && value < 1)).toBe(true)
})
