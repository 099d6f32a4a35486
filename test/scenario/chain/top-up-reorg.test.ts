import { expect, test } from 'vitest'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { callSimulation } from '../../support/aggregator/call-simulation.ts'
import { MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes } from '../../support/sound.ts'

const MILLI_ETHER = 10n ** 15n

const { gasTank } = AGGREGATOR.contracts

/** A simulation whose first top-up, the whole daily cap, reverted in a block that is not final. */
async function reverted(seed: string): Promise<Simulation> {
  const topUp = {
    belowWei: 2_000n * MILLI_ETHER,
    amountWei: MILLI_ETHER,
    maxPerDayWei: MILLI_ETHER,
  }
  const sim = callSimulation({
    seed,
    rule: { finality: 30 },
    aggregator: { gasTank: { methods: 'auto', alertBelowWei: undefined, topUp } },
  })
  const { ledger } = sim.aggregation
  sim.start()
  await untilEvent(sim, 'transaction-signed')
  ledger.reverting.add(gasTank)
  await sim.runFor(30_000)
  expect(ledger.mined.map(({ success }) => success)).toEqual([false])
  ledger.reverting.delete(gasTank)
  return sim
}

function deposited(sim: Simulation): readonly bigint[] {
  const { executions } = sim.aggregation.ledger
  return executions.filter(({ target }) => target === gasTank).map(({ value }) => value)
}

test('a top-up that reverted counts in the cap until the revert is final', async () => {
  const sim = await reverted('top-up reorg')
  sim.aggregation.ledger.reorg({ blocks: 20, againAfterMs: 500 })
  await sim.runFor(30 * MINUTE)
  expect(deposited(sim)).toEqual([MILLI_ETHER])
  expect(eventTypes(sim).filter((type) => type === 'transaction-recorded')).toHaveLength(1)
})

test('a top-up that reverted is sent again once the revert is final', async () => {
  const sim = await reverted('top-up again')
  await sim.runFor(10 * MINUTE)
  expect(deposited(sim)).toEqual([MILLI_ETHER])
  expect(sim.aggregation.ledger.mined.map(({ success }) => success)).toEqual([false, true])
})
