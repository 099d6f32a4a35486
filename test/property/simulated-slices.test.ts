import { describe, expect, test } from 'vitest'
import { createRandom, type SeededRandom } from '../../src/domain/random.ts'
import type { MissedPolicy } from '../../src/domain/schedule/schedule.ts'
import type { TwapStrategy } from '../../src/domain/strategy.ts'
import { baseUnits } from '../../src/domain/units.ts'
import { USDC } from '../../src/simulate/stage.ts'
import { World } from '../../src/simulate/world.ts'
import { capOf, HOUR, MINUTE, OPEN, usdc } from '../support/builders.ts'
import { expectSound } from '../support/sound.ts'
import { disturb } from '../support/troubles.ts'
import { aTwap, usdcPerWeth } from '../unit/decide/decide-fixture.ts'

/** More worlds for a longer search: SIMULATED_WORLDS=500. */
const SEEDS = Number(process.env['SIMULATED_WORLDS'] ?? 8)
const TOTAL = baseUnits(usdc(200) + 13n)
const SLICES = 30
const TROUBLES = 5

function programOf(random: SeededRandom): TwapStrategy {
  function pick<Value>(first: Value, ...others: readonly Value[]): Value {
    return others[random.between(0, others.length) - 1] ?? first
  }
  const { schedule, ...rest } = aTwap(
    {
      total: TOTAL,
      unsold: pick<TwapStrategy['unsold']>('spread', 'drop', 'spread'),
      price: { min: undefined, max: usdcPerWeth(2_600) },
    },
    { everySeconds: pick(10, 60, 180), count: SLICES, startSeconds: undefined },
  )
  const perOrder = pick(OPEN.perOrder, capOf(USDC, usdc(40)))
  return {
    ...rest,
    limits: { ...OPEN, cooldownMs: pick(0, 90_000, 0), perOrder },
    schedule: {
      ...schedule,
      missed: pick<MissedPolicy>('skip', 'latest', 'all'),
      maxLatenessMs: pick(MINUTE, 10 * MINUTE, HOUR),
    },
  }
}

describe('a program of slices under any troubles', () => {
  const ends: bigint[] = []
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    test(`sells its total but for what it tells, and never more, in world ${seed} of the slices`, async () => {
      const random = createRandom(`slices ${seed}`)
      const strategy = programOf(random)
      const { schedule } = strategy
      const lengthMs = schedule.type === 'interval' ? schedule.everySeconds * SLICES * 1_000 : 0
      const world = new World({ seed: `slices ${seed}`, strategies: [strategy] })
      world.start()
      for (let steps = 0; steps < TROUBLES; steps += 1) {
        await world.runFor(lengthMs / TROUBLES)
        await disturb(world, random)
      }
      world.disk.crashAt = undefined
      world.start()
      expect(await world.calmDown()).toBe(true)
      await world.runFor(2 * HOUR)
      const spent = world.state.strategies.get(strategy.name)?.spent.get(USDC.address) ?? 0n
      const told = world.disk
        .events()
        .flatMap((event) => (event.type === 'program-ended' ? [event.unsold] : []))
      expect(told.length).toBeLessThanOrEqual(1)
      expect(spent + (told[0] ?? 0n)).toBe(TOTAL)
      expect(usdc(100_000) - world.balance(USDC.address)).toBeLessThanOrEqual(spent)
      expectSound(world)
      ends.push(told[0] ?? 0n)
    })
  }

  test('ends in both ways', () => {
    expect(ends).toContain(0n)
    expect(ends.some((unsold) => unsold > 0n)).toBe(true)
  })
})
