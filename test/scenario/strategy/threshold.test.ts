import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { HOUR, MINUTE, milliWeth } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import {
  above,
  aThreshold,
  below,
  ofShare,
  trailing,
} from '../../unit/strategies/decide-fixture.ts'

/** Outcomes of the strategy's slots, except slots where no level was reached. */
function events(sim: Simulation): string[] {
  return outcomes(sim, 'stop').filter((outcome) => outcome !== 'skipped not-triggered')
}

function sold(sim: Simulation): bigint {
  return sim.initialWeth - sim.balance(WETH.address)
}

test('a stop-loss sells once per fall through its level, and again only after it is re-armed, across a restart', async () => {
  const sim = new Simulation({ seed: 'stop', strategies: [aThreshold()] })
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(events(sim)).toEqual([])

  sim.market.setPrice(1_950n)
  await sim.runFor(5 * MINUTE)
  expect(events(sim)).toEqual(['filled filled'])
  sim.crash()
  sim.start()
  await sim.runFor(30 * MINUTE)
  expect(events(sim)).toEqual(['filled filled'])
  expect(sold(sim)).toBe(milliWeth(100))

  sim.market.setPrice(2_200n)
  await sim.runFor(2 * MINUTE)
  sim.market.setPrice(1_950n)
  await sim.runFor(5 * MINUTE)
  expect(events(sim)).toEqual(['filled filled', 'filled filled'])
  expect(sold(sim)).toBe(milliWeth(200))
  expectSound(sim)
})

test('a level whose order never fills stays armed, with one order in flight at a time', async () => {
  const sim = new Simulation({ seed: 'never filled', strategies: [aThreshold()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  sim.market.setPrice(1_900n)
  await sim.runFor(2 * HOUR)
  const kinds = new Set(events(sim))
  expect(kinds).toContain('skipped too-many-open')
  expect(kinds).not.toContain('filled filled')
  expect(sold(sim)).toBe(0n)

  sim.serviceFaults.neverFills = 0
  sim.market.setPrice(1_900n)
  await sim.runFor(HOUR)
  expect(events(sim).filter((outcome) => outcome === 'filled filled')).toHaveLength(1)
  expect(sold(sim)).toBe(milliWeth(100))
  expectSound(sim)
})

test('a feed with an invalid answer triggers no stop-loss', async () => {
  const sim = new Simulation({ seed: 'insane feed', strategies: [aThreshold()] })
  sim.start()
  await sim.runFor(90_000)
  sim.ledger.setReading(WETH_USDC.feed, { answer: 0n, decimals: 8 })
  await sim.runFor(3 * MINUTE)
  expect(events(sim)).toEqual(Array(3).fill('skipped price-invalid'))
  sim.market.setPrice(1_900n)
  await sim.runFor(2 * MINUTE)
  expect(events(sim).slice(3)).toEqual(['filled filled'])
  expectSound(sim)
})

test('a strategy with `once` is finished after its take-profit and its stop-loss have fired', async () => {
  const rungs = [above(3_000), ofShare(below(2_000), 5_000)]
  const sim = new Simulation({ seed: 'both', strategies: [aThreshold({ rungs, once: true })] })
  sim.start()
  sim.market.setPrice(3_100n)
  await sim.runFor(5 * MINUTE)
  expect(sold(sim)).toBe(milliWeth(100))
  sim.market.setPrice(1_900n)
  await sim.runFor(5 * MINUTE)
  const half = (sim.initialWeth - milliWeth(100)) / 2n
  expect(sold(sim)).toBe(milliWeth(100) + half)
  expect(events(sim)).toEqual([
    'filled filled',
    'filled filled',
    ...events(sim)
      .slice(2)
      .map(() => 'skipped finished'),
  ])
  expect(events(sim)).toContain('skipped finished')
  expectSound(sim)
})

test('a trailing stop follows the price up, keeps its peak across a restart and sells after the fall', async () => {
  const sim = new Simulation({
    seed: 'trail',
    strategies: [aThreshold({ rungs: [trailing(1_000)] })],
  })
  sim.start()
  for (const price of [2_500n, 2_900n, 3_300n]) {
    sim.market.setPrice(price)
    await sim.runFor(2 * MINUTE)
  }
  sim.crash()
  sim.market.setPrice(3_000n)
  sim.start()
  await sim.runFor(2 * MINUTE)
  expect(events(sim)).toEqual([])
  const before = sim.balance(USDC.address)
  sim.market.setPrice(2_940n)
  await sim.runFor(3 * MINUTE)
  expect(events(sim)).toEqual(['filled filled'])
  expect(sim.balance(USDC.address)).toBeGreaterThan(before)
  expectSound(sim)
})
