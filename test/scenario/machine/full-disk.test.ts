import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { untilObserved, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, outcomes } from '../../support/sound.ts'

test('a full disk ends the daemon before it signs', async () => {
  const sim = new Simulation({ seed: 'full before', strategies: [aStrategy()] })
  sim.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  sim.start()
  await sim.runFor(HOUR)
  await untilObserved(sim, 'slot-opened')
  sim.disk.full = true
  await sim.runFor(5 * MINUTE)
  expect(sim.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(sim.observations.some(({ type }) => type === 'quote-verified')).toBe(true)
  expect(sim.watch.signatures).toBe(0)
})

test('an order signed before the disk filled up is resumed once there is space', async () => {
  const sim = new Simulation({ seed: 'full after', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  sim.disk.full = true
  await sim.runFor(5 * MINUTE)
  expect(sim.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(eventTypes(sim).at(-1)).toBe('permit-recorded')
  sim.disk.full = false
  sim.start()
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.watch.signatures).toBe(1)
})

test('a full disk at the acceptance of an order ends the daemon at its fill, before the drain timeout', async () => {
  const sim = new Simulation({ seed: 'full as accepted', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR)
  sim.disk.onAppend = (type) => {
    sim.disk.full ||= type === 'order-accepted'
  }
  await untilSigned(sim, 1)
  while (!sim.ledger.transactions.some(({ settled }) => settled.length > 0)) await sim.runFor(50)
  await sim.runFor(5_000)
  expect(sim.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(eventTypes(sim).at(-1)).toBe('permit-recorded')
  sim.disk.full = false
  sim.disk.onAppend = undefined
  sim.start()
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.watch.signatures).toBe(1)
})
