import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { World } from '../../simulation/simulation.ts'
import { WETH_USDC } from '../../simulation/stage.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

function timesRead(world: World, wanted: (event: RuntimeEvent | JournalEvent) => boolean): number {
  return world.observations.filter(wanted).length
}

test('the whole wallet and its feeds are read once a minute, regardless of other slots', async () => {
  const often = aCallStrategy({ schedule: aSchedule('* * * * * *', { overlap: 'allow' }) })
  const world = new World({ seed: 'wallet reads', strategies: [aStrategy(), often] })
  world.start()
  await world.runFor(10 * MINUTE)
  const weth = timesRead(world, (each) => each.type === 'wallet-balance' && each.token === 'WETH')
  const feed = timesRead(
    world,
    (each) =>
      each.type === 'feed-read' && each.pair === 'WETH/USDC' && each.updatedAtSeconds !== undefined,
  )
  for (const times of [weth, feed]) {
    expect(times).toBeGreaterThanOrEqual(9)
    expect(times).toBeLessThanOrEqual(12)
  }
  expectSound(world)
})

test('the wallet is read for every token of the config, including tokens that no strategy trades', async () => {
  const world = new World({ seed: 'idle tokens', strategies: [aCallStrategy()] })
  world.start()
  await world.runFor(MINUTE)
  const portfolios = world.observations.flatMap((each) =>
    each.type === 'portfolio' ? [each.holdings] : [],
  )
  expect(portfolios[0]?.map(({ token, value }) => [token, value !== undefined])).toEqual([
    ['ETH', true],
    ['USDC', true],
    ['WETH', true],
  ])
  expectSound(world)
})

test('a feed that breaks its reads delays no slot that does not use it', async () => {
  const broken = { ...WETH_USDC, pair: 'OLD/USDC', feed: `0x${'0b'.repeat(20)}` } as const
  const strategy = aStrategy({ schedule: aSchedule('*/5 * * * *', { maxLatenessMs: 30_000 }) })
  const world = new World({ seed: 'broken feed', strategies: [strategy], idleFeeds: [broken] })
  Object.assign(world.chainFaults, { breaking: [broken.feed] })
  world.start()
  await world.runFor(31 * MINUTE)
  const filled = timesRead(world, (each) => each.type === 'fill-proven')
  expect(filled).toBe(6)
  expectSound(world)
})
