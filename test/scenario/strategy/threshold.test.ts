import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
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
function events(world: World): string[] {
  return outcomes(world, 'stop').filter((outcome) => outcome !== 'skipped not-triggered')
}

function sold(world: World): bigint {
  return world.initialWeth - world.balance(WETH.address)
}

test('a stop-loss sells once per fall through its level, and again only after it is re-armed, across a restart', async () => {
  const world = new World({ seed: 'stop', strategies: [aThreshold()] })
  world.start()
  await world.runFor(5 * MINUTE)
  expect(events(world)).toEqual([])

  world.market.setPrice(1_950n)
  await world.runFor(5 * MINUTE)
  expect(events(world)).toEqual(['filled filled'])
  world.crash()
  world.start()
  await world.runFor(30 * MINUTE)
  expect(events(world)).toEqual(['filled filled'])
  expect(sold(world)).toBe(milliWeth(100))

  world.market.setPrice(2_200n)
  await world.runFor(2 * MINUTE)
  world.market.setPrice(1_950n)
  await world.runFor(5 * MINUTE)
  expect(events(world)).toEqual(['filled filled', 'filled filled'])
  expect(sold(world)).toBe(milliWeth(200))
  expectSound(world)
})

test('a level whose order never fills stays armed, with one order in flight at a time', async () => {
  const world = new World({ seed: 'never filled', strategies: [aThreshold()] })
  world.serviceFaults.neverFills = 1
  world.start()
  world.market.setPrice(1_900n)
  await world.runFor(2 * HOUR)
  const kinds = new Set(events(world))
  expect(kinds).toContain('skipped too-many-open')
  expect(kinds).not.toContain('filled filled')
  expect(sold(world)).toBe(0n)

  world.serviceFaults.neverFills = 0
  world.market.setPrice(1_900n)
  await world.runFor(HOUR)
  expect(events(world).filter((outcome) => outcome === 'filled filled')).toHaveLength(1)
  expect(sold(world)).toBe(milliWeth(100))
  expectSound(world)
})

test('a feed with an invalid answer triggers no stop-loss', async () => {
  const world = new World({ seed: 'insane feed', strategies: [aThreshold()] })
  world.start()
  await world.runFor(90_000)
  world.ledger.setReading(WETH_USDC.feed, { answer: 0n, decimals: 8 })
  await world.runFor(3 * MINUTE)
  expect(events(world)).toEqual(Array(3).fill('skipped price-invalid'))
  world.market.setPrice(1_900n)
  await world.runFor(2 * MINUTE)
  expect(events(world).slice(3)).toEqual(['filled filled'])
  expectSound(world)
})

test('a strategy with `once` is finished after its take-profit and its stop-loss have fired', async () => {
  const rungs = [above(3_000), ofShare(below(2_000), 5_000)]
  const world = new World({ seed: 'both', strategies: [aThreshold({ rungs, once: true })] })
  world.start()
  world.market.setPrice(3_100n)
  await world.runFor(5 * MINUTE)
  expect(sold(world)).toBe(milliWeth(100))
  world.market.setPrice(1_900n)
  await world.runFor(5 * MINUTE)
  const half = (world.initialWeth - milliWeth(100)) / 2n
  expect(sold(world)).toBe(milliWeth(100) + half)
  expect(events(world)).toEqual([
    'filled filled',
    'filled filled',
    ...events(world)
      .slice(2)
      .map(() => 'skipped finished'),
  ])
  expect(events(world)).toContain('skipped finished')
  expectSound(world)
})

test('a trailing stop follows the price up, keeps its peak across a restart and sells after the fall', async () => {
  const world = new World({ seed: 'trail', strategies: [aThreshold({ rungs: [trailing(1_000)] })] })
  world.start()
  for (const price of [2_500n, 2_900n, 3_300n]) {
    world.market.setPrice(price)
    await world.runFor(2 * MINUTE)
  }
  world.crash()
  world.market.setPrice(3_000n)
  world.start()
  await world.runFor(2 * MINUTE)
  expect(events(world)).toEqual([])
  const before = world.balance(USDC.address)
  world.market.setPrice(2_940n)
  await world.runFor(3 * MINUTE)
  expect(events(world)).toEqual(['filled filled'])
  expect(world.balance(USDC.address)).toBeGreaterThan(before)
  expectSound(world)
})
