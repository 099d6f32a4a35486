import { baseUnits } from '../../../src/domain/money/units.ts'
import type { SeededRandom } from '../../../src/domain/random.ts'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import { MANUAL } from '../../../src/strategies/manual/manual-kind.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { recordedSpending } from '../../simulation/judge/balance-sheet.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aTwap, usdcPerWeth } from '../../unit/strategies/decide-fixture.ts'
import { capOf, HOUR, MINUTE, OPEN, usdc } from '../builders.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { randomOf, randomSimulation } from './random-simulation.ts'
import { endAndCheck, type RunResult } from './run-result.ts'

const TOTAL = baseUnits(usdc(200) + 13n)
const SLICES = 30
const DISTURBANCES = 5

function twapOf(random: SeededRandom): TwapStrategy {
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

/** A TWAP schedule: it sells its total except for the reported rest, and never more. */
export async function runSlices(seed: number): Promise<RunResult> {
  const random = randomOf('slices', seed)
  const strategy = twapOf(random)
  const { schedule } = strategy
  const lengthMs = schedule.type === 'interval' ? schedule.everySeconds * SLICES * 1_000 : 0
  const sim = randomSimulation({ seed: `slices ${seed}`, strategies: [strategy] }, random)
  const faults = new FaultSchedule(sim, random)
  sim.start()
  for (let steps = 0; steps < DISTURBANCES; steps += 1) {
    await sim.runFor(lengthMs / DISTURBANCES)
    await faults.disturb()
  }
  const result = await endAndCheck(sim, faults)
  await sim.runFor(2 * HOUR)
  const reported = sim.disk.events().some(({ type }) => type === 'program-ended')
  const tally = new Map([...result.tally, [reported ? 'reported unsold' : 'sold out', 1]])
  return { ...result, tally, violations: [...result.violations, ...wrongTotals(sim)] }
}

/** Compares the total with the ledger and the journal's report. Amounts that an operator gave up count for neither. */
function wrongTotals(sim: Simulation): readonly string[] {
  const events = sim.disk.events().filter((event) => !isByHand(event))
  const reported = events.flatMap((event) => (event.type === 'program-ended' ? [event.unsold] : []))
  const sold = soldOf(sim)
  if (sold > TOTAL) return [`${sold} of ${TOTAL} was sold`]
  if (sim.watch.hasForgiven) return []
  const [unsold = 0n] = reported
  // Sales of an operator's trigger after the end are part of the reported rest.
  const end = events.findIndex(({ type }) => type === 'program-ended')
  const before = end < 0 ? events : events.slice(0, end)
  const recorded = recordedSpending(before).get(USDC.address) ?? 0n
  const isWhole = reported.length <= 1 && recorded + unsold === TOTAL
  return isWhole
    ? []
    : [`of ${TOTAL}, ${recorded} is recorded, ${sold} sold, and ${reported} reported unsold`]
}

/** An order by hand under no strategy of the files: no part of the total. */
function isByHand(event: object): boolean {
  return 'intentId' in event && `${event.intentId}`.startsWith(`${MANUAL}:`)
}

function soldOf({ disk, ledger, watch }: Simulation): bigint {
  const byHand = new Set<bigint>()
  for (const { event } of disk.history())
    if (event.type === 'permit-recorded' && isByHand(event)) byHand.add(event.permit.nonce)
  const items = ledger.transactions.flatMap(({ settled }) => settled)
  return items
    .filter(({ permit }) => !watch.isForgiven(permit.nonce) && !byHand.has(permit.nonce))
    .reduce((sum, { paid }) => sum + paid, 0n)
}
