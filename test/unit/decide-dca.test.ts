import { describe, expect, test } from 'vitest'
import { decideDca } from '../../src/decide/dca.ts'
import type { MarketView } from '../../src/decide/decision.ts'
import type { DcaStrategy } from '../../src/domain/strategy.ts'
import { USDC, WALLET, WETH_USDC } from '../../src/simulate/stage.ts'
import { anIntent, aStrategy, milliWeth, NOON_SECONDS, usdc } from '../support/builders.ts'

function at(price: number): { num: bigint; den: bigint } {
  return { num: BigInt(price) * 10n ** 6n, den: 10n ** 18n }
}

/** A view in which WETH costs 2,500 USDC. */
function aMarket(changes: Partial<MarketView> = {}): MarketView {
  const price = { pairs: [WETH_USDC.pair], ratio: at(2_500), updatedAtSeconds: NOON_SECONDS }
  return {
    slotSeconds: NOON_SECONDS,
    owner: WALLET,
    nowSeconds: NOON_SECONDS,
    startSeconds: undefined,
    available: new Map([[USDC.address, usdc(1_000)]]),
    prices: new Map([['USDC/WETH', { ok: true, price }]]),
    orderCaps: new Map(),
    memory: {},
    spent: new Map(),
    ...changes,
  }
}

function reasonOf(strategy: DcaStrategy, view: MarketView): string {
  const decision = decideDca(strategy, view)
  return decision.tag === 'skip' ? decision.reason : 'trade'
}

describe('dollar-cost averaging', () => {
  test('sells its amount at every slot, all of the intent known beforehand', () => {
    expect(decideDca(aStrategy(), aMarket())).toEqual({ tag: 'trade', intents: [anIntent()] })
  })

  test('allows an exact output to cost the fair price, slippage and deviation, rounded up', () => {
    const strategy = aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })
    const decision = decideDca(strategy, aMarket())
    expect(decision).toMatchObject({ tag: 'trade', intents: [{ maxSell: 25_625_000n }] })
    const odd = aStrategy({ size: { side: 'buy', amount: 1n as typeof strategy.size.amount } })
    expect(decideDca(odd, aMarket())).toMatchObject({ intents: [{ maxSell: 2n }] })
  })

  test('skips a slot whose price lies outside its bounds, the bounds themselves included', () => {
    const between = (min: number, max: number): DcaStrategy =>
      aStrategy({ price: { min: at(min), max: at(max) } })
    expect(reasonOf(between(2_500, 2_500), aMarket())).toBe('trade')
    expect(reasonOf(between(2_501, 3_000), aMarket())).toBe('price-outside-bounds')
    expect(reasonOf(between(2_000, 2_499), aMarket())).toBe('price-outside-bounds')
  })

  test('skips a slot without a price it can trust, for the reason given', () => {
    for (const reason of [
      'price-missing',
      'price-invalid',
      'price-stale',
      'sequencer-down',
    ] as const)
      expect(
        reasonOf(
          aStrategy(),
          aMarket({ prices: new Map([['USDC/WETH', { ok: false, reason, pair: undefined }]]) }),
        ),
      ).toBe(reason)
  })

  test('skips a slot that the free balance does not cover', () => {
    expect(reasonOf(aStrategy(), aMarket({ available: new Map([[USDC.address, usdc(25)]]) }))).toBe(
      'trade',
    )
    expect(
      reasonOf(aStrategy(), aMarket({ available: new Map([[USDC.address, usdc(25) - 1n]]) })),
    ).toBe('insufficient-balance')
  })
})
