import { expect, test } from 'vitest'
import { violationsOf } from '../../simulation/judge/invariants.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import { aStrategy, HOUR, usdc } from '../../support/builders.ts'

test('an exact-input strategy fills every slot once and records the amounts that moved on chain', async () => {
  const sim = new Simulation({ seed: 'exact input', strategies: [aStrategy()] })
  const before = { usdc: sim.balance(USDC.address), weth: sim.balance(WETH.address) }
  sim.start()
  await sim.runFor(6 * HOUR + 60_000)

  const record = sim.state.strategies.get('hourly')
  expect(record?.fills).toBe(6)
  expect(record?.spent.get(USDC.address)).toBe(usdc(150))
  expect(before.usdc - sim.balance(USDC.address)).toBe(usdc(150))
  expect(sim.balance(WETH.address)).toBeGreaterThan(before.weth)
  expect(sim.state.intents.size).toBe(0)
  expect(violationsOf(sim)).toEqual([])
})
