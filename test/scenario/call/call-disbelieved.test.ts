import { expect, test } from 'vitest'
import type { World } from '../../simulation/simulation.ts'
import { callWorld, executed, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

function disbelieved(world: World, what: string) {
  return world.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

test('a receipt that names a transaction without our call is told after some seconds', async () => {
  const world = callWorld({ seed: 'foreign receipt' })
  await untilFirstSlot(world)
  Object.assign(world.aggregation.faults, {
    neverExecutes: true,
    namesHash: `0x${'fe'.repeat(32)}`,
  })
  await untilEvent(world, 'order-accepted')
  await world.runFor(8_000)
  expect(disbelieved(world, 'receipt')).toEqual([])
  await world.runFor(MINUTE)
  expect(disbelieved(world, 'receipt')[0]).toMatchObject({
    strategy: 'claim',
    detail: expect.stringMatching(/names 0xfefe.* does not show the call/),
  })
})

test('a submission that is not answered is told when it is made again', async () => {
  const world = callWorld({ seed: 'unanswered call' })
  await untilFirstSlot(world)
  world.aggregation.faults.failsBefore = 1
  await untilEvent(world, 'call-recorded')
  await world.runFor(MINUTE)
  world.aggregation.faults.failsBefore = 0
  expect(disbelieved(world, 'submit')[0]).toMatchObject({ service: 'aggregator' })
  await world.runFor(HOUR / 2)
  expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  expectSound(world)
})

test('a call that was refused and executed all the same is told when the chain shows it', async () => {
  const world = callWorld({ seed: 'refused and taken', aggregator: {} })
  await untilFirstSlot(world)
  Object.assign(world.aggregation.faults, {
    rejection: { tag: 'rejected', message: 'not today' },
    rejectsButTakes: true,
  })
  await world.runFor(HOUR / 2)
  expect(executed(world)).toBe(1)
  const via = world.disk.events().find(({ type }) => type === 'call-proven')
  const isTold = disbelieved(world, 'ended').length > 0
  expect(isTold).toBe(via?.type === 'call-proven' && via.execution.via === 'aggregated')
  expectSound(world)
})

test('a login that is refused is told at each look at the funds', async () => {
  const world = callWorld({ seed: 'no login' })
  world.aggregation.faults.refusesLogin = true
  world.start()
  await world.runFor(MINUTE)
  const told = world.observations.filter(({ type }) => type === 'gas-tank-unknown')
  expect(told.length).toBeGreaterThan(2)
  expect(told[0]).toMatchObject({ isLogin: true })
})
