import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { noServiceFaults } from '../../simulation/gasless/faults.ts'
import { violationsOf } from '../../simulation/judge/invariants.ts'
import { recordedPermits } from '../../simulation/judge/watch.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { aTwap, usdcPerWeth } from '../../unit/strategies/decide-fixture.ts'

const FILLED = 'filled filled'
const TOTAL = baseUnits(usdc(60) + 7n)

/** Sixty slices, one per second, which is faster than any order fills. */
function quick(missed: MissedPolicy, unsold: TwapStrategy['unsold'] = 'spread'): TwapStrategy {
  const recurrence = { everySeconds: 1, count: 60, startSeconds: undefined }
  const strategy = aTwap({ total: TOTAL, unsold }, recurrence)
  return { ...strategy, schedule: { ...strategy.schedule, missed, maxLatenessMs: 5 * MINUTE } }
}

/** Six slices ten minutes apart, each with a maximum lateness of five minutes. */
function slow(changes: Partial<Omit<TwapStrategy, 'schedule'>> = {}): TwapStrategy {
  const recurrence = { everySeconds: 600, count: 6, startSeconds: undefined }
  const strategy = aTwap({ total: TOTAL, ...changes }, recurrence)
  return { ...strategy, schedule: { ...strategy.schedule, maxLatenessMs: 5 * MINUTE } }
}

function sold(sim: Simulation): bigint {
  return usdc(100_000) - sim.balance(USDC.address)
}

/** Unsold amounts of ended TWAP schedules in the journal. */
function shortfalls(sim: Simulation): readonly bigint[] {
  return sim.disk
    .events()
    .flatMap((event) => (event.type === 'program-ended' ? [event.unsold] : []))
}

describe('slices due faster than orders fill', () => {
  test.each<MissedPolicy>(['skip', 'latest', 'all'])(
    'sell the total under missed: %s',
    async (missed) => {
      const sim = new Simulation({ seed: `quick ${missed}`, strategies: [quick(missed)] })
      sim.start()
      await sim.runFor(10 * MINUTE)
      expect(outcomes(sim, 'slices')).toContain('skipped too-many-open')
      expect(sold(sim)).toBe(TOTAL)
      expect(shortfalls(sim)).toEqual([])
      expectSound(sim)
    },
  )

  test.each<MissedPolicy>(['latest', 'all'])(
    'sell the total after 35 seconds of downtime under missed: %s',
    async (missed) => {
      const sim = new Simulation({ seed: `downtime ${missed}`, strategies: [quick(missed)] })
      sim.start()
      await sim.runFor(5_000)
      sim.crash()
      await sim.runFor(35_000)
      sim.start()
      await sim.runFor(10 * MINUTE)
      expect(sold(sim)).toBe(TOTAL)
      expect(shortfalls(sim)).toEqual([])
      expectSound(sim)
    },
  )

  test('report the unsold amount right after a start past their end', async () => {
    const sim = new Simulation({ seed: 'gone', strategies: [slow()] })
    sim.start()
    await sim.runFor(15 * MINUTE)
    sim.crash()
    await sim.runFor(3 * HOUR)
    expect(shortfalls(sim)).toEqual([])
    sim.start()
    await sim.runFor(5_000)
    expect(shortfalls(sim)).toEqual([TOTAL - sold(sim)])
    expectSound(sim)
  })

  test('report the dropped amount under `unsold: drop`', async () => {
    const sim = new Simulation({ seed: 'quick drop', strategies: [quick('latest', 'drop')] })
    sim.start()
    await sim.runFor(10 * MINUTE)
    expect(sold(sim)).toBeLessThan(TOTAL)
    expect(shortfalls(sim)).toEqual([TOTAL - sold(sim)])
    expect(sim.observations).toContainEqual(
      expect.objectContaining({ type: 'unsold', amount: TOTAL - sold(sim), decimals: 6 }),
    )
    expectSound(sim)
  })
})

