import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import type { TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { noServiceFaults } from '../../simulation/gasless/faults.ts'
import { violationsOf } from '../../simulation/judge/invariants.ts'
import { recordedPermits } from '../../simulation/judge/watch.ts'
import { World } from '../../simulation/simulation.ts'
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

function sold(world: World): bigint {
  return usdc(100_000) - world.balance(USDC.address)
}

/** Unsold amounts of ended TWAP schedules in the journal. */
function shortfalls(world: World): readonly bigint[] {
  return world.disk
    .events()
    .flatMap((event) => (event.type === 'program-ended' ? [event.unsold] : []))
}

describe('slices due faster than orders fill', () => {
  test.each<MissedPolicy>(['skip', 'latest', 'all'])(
    'sell the total under missed: %s',
    async (missed) => {
      const world = new World({ seed: `quick ${missed}`, strategies: [quick(missed)] })
      world.start()
      await world.runFor(10 * MINUTE)
      expect(outcomes(world, 'slices')).toContain('skipped too-many-open')
      expect(sold(world)).toBe(TOTAL)
      expect(shortfalls(world)).toEqual([])
      expectSound(world)
    },
  )

  test.each<MissedPolicy>(['latest', 'all'])(
    'sell the total after 35 seconds of downtime under missed: %s',
    async (missed) => {
      const world = new World({ seed: `downtime ${missed}`, strategies: [quick(missed)] })
      world.start()
      await world.runFor(5_000)
      world.crash()
      await world.runFor(35_000)
      world.start()
      await world.runFor(10 * MINUTE)
      expect(sold(world)).toBe(TOTAL)
      expect(shortfalls(world)).toEqual([])
      expectSound(world)
    },
  )

  test('report the unsold amount right after a start past their end', async () => {
    const world = new World({ seed: 'gone', strategies: [slow()] })
    world.start()
    await world.runFor(15 * MINUTE)
    world.crash()
    await world.runFor(3 * HOUR)
    expect(shortfalls(world)).toEqual([])
    world.start()
    await world.runFor(5_000)
    expect(shortfalls(world)).toEqual([TOTAL - sold(world)])
    expectSound(world)
  })

  test('report the dropped amount under `unsold: drop`', async () => {
    const world = new World({ seed: 'quick drop', strategies: [quick('latest', 'drop')] })
    world.start()
    await world.runFor(10 * MINUTE)
    expect(sold(world)).toBeLessThan(TOTAL)
    expect(shortfalls(world)).toEqual([TOTAL - sold(world)])
    expect(world.observations).toContainEqual(
      expect.objectContaining({ type: 'unsold', amount: TOTAL - sold(world), decimals: 6 }),
    )
    expectSound(world)
  })
})

describe('the last slice', () => {
  /** Runs until just before the last slot, with all others filled. */
  async function beforeLast(world: World): Promise<void> {
    world.start()
    await world.runFor(50 * MINUTE - 5_000)
    expect(outcomes(world, 'slices')).toEqual(Array(5).fill(FILLED))
  }

  test('waits for a price within its bounds, up to its maximum lateness', async () => {
    const price = { min: undefined, max: usdcPerWeth(2_700) }
    const world = new World({ seed: 'last price', strategies: [slow({ price })] })
    await beforeLast(world)
    world.market.setPrice(3_000n)
    await world.runFor(3 * MINUTE)
    expect(outcomes(world, 'slices')).toHaveLength(5)
    world.market.setPrice(2_500n)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'slices')).toEqual(Array(6).fill(FILLED))
    expect(sold(world)).toBe(TOTAL)
    expect(shortfalls(world)).toEqual([])
    expectSound(world)
  })

  test.each<[string, TwapStrategy['unsold'], (world: World) => void, string]>([
    [
      'finds no price in time',
      'spread',
      (world) => world.market.setPrice(3_000n),
      'skipped price-outside-bounds',
    ],
    [
      'is not filled',
      'spread',
      (world) => Object.assign(world.serviceFaults, { rejects: 1 }),
      'failed order-rejected',
    ],
    [
      'is dropped',
      'drop',
      (world) => world.market.setPrice(3_000n),
      'skipped price-outside-bounds',
    ],
    ['is missed', 'spread', (world) => world.crash(), 'missed 1'],
  ])(
    'ends its TWAP schedule and reports the rest once when it %s',
    async (_name, unsold, begin, end) => {
      const price = { min: undefined, max: usdcPerWeth(2_700) }
      const world = new World({ seed: `last ${end}`, strategies: [slow({ price, unsold })] })
      await beforeLast(world)
      begin(world)
      await world.runFor(20 * MINUTE)
      world.crash()
      world.market.setPrice(2_500n)
      Object.assign(world.serviceFaults, noServiceFaults())
      world.start()
      await world.runFor(10 * MINUTE)
      expect(outcomes(world, 'slices')).toEqual([...Array(5).fill(FILLED), end])
      const left = TOTAL - sold(world)
      expect(left - TOTAL / 6n).toBeLessThanOrEqual(1n)
      expect(left).toBeGreaterThanOrEqual(TOTAL / 6n)
      expect(shortfalls(world)).toEqual([left])
      expect(world.observations.filter(({ type }) => type === 'program-ended')).toHaveLength(1)
      expectSound(world)
    },
  )

  test('can be repeated once by a trigger when it was not filled', async () => {
    const world = new World({ seed: 'by hand', strategies: [slow()] })
    await beforeLast(world)
    world.serviceFaults.rejects = 1
    await world.runFor(10 * MINUTE)
    world.serviceFaults.rejects = 0
    expect(shortfalls(world)).toHaveLength(1)
    for (const _ of ['first', 'again']) {
      const reply = world.control.trigger('slices')
      await world.runFor(2 * MINUTE)
      expect(await reply).toMatchObject({ ok: true })
    }
    expect(sold(world)).toBe(TOTAL)
    expect(outcomes(world, 'slices').slice(-2)).toEqual([FILLED, 'skipped finished'])
    expect(shortfalls(world)).toHaveLength(1)
    expect(world.observations.filter(({ type }) => type === 'unsold').at(-1)).toMatchObject({
      amount: 0n,
    })
    // A triggered slot is not part of the calendar.
    expect(violationsOf(world).filter((each) => !each.startsWith('slices: slot'))).toEqual([])
  })
})

