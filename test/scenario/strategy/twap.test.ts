import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { aTwap, usdcPerWeth } from '../../unit/strategies/decide-fixture.ts'

const FILLED = 'filled filled'

const TOTAL = baseUnits(usdc(600) + 7n)

/** A total not divisible by six, in six slices ten minutes apart from when the strategy is first seen. */
function sixSlices(changes: Partial<Omit<TwapStrategy, 'schedule'>> = {}): TwapStrategy {
  const recurrence = { everySeconds: 600, count: 6, startSeconds: undefined }
  const strategy = aTwap({ total: TOTAL, ...changes }, recurrence)
  return { ...strategy, schedule: { ...strategy.schedule, maxLatenessMs: 5 * MINUTE } }
}

function sold(sim: Simulation): bigint {
  return usdc(100_000) - sim.balance(USDC.address)
}

describe('a TWAP schedule', () => {
  test('sells its total to the base unit and ends', async () => {
    const sim = new Simulation({ seed: 'slices', strategies: [sixSlices()] })
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'slices')).toEqual(Array(6).fill(FILLED))
    expect(sold(sim)).toBe(TOTAL)
    expectSound(sim)
  })

  test('spreads slices missed during downtime over the remaining slices', async () => {
    const sim = new Simulation({ seed: 'spread', strategies: [sixSlices()] })
    sim.start()
    await sim.runFor(15 * MINUTE)
    sim.crash()
    await sim.runFor(23 * MINUTE)
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'slices')).toEqual([FILLED, FILLED, 'missed 2', FILLED, FILLED])
    expect(sold(sim)).toBe(TOTAL)
    expectSound(sim)
  })

  test('drops missed slices under `unsold: drop`', async () => {
    const sim = new Simulation({ seed: 'drop', strategies: [sixSlices({ unsold: 'drop' })] })
    sim.start()
    await sim.runFor(15 * MINUTE)
    sim.crash()
    await sim.runFor(23 * MINUTE)
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'slices')).toEqual([FILLED, FILLED, 'missed 2', FILLED, FILLED])
    expect(sold(sim)).toBe(100_000_001n + 100_000_001n + 100_000_001n + 100_000_002n)
    expectSound(sim)
  })

  test('stops outside its price bound and catches up once the price returns', async () => {
    const price = { min: undefined, max: usdcPerWeth(2_700) }
    const sim = new Simulation({ seed: 'bound', strategies: [sixSlices({ price })] })
    sim.start()
    await sim.runFor(15 * MINUTE)
    sim.market.setPrice(3_000n)
    await sim.runFor(20 * MINUTE)
    sim.market.setPrice(2_500n)
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'slices')).toEqual([
      FILLED,
      FILLED,
      'skipped price-outside-bounds',
      'skipped price-outside-bounds',
      FILLED,
      FILLED,
    ])
    expect(sold(sim)).toBe(TOTAL)
    expectSound(sim)
  })
})
