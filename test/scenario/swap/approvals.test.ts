import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

function approvals(sim: Simulation): number {
  return sim.disk
    .events()
    .filter(
      (event) => event.type === 'transaction-recorded' && event.transaction.purpose === 'approve',
    ).length
}

describe('the Permit2 allowance', () => {
  test('mode `exact`: covers one order at a time, which uses it up', async () => {
    const sim = new Simulation({
      seed: 'exact',
      strategies: [aStrategy()],
      gasless: { approval: 'exact' },
    })
    sim.start()
    await sim.runFor(3 * HOUR + MINUTE)
    expect(approvals(sim)).toBe(3)
    expect(sim.ledger.allowance(USDC.address, WALLET)).toBe(0n)
    expectSound(sim)
  })

  test("mode `budget`: equals the rest of the day's cap, set in one approval", async () => {
    const sim = new Simulation({ seed: 'budget', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(3 * HOUR + MINUTE)
    expect(approvals(sim)).toBe(1)
    expect(sim.ledger.allowance(USDC.address, WALLET)).toBe(usdc(1000 - 75))
    expectSound(sim)
  })

  test('mode `unlimited`: is set in one approval', async () => {
    const gasless = { approval: 'unlimited' } as const
    const sim = new Simulation({ seed: 'unlimited', strategies: [aStrategy()], gasless })
    sim.start()
    await sim.runFor(3 * HOUR + MINUTE)
    expect(approvals(sim)).toBe(1)
    expect(sim.ledger.allowance(USDC.address, WALLET)).toBe(2n ** 256n - 1n)
    expectSound(sim)
  })

  test('mode `exact`: is not shared by orders of one slot when it covers only one of them', async () => {
    const strategies = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const gasless = { approval: 'exact' } as const
    const sim = new Simulation({ seed: 'shared allowance', strategies, gasless })
    sim.start()
    await sim.runFor(5 * HOUR + 2 * MINUTE)
    for (const { name } of strategies) expect(sim.state.strategies.get(name)?.fills).toBe(5)
    expect(sim.ledger.transactions.filter(({ success }) => !success)).toEqual([])
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })

  test('covers one order of a slot, so the second order gets its own approval', async () => {
    const strategies = ['one', 'two'].map((name) => aStrategy({ name }))
    const sim = new Simulation({ seed: 'found allowance', strategies })
    sim.ledger.setAllowance(USDC.address, WALLET, usdc(25))
    sim.queueDelayMs = 1_000
    sim.start()
    await sim.runFor(HOUR + 2 * MINUTE)
    for (const { name } of strategies) expect(sim.state.strategies.get(name)?.fills).toBe(1)
    expect(sim.ledger.transactions.filter(({ success }) => !success)).toEqual([])
    expectSound(sim)
  })

  test.each([2n, 40n])(
    'has its approval repriced when fees rise %d times after its record, and the order continues',
    async (feeTimes) => {
      const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE })
      const sim = new Simulation({ seed: 'underpriced', strategies: [aStrategy({ schedule })] })
      sim.disk.onAppend = (type) => {
        if (type === 'transaction-recorded') sim.chainFaults.feeTimes = feeTimes
      }
      sim.start()
      await sim.runFor(HOUR)
      // The next process finds the record, but no node knows the transaction.
      sim.crash()
      sim.start()
      await sim.runFor(15 * MINUTE)
      expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
      expectSound(sim)
    },
  )
})