test('a slice whose nonce was invalidated counts as sold, so the total is never exceeded', async () => {
  const world = new World({ seed: 'used up', strategies: [slow()] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(10 * MINUTE + 20_000)
  const used = recordedPermits(world.disk.events()).at(-1)
  if (used === undefined) throw new Error('nothing was signed')
  world.ledger.invalidateNonce(WALLET, used.permit.nonce)
  world.serviceFaults.neverFills = 0
  await world.runFor(3 * HOUR)
  expect(outcomes(world, 'slices')).toContain('failed permit-cancelled')
  expect(sold(world)).toBe(TOTAL - used.permit.amount)
  expect(eventTypes(world)).not.toContain('program-ended')
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
    const world = new World({ seed: 'turns', strategies, account: { maxOpenIntents: 2 } })
    world.start()
    await world.runFor(5 * MINUTE)
    world.crash()
    await world.runFor(HOUR)
    world.start()
    await world.runFor(4 * MINUTE)
    for (const name of ['hourly', 'two'])
      expect(outcomes(world, name)).toEqual(Array(6).fill(FILLED))
    expect(sold(world)).toBe(12n * usdc(25))
    expect(world.observations.some(({ type }) => type === 'slot-waiting')).toBe(true)
    expectSound(world)
  })

  test('are skipped after their maximum lateness', async () => {
    const schedule = aSchedule('*/2 * * * *', {
      missed: 'all',
      maxLatenessMs: 5 * MINUTE,
      overlap: 'skip',
    })
    const world = new World({ seed: 'too late', strategies: [aStrategy({ schedule })] })
    world.serviceFaults.neverFills = 1
    world.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    world.start()
    await world.runFor(45 * MINUTE)
    expect(outcomes(world, 'hourly')).toContain('skipped too-many-open')
    expectSound(world)
  })
})
