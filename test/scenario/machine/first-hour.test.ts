import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'

/** Reports of the whole wallet while a strategy is due every ten seconds. */
async function reportsIn(sim: Simulation, ms: number): Promise<number> {
  const count = () => sim.observations.filter(({ type }) => type === 'portfolio').length
  const before = count()
  await sim.runFor(ms)
  return count() - before
}

function busy(seed: string): Simulation {
  const sim = new Simulation({
    seed,
    strategies: [aStrategy({ schedule: aSchedule('*/10 * * * * *') })],
  })
  sim.start()
  return sim
}

test('in its first hour a daemon reports its holdings with every read for a due slot', async () => {
  const sim = busy('first hour')
  await sim.runFor(MINUTE)
  expect(await reportsIn(sim, 10 * MINUTE)).toBeGreaterThanOrEqual(55)
  await sim.runFor(HOUR)
  expect(await reportsIn(sim, 10 * MINUTE)).toBeLessThanOrEqual(11)
})

test('a chain that fails once ends that, so that no feed delays slots that do not need it', async () => {
  const sim = busy('first hour, silent')
  await sim.runFor(MINUTE)
  sim.chainFaults.unavailable = 1
  await sim.runFor(MINUTE)
  sim.chainFaults.unavailable = 0
  await sim.runFor(MINUTE)
  expect(await reportsIn(sim, 10 * MINUTE)).toBeLessThanOrEqual(11)
})
