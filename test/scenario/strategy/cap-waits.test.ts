import { describe, expect, test } from 'vitest'
import { NO_CAPS, type OrderSize, type StrategyLimits } from '../../../src/domain/strategy.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
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
/** The first slice is due when the strategy is first seen. */
const SEEN = { startSeconds: undefined }

function sells(amount: number): OrderSize {
  return { side: 'sell', amount: usdc(amount) }
}

async function afterHours(
  strategies: readonly Strategy[],
  hours: number,
  account = {},
): Promise<Simulation> {
  const sim = new Simulation({ seed: 'cap waits', strategies, account })
  sim.start()
  await sim.runFor(hours * HOUR + 10 * MINUTE)
  return sim
}

/** Lateness of a strategy's opened slots, s. */
function latenessOf(sim: Simulation, name: string): readonly number[] {
  return sim.disk
    .records()
    .flatMap(({ event, atMs }) =>
      event.type === 'slot-opened' && event.strategy === name
        ? [atMs / 1000 - event.slotSeconds]
        : [],
    )
}

describe('a schedule within its limits', () => {
  test.each<[string, Partial<StrategyLimits>]>([
    ['an hourly cap of one order', PER_HOUR],
    ['a daily cap equal to the orders of a day', { perDay: capOf(USDC, usdc(24 * 25)) }],
    ['a cooldown as long as its interval', { cooldownMs: HOUR }],
  ])('fills each slot under %s', async (_, limits) => {
    const sim = await afterHours([aStrategy({ limits: { ...OPEN, ...limits } })], 30)
    expect(outcomes(sim, 'hourly')).toEqual(Array(30).fill(FILLED))
    const late = latenessOf(sim, 'hourly')
    expect(Math.max(...late)).toBeGreaterThan(0.5)
    expect(Math.max(...late)).toBeLessThan(10 * 60)
    expectSound(sim)
  })

  test("fills each slot when several strategies share the account's cap at one moment", async () => {
    const three = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const sim = await afterHours(three, 12, { perHour: capOf(USDC, usdc(75)) })
    for (const { name } of three)
      expect([name, outcomes(sim, name)]).toEqual([name, Array(12).fill(FILLED)])
    expectSound(sim)
  })

  test('fills each slot under a cooldown of the account', async () => {
    const sim = await afterHours([aStrategy()], 10, { cooldownMs: HOUR })
    expect(outcomes(sim, 'hourly')).toEqual(Array(10).fill(FILLED))
    expectSound(sim)
  })

  test('fills each slot decided by a module, which is called again once the cap is free', async () => {
    let moduleCalls = 0
    const own = aCustomStrategy({ limits: PER_HOUR })
    const modules = {
      own() {
        moduleCalls += 1
        return { orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }
      },
    }
    const sim = new Simulation({ seed: 'module waits', strategies: [own], modules })
    sim.start()
    await sim.runFor(8 * HOUR + 10 * MINUTE)
    expect(outcomes(sim, 'own')).toEqual(Array(8).fill(FILLED))
    expect(moduleCalls).toBe(8 + 7)
    expectSound(sim)
  })

  test('sells every slice of a TWAP schedule whose slices equal the hourly cap', async () => {
    for (const unsold of ['spread', 'drop'] as const) {
      const limits = { ...OPEN, perHour: capOf(USDC, usdc(100)) }
      const sim = await afterHours([aTwap({ limits, unsold }, SEEN)], 26, { perDay: NO_CAPS })
      expect(outcomes(sim, 'slices')).toEqual(Array(24).fill(FILLED))
      expect(usdc(100_000) - sim.balance(USDC.address)).toBe(usdc(2_400))
      expectSound(sim)
    }
  })
})

