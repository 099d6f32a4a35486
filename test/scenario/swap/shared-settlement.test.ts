import { expect, test } from 'vitest'
import { World } from '../../../src/simulate/world.ts'
import { aStrategy, HOUR, MINUTE, milliWeth, usdc } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

test('orders that one transaction settles together are each proven by their own share of it', async () => {
  const strategies = [
    aStrategy({ name: 'small' }),
    aStrategy({ name: 'same' }),
    aStrategy({ name: 'large', size: { side: 'sell', amount: usdc(60) } }),
    aStrategy({ name: 'exact', size: { side: 'buy', amount: milliWeth(10) } }),
  ]
  const world = new World({ seed: 'together', strategies })
  world.serviceFaults.batchMs = 30_000
  world.start()
  await world.runFor(3 * HOUR + 2 * MINUTE)
  const settlements = world.ledger.transactions.filter(({ settled }) => settled.length > 0)
  expect(settlements.map(({ settled }) => settled.length)).toEqual([4, 4, 4])
  for (const { name } of strategies) expect(world.state.strategies.get(name)?.fills).toBe(3)
  expectSound(world)
})
