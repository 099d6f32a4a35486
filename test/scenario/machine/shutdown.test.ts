import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilObserved, untilSigned } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('a stopping daemon follows its order in flight to the end, then returns', async () => {
  const sim = new Simulation({ seed: 'drain', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  sim.stop('SIGTERM')
  await sim.runFor(MINUTE)
  expect(sim.ended).toBe('returned')
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test('an order not drained in time is resumed by the next start', async () => {
  const sim = new Simulation({ seed: 'drain later', strategies: [aStrategy()] })
  sim.serviceFaults.fillsLate = 1
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  sim.stop('SIGTERM')
  await sim.runFor(40_000)
  expect(sim.ended).toBe('returned')
  expect(outcomes(sim, 'hourly')).toEqual([])
  await sim.runFor(10 * MINUTE)
  sim.start()
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})

test('a stopping daemon signs nothing', async () => {
  const sim = new Simulation({ seed: 'no new', strategies: [aStrategy()] })
  sim.queueDelayMs = 5_000
  sim.start()
  await sim.runFor(HOUR)
  await untilObserved(sim, 'quote-verified')
  sim.stop('SIGTERM')
  await sim.runFor(MINUTE)
  expect(sim.watch.signatures).toBe(0)
  expect(sim.ended).toBe('returned')
  sim.queueDelayMs = 0
  sim.start()
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test('the open order of a removed strategy is followed to its end', async () => {
  const sim = new Simulation({ seed: 'removed', strategies: [aStrategy()] })
  sim.serviceFaults.fillsLate = 1
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  sim.crash()
  const { strategies } = sim
  sim.strategies = []
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  sim.strategies = strategies
  expectSound(sim)
})

test('a strategy removed before its next attempt signs nothing more', async () => {
  const sim = new Simulation({ seed: 'removed before', strategies: [aStrategy()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  sim.crash()
  sim.strategies = []
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['failed strategy-removed'])
  expect(sim.watch.signatures).toBe(1)
  expectSound(sim)
})

test('a daemon stopped before its node answers changes nothing', async () => {
  const sim = new Simulation({ seed: 'no node', strategies: [aStrategy()] })
  sim.chainFaults.down = true
  sim.start()
  await sim.runFor(MINUTE)
  sim.stop('SIGTERM')
  await sim.runFor(MINUTE)
  expect(sim.ended).toBe('returned')
  expect(sim.disk.lines).toEqual([])
})