describe('a slot that waits for a cap', () => {
  /** A simulation whose second slot has waited a minute for the hourly cap, because the first order was ten minutes late. */
  async function waiting(
    changes: Partial<Parameters<typeof aSchedule>[1]> = {},
  ): Promise<Simulation> {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE, ...changes })
    const strategies = [
      aStrategy({ schedule, limits: PER_HOUR }),
      aStrategy({ name: 'other', schedule: aSchedule('* * * * *'), size: sells(1) }),
    ]
    const sim = new Simulation({ seed: 'waiting', strategies })
    sim.start()
    await sim.runFor(HOUR - MINUTE)
    // The first order is signed ten minutes late.
    sim.serviceFaults.down = true
    await sim.runFor(11 * MINUTE)
    sim.serviceFaults.down = false
    await sim.runFor(51 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([FILLED])
    return sim
  }

  test('reports why it waits, and trades as soon as the cap is free', async () => {
    const sim = await waiting()
    expect(sim.observations).toContainEqual(
      expect.objectContaining({ type: 'slot-waiting', reason: 'limit-per-hour' }),
    )
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(sim)
  })

  test('is named in the refusal of a trigger of its strategy', async () => {
    const sim = await waiting()
    const [answer] = await Promise.all([sim.control.trigger('hourly'), sim.runFor(MINUTE)])
    expect(answer).toMatchObject({
      ok: false,
      detail: 'a slot of hourly waits already: `tranched plan` says what for',
    })
  })

  test('is caught up by the next start after a crash', async () => {
    const sim = await waiting()
    sim.crash()
    await sim.runFor(5 * MINUTE)
    sim.start()
    await sim.runFor(15 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(sim)
  })

  test('is missed when the next start is too late or `missed` is skip', async () => {
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

  test('is skipped when the cap frees too late', async () => {
    const strategies = [
      aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE }) }),
      aStrategy({ name: 'other', schedule: aSchedule('10 * * * *') }),
    ]
    const sim = await afterHours(strategies, 3, { perHour: capOf(USDC, usdc(25)) })
    expect(outcomes(sim, 'other')).toEqual(Array(3).fill(FILLED))
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('skipped limit-account-per-hour'))
  })

  test('delays no other strategy', async () => {
    const sim = await waiting()
    expect(outcomes(sim, 'other').slice(-2)).toEqual([FILLED, FILLED])
    const before = outcomes(sim, 'other').length
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'other').slice(before)).toEqual(Array(5).fill(FILLED))
    expect(outcomes(sim, 'hourly')).toEqual([FILLED])
  })

  test.each<[string, readonly Strategy[]]>([
    ['its file is removed', []],
    ['its file gets another schedule', [aStrategy({ schedule: aSchedule('30 * * * *') })]],
  ])('is recorded as missed when %s', async (_, strategies) => {
    const sim = await waiting()
    sim.strategies = strategies
    const files = { strategies, account: sim.account }
    await Promise.all([sim.control.reload(files), sim.runFor(5_000)])
    expect(outcomes(sim, 'hourly')).toEqual([FILLED, 'missed 1'])
    await sim.runFor(35 * MINUTE)
    expect(outcomes(sim, 'hourly').slice(2)).toEqual(strategies.map(() => FILLED))
    expect(sim.state).toEqual(sim.disk.reducedState())
  })

  test('is opened no earlier when the clock is set back and forward again', async () => {
    const sim = await waiting()
    sim.clock.offsetMs = -30 * MINUTE
    await sim.runFor(3 * MINUTE)
    sim.clock.offsetMs = 0
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([FILLED, FILLED])
    expectSound(sim)
  })
})

test('a slot is skipped when its cap frees only after the next slot', async () => {
  const strategy = aStrategy({ schedule: aSchedule('*/20 * * * *'), limits: PER_HOUR })
  const sim = await afterHours([strategy], 4)
  const hour = [FILLED, 'skipped limit-per-hour', 'skipped limit-per-hour']
  expect(outcomes(sim, 'hourly').slice(0, 9)).toEqual([...hour, ...hour, ...hour])
  expectSound(sim)
})

test('slices after missed slices grow no larger than an hourly cap allows', async () => {
  const limits = { ...OPEN, perHour: capOf(USDC, usdc(100)) }
  const sim = new Simulation({
    seed: 'grown',
    strategies: [aTwap({ limits }, SEEN)],
    account: { perDay: NO_CAPS },
  })
  sim.start()
  await sim.runFor(90 * MINUTE)
  sim.crash()
  await sim.runFor(4 * HOUR)
  sim.start()
  await sim.runFor(24 * HOUR)
  const ends = outcomes(sim, 'slices')
  expect(ends).not.toContain('skipped limit-per-hour')
  const fills = ends.filter((end) => end === FILLED).length
  expect(fills).toBeGreaterThan(18)
  expect(usdc(100_000) - sim.balance(USDC.address)).toBe(usdc(100 * fills))
  expectSound(sim)
})
