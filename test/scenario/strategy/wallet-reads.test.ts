import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { WETH_USDC } from '../../simulation/stage.ts'
import { aCallStrategy } from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

function timesRead(
  sim: Simulation,
  wanted: (event: RuntimeEvent | JournalEvent) => boolean,
): number {
  return sim.observations.filter(wanted).length
}

test('after the first hour the whole wallet and its feeds are read once a minute, regardless of other slots', async () => {
  const often = aCallStrategy({ schedule: aSchedule('* * * * * *', { overlap: 'allow' }) })
  const sim = new Simulation({ seed: 'wallet reads', strategies: [aStrategy(), often] })
  sim.start()
  await sim.runFor(HOUR)
  sim.observations.splice(0)
  await sim.runFor(10 * MINUTE)
  const weth = timesRead(sim, (each) => each.type === 'wallet-balance' && each.token === 'WETH')
  const feed = timesRead(
    sim,
    (each) =>
      each.type === 'feed-read' && each.pair === 'WETH/USDC' && each.updatedAtSeconds !== undefined,
  )
  for (const times of [weth, feed]) {
    expect(times).toBeGreaterThanOrEqual(9)
    expect(times).toBeLessThanOrEqual(12)
  }
  expectSound(sim)
})

test('the wallet is read for every token of the config, including tokens that no strategy trades', async () => {
  const sim = new Simulation({ seed: 'idle tokens', strategies: [aCallStrategy()] })
  sim.start()
  await sim.runFor(MINUTE)
  const portfolios = sim.observations.flatMap((each) =>
    each.type === 'portfolio' ? [each.holdings] : [],
  )
  expect(portfolios[0]?.map(({ token, value }) => [token, value !== undefined])).toEqual([
    ['ETH', true],
    ['USDC', true],
    ['WETH', true],
  ])
  expectSound(sim)
})

test('a feed that breaks its reads delays no slot that does not use it', async () => {
  const broken = { ...WETH_USDC, pair: 'OLD/USDC', feed: `0x${'0b'.repeat(20)}` } as const
  const strategy = aStrategy({ schedule: aSchedule('*/5 * * * *', { maxLatenessMs: 30_000 }) })
  const sim = new Simulation({ seed: 'broken feed', strategies: [strategy], idleFeeds: [broken] })
  Object.assign(sim.chainFaults, { breaking: [broken.feed] })
  sim.start()
  await sim.runFor(31 * MINUTE)
  const filled = timesRead(sim, (each) => each.type === 'fill-proven')
  expect(filled).toBe(6)
  expectSound(sim)
})
