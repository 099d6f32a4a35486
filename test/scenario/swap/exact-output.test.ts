import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE, milliWeth } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

test('an exact-output strategy gets its amount and records the amount paid, not the amount permitted', async () => {
  const strategy = aStrategy({ size: { side: 'buy', amount: milliWeth(10) } })
  const world = new World({ seed: 'exact output', strategies: [strategy] })
  const before = { usdc: world.balance(USDC.address), weth: world.balance(WETH.address) }
  world.start()
  await world.runFor(2 * HOUR + MINUTE)

  const record = world.state.strategies.get('hourly')
  expect(record?.fills).toBe(2)
  expect(world.balance(WETH.address) - before.weth).toBe(milliWeth(20))
  expect(record?.spent.get(USDC.address)).toBe(before.usdc - world.balance(USDC.address))
  const allowed = world.disk
    .events()
    .map((event): bigint => (event.type === 'permit-recorded' ? event.permit.amount : 0n))
    .reduce((sum, amount) => sum + amount, 0n)
  expect(record?.spent.get(USDC.address)).toBeLessThan(allowed)
  expectSound(world)
})
