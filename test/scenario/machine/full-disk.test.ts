import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { eventTypes, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

test('a full disk ends the daemon before it signs', async () => {
  const world = new World({ seed: 'full before', strategies: [aStrategy()] })
  world.ledger.setAllowance(USDC.address, WALLET, usdc(1_000))
  world.start()
  await world.runFor(HOUR)
  await untilObserved(world, 'slot-opened')
  world.disk.full = true
  await world.runFor(5 * MINUTE)
  expect(world.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(world.observations.some(({ type }) => type === 'quote-verified')).toBe(true)
  expect(world.watch.signatures).toBe(0)
})

test('an order signed before the disk filled up is resumed once there is space', async () => {
  const world = new World({ seed: 'full after', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  world.disk.full = true
  await world.runFor(5 * MINUTE)
  expect(world.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(eventTypes(world).at(-1)).toBe('permit-recorded')
  world.disk.full = false
  world.start()
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(1)
})

test('a full disk at the acceptance of an order ends the daemon at its fill, before the drain timeout', async () => {
  const world = new World({ seed: 'full as accepted', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR)
  world.disk.onAppend = (type) => {
    world.disk.full ||= type === 'order-accepted'
  }
  await untilSigned(world, 1)
  while (!world.ledger.transactions.some(({ settled }) => settled.length > 0))
    await world.runFor(50)
  await world.runFor(5_000)
  expect(world.ended).toMatchObject({ error: { message: 'no space left on device' } })
  expect(eventTypes(world).at(-1)).toBe('permit-recorded')
  world.disk.full = false
  world.disk.onAppend = undefined
  world.start()
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(1)
})
