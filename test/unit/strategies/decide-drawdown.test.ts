import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN, type Token } from '../../../src/domain/money/token.ts'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import { drawdownOf } from '../../../src/strategies/decision/drawdown.ts'
import type { RebalanceStrategy } from '../../../src/strategies/rebalance/rebalance-kind.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import {
  aStrategy,
  BUY_WETH,
  ETH,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { aMarket, aThreshold, feedAt, feedWithout } from './decide-fixture.ts'

const TEN_PERCENT = { ...OPEN, drawdownBps: 1_000 }
const stop = aThreshold({ limits: TEN_PERCENT })
const half: RebalanceStrategy = {
  ...aStrategy(),
  kind: 'rebalance',
  targets: [
    { token: WETH, weightBps: 5_000 },
    { token: USDC, weightBps: 5_000 },
  ],
  bandBps: 500,
  to: 'target',
  quote: USDC,
  minTrade: usdc(1),
  maxCostBps: undefined,
  limits: TEN_PERCENT,
}

/** One WETH and 500 USDC, worth `price` + 500 USDC. */
function holding(price: number, memory: StrategyMemory = {}): MarketView {
  const available = new Map([
    [USDC.address, usdc(500)],
    [WETH.address, milliWeth(1_000)],
  ])
  return aMarket({ available, prices: feedAt(price), memory })
}

/** Memory after following prices slot by slot. */
function peakAfter(prices: readonly number[], resumedAtMs?: number): StrategyMemory {
  let memory: StrategyMemory = {}
  for (const price of prices) {
    const drawdown = drawdownOf(stop, holding(price, memory), resumedAtMs)
    if (drawdown.tag === 'within') memory = { ...memory, ...drawdown.memory }
  }
  return memory
}

describe('the drawdown limit', () => {
  test.each([
    ['threshold', stop],
    ['rebalance', half],
  ] as const)(
    'trips a %s if its tokens are worth a tenth less than at their peak',
    (_, strategy) => {
      const high = drawdownOf(strategy, holding(2_500), undefined)
      const memory = high.tag === 'within' ? high.memory : {}
      expect(memory).toMatchObject({ 'drawdown.peak': `${usdc(3_000)}` })
      expect(drawdownOf(strategy, holding(2_201, memory), undefined).tag).toBe('within')
      expect(drawdownOf(strategy, holding(2_200, memory), undefined)).toEqual({
        tag: 'tripped',
        detail:
          'its tokens are worth 2,700 USDC, 10% below the highest, 3,000 USDC; limits.drawdown is 10%',
      })
    },
  )

  test('remembers the highest value whatever the later prices', () => {
    expect(peakAfter([2_500, 2_600, 2_400, 2_550])).toMatchObject({
      'drawdown.peak': `${usdc(3_100)}`,
    })
  })

  test('restarts when the strategy is resumed', () => {
    const memory = peakAfter([2_500])
    expect(drawdownOf(stop, holding(1_000, memory), 123)).toMatchObject({
      tag: 'within',
      memory: { 'drawdown.peak': `${usdc(1_500)}` },
    })
  })

  test('restarts when the portfolio has other tokens', () => {
    const memory = peakAfter([2_500])
    const other = aThreshold({ limits: TEN_PERCENT, sell: ETH })
    const view = holding(2_500, memory)
    const held = new Map([...view.held, [NATIVE_TOKEN, 0n] as const])
    expect(drawdownOf(other, { ...view, held }, undefined)).toMatchObject({
      tag: 'within',
      memory: { 'drawdown.peak': `${usdc(500)}` },
    })
  })

  test('does not trip without a price and keeps its memory', () => {
    const memory = peakAfter([2_500])
    const blind = { ...holding(1, memory), prices: feedWithout('price-stale') }
    expect(drawdownOf(stop, blind, undefined)).toEqual({ tag: 'within', memory })
    expect(drawdownOf(stop, { ...blind, memory: {} }, undefined)).toEqual({
      tag: 'within',
      memory: {},
    })
  })

  test.each([
    ['the sold token', WETH],
    ['the bought token', USDC],
  ])('does not trip while the balance of %s is unreadable', (_, { address }) => {
    const view = holding(1_000, peakAfter([2_500]))
    const held = new Map([...view.held].filter(([token]) => token !== address))
    expect(drawdownOf(stop, { ...view, held }, undefined).tag).toBe('unreadable')
  })

  test('trips on an emptied wallet, but not on a wallet that was always empty', () => {
    const nothing = new Map([
      [USDC.address, 0n],
      [WETH.address, 0n],
    ])
    const empty = { ...holding(2_500), held: nothing }
    expect(drawdownOf(stop, empty, undefined).tag).toBe('within')
    const memory = peakAfter([2_500])
    expect(drawdownOf(stop, { ...empty, memory }, undefined).tag).toBe('tripped')
  })

  test('values a token through the other side of the trade', () => {
    const dai: Token = {
      ...USDC,
      symbol: 'DAI',
      address: '0x00000000000000000000000000000000000a0002',
    }
    const swap = aThreshold({
      limits: TEN_PERCENT,
      sell: BUY_WETH,
      buy: { token: dai, native: false },
    })
    const { prices } = holding(2_500)
    const usdcPerWeth = prices.get('USDC/WETH')
    if (!usdcPerWeth?.ok) throw new Error('there is a price')
    // 2,000 DAI per WETH at 2,500 USDC per WETH: a DAI is worth 1.25 USDC.
    const ratio = { num: 10n ** 18n, den: 2_000n * 10n ** 6n }
    const view = {
      ...holding(2_500),
      held: new Map([
        [dai.address, usdc(100)],
        [WETH.address, 0n],
      ]),
      prices: new Map([
        ['USDC/WETH', usdcPerWeth],
        ['WETH/DAI', { ok: true, price: { ...usdcPerWeth.price, ratio } } as const],
      ]),
    }
    expect(drawdownOf(swap, view, undefined)).toMatchObject({
      memory: { 'drawdown.peak': `${usdc(125)}` },
    })
  })

  test('applies only to strategies that set it and kinds with a portfolio', () => {
    for (const strategy of [aThreshold(), aStrategy({ limits: TEN_PERCENT, sell: SELL_USDC })])
      expect(drawdownOf(strategy, holding(2_500), undefined)).toEqual({ tag: 'within', memory: {} })
  })
})
