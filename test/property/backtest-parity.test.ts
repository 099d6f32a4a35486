import { describe, expect, test } from 'vitest'
import { type Replayed, replay } from '../../src/backtest/replay.ts'
import type { ModuleStrategy } from '../../src/domain/module.ts'
import type { AccountLimits } from '../../src/domain/settings.ts'
import type { JournalRecord } from '../../src/journal/events/registry.ts'
import { isByTerms } from '../../src/signing/terms.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import type { SimulatedModule } from '../simulation/modules.ts'
import { Simulation } from '../simulation/simulation.ts'
import { USDC, WETH } from '../simulation/stage.ts'
import { aCallStrategy, callSimulation } from '../support/aggregator/call-simulation.ts'
import {
  aCall,
  aCustomStrategy,
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../support/builders.ts'
import { aRebalance, aThreshold, aTwap, usdcPerWeth } from '../support/market-view.ts'
import { answered } from '../support/settling.ts'
import { runYear } from '../support/simulations/year.ts'

const part = (milli: number) => ({ type: 'amount', amount: milliWeth(milli) }) as const

const contrary: SimulatedModule = ({ slotSeconds, balances, memory }) => {
  const turn = Number(memory['turn'] ?? '0')
  if (turn % 5 === 4) return { skip: 'every fifth turn', memory: { turn: `${turn + 1}` } }
  const amount = (balances['USDC']?.amount ?? 0n) > 0n ? BigInt(1_000_000 + (slotSeconds % 7)) : 0n
  return { orders: [{ sell: 'USDC', buy: 'WETH', amount }], memory: { turn: `${turn + 1}` } }
}
const MODULES = { own: contrary }

const STRATEGIES: readonly Strategy[] = [
  aStrategy({
    name: 'dips',
    schedule: aSchedule('*/5 * * * *'),
    size: { side: 'sell', amount: usdc(2) },
    dips: [
      { dropBps: 100, amount: usdc(5) },
      { dropBps: 30, amount: usdc(3) },
    ],
    dipWindowMs: 6 * HOUR,
    limits: { ...OPEN, perHour: capOf(USDC, usdc(20)), perDay: capOf(USDC, usdc(200)) },
  }),
  aStrategy({
    name: 'exact',
    schedule: aSchedule('*/10 * * * *', { jitterMs: 2 * MINUTE }),
    size: { side: 'buy', amount: milliWeth(1) },
    limits: { ...OPEN, cooldownMs: 25 * MINUTE },
  }),
  aThreshold(
    [
      { id: 'above', trigger: { type: 'above', level: usdcPerWeth(250_300n) }, size: part(2) },
      { id: 'below', trigger: { type: 'below', level: usdcPerWeth(249_700n) }, size: part(2) },
      { id: 'trailing', trigger: { type: 'trailing', bps: 40 }, size: part(1) },
    ],
    {
      schedule: aSchedule('*/2 * * * *', { overlap: 'skip' }),
      rearmBps: 10,
      limits: { ...OPEN, drawdownBps: 600, perDay: capOf(WETH, milliWeth(30)) },
    },
  ),
  aThreshold(
    [{ id: 'gain', trigger: { type: 'gain', bps: 20 }, size: { type: 'share', bps: 5_000 } }],
    {
      name: 'gains',
      schedule: aSchedule('7,37 * * * *'),
      sell: BUY_WETH,
      buy: SELL_USDC,
      entryOf: 'dips',
    },
  ),
  aRebalance({ schedule: aSchedule('*/20 * * * *'), bandBps: 50, minTrade: usdc(1) }),
  aTwap({
    total: usdc(200),
    schedule: {
      ...aTwap().schedule,
      type: 'interval',
      everySeconds: 1_800,
      count: 40,
      startSeconds: undefined,
    },
  }),
  aCall({ schedule: aSchedule('*/30 * * * *') }),
  aCustomStrategy({ schedule: aSchedule('*/6 * * * *', { overlap: 'skip' }) }),
]

const ACCOUNT: Partial<AccountLimits> = {
  perOrder: capOf(USDC, usdc(5_000)),
  perDay: capOf(USDC, usdc(20_000)),
  perHour: capOf(USDC, usdc(3_000)),
}

type Past = Pick<Simulation, 'disk' | 'strategies' | 'account'>

function viewed({ disk, strategies, account }: Simulation): Past {
  return { disk, strategies, account }
}

function textOf(files: unknown): string {
  return JSON.stringify(files, (_key, value: unknown) => {
    if (typeof value === 'bigint') return `${value}`
    return value instanceof Map ? [...value] : value
  })
}

function replayed(
  sim: Past,
  modules: Readonly<Record<string, SimulatedModule>>,
  records: readonly JournalRecord[] = sim.disk.records(),
): Promise<Replayed> {
  const versionOf = ({ name }: ModuleStrategy): string | undefined => modules[name]?.toString()
  return replay(records, {
    strategies: sim.strategies,
    account: sim.account,
    modules: {
      versionOf,
      decide: ({ name }, view) => {
        try {
          return Promise.resolve({ ok: true, value: modules[name]?.(structuredClone(view)) })
        } catch (error) {
          return Promise.resolve({ ok: false, detail: String(error) })
        }
      },
    },
    isByTerms: (intent, strategy) => isByTerms(intent, strategy, versionOf),
  })
}

/** As from a slow disk: records of skipped slots are written long after their decision. */
function writtenLate(records: readonly JournalRecord[]): readonly JournalRecord[] {
  return records.map((record) => {
    const { event, atMs } = record
    return event.type === 'slot-closed' && event.outcome === 'skipped'
      ? { ...record, atMs: atMs + 15 * MINUTE }
      : record
  })
}

/** As from a version that did not record the time of a decision. */
function untimed(records: readonly JournalRecord[]): readonly JournalRecord[] {
  return records.map((record) => {
    const { event } = record
    if (event.type !== 'slot-closed' && event.type !== 'slot-opened') return record
    return { ...record, event: { ...event, decidedAtMs: undefined } }
  })
}

const countOf = ({ slots }: Replayed): number => [...slots.values()].reduce((a, b) => a + b, 0)

describe('the replay of a journal', () => {
  test('repeats over two thousand decisions of every kind, with caps, dips, rungs, pauses and a module', async () => {
    const sim = new Simulation({
      seed: 'parity',
      strategies: STRATEGIES,
      account: ACCOUNT,
      modules: MODULES,
    })
    sim.start()
    await sim.runFor(12 * HOUR)
    await answered(sim, sim.control.pause('dips'))
    await sim.runFor(3 * HOUR)
    await answered(sim, sim.control.resume('dips'))
    sim.crash()
    await sim.runFor(20 * MINUTE)
    sim.start()
    await sim.runFor(22 * HOUR)
    const { slots, differences, others } = await replayed(sim, MODULES)
    expect(differences.slice(0, 3)).toEqual([])
    expect(others).toBe(0)
    expect(countOf({ slots, differences, others })).toBeGreaterThan(2_000)
    expect([...slots.keys()].toSorted()).toEqual(STRATEGIES.map(({ name }) => name).toSorted())
    const reasons = new Set(
      sim.disk.events().flatMap((event) => (event.type === 'slot-closed' ? event.reason : [])),
    )
    for (const reason of [
      'paused',
      'cooldown',
      'limit-per-hour',
      'not-triggered',
      'module-skipped',
      'filled',
    ])
      expect(reasons).toContain(reason)
  })

  test('leaves out slots that waited for an approval and repeats later slots', async () => {
    const trigger = { type: 'below', level: usdcPerWeth(260_000n) } as const
    const rule = aThreshold([{ id: 'stop', trigger, size: part(2) }], { name: 'stop' })
    const schedule = aSchedule('*/5 * * * *', { overlap: 'skip' })
    const sim = new Simulation({ seed: 'held', mode: 'live', strategies: [{ ...rule, schedule }] })
    sim.start()
    await sim.runFor(HOUR)
    await answered(sim, sim.control.approve('stop'))
    await sim.runFor(HOUR)
    const reasons = sim.disk
      .events()
      .map((each) => (each.type === 'slot-closed' ? each.reason : ''))
    expect(reasons).toContain('needs-approval')
    const { slots, differences } = await replayed(sim, {})
    expect(differences).toEqual([])
    expect(slots.get('stop')).toBeGreaterThan(5)
  })

  test('decides a call the same whether or not its journal has it in words', async () => {
    const sim = callSimulation({ seed: 'calls' })
    sim.start()
    await sim.runFor(2 * HOUR)
    const strategies = [aCallStrategy({ shown: 'claim(1) of demo' })]
    const { slots, differences } = await replayed({ ...viewed(sim), strategies }, {})
    expect(differences).toEqual([])
    expect(slots.get('claim')).toBe(1)
  })

  test('decides at the time of each decision, not of its record', async () => {
    const sim = new Simulation({
      seed: 'late',
      strategies: STRATEGIES.filter(({ name }) => name === 'exact'),
      account: ACCOUNT,
    })
    sim.start()
    await sim.runFor(6 * HOUR)
    const records = sim.disk.records()
    const late = writtenLate(records)
    expect((await replayed(sim, {}, late)).differences).toEqual([])
    expect((await replayed(sim, {}, untimed(records))).differences).toEqual([])
    expect((await replayed(sim, {}, untimed(late))).differences).not.toEqual([])
  })

  test('reports a slot skipped for a cap as waiting when it would wait now', async () => {
    const limits = { ...OPEN, perHour: capOf(USDC, usdc(25)) }
    const sim = new Simulation({ seed: 'waits', strategies: [aStrategy({ limits })] })
    sim.start()
    await sim.runFor(2 * HOUR + MINUTE)
    const records = sim.disk.records()
    expect((await replayed(sim, {})).differences).toEqual([])
    const second = records.findLastIndex(({ event }) => event.type === 'slot-opened')
    const skipped = records.slice(0, second + 1).map((record, index): JournalRecord => {
      const { event } = record
      if (index !== second || event.type !== 'slot-opened') return record
      const { strategy, slotSeconds, inputs } = event
      const ended = { outcome: 'skipped', reason: 'limit-per-hour' } as const
      const decidedAtMs = slotSeconds * 1000
      return {
        ...record,
        event: { type: 'slot-closed', strategy, slotSeconds, ...ended, inputs, decidedAtMs },
      }
    })
    expect((await replayed(sim, {}, skipped)).differences).toMatchObject([
      { was: expect.stringMatching(/^skipped limit-per-hour/), is: 'waits for limit-per-hour' },
    ])
  })

  test('repeats decisions through all kinds of faults, with one of the versions of the files', async () => {
    let slots = 0
    for (const seed of [1, 3, 4]) {
      const { sim } = await runYear(seed, 8)
      const versions = new Map(sim.filesEver.map((files) => [textOf(files), files]))
      let unexplained: ReadonlySet<string> | undefined
      for (const files of versions.values()) {
        const again = await replayed({ ...viewed(sim), ...files }, {})
        const differing = again.differences.map(
          ({ strategy, slotSeconds }) => `${strategy}:${slotSeconds}`,
        )
        unexplained = new Set(differing.filter((slot) => unexplained?.has(slot) ?? true))
        slots = Math.max(slots, countOf(again))
      }
      expect([...(unexplained ?? [])]).toEqual([])
    }
    expect(slots).toBeGreaterThan(60)
  })
})
