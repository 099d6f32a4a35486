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

/** Sixty slices, one a second, which is quicker than any order fills. */
function quick(missed: MissedPolicy, unsold: TwapStrategy['unsold'] = 'spread'): TwapStrategy {
  const recurrence = { everySeconds: 1, count: 60, startSeconds: undefined }
  const strategy = aTwap({ total: TOTAL, unsold }, recurrence)
  return { ...strategy, schedule: { ...strategy.schedule, missed, maxLatenessMs: 5 * MINUTE } }
}

/** Six slices ten minutes apart, each to be begun within five minutes. */
function slow(changes: Partial<Omit<TwapStrategy, 'schedule'>> = {}): TwapStrategy {
  const recurrence = { everySeconds: 600, count: 6, startSeconds: undefined }
  const strategy = aTwap({ total: TOTAL, ...changes }, recurrence)
  return { ...strategy, schedule: { ...strategy.schedule, maxLatenessMs: 5 * MINUTE } }
}

function sold(world: World): bigint {
  return usdc(100_000) - world.balance(USDC.address)
}

/** What the journal says was not sold by the end. */
function shortfalls(world: World): readonly bigint[] {
  return world.disk
    .events()
    .flatMap((event) => (event.type === 'program-ended' ? [event.unsold] : []))
}

describe('slices that come quicker than orders fill', () => {
  test.each<MissedPolicy>(['skip', 'latest', 'all'])(
    'sell the total all the same, under missed: %s',
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
    'sell the total after 35 seconds of downtime, under missed: %s',
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

  test('say right after a start what nobody was there to sell', async () => {
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

  test('say under `drop` what they gave up', async () => {
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
  /** Just before the last slot, with all others filled. */
  async function beforeLast(world: World): Promise<void> {
    world.start()
    await world.runFor(50 * MINUTE - 5_000)
    expect(outcomes(world, 'slices')).toEqual(Array(5).fill(FILLED))
  }

  test('waits for a price within its bounds, as long as it may be late', async () => {
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
      'is given up',
      'drop',
      (world) => world.market.setPrice(3_000n),
      'skipped price-outside-bounds',
    ],
    ['is never attended', 'spread', (world) => world.crash(), 'missed 1'],
  ])('that %s ends its program with what is left, told once', async (_name, unsold, begin, end) => {
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
  })

  test('that was not filled can be made up for by hand, and never twice', async () => {
    const world = new World({ seed: 'by hand', strategies: [slow()] })
    await beforeLast(world)
    world.serviceFaults.rejects = 1
    await world.runFor(10 * MINUTE)
    world.serviceFaults.rejects = 0
    expect(shortfalls(world)).toHaveLength(1)
    for (const _ of ['first', 'again']) {
      const asked = world.control.trigger('slices')
      await world.runFor(2 * MINUTE)
      expect(await asked).toMatchObject({ ok: true })
    }
    expect(sold(world)).toBe(TOTAL)
    expect(outcomes(world, 'slices').slice(-2)).toEqual([FILLED, 'skipped finished'])
    expect(shortfalls(world)).toHaveLength(1)
    expect(world.observations.filter(({ type }) => type === 'unsold').at(-1)).toMatchObject({
      amount: 0n,
    })
    // A slot that was asked for is none of the calendar's.
    expect(violationsOf(world).filter((each) => !each.startsWith('slices: slot'))).toEqual([])
  })
})

test('a nonce that something else used up counts as sold: no more than the total is ever given away', async () => {
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

describe('slots under missed: all that are found together', () => {
  test('wait for their turn where only one may be in flight', async () => {
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

  test('are skipped once they may not be late any more', async () => {
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
