import { expect, test } from 'vitest'
import { callWorld, executed, routes, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent, untilExposed } from '../../support/worlds/run-until.ts'

test.each(['trustless', 'trusted'] as const)(
  'a halt stops a %s call while its record is being written',
  async (proposer) => {
    const world = callWorld({ seed: 'halt at the signature', aggregator: { proposer } })
    await untilFirstSlot(world)
    await untilExposed(world)
    await Promise.all([world.control.halt(), world.runFor(1_000)])
    await world.runFor(HOUR / 2 + MINUTE)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'claim')).toEqual(['skipped halted'])
    expect(executed(world)).toBe(0)
    expectSound(world)
  },
)

test.each(['trustless', 'trusted'] as const)(
  'a pause of its strategy stops a %s call while its record is being written',
  async (proposer) => {
    const world = callWorld({ seed: 'pause at the signature', aggregator: { proposer } })
    await untilFirstSlot(world)
    await untilExposed(world)
    await Promise.all([world.control.pause('claim'), world.runFor(1_000)])
    await world.runFor(HOUR / 2 + MINUTE)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'claim')).toEqual(['skipped paused'])
    expect(executed(world)).toBe(0)
    expectSound(world)
  },
)

test('a halt stops a direct call during its draft, and the call is sent once the halt is lifted', async () => {
  const world = callWorld({ seed: 'halt at the fallback' })
  world.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
  world.aggregation.chainFaults.draftsDown = true
  await untilFirstSlot(world)
  await untilEvent(world, 'order-ended')
  await world.runFor(500)
  await Promise.all([world.control.halt(), world.runFor(100)])
  world.aggregation.chainFaults.draftsDown = false
  await world.runFor(20_000)
  expect(eventTypes(world)).not.toContain('transaction-recorded')
  await Promise.all([world.control.resume(undefined), world.runFor(100)])
  await world.runFor(MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  expect(routes(world)).toEqual(['direct'])
  expectSound(world)
})
