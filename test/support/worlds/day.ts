import type { DcaStrategy } from '../../../src/strategies/dca/dca-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import type { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  aCustomStrategy,
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
} from '../builders.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { endAndCheck, type RunResult } from './run-result.ts'
import { randomOf, randomWorld } from './worlds.ts'

const CAPPED = {
  ...OPEN,
  perDay: capOf(USDC, usdc(300)),
  total: capOf(USDC, usdc(400)),
  maxOpenIntents: 2,
}
const SWAPS: readonly DcaStrategy[] = [
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
const STRATEGIES: readonly Strategy[] = [
  ...SWAPS,
  aCustomStrategy({ schedule: aSchedule('10 * * * *', { overlap: 'skip' }) }),
]

/** A day of swaps of every shape, one of them decided by a module. The invariants are not checked yet. */
export async function dayOfSwaps(
  seed: number,
  options: { readonly isAlone?: boolean } = {},
): Promise<{ world: World; faults: FaultSchedule }> {
  const random = randomOf('day', seed)
  const world = randomWorld(
    {
      seed: `day ${seed}`,
      strategies: STRATEGIES,
      account: { perDay: capOf(USDC, usdc(600)) },
      modules: {
        own: ({ memory }) => ({
          orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(12) }],
          memory: { seen: `${Number(memory['seen'] ?? '0') + 1}` },
        }),
      },
    },
    random,
  )
  const faults = new FaultSchedule(world, random, options)
  const untilMs = world.clock.trueMs + 24 * HOUR
  world.start()
  while (world.clock.trueMs < untilMs) {
    await faults.disturb()
    await world.runFor(random.between(2, 60) * MINUTE)
  }
  return { world, faults }
}

export async function runDay(seed: number): Promise<RunResult> {
  const { world, faults } = await dayOfSwaps(seed)
  return endAndCheck(world, faults)
}

/** The same day without foreign use of the wallet and without lost records: nothing may count as evidence of either. */
export async function runDayAlone(seed: number): Promise<RunResult> {
  const { world, faults } = await dayOfSwaps(seed, { isAlone: true })
  return endAndCheck(world, faults, () =>
    world.disk
      .events()
      .flatMap((event) =>
        event.type === 'halted' && event.cause === 'evidence'
          ? [`halted on evidence that is none: ${event.detail}`]
          : [],
      ),
  )
}
