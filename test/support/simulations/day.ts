import type { DcaStrategy } from '../../../src/strategies/dca/dca-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import type { Simulation } from '../../simulation/simulation.ts'
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
import { randomOf, randomSimulation } from './random-simulation.ts'
import { endAndCheck, type RunResult } from './run-result.ts'

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
): Promise<{ sim: Simulation; faults: FaultSchedule }> {
  const random = randomOf('day', seed)
  const sim = randomSimulation(
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
  const faults = new FaultSchedule(sim, random, options)
  const untilMs = sim.clock.trueMs + 24 * HOUR
  sim.start()
  while (sim.clock.trueMs < untilMs) {
    await faults.disturb()
    await sim.runFor(random.between(2, 60) * MINUTE)
  }
  return { sim, faults }
}

export async function runDay(seed: number): Promise<RunResult> {
  const { sim, faults } = await dayOfSwaps(seed)
  return endAndCheck(sim, faults)
}

/** The same day without foreign use of the wallet and without lost records: nothing may count as evidence of either. */
export async function runDayAlone(seed: number): Promise<RunResult> {
  const { sim, faults } = await dayOfSwaps(seed, { isAlone: true })
  return endAndCheck(sim, faults, () =>
    sim.disk
      .events()
      .flatMap((event) =>
        event.type === 'halted' && event.cause === 'evidence'
          ? [`halted on evidence that is none: ${event.detail}`]
          : [],
      ),
  )
}
