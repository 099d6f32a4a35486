import { expect, test } from 'vitest'
import type { Rung } from '../../../src/strategies/threshold/rungs.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { above, aThreshold, below, trailing } from '../../unit/strategies/decide-fixture.ts'

/** Closing outcomes of the strategy's slots that fired. */
function closings(sim: Simulation): string[] {
  return sim.disk
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
    const sim = new Simulation({ seed: 'back', strategies: [aThreshold({ rungs: [rung] })] })
    sim.serviceFaults.quoteLifetimeMs = 5 * MINUTE
    sim.start()
    await sim.runFor(MINUTE + 5_000)
    sim.queueDelayMs = 30_000
    sim.market.setPrice(fires)
    await sim.runFor(MINUTE)
    expect(sim.watch.signatures).toBe(0)
    sim.market.setPrice(back)
    await sim.runFor(MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(closings(sim)).toEqual(['skipped not-triggered'])
    expect(outcomes(sim, 'stop')).toContain('skipped not-triggered')

    sim.queueDelayMs = 0
    sim.market.setPrice(fires)
    await sim.runFor(2 * MINUTE)
    expect(closings(sim).at(-1)).toBe('filled filled')
    expectSound(sim)
  },
)

test('a level that waited for the service is signed while its price still holds', async () => {
  const sim = new Simulation({ seed: 'holds', strategies: [aThreshold()] })
  sim.start()
  await sim.runFor(MINUTE + 5_000)
  sim.serviceFaults.down = true
  sim.market.setPrice(1_950n)
  await sim.runFor(10 * MINUTE)
  sim.market.setPrice(1_900n)
  sim.serviceFaults.down = false
  await sim.runFor(2 * MINUTE)
  expect(closings(sim)).toEqual(['filled filled'])
  expectSound(sim)
})

test('rungs that fire together all have to hold at the signature', async () => {
  const rungs = [below(2_000), below(1_900)]
  const sim = new Simulation({ seed: 'two', strategies: [aThreshold({ rungs })] })
  sim.serviceFaults.quoteLifetimeMs = 5 * MINUTE
  sim.start()
  await sim.runFor(MINUTE + 5_000)
  sim.queueDelayMs = 30_000
  sim.market.setPrice(1_890n)
  await sim.runFor(MINUTE)
  sim.market.setPrice(1_950n)
  await sim.runFor(MINUTE)
  expect(closings(sim)).toEqual(['skipped not-triggered'])
  expect(sim.watch.signatures).toBe(0)
  expectSound(sim)
})
