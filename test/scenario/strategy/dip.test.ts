import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('a dip is measured from the highest price of its window, across a restart, and ends with the window', async () => {
  const strategy = aStrategy({
    schedule: aSchedule('0 * * * *', { missed: 'skip' }),
    dips: [
      { dropBps: 2_000, amount: usdc(100) },
      { dropBps: 1_000, amount: usdc(50) },
    ],
    dipWindowMs: 4 * HOUR,
  })
  const sim = new Simulation({ seed: 'dip', strategies: [strategy] })
  const spent = () => sim.state.strategies.get('hourly')?.spent.get(USDC.address) ?? 0n
  /** Amount that the slot of the next full hour spends at a price. */
  const slotAt = async (price: bigint): Promise<bigint> => {
    const before = spent()
    await sim.runFor(55 * MINUTE)
    sim.market.setPrice(price)
    await sim.runFor(5 * MINUTE)
    return spent() - before
  }
  sim.start()
  await sim.runFor(2 * MINUTE)
  expect(await slotAt(2_500n)).toBe(usdc(25))
  expect(await slotAt(2_200n)).toBe(usdc(50))
  sim.crash()
  sim.start()
  expect(await slotAt(1_900n)).toBe(usdc(100))
  expect(await slotAt(2_300n)).toBe(usdc(25))
  // The 2,500 has left the window and 2,200 is lower, so 2,300 counts.
  await slotAt(2_300n)
  expect(await slotAt(2_060n)).toBe(usdc(50))
  expect(await slotAt(2_300n)).toBe(usdc(25))
  expect(outcomes(sim, 'hourly')).toEqual(Array(7).fill('filled filled'))
  expectSound(sim)
})
