import { expect, test } from 'vitest'
import type { World } from '../../simulation/simulation.ts'
import { callWorld, executed, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

function rejectedClaims(world: World, what: string) {
  return world.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

test('a receipt that names a transaction without our call is reported after some seconds', async () => {
  const world = callWorld({ seed: 'foreign receipt' })
  await untilFirstSlot(world)
  Object.assign(world.aggregation.faults, {
    neverExecutes: true,
    namesHash: `0x${'fe'.repeat(32)}`,
  })
  await untilEvent(world, 'order-accepted')
  await world.runFor(8_000)
  expect(rejectedClaims(world, 'receipt')).toEqual([])
  await world.runFor(MINUTE)
  expect(rejectedClaims(world, 'receipt')[0]).toMatchObject({
    strategy: 'claim',
    detail: expect.stringMatching(/names 0xfefe.* does not show the call/),
  })
})

test('an unanswered submission is reported when the daemon submits again', async () => {
  const world = callWorld({ seed: 'unanswered call' })
  await untilFirstSlot(world)
  world.aggregation.faults.failsBefore = 1
  await untilEvent(world, 'call-recorded')
  await world.runFor(MINUTE)
  world.aggregation.faults.failsBefore = 0
  expect(rejectedClaims(world, 'submit')[0]).toMatchObject({ service: 'aggregator' })
  await world.runFor(HOUR / 2)
  expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  expectSound(world)
})

test('a refusal of a call is reported when the chain shows its execution', async () => {
  const world = callWorld({ seed: 'refused and taken', aggregator: {} })
  await untilFirstSlot(world)
  Object.assign(world.aggregation.faults, {
    rejection: { tag: 'rejected', message: 'not today' },
    rejectsButTakes: true,
  })
  await world.runFor(HOUR / 2)
  expect(executed(world)).toBe(1)
  const via = world.disk.events().find(({ type }) => type === 'call-proven')
  const isReported = rejectedClaims(world, 'ended').length > 0
  expect(isReported).toBe(via?.type === 'call-proven' && via.execution.via === 'aggregated')
  expectSound(world)
})

test('a refused login is reported at each read of the funds', async () => {
  const world = callWorld({ seed: 'no login' })
  world.aggregation.faults.refusesLogin = true
  world.start()
  await world.runFor(MINUTE)
  const refusals = world.observations.filter(({ type }) => type === 'gas-tank-unknown')
  expect(refusals.length).toBeGreaterThan(2)
  expect(refusals[0]).toMatchObject({ isLogin: true })
})