describe('the last slice', () => {
  /** Runs until just before the last slot, with all others filled. */
  async function beforeLast(sim: Simulation): Promise<void> {
    sim.start()
    await sim.runFor(50 * MINUTE - 5_000)
    expect(outcomes(sim, 'slices')).toEqual(Array(5).fill(FILLED))
  }

  test('waits for a price within its bounds, up to its maximum lateness', async () => {
    const price = { min: undefined, max: usdcPerWeth(2_700) }
    const sim = new Simulation({ seed: 'last price', strategies: [slow({ price })] })
    await beforeLast(sim)
    sim.market.setPrice(3_000n)
    await sim.runFor(3 * MINUTE)
    expect(outcomes(sim, 'slices')).toHaveLength(5)
    sim.market.setPrice(2_500n)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'slices')).toEqual(Array(6).fill(FILLED))
    expect(sold(sim)).toBe(TOTAL)
    expect(shortfalls(sim)).toEqual([])
    expectSound(sim)
  })

  test.each<[string, TwapStrategy['unsold'], (sim: Simulation) => void, string]>([
    [
      'finds no price in time',
      'spread',
      (sim) => sim.market.setPrice(3_000n),
      'skipped price-outside-bounds',
    ],
    [
      'is not filled',
      'spread',
      (sim) => Object.assign(sim.serviceFaults, { rejects: 1 }),
      'failed order-rejected',
    ],
    ['is dropped', 'drop', (sim) => sim.market.setPrice(3_000n), 'skipped price-outside-bounds'],
    ['is missed', 'spread', (sim) => sim.crash(), 'missed 1'],
  ])(
    'ends its TWAP schedule and reports the rest once when it %s',
    async (_name, unsold, begin, end) => {
      const price = { min: undefined, max: usdcPerWeth(2_700) }
      const sim = new Simulation({ seed: `last ${end}`, strategies: [slow({ price, unsold })] })
      await beforeLast(sim)
      begin(sim)
      await sim.runFor(20 * MINUTE)
      sim.crash()
      sim.market.setPrice(2_500n)
      Object.assign(sim.serviceFaults, noServiceFaults())
      sim.start()
      await sim.runFor(10 * MINUTE)
      expect(outcomes(sim, 'slices')).toEqual([...Array(5).fill(FILLED), end])
      const left = TOTAL - sold(sim)
      expect(left - TOTAL / 6n).toBeLessThanOrEqual(1n)
      expect(left).toBeGreaterThanOrEqual(TOTAL / 6n)
      expect(shortfalls(sim)).toEqual([left])
      expect(sim.observations.filter(({ type }) => type === 'program-ended')).toHaveLength(1)
      expectSound(sim)
    },
  )

  test('can be repeated once by a trigger when it was not filled', async () => {
    const sim = new Simulation({ seed: 'by hand', strategies: [slow()] })
    await beforeLast(sim)
    sim.serviceFaults.rejects = 1
    await sim.runFor(10 * MINUTE)
    sim.serviceFaults.rejects = 0
    expect(shortfalls(sim)).toHaveLength(1)
    for (const _ of ['first', 'again']) {
      const reply = sim.control.trigger('slices')
      await sim.runFor(2 * MINUTE)
      expect(await reply).toMatchObject({ ok: true })
    }
    expect(sold(sim)).toBe(TOTAL)
    expect(outcomes(sim, 'slices').slice(-2)).toEqual([FILLED, 'skipped finished'])
    expect(shortfalls(sim)).toHaveLength(1)
    expect(sim.observations.filter(({ type }) => type === 'unsold').at(-1)).toMatchObject({
      amount: 0n,
    })
    // A triggered slot is not part of the calendar.
    expect(violationsOf(sim).filter((each) => !each.startsWith('slices: slot'))).toEqual([])
  })
})

test('a slice whose nonce was invalidated counts as sold, so the total is never exceeded', async () => {
  const sim = new Simulation({ seed: 'used up', strategies: [slow()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(10 * MINUTE + 20_000)
  const used = recordedPermits(sim.disk.events()).at(-1)
  if (used === undefined) throw new Error('nothing was signed')
  sim.ledger.invalidateNonce(WALLET, used.permit.nonce)
  sim.serviceFaults.neverFills = 0
  await sim.runFor(3 * HOUR)
  expect(outcomes(sim, 'slices')).toContain('failed permit-cancelled')
  expect(sold(sim)).toBe(TOTAL - used.permit.amount)
  expect(eventTypes(sim)).not.toContain('program-ended')
})

describe('slots caught up together under missed: all', () => {
  test('wait for each other when one order may be in flight', async () => {
    const schedule = aSchedule('*/10 * * * *', {
      missed: 'all',
      maxLatenessMs: 2 * HOUR,
      overlap: 'skip',
    })
    const strategies = [
      aStrategy({ schedule }),
      aStrategy({
        name: 'two',
        schedule: { ...schedule, overlap: 'allow' },
        limits: { ...OPEN, maxOpenIntents: 2 },
      }),
    ]
    const sim = new Simulation({ seed: 'turns', strategies, account: { maxOpenIntents: 2 } })
    sim.start()
    await sim.runFor(5 * MINUTE)
    sim.crash()
    await sim.runFor(HOUR)
    sim.start()
    await sim.runFor(4 * MINUTE)
    for (const name of ['hourly', 'two']) expect(outcomes(sim, name)).toEqual(Array(6).fill(FILLED))
    expect(sold(sim)).toBe(12n * usdc(25))
    expect(sim.observations.some(({ type }) => type === 'slot-waiting')).toBe(true)
    expectSound(sim)
  })

  test('are skipped after their maximum lateness', async () => {
    const schedule = aSchedule('*/2 * * * *', {
      missed: 'all',
      maxLatenessMs: 5 * MINUTE,
      overlap: 'skip',
    })
    const sim = new Simulation({ seed: 'too late', strategies: [aStrategy({ schedule })] })
    sim.serviceFaults.neverFills = 1
    sim.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    sim.start()
    await sim.runFor(45 * MINUTE)
    expect(outcomes(sim, 'hourly')).toContain('skipped too-many-open')
    expectSound(sim)
  })
})
