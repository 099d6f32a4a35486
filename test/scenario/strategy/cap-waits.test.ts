import { describe, expect, test } from 'vitest'
import { NO_CAPS, type OrderSize, type StrategyLimits } from '../../../src/domain/strategy.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  capOf,
  HOUR,
  MINUTE,
  OPEN,
  usdc,
} from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { aTwap } from '../../unit/strategies/decide-fixture.ts'

const FILLED = 'filled filled'
const PER_HOUR = { ...OPEN, perHour: capOf(USDC, usdc(25)) }
/** Slices count from when they are first seen. */
const SEEN = { startSeconds: undefined }

function sells(amount: number): OrderSize {
  return { side: 'sell', amount: usdc(amount) }
}

async function lived(strategies: readonly Strategy[], hours: number, account = {}): Promise<World> {
  const world = new World({ seed: 'cap waits', strategies, account })
  world.start()
  await world.runFor(hours * HOUR + 10 * MINUTE)
  return world
}

/** When slots of a strategy were opened, seconds after their own time. */
function latenessOf(world: World, name: string): readonly number[] {
  return world.disk
    .records()
    .flatMap(({ event, atMs }) =>
      event.type === 'slot-opened' && event.strategy === name
        ? [atMs / 1000 - event.slotSeconds]
        : [],
    )
}

describe('a schedule that asks for no more than its limits allow', () => {
  test.each<[string, Partial<StrategyLimits>]>([
    ['an hourly cap of one order', PER_HOUR],
    ['a daily cap of what a day asks for', { perDay: capOf(USDC, usdc(24 * 25)) }],
    ['a cooldown as long as its interval', { cooldownMs: HOUR }],
  ])('fills each of its slots under %s', async (_, limits) => {
    const world = await lived([aStrategy({ limits: { ...OPEN, ...limits } })], 30)
    expect(outcomes(world, 'hourly')).toEqual(Array(30).fill(FILLED))
    const late = latenessOf(world, 'hourly')
    expect(Math.max(...late)).toBeGreaterThan(0.5)
    expect(Math.max(...late)).toBeLessThan(10 * 60)
    expectSound(world)
  })

  test('fills each of its slots where several share the cap of the account at one moment', async () => {
    const three = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const world = await lived(three, 12, { perHour: capOf(USDC, usdc(75)) })
    for (const { name } of three)
      expect([name, outcomes(world, name)]).toEqual([name, Array(12).fill(FILLED)])
    expectSound(world)
  })

  test('fills each of its slots under a cooldown of the account', async () => {
    const world = await lived([aStrategy()], 10, { cooldownMs: HOUR })
    expect(outcomes(world, 'hourly')).toEqual(Array(10).fill(FILLED))
    expectSound(world)
  })

  test('fills each of its slots where a module decides them, and asks it again when the cap is free', async () => {
    let asked = 0
    const own = aCustomStrategy({ limits: PER_HOUR })
    const modules = {
      own() {
        asked += 1
        return { orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }
      },
    }
    const world = new World({ seed: 'module waits', strategies: [own], modules })
    world.start()
    await world.runFor(8 * HOUR + 10 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(Array(8).fill(FILLED))
    expect(asked).toBe(8 + 7)
    expectSound(world)
  })

  test('sells a whole program of slices as large as its hourly cap', async () => {
    for (const unsold of ['spread', 'drop'] as const) {
      const limits = { ...OPEN, perHour: capOf(USDC, usdc(100)) }
      const world = await lived([aTwap({ limits, unsold }, SEEN)], 26, { perDay: NO_CAPS })
      expect(outcomes(world, 'slices')).toEqual(Array(24).fill(FILLED))
      expect(usdc(100_000) - world.balance(USDC.address)).toBe(usdc(2_400))
      expectSound(world)
    }
  })
})

describe('a slot that waits for a cap', () => {
  /** A minute into the second slot of a strategy, which waits for what the first one spent ten minutes after its time. */
  async function waiting(changes: Partial<Parameters<typeof aSchedule>[1]> = {}): Promise<World> {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE, ...changes })
    const strategies = [
      aStrategy({ schedule, limits: PER_HOUR }),
      aStrategy({ name: 'other', schedule: aSchedule('* * * * *'), size: sells(1) }),
    ]
    const world = new World({ seed: 'waiting', strategies })
    world.start()
    await world.runFor(HOUR - MINUTE)
    // The first order is signed ten minutes late.
    world.serviceFaults.down = true
    await world.runFor(11 * MINUTE)
    world.serviceFaults.down = false
    await world.runFor(51 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual([FILLED])
    return world
  }

  test('is told why it waits, and trades as soon as the cap is free', async () => {
    const world = await waiting()
    expect(world.observations).toContainEqual(
      expect.objectContaining({ type: 'slot-waiting', reason: 'limit-per-hour' }),
    )
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(world)
  })

  test('is named to an operator who triggers its strategy', async () => {
    const world = await waiting()
    const [answer] = await Promise.all([world.control.trigger('hourly'), world.runFor(MINUTE)])
    expect(answer).toMatchObject({
      ok: false,
      detail: 'a slot of hourly waits already: `tranched plan` says what for',
    })
  })

  test('is made up for by the next start after a crash', async () => {
    const world = await waiting()
    world.crash()
    await world.runFor(5 * MINUTE)
    world.start()
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(world)
  })

  test('is missed where the next start comes too late, or makes up for nothing', async () => {
    const late = await waiting()
    late.crash()
    await late.runFor(40 * MINUTE)
    late.start()
    await late.runFor(MINUTE)
    expect(outcomes(late, 'hourly')).toEqual([FILLED, 'missed 1'])
    const skipping = await waiting({ missed: 'skip' })
    skipping.crash()
    skipping.start()
    await skipping.runFor(MINUTE)
    expect(outcomes(skipping, 'hourly')).toEqual([FILLED, 'missed 1'])
  })

  test('is skipped where the cap frees too late for it', async () => {
    const strategies = [
      aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE }) }),
      aStrategy({ name: 'other', schedule: aSchedule('10 * * * *') }),
    ]
    const world = await lived(strategies, 3, { perHour: capOf(USDC, usdc(25)) })
    expect(outcomes(world, 'other')).toEqual(Array(3).fill(FILLED))
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('skipped limit-account-per-hour'))
  })

  test('holds up no other strategy', async () => {
    const world = await waiting()
    expect(outcomes(world, 'other').slice(-2)).toEqual([FILLED, FILLED])
    const before = outcomes(world, 'other').length
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'other').slice(before)).toEqual(Array(5).fill(FILLED))
    expect(outcomes(world, 'hourly')).toEqual([FILLED])
  })

  test.each<[string, readonly Strategy[]]>([
    ['its file goes', []],
    ['its file has another schedule', [aStrategy({ schedule: aSchedule('30 * * * *') })]],
  ])('is missed, and on record as such, where %s meanwhile', async (_, strategies) => {
    const world = await waiting()
    world.strategies = strategies
    const files = { strategies, account: world.account }
    await Promise.all([world.control.reload(files), world.runFor(5_000)])
    expect(outcomes(world, 'hourly')).toEqual([FILLED, 'missed 1'])
    await world.runFor(35 * MINUTE)
    expect(outcomes(world, 'hourly').slice(2)).toEqual(strategies.map(() => FILLED))
    expect(world.state).toEqual(world.disk.reducedState())
  })

  test('is opened no earlier by a clock that is set back and forward again', async () => {
    const world = await waiting()
    world.clock.offsetMs = -30 * MINUTE
    await world.runFor(3 * MINUTE)
    world.clock.offsetMs = 0
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(world)
  })
})

