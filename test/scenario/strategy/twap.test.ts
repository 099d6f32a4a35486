import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { World } from '../../simulation/simulation.ts'
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

function sold(world: World): bigint {
  return usdc(100_000) - world.balance(USDC.address)
}

describe('a TWAP schedule', () => {
  test('sells its total to the base unit and ends', async () => {
    const world = new World({ seed: 'slices', strategies: [sixSlices()] })
    world.start()
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'slices')).toEqual(Array(6).fill(FILLED))
    expect(sold(world)).toBe(TOTAL)
    expectSound(world)
  })

  test('spreads slices missed during downtime over the remaining slices', async () => {
    const world = new World({ seed: 'spread', strategies: [sixSlices()] })
    world.start()
    await world.runFor(15 * MINUTE)
    world.crash()
    await world.runFor(23 * MINUTE)
    world.start()
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'slices')).toEqual([FILLED, FILLED, 'missed 2', FILLED, FILLED])
    expect(sold(world)).toBe(TOTAL)
    expectSound(world)
  })

  test('drops missed slices under `unsold: drop`', async () => {
    const world = new World({ seed: 'drop', strategies: [sixSlices({ unsold: 'drop' })] })
    world.start()
    await world.runFor(15 * MINUTE)
    world.crash()
    await world.runFor(23 * MINUTE)
    world.start()
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'slices')).toEqual([FILLED, FILLED, 'missed 2', FILLED, FILLED])
    expect(sold(world)).toBe(100_000_001n + 100_000_001n + 100_000_001n + 100_000_002n)
    expectSound(world)
  })

  test('stops outside its price bound and catches up once the price returns', async () => {
    const price = { min: undefined, max: usdcPerWeth(2_700) }
    const world = new World({ seed: 'bound', strategies: [sixSlices({ price })] })
    world.start()
    await world.runFor(15 * MINUTE)
    world.market.setPrice(3_000n)
    await world.runFor(20 * MINUTE)
    world.market.setPrice(2_500n)
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'slices')).toEqual([
      FILLED,
      FILLED,
      'skipped price-outside-bounds',
      'skipped price-outside-bounds',
      FILLED,
      FILLED,
    ])
    expect(sold(world)).toBe(TOTAL)
    expectSound(world)
  })
})
