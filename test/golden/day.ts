import type { JournalRecord, Recorded } from '../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../src/journal/runtime-event.ts'
import { encodeRecords, GENESIS, type JournalHead } from '../../src/store/file/journal-codec.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import type { SimulatedModule } from '../simulation/modules.ts'
import type { Simulation } from '../simulation/simulation.ts'
import { USDC } from '../simulation/stage.ts'
import { aCallStrategy } from '../support/aggregator/call-simulation.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  capOf,
  ETH,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../support/builders.ts'
import { aRebalance, aThreshold, aTwap, usdcPerWeth } from '../support/market-view.ts'
import { FaultSchedule } from '../support/simulations/fault-schedule.ts'
import { randomOf, randomSimulation } from '../support/simulations/random-simulation.ts'
import type { Journaled, Seen } from './observers.ts'

const serial = (cron: string) => ({ ...aSchedule(cron), overlap: 'skip' }) as const
const part = (milli: number) => ({ type: 'amount', amount: milliWeth(milli) }) as const

/** Every strategy kind, over both venues, with limits that trip. */
const STRATEGIES: readonly Strategy[] = [
  aStrategy({
    name: 'capped',
    schedule: aSchedule('20 * * * *', { missed: 'all', maxLatenessMs: 3 * HOUR }),
    limits: { ...OPEN, perDay: capOf(USDC, usdc(200)), maxFailures: 2 },
  }),
  aStrategy({
    name: 'exact-output',
    schedule: aSchedule('0 */2 * * *', { jitterMs: 10 * MINUTE }),
    size: { side: 'buy', amount: milliWeth(10) },
    limits: { ...OPEN, cooldownMs: 3 * HOUR },
  }),
  aStrategy({
    name: 'from-eth',
    schedule: aSchedule('45 */3 * * *'),
    sell: ETH,
    buy: SELL_USDC,
    size: { side: 'sell', amount: milliWeth(10) },
  }),
  aThreshold(
    [
      { id: 'above', trigger: { type: 'above', level: usdcPerWeth(252_000n) }, size: part(20) },
      { id: 'below', trigger: { type: 'below', level: usdcPerWeth(248_000n) }, size: part(20) },
    ],
    { schedule: serial('10 * * * *'), rearmBps: 20 },
  ),
  aRebalance({ schedule: serial('30 */4 * * *'), bandBps: 200, minTrade: usdc(5) }),
  aTwap({ total: usdc(90), price: { min: undefined, max: usdcPerWeth(251_000n) } }),
  aCustomStrategy({ schedule: serial('50 */2 * * *') }),
  aCallStrategy({ schedule: aSchedule('*/40 * * * *') }),
]

/** A module's version is its source: this is what a build made of it when the day was recorded, whatever builds it now. */
const OWN_SOURCE = [
  '({ memory }) => ({',
  '\t\t\torders: [{',
  '\t\t\t\tsell: "USDC",',
  '\t\t\t\tbuy: "WETH",',
  '\t\t\t\tamount: (0,__vite_ssr_import_5__.usdc)(12)',
  '\t\t\t}],',
  '\t\t\tmemory: { seen: `$' + '{Number(memory["seen"] ?? "0") + 1}` }',
  '\t\t})',
].join('\n')

const OWN: SimulatedModule = Object.assign(
  ({ memory }: Parameters<SimulatedModule>[0]) => ({
    orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(12) }],
    memory: { seen: `${Number(memory['seen'] ?? '0') + 1}` },
  }),
  { toString: () => OWN_SOURCE },
)

/** Observations and journal of a simulated day. */
export type Day = Journaled & { readonly seen: readonly Seen[]; readonly journal: string }

/** Each round is up to 80 minutes of faults and 100 minutes without. */
export async function goldenDay(seed: number, rounds: number): Promise<Day> {
  const random = randomOf('golden', seed)
  const sim = randomSimulation(
    {
      seed: `golden ${seed}`,
      strategies: STRATEGIES,
      account: { perDay: capOf(USDC, usdc(900)) },
      modules: {
        own: OWN,
      },
    },
    random,
  )
  const seen = watched(sim)
  const faults = new FaultSchedule(sim, random, { isAlone: true })
  sim.start()
  for (let round = 0; round < rounds; round += 1) {
    await faults.disturb()
    await sim.runFor(random.between(10, 80) * MINUTE)
    faults.rest()
    await sim.runFor(100 * MINUTE)
  }
  const records = sim.disk.history()
  return {
    records,
    state: sim.disk.reducedState(),
    strategies: STRATEGIES,
    seen,
    journal: journalText(records),
  }
}

/** Collects what a daemon observes from now on, with its time. */
function watched({ clock, observations, recorded }: Simulation): readonly Seen[] {
  const seen: Seen[] = []
  const port = clock.asPort()
  const see = (event: RuntimeEvent | Recorded): number =>
    seen.push({ atMs: clock.trueMs, nowMs: port.now(), event })
  observations.push = (...events) => {
    for (const event of events) see(event as RuntimeEvent)
    return seen.length
  }
  // The event of a record is observed first: its context takes its place.
  recorded.push = (...entries) => {
    seen.splice(-entries.length)
    for (const entry of entries) see(entry)
    return seen.length
  }
  return seen
}

/** Records as they are on disk, without a MAC. */
export function journalText(records: readonly JournalRecord[]): string {
  let head: JournalHead = GENESIS
  return records
    .map(({ event, atMs }) => {
      const encoded = encodeRecords(head, [event], atMs)
      head = encoded.head
      return encoded.text
    })
    .join('')
}