test('a slot does not wait for a cap that frees after the next slot, which is then the one to wait', async () => {
  const strategy = aStrategy({ schedule: aSchedule('*/20 * * * *'), limits: PER_HOUR })
  const world = await lived([strategy], 4)
  const hour = [FILLED, 'skipped limit-per-hour', 'skipped limit-per-hour']
  expect(outcomes(world, 'hourly').slice(0, 9)).toEqual([...hour, ...hour, ...hour])
  expectSound(world)
})

test('slices after a missed one grow no larger than a cap of some hours ever lets one be', async () => {
  const limits = { ...OPEN, perHour: capOf(USDC, usdc(100)) }
  const world = new World({
    seed: 'grown',
    strategies: [aTwap({ limits }, SEEN)],
    account: { perDay: NO_CAPS },
  })
  world.start()
  await world.runFor(90 * MINUTE)
  world.crash()
  await world.runFor(4 * HOUR)
  world.start()
  await world.runFor(24 * HOUR)
  const ends = outcomes(world, 'slices')
  expect(ends).not.toContain('skipped limit-per-hour')
  const fills = ends.filter((end) => end === FILLED).length
  expect(fills).toBeGreaterThan(18)
  expect(usdc(100_000) - world.balance(USDC.address)).toBe(usdc(100 * fills))
  expectSound(world)
})
