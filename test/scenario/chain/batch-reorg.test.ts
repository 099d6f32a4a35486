import { expect, test } from 'vitest'
import { CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

test.each(['trusted', 'trustless'] as const)(
  'a %s call in a reorged batch is found there again and blocks no other call',
  async (proposer) => {
    const world = callWorld({
      seed: `batch ${proposer}`,
      rule: { finality: 30 },
      aggregator: { proposer },
    })
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-closed')
    world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 1_000 })
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled', 'filled filled'])
    expect(executed(world)).toBe(1)
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim')).toHaveLength(3)
    expect(executed(world)).toBe(2)
    expectSound(world)
  },
)

test('a trusted call that the service moves into another batch after a reorg is found there', async () => {
  const world = callWorld({
    seed: 'another batch',
    rule: { finality: 30 },
    aggregator: { proposer: 'trusted' },
  })
  const { ledger, faults } = world.aggregation
  await untilFirstSlot(world)
  await untilEvent(world, 'slot-closed')
  ledger.reorg({ blocks: 10, againAfterMs: undefined })
  await world.runFor(10 * MINUTE)
  expect(world.state.intents.size).toBe(1)
  expect(unknowns(world).join()).toContain('the chain does not show it again yet')
  ledger.strangersTransaction('0x')
  const { calldata: data, value } = aCallStrategy()
  faults.namesHash = ledger.batch({ target: CALL_TARGET, data, value })
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['filled filled', 'filled filled'])
  expect(executed(world)).toBe(1)
  expectSound(world)
})

test('a trusted call is found in its original batch while the service is silent', async () => {
  const world = callWorld({
    seed: 'silent',
    rule: { finality: 30 },
    aggregator: { proposer: 'trusted' },
  })
  const { ledger, faults } = world.aggregation
  await untilFirstSlot(world)
  await untilEvent(world, 'slot-closed')
  faults.down = true
  ledger.reorg({ blocks: 10, againAfterMs: 20_000 })
  await world.runFor(10 * MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['filled filled', 'filled filled'])
  expectSound(world)
})
