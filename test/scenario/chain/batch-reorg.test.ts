import { expect, test } from 'vitest'
import { CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test.each(['trusted', 'trustless'] as const)(
  'a %s call in a reorged batch is found there again and blocks no other call',
  async (proposer) => {
    const sim = callSimulation({
      seed: `batch ${proposer}`,
      rule: { finality: 30 },
      aggregator: { proposer },
    })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-closed')
    sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 1_000 })
    await sim.runFor(10 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'filled filled'])
    expect(executed(sim)).toBe(1)
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim')).toHaveLength(3)
    expect(executed(sim)).toBe(2)
    expectSound(sim)
  },
)

test('a trusted call that the service moves into another batch after a reorg is found there', async () => {
  const sim = callSimulation({
    seed: 'another batch',
    rule: { finality: 30 },
    aggregator: { proposer: 'trusted' },
  })
  const { ledger, faults } = sim.aggregation
  await untilFirstSlot(sim)
  await untilEvent(sim, 'slot-closed')
  ledger.reorg({ blocks: 10, againAfterMs: undefined })
  await sim.runFor(10 * MINUTE)
  expect(sim.state.intents.size).toBe(1)
  expect(unknowns(sim).join()).toContain('the chain does not show it again yet')
  ledger.strangersTransaction('0x')
  const { calldata: data, value } = aCallStrategy()
  faults.namesHash = ledger.batch({ target: CALL_TARGET, data, value })
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'filled filled'])
  expect(executed(sim)).toBe(1)
  expectSound(sim)
})

test('a trusted call is found in its original batch while the service is silent', async () => {
  const sim = callSimulation({
    seed: 'silent',
    rule: { finality: 30 },
    aggregator: { proposer: 'trusted' },
  })
  const { ledger, faults } = sim.aggregation
  await untilFirstSlot(sim)
  await untilEvent(sim, 'slot-closed')
  faults.down = true
  ledger.reorg({ blocks: 10, againAfterMs: 20_000 })
  await sim.runFor(10 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'filled filled'])
  expectSound(sim)
})
