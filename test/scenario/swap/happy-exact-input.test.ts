import { expect, test } from 'vitest'
import { violationsOf } from '../../simulation/judge/invariants.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import { aStrategy, HOUR, usdc } from '../../support/builders.ts'

test('an exact-input strategy fills every slot once and records the amounts that moved on chain', async () => {
  const world = new World({ seed: 'exact input', strategies: [aStrategy()] })
  const before = { usdc: world.balance(USDC.address), weth: world.balance(WETH.address) }
  world.start()
  await world.runFor(6 * HOUR + 60_000)

  const record = world.state.strategies.get('hourly')
  expect(record?.fills).toBe(6)
  expect(record?.spent.get(USDC.address)).toBe(usdc(150))
  expect(before.usdc - world.balance(USDC.address)).toBe(usdc(150))
  expect(world.balance(WETH.address)).toBeGreaterThan(before.weth)
  expect(world.state.intents.size).toBe(0)
  expect(violationsOf(world)).toEqual([])
})
