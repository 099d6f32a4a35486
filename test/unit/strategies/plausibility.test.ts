import { describe, expect, test } from 'vitest'
import { type Implausible, implausibleIn } from '../../../src/strategies/decision/plausibility.ts'
import { aStrategy } from '../../support/builders.ts'
import {
  above,
  aMarket,
  aThreshold,
  below,
  feedWithout,
  trailing,
  usdcPerWeth,
} from './decide-fixture.ts'

const AT_2500 = aMarket()

const NOTHING: Implausible = { fires: [], far: [], isPartial: false }

describe('a level of a threshold', () => {
  test('not reached by the price, within tenfold, is plausible', () => {
    const rungs = [below(2_499), above(2_501), below(250), above(25_000), trailing(500)]
    expect(implausibleIn(aThreshold({ rungs }), AT_2500)).toEqual(NOTHING)
  })

  test('already reached by the price fires at once', () => {
    const rungs = [below(2_500), above(2_500)]
    expect(implausibleIn(aThreshold({ rungs }), AT_2500).fires).toEqual([
      'below 2500 fires at once: WETH/USDC is 2,500',
      'above 2500 fires at once: WETH/USDC is 2,500',
    ])
  })

  test('more than tenfold away is reported with its side, whether or not it fires', () => {
    const rungs = [below(249), above(25_001), below(25_002)]
    expect(implausibleIn(aThreshold({ rungs }), AT_2500)).toEqual({
      fires: [
        'below 25002 fires at once and lies more than tenfold above the price: WETH/USDC is 2,500',
      ],
      far: [
        'below 249 lies more than tenfold below the price: WETH/USDC is 2,500',
        'above 25001 lies more than tenfold above the price: WETH/USDC is 2,500',
      ],
      isPartial: false,
    })
  })

  test('that fired earlier and is not rearmed does not fire', () => {
    const strategy = aThreshold({ rungs: [below(2_600)] })
    const memory = { 'fired WETH/USDC down below 2600': '2400000000/1000000000000000000' }
    const { fires } = implausibleIn(strategy, { ...AT_2500, memory })
    expect(fires).toEqual([])
  })

  test('is not checked without a price', () => {
    const market = aMarket({ prices: feedWithout('price-stale') })
    const found = implausibleIn(aThreshold({ rungs: [below(2_600)] }), market)
    expect(found).toEqual({ ...NOTHING, isPartial: true })
  })
})

describe('price.min and price.max', () => {
  test.each([
    [{ min: usdcPerWeth(250), max: usdcPerWeth(25_000) }, []],
    [
      { min: usdcPerWeth(249), max: undefined },
      ['price.min 249 lies more than tenfold below the price: WETH/USDC is 2,500'],
    ],
    [
      { min: undefined, max: usdcPerWeth(25_001) },
      ['price.max 25,001 lies more than tenfold above the price: WETH/USDC is 2,500'],
    ],
    [
      { min: undefined, max: { num: 10n ** 6n, den: 2_400n * 10n ** 18n } },
      [
        'price.max 0.000416666 lies more than tenfold below the price: WETH/USDC is 2,500; the other way round, USDC/WETH is 0.0004',
      ],
    ],
  ])('are compared with the price of the bought token', (price, far) => {
    expect(implausibleIn(aStrategy({ price }), AT_2500)).toEqual({ ...NOTHING, far })
  })

  test('are not compared if the file declares that no feed gives the price', () => {
    const price = { min: undefined, max: usdcPerWeth(1) }
    const market = aMarket({ prices: feedWithout('price-missing') })
    const strategy = aStrategy({ price, priceCheck: 'bounds' })
    expect(implausibleIn(strategy, market)).toEqual(NOTHING)
    expect(implausibleIn({ ...strategy, priceCheck: 'feed' }, market)).toEqual({
      ...NOTHING,
      isPartial: true,
    })
  })
})
