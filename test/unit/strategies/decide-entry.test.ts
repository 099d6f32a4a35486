import { expect, test } from 'vitest'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import type { Rung, ThresholdStrategy } from '../../../src/strategies/threshold/rungs.ts'
import { decideThreshold } from '../../../src/strategies/threshold/threshold-kind.ts'
import { USDC } from '../../simulation/stage.ts'
import { milliWeth, usdc } from '../../support/builders.ts'
import { aMarket, aThreshold, feedAt, reasonOf, remembered, soldBy } from './decide-fixture.ts'

const ALL = { type: 'share', bps: 10_000 } as const
const GAIN: Rung = { id: 'gain 10%', trigger: { type: 'gain', bps: 1_000 }, size: ALL }
const LOSS: Rung = { id: 'loss 5%', trigger: { type: 'loss', bps: 500 }, size: ALL }

function exiting(changes: Partial<ThresholdStrategy> = {}): ThresholdStrategy {
  return aThreshold({ rungs: [GAIN, LOSS], entryOf: 'weekly-eth', ...changes })
}

/** Two ether, bought at 2,000 USDC on average. */
const TWO = { amount: milliWeth(2_000), cost: usdc(4_000) }

function at(price: number, changes: Partial<MarketView> = {}): MarketView {
  return aMarket({ prices: feedAt(price), entry: TWO, ...changes })
}

test.each([
  [1_900, 2_000],
  [1_901, 0],
  [2_199, 0],
  [2_200, 2_000],
])(
  'at a price of %i the strategy sells %i thousandths, with rungs ten percent above and five below the entry',
  (price, sold) => {
    expect(soldBy(decideThreshold(exiting(), at(price)))).toBe(milliWeth(sold))
  },
)

test("a share applies to the purchases, not to other holdings, and is limited by the wallet's balance", () => {
  const half = exiting({ rungs: [{ ...GAIN, size: { type: 'share', bps: 5_000 } }] })
  expect(soldBy(decideThreshold(half, at(2_300)))).toBe(milliWeth(1_000))
  const spent = at(2_300, { entry: { amount: milliWeth(30_000), cost: usdc(60_000) } })
  expect(soldBy(decideThreshold(exiting(), spent))).toBe(milliWeth(10_000))
})

test('an order names the strategy whose purchases it sells, and its trigger', () => {
  const decision = decideThreshold(exiting(), at(2_300))
  expect(decision.tag === 'trade' && decision.intents[0]).toMatchObject({
    entry: { of: 'weekly-eth', paidIn: USDC },
    trigger: { pair: 'WETH/USDC', atLeast: expect.anything(), rungs: ['gain 10%'] },
  })
})

test('without a purchase there is no entry: the strategy waits, reports this, and resets fired rungs', () => {
  const fired = remembered({}, decideThreshold(exiting(), at(2_300)), true)
  expect(JSON.stringify(fired)).toContain('gain 10%')
  const none = at(2_300, { entry: { amount: 0n, cost: 0n }, memory: fired })
  const waiting = decideThreshold(exiting(), none)
  expect(reasonOf(waiting)).toBe('not-triggered')
  expect(waiting.tag === 'skip' && waiting.detail).toContain(
    'weekly-eth has no unsold purchase, so there is no entry to measure from',
  )
  const after = remembered(fired, waiting, true)
  expect(soldBy(decideThreshold(exiting(), at(2_300, { memory: after })))).toBe(milliWeth(2_000))
})

test('a fired rung waits until the price has come back from its level, or forever with `once`', () => {
  const fired = remembered({}, decideThreshold(exiting(), at(2_300)), true)
  expect(soldBy(decideThreshold(exiting(), at(2_300, { memory: fired })))).toBe(0n)
  const once = exiting({ once: true })
  const spent = remembered({}, decideThreshold(once, at(2_300)), true)
  const none = at(2_300, { entry: { amount: 0n, cost: 0n }, memory: spent })
  const kept = remembered(spent, decideThreshold(once, none), true)
  expect(soldBy(decideThreshold(once, at(2_300, { memory: kept })))).toBe(0n)
})
