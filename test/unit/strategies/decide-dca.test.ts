import { describe, expect, test } from 'vitest'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import { type DcaStrategy, decideDca } from '../../../src/strategies/dca/dca-kind.ts'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import {
  anIntent,
  aStrategy,
  BUY_WETH,
  HOUR,
  milliWeth,
  NOON_SECONDS,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'

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
    held: new Map(),
    orderCaps: new Map(),
    memory: {},
    spent: new Map(),
    promised: new Map(),
    ...changes,
  }
}

function reasonOf(strategy: DcaStrategy, view: MarketView): string {
  const decision = decideDca(strategy, view)
  return decision.tag === 'skip' ? decision.reason : 'trade'
}

describe('dollar-cost averaging', () => {
  test('sells its amount at every slot, with a fixed intent', () => {
    expect(decideDca(aStrategy(), aMarket())).toEqual({ tag: 'trade', intents: [anIntent()] })
  })

  test('lets an exact output cost the fair price plus slippage and deviation, rounded up', () => {
    const strategy = aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })
    const decision = decideDca(strategy, aMarket())
    expect(decision).toMatchObject({ tag: 'trade', intents: [{ maxSell: 25_625_000n }] })
    const odd = aStrategy({ size: { side: 'buy', amount: 1n as typeof strategy.size.amount } })
    expect(decideDca(odd, aMarket())).toMatchObject({ intents: [{ maxSell: 2n }] })
  })

  test('skips a slot whose price lies outside its bounds, which are inclusive', () => {
    const between = (min: number, max: number): DcaStrategy =>
      aStrategy({ price: { min: at(min), max: at(max) } })
    expect(reasonOf(between(2_500, 2_500), aMarket())).toBe('trade')
    expect(reasonOf(between(2_501, 3_000), aMarket())).toBe('price-outside-bounds')
    expect(reasonOf(between(2_000, 2_499), aMarket())).toBe('price-outside-bounds')
    expect(decideDca(between(2_000, 2_499), aMarket())).toMatchObject({
      detail: 'the price is 2,500 USDC per WETH, and price.max says not above 2,499 USDC per WETH',
    })
  })

  test('skips a slot without a trusted price, with the reason of the feed', () => {
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

  test('skips a slot that the available balance does not cover', () => {
    expect(reasonOf(aStrategy(), aMarket({ available: new Map([[USDC.address, usdc(25)]]) }))).toBe(
      'trade',
    )
    expect(
      reasonOf(aStrategy(), aMarket({ available: new Map([[USDC.address, usdc(25) - 1n]]) })),
    ).toBe('insufficient-balance')
  })

  test('reports the available balance in whole tokens, or zero if more is promised', () => {
    const decisionWith = (free: bigint) =>
      decideDca(aStrategy(), aMarket({ available: new Map([[USDC.address, free]]) }))
    const detail = '1.5 USDC is free, and the order may take 25 USDC'
    expect(decisionWith(1_500_000n)).toMatchObject({ detail })
    expect(decisionWith(-5n)).toMatchObject({ detail: detail.replace('1.5', '0') })
  })
})

describe('a dip', () => {
  const dipping = aStrategy({
    dips: [
      { dropBps: 2_000, amount: usdc(100) },
      { dropBps: 500, amount: usdc(50) },
    ],
    dipWindowMs: 10 * HOUR,
  })

  type Bar = { readonly price: number; readonly hours?: number }

  /** Follows prices hour by hour; returns the order amount of each slot, and the memory. */
  function follow(strategy: DcaStrategy, bars: readonly Bar[]) {
    let memory: StrategyMemory = {}
    const amounts = bars.map(({ price, hours }, index) => {
      const nowSeconds = NOON_SECONDS + (hours ?? index) * 3_600
      const reading = { pairs: [], ratio: at(price), updatedAtSeconds: nowSeconds }
      const prices = new Map([['USDC/WETH', { ok: true, price: reading } as const]])
      const decision = decideDca(strategy, aMarket({ nowSeconds, prices, memory }))
      memory = decision.memory ?? memory
      const [intent] = decision.tag === 'trade' ? decision.intents : []
      return intent?.venue === 'gasless' ? intent.size.amount : 0n
    })
    return { amounts, memory }
  }

  const bars = (...prices: number[]): Bar[] => prices.map((price) => ({ price }))

  test('trades the amount of the deepest level reached below the highest price seen', () => {
    expect(follow(dipping, bars(2_500, 2_376, 2_375, 2_001, 2_000, 1_000)).amounts).toEqual(
      [25, 25, 50, 50, 100, 100].map(usdc),
    )
  })

  test('is measured from a new highest price at once', () => {
    expect(follow(dipping, bars(2_000, 3_000, 2_850, 2_851)).amounts).toEqual(
      [25, 25, 50, 25].map(usdc),
    )
  })

  test('ignores highs older than the window and uses the next highest', () => {
    const { amounts } = follow(dipping, [
      { price: 3_000, hours: 0 },
      { price: 2_000, hours: 5 },
      { price: 1_900, hours: 10 },
      { price: 1_900, hours: 10.1 },
      { price: 1_900, hours: 15.1 },
    ])
    expect(amounts).toEqual([25, 100, 100, 50, 25].map(usdc))
  })

  test('buys its own amount for exact outputs', () => {
    const strategy = aStrategy({
      size: { side: 'buy', amount: milliWeth(10) },
      dips: [{ dropBps: 1_000, amount: milliWeth(30) }],
      dipWindowMs: 10 * HOUR,
    })
    expect(follow(strategy, bars(2_500, 2_250)).amounts).toEqual([milliWeth(10), milliWeth(30)])
  })

  test('counts highs of skipped slots, but not of untrusted prices', () => {
    const between = { ...dipping, price: { min: undefined, max: at(2_600) } }
    expect(follow(between, bars(3_000, 2_600)).amounts).toEqual([0n, usdc(50)])
    const stale = { ok: false, reason: 'price-stale', pair: undefined } as const
    const decision = decideDca(dipping, aMarket({ prices: new Map([['USDC/WETH', stale]]) }))
    expect(decision.memory).toBeUndefined()
  })

  test('keeps at most 64 highs, always including the highest', () => {
    const long = { ...dipping, dipWindowMs: 10_000 * HOUR }
    const falling = Array.from({ length: 500 }, (_, index) => ({ price: 2_500 - index }))
    const { amounts, memory } = follow(long, falling)
    expect(amounts.at(-1)).toBe(usdc(50))
    expect(amounts.indexOf(usdc(50))).toBe(125)
    const [text = ''] = Object.values(memory)
    expect(text.split(',')).toHaveLength(64)
    expect(text.length).toBeLessThan(64 * 64)
  })

  test('ignores highs of another pair', () => {
    const { memory } = follow(dipping, bars(5_000))
    const other = aStrategy({ ...dipping, sell: BUY_WETH, buy: SELL_USDC })
    const reading = { pairs: [], ratio: at(1), updatedAtSeconds: NOON_SECONDS }
    const view = aMarket({
      memory,
      prices: new Map([['WETH/USDC', { ok: true, price: reading }]]),
      available: new Map([[WETH.address, usdc(1_000)]]),
    })
    expect(decideDca(other, view)).toMatchObject({ intents: [{ maxSell: usdc(25) }] })
  })
})
