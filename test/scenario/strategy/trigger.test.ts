import { expect, test } from 'vitest'
import type { Rung } from '../../../src/strategies/threshold/rungs.ts'
import { World } from '../../simulation/simulation.ts'
import { MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { above, aThreshold, below, trailing } from '../../unit/strategies/decide-fixture.ts'

/** Closing outcomes of the strategy's slots that fired. */
function closings(world: World): string[] {
  return world.disk
    .events()
    .flatMap((event) =>
      event.type === 'intent-closed' ? [`${event.outcome} ${event.reason}`] : [],
    )
}

type Case = readonly [string, Rung, { readonly fires: bigint; readonly back: bigint }]

const CASES: readonly Case[] = [
  ['a level below', below(2_000), { fires: 1_950n, back: 2_050n }],
  ['a level above', above(3_000), { fires: 3_050n, back: 2_950n }],
  ['a trailing stop', trailing(500), { fires: 2_300n, back: 2_450n }],
]

test.each(CASES)(
  '%s is not signed when the price has left it during the wait, and stays armed',
  async (_what, rung, { fires, back }) => {
    const world = new World({ seed: 'back', strategies: [aThreshold({ rungs: [rung] })] })
    world.serviceFaults.quoteLifetimeMs = 5 * MINUTE
    world.start()
    await world.runFor(MINUTE + 5_000)
    world.queueDelayMs = 30_000
    world.market.setPrice(fires)
    await world.runFor(MINUTE)
    expect(world.watch.signatures).toBe(0)
    world.market.setPrice(back)
    await world.runFor(MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(closings(world)).toEqual(['skipped not-triggered'])
    expect(outcomes(world, 'stop')).toContain('skipped not-triggered')

    world.queueDelayMs = 0
    world.market.setPrice(fires)
    await world.runFor(2 * MINUTE)
    expect(closings(world).at(-1)).toBe('filled filled')
    expectSound(world)
  },
)

test('a level that waited for the service is signed while its price still holds', async () => {
  const world = new World({ seed: 'holds', strategies: [aThreshold()] })
  world.start()
  await world.runFor(MINUTE + 5_000)
  world.serviceFaults.down = true
  world.market.setPrice(1_950n)
  await world.runFor(10 * MINUTE)
  world.market.setPrice(1_900n)
  world.serviceFaults.down = false
  await world.runFor(2 * MINUTE)
  expect(closings(world)).toEqual(['filled filled'])
  expectSound(world)
})

test('rungs that fire together all have to hold at the signature', async () => {
  const rungs = [below(2_000), below(1_900)]
  const world = new World({ seed: 'two', strategies: [aThreshold({ rungs })] })
  world.serviceFaults.quoteLifetimeMs = 5 * MINUTE
  world.start()
  await world.runFor(MINUTE + 5_000)
  world.queueDelayMs = 30_000
  world.market.setPrice(1_890n)
  await world.runFor(MINUTE)
  world.market.setPrice(1_950n)
  await world.runFor(MINUTE)
  expect(closings(world)).toEqual(['skipped not-triggered'])
  expect(world.watch.signatures).toBe(0)
  expectSound(world)
})
