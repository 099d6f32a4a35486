import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, milliWeth } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

test('an exact-output strategy gets its amount and records the amount paid, not the amount permitted', async () => {
  const strategy = aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })
  const sim = new Simulation({ seed: 'exact output', strategies: [strategy] })
  const before = { usdc: sim.balance(USDC.address), weth: sim.balance(WETH.address) }
  sim.start()
  await sim.runFor(2 * HOUR + MINUTE)

  const record = sim.state.strategies.get('hourly')
  expect(record?.fills).toBe(2)
  expect(sim.balance(WETH.address) - before.weth).toBe(milliWeth(20))
  expect(record?.spent.get(USDC.address)).toBe(before.usdc - sim.balance(USDC.address))
  const allowed = sim.disk
    .events()
    .map((event): bigint => (event.type === 'permit-recorded' ? event.permit.amount : 0n))
    .reduce((sum, amount) => sum + amount, 0n)
  expect(record?.spent.get(USDC.address)).toBeLessThan(allowed)
  expectSound(sim)
})
