import { describe, expect, test } from 'vitest'
import type { BaseUnits } from '../../../src/domain/money/units.ts'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  aSchedule,
  aStrategy,
  capOf,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  usdc,
} from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

describe('orders settled by one transaction', () => {
  test('are each proven by their own share', async () => {
    const strategies = [
      aStrategy({ name: 'small' }),
      aStrategy({ name: 'same' }),
      aStrategy({ name: 'large', size: { side: 'sell', amount: usdc(60) } }),
      aStrategy({ name: 'exact', size: { side: 'buy', amount: milliWeth(10) } }),
    ]
    const sim = new Simulation({ seed: 'together', strategies })
    sim.serviceFaults.batchMs = 30_000
    sim.start()
    await sim.runFor(3 * HOUR + 2 * MINUTE)
    const settlements = sim.ledger.transactions.filter(({ settled }) => settled.length > 0)
    expect(settlements.map(({ settled }) => settled.length)).toEqual([4, 4, 4])
    for (const { name } of strategies) expect(sim.state.strategies.get(name)?.fills).toBe(3)
    expectSound(sim)
  })

  test.each([
    ['exactly the amount taken when calldata shows it', false],
    ['no less than the amount taken when calldata hides it', true],
  ])('are recorded at %s', async (_name, hidesAmounts) => {
    const strategies = [0n, 1n, 2n].map((more) =>
      aStrategy({
        name: `exact-${more}`,
        size: { side: 'buy', amount: (milliWeth(10) + more * 10n ** 13n) as BaseUnits },
      }),
    )
    const sim = new Simulation({ seed: 'distinguished', strategies })
    Object.assign(sim.serviceFaults, { batchMs: 30_000, hidesAmounts })
    sim.start()
    await sim.runFor(HOUR + 2 * MINUTE)
    const settled = sim.ledger.transactions.flatMap((mined) => mined.settled)
    expect(settled).toHaveLength(3)
    const total = (amounts: readonly bigint[]): bigint =>
      amounts.reduce((sum, each) => sum + each, 0n)
    const left = total(settled.map(({ paid }) => paid))
    const recorded = sim.state.spent.get(USDC.address) ?? 0n
    if (hidesAmounts) expect(recorded).toBeGreaterThan(left)
    else expect(recorded).toBe(left)
    expectSound(sim)
  })

  test('are recorded at the amount taken behind a zero transfer, and exceed no cap', async () => {
    const schedule = aSchedule('*/10 * * * *')
    const strategies = [
      aStrategy({ name: 'small', schedule, size: { side: 'sell', amount: usdc(15) } }),
      aStrategy({
        name: 'large',
        schedule,
        size: { side: 'sell', amount: usdc(150) },
        limits: { ...OPEN, perDay: capOf(USDC, usdc(300)) },
      }),
    ]
    const sim = new Simulation({ seed: 'behind nothing', strategies })
    Object.assign(sim.serviceFaults, { batchMs: 30_000, zeroTransfers: 1, silent: 1 })
    sim.start()
    await sim.runFor(3 * HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'large').slice(0, 3)).toEqual([
      'filled filled',
      'filled filled',
      'skipped limit-per-day',
    ])
    expect(sim.state.strategies.get('large')?.spent.get(USDC.address)).toBe(usdc(300))
    expect(imbalances(sim)).toEqual([])
    expectSound(sim)
  })
})
