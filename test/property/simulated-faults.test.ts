import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/domain/random.ts'
import type { DcaStrategy } from '../../src/domain/strategy.ts'
import { imbalances } from '../../src/simulate/judge/balance-sheet.ts'
import { USDC } from '../../src/simulate/stage.ts'
import { World } from '../../src/simulate/world.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../support/builders.ts'
import { expectSound } from '../support/sound.ts'
import { disturb } from '../support/troubles.ts'

const FILE = 'test/property/simulated-faults.test.ts'
/** More worlds for a longer search: SIMULATED_WORLDS=500. */
const SEEDS = Number(process.env['SIMULATED_WORLDS'] ?? 10)
const DAYS = 1

const CAPPED = {
  ...OPEN,
  perDay: capOf(USDC, usdc(300)),
  total: capOf(USDC, usdc(400)),
  maxOpenIntents: 2,
}
const STRATEGIES: readonly DcaStrategy[] = [
  aStrategy({ name: 'capped', schedule: aSchedule('*/40 * * * *'), limits: CAPPED }),
  aStrategy({
    name: 'exact-output',
    schedule: aSchedule('0 * * * *', { missed: 'all', maxLatenessMs: 3 * HOUR }),
    size: { side: 'buy', amount: milliWeth(10) },
  }),
  aStrategy({
    name: 'from-eth',
    schedule: aSchedule('0 */2 * * *', { missed: 'skip' }),
    sell: ETH,
    buy: SELL_USDC,
    size: { side: 'sell', amount: milliWeth(10) },
  }),
  aStrategy({
    name: 'to-eth',
    schedule: aSchedule('30 */3 * * *'),
    sell: SELL_USDC,
    buy: { ...BUY_WETH, native: true },
  }),
]

function makeWorld(seed: string): World {
  const account = { perDay: capOf(USDC, usdc(600)) }
  const world = new World({ seed, strategies: STRATEGIES, account })
  world.restartAfterMs = 20_000
  return world
}

async function live(seed: string): Promise<World> {
  const world = makeWorld(seed)
  const random = createRandom(`troubles of ${seed}`)
  const untilMs = world.clock.trueMs + DAYS * 24 * HOUR
  world.start()
  while (world.clock.trueMs < untilMs) {
    await disturb(world, random)
    await world.runFor(random.between(2, 60) * MINUTE)
  }
  return world
}

describe('a day of troubles', () => {
  const seeds = Array.from({ length: SEEDS }, (_, index) => `seed-${index + 1}`)
  for (const seed of seeds) {
    test(`breaks no promise in the world of ${seed} (to replay it: vitest run ${FILE} -t "of ${seed} ")`, async () => {
      const world = await live(seed)
      world.disk.crashAt = undefined
      world.start()
      expect(await world.calmDown()).toBe(true)
      expectSound(world)
      expect(imbalances(world)).toEqual([])
    })
  }

  test('runs the same again from the same seed, byte for byte', async () => {
    const [first, second] = [await live('twice'), await live('twice')]
    expect(first.disk.lines.length).toBeGreaterThan(100)
    expect(second.disk.lines).toEqual(first.disk.lines)
  })
})
