import { expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { callSimulation, executed } from '../../support/aggregator/call-simulation.ts'
import {
  aSchedule,
  aStrategy,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  SELL_USDC,
} from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const FROM_ETH = aStrategy({
  name: 'from-eth',
  schedule: aSchedule('*/10 * * * *'),
  sell: ETH,
  buy: SELL_USDC,
  size: { side: 'sell', amount: milliWeth(10) },
})

test('a node with wrong numbers in half its answers halts nothing, and trading resumes once it is right', async () => {
  for (const seed of ['one', 'two', 'three']) {
    const sim = new Simulation({ seed, strategies: [FROM_ETH, aStrategy()] })
    sim.start()
    await sim.runFor(HOUR)
    sim.chainFaults.lies = 0.5
    for (let minutes = 0; minutes < 90; minutes += 1) {
      await sim.runFor(MINUTE)
      expect(sim.state.halted).toBeUndefined()
    }
    sim.chainFaults.lies = 0
    expect(await sim.calmDown()).toBe(true)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'from-eth').at(-1)).toBe('filled filled')
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  }
})

test('calls resume after a node with wrong numbers, each executed once', async () => {
  const sim = callSimulation({ seed: 'lying for calls' })
  sim.start()
  await sim.runFor(HOUR)
  sim.aggregation.chainFaults.lies = 0.5
  await sim.runFor(6 * HOUR)
  expect(sim.state.halted).toBeUndefined()
  const before = executed(sim)
  sim.aggregation.chainFaults.lies = 0
  expect(await sim.calmDown()).toBe(true)
  await sim.runFor(3 * HOUR)
  expect(executed(sim)).toBeGreaterThan(before)
  expectSound(sim)
})
