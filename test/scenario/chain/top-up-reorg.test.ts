import { expect, test } from 'vitest'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import type { World } from '../../simulation/simulation.ts'
import { callWorld } from '../../support/aggregator/call-world.ts'
import { MINUTE } from '../../support/builders.ts'
import { eventTypes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const MILLI_ETHER = 10n ** 15n

const { gasTank } = AGGREGATOR.contracts

/** A world whose first top-up, the whole daily cap, reverted in a block that is not final. */
async function reverted(seed: string): Promise<World> {
  const topUp = {
    belowWei: 2_000n * MILLI_ETHER,
    amountWei: MILLI_ETHER,
    maxPerDayWei: MILLI_ETHER,
  }
  const world = callWorld({
    seed,
    rule: { finality: 30 },
    aggregator: { gasTank: { methods: 'auto', alertBelowWei: undefined, topUp } },
  })
  const { ledger } = world.aggregation
  world.start()
  await untilEvent(world, 'transaction-signed')
  ledger.reverting.add(gasTank)
  await world.runFor(30_000)
  expect(ledger.mined.map(({ success }) => success)).toEqual([false])
  ledger.reverting.delete(gasTank)
  return world
}

function deposited(world: World): readonly bigint[] {
  const { executions } = world.aggregation.ledger
  return executions.filter(({ target }) => target === gasTank).map(({ value }) => value)
}

test('a top-up that reverted counts in the cap until the revert is final', async () => {
  const world = await reverted('top-up reorg')
  world.aggregation.ledger.reorg({ blocks: 20, againAfterMs: 500 })
  await world.runFor(30 * MINUTE)
  expect(deposited(world)).toEqual([MILLI_ETHER])
  expect(eventTypes(world).filter((type) => type === 'transaction-recorded')).toHaveLength(1)
})

test('a top-up that reverted is sent again once the revert is final', async () => {
  const world = await reverted('top-up again')
  await world.runFor(10 * MINUTE)
  expect(deposited(world)).toEqual([MILLI_ETHER])
  expect(world.aggregation.ledger.mined.map(({ success }) => success)).toEqual([false, true])
})
