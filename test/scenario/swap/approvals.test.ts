import { describe, expect, test } from 'vitest'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

function approvals(world: World): number {
  return world.disk
    .events()
    .filter(
      (event) => event.type === 'transaction-recorded' && event.transaction.purpose === 'approve',
    ).length
}

describe('the Permit2 allowance', () => {
  test('mode `exact`: covers one order at a time, which uses it up', async () => {
    const world = new World({
      seed: 'exact',
      strategies: [aStrategy()],
      gasless: { approval: 'exact' },
    })
    world.start()
    await world.runFor(3 * HOUR + MINUTE)
    expect(approvals(world)).toBe(3)
    expect(world.ledger.allowance(USDC.address, WALLET)).toBe(0n)
    expectSound(world)
  })

  test("mode `budget`: equals the rest of the day's cap, set in one approval", async () => {
    const world = new World({ seed: 'budget', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + MINUTE)
    expect(approvals(world)).toBe(1)
    expect(world.ledger.allowance(USDC.address, WALLET)).toBe(usdc(1000 - 75))
    expectSound(world)
  })

  test('mode `unlimited`: is set in one approval', async () => {
    const gasless = { approval: 'unlimited' } as const
    const world = new World({ seed: 'unlimited', strategies: [aStrategy()], gasless })
    world.start()
    await world.runFor(3 * HOUR + MINUTE)
    expect(approvals(world)).toBe(1)
    expect(world.ledger.allowance(USDC.address, WALLET)).toBe(2n ** 256n - 1n)
    expectSound(world)
  })

  test('mode `exact`: is not shared by orders of one slot when it covers only one of them', async () => {
    const strategies = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const gasless = { approval: 'exact' } as const
    const world = new World({ seed: 'shared allowance', strategies, gasless })
    world.start()
    await world.runFor(5 * HOUR + 2 * MINUTE)
    for (const { name } of strategies) expect(world.state.strategies.get(name)?.fills).toBe(5)
    expect(world.ledger.transactions.filter(({ success }) => !success)).toEqual([])
    expect(imbalances(world)).toEqual([])
    expectSound(world)
  })

  test('covers one order of a slot, so the second order gets its own approval', async () => {
    const strategies = ['one', 'two'].map((name) => aStrategy({ name }))
    const world = new World({ seed: 'found allowance', strategies })
    world.ledger.setAllowance(USDC.address, WALLET, usdc(25))
    world.queueDelayMs = 1_000
    world.start()
    await world.runFor(HOUR + 2 * MINUTE)
    for (const { name } of strategies) expect(world.state.strategies.get(name)?.fills).toBe(1)
    expect(world.ledger.transactions.filter(({ success }) => !success)).toEqual([])
    expectSound(world)
  })

  test.each([2n, 40n])(
    'has its approval repriced when fees rise %d times after its record, and the order continues',
    async (feeTimes) => {
      const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE })
      const world = new World({ seed: 'underpriced', strategies: [aStrategy({ schedule })] })
      world.disk.onAppend = (type) => {
        if (type === 'transaction-recorded') world.chainFaults.feeTimes = feeTimes
      }
      world.start()
      await world.runFor(HOUR)
      // The next process finds the record, but no node knows the transaction.
      world.crash()
      world.start()
      await world.runFor(15 * MINUTE)
      expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
      expectSound(world)
    },
  )
})
