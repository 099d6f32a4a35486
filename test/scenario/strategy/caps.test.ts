import { describe, expect, test } from 'vitest'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

describe('caps', () => {
  test('stop a strategy per day until its first fill is a day old', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(100)) } })
    const world = new World({ seed: 'per day', strategies: [strategy] })
    world.start()
    await world.runFor(30 * HOUR)
    const results = outcomes(world, 'hourly')
    expect(results.slice(0, 5)).toEqual([
      ...Array(4).fill('filled filled'),
      'skipped limit-per-day',
    ])
    expect(results.filter((result) => result === 'filled filled').length).toBeGreaterThan(7)
    expectSound(world)
  })

  test('stop a strategy in total for good, across restarts', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, total: capOf(USDC, usdc(60)) } })
    const world = new World({ seed: 'total', strategies: [strategy] })
    world.start()
    await world.runFor(3 * HOUR + MINUTE)
    world.crash()
    world.start()
    await world.runFor(40 * HOUR)
    expect(world.state.strategies.get('hourly')?.spent.get(USDC.address)).toBe(usdc(50))
    expect(new Set(outcomes(world, 'hourly').slice(2))).toEqual(new Set(['skipped limit-total']))
    expectSound(world)
  })

  test('are checked again at the signature when orders of one slot compete for the rest', async () => {
    const strategies = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const account = { perDay: capOf(USDC, usdc(60)) }
    const world = new World({ seed: 'rivals', strategies, account })
    world.start()
    await world.runFor(HOUR + MINUTE)
    const results = strategies.flatMap(({ name }) => outcomes(world, name)).sort()
    expect(results).toEqual(['filled filled', 'filled filled', 'skipped limit-account-per-day'])
    expect(world.watch.signatures).toBe(2)
    expectSound(world)
  })

  test('count a permit in full while its outcome is unknown', async () => {
    const strategy = aStrategy({
      schedule: aSchedule('*/10 * * * *'),
      limits: { ...OPEN, perDay: capOf(USDC, usdc(60)) },
    })
    const world = new World({ seed: 'live permits', strategies: [strategy] })
    Object.assign(world.serviceFaults, { neverFills: 1, quoteLifetimeMs: 590_000 })
    world.start()
    await world.runFor(3 * HOUR)
    expect(world.watch.signatures).toBeGreaterThan(2)
    expect(outcomes(world, 'hourly')).toContain('skipped limit-per-day')
    expectSound(world)
  })

  test('hold when the clock is set back while a fill is proven', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(50)) } })
    const world = new World({ seed: 'set back', strategies: [strategy] })
    world.serviceFaults.fillsLate = 1
    world.start()
    await world.runFor(HOUR + 30_000)
    world.clock.offsetMs = -20 * HOUR
    await world.runFor(5 * MINUTE)
    world.clock.offsetMs = 0
    await world.runFor(30 * HOUR)
    expect(world.state.strategies.get('hourly')?.fills).toBeGreaterThan(2)
    expectSound(world)
  })

  test('hold when the clock jumps far ahead while a fill is proven', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(50)) } })
    const world = new World({ seed: 'far ahead', strategies: [strategy] })
    world.serviceFaults.fillsLate = 1
    world.start()
    await world.runFor(2 * HOUR + 30_000)
    world.clock.offsetMs = 10 * 24 * HOUR
    world.clock.stall(2 * MINUTE)
    await world.runFor(3 * MINUTE)
    world.clock.offsetMs = 0
    expect(world.state.strategies.get('hourly')?.fills).toBe(2)
    expect([...world.state.exposures.values()].length).toBe(2)
    expectSound(world)
  })
})

describe('slots caught up at once under a cooldown', () => {
  /** Slots at 00:10, 00:20, 00:30 and 00:40, all found at 00:45. */
  async function stalled(missed: MissedPolicy): Promise<World> {
    const strategy = aStrategy({
      schedule: aSchedule('10,20,30,40 0 * * *', { missed }),
      limits: { ...OPEN, cooldownMs: 30 * MINUTE, maxOpenIntents: 10 },
    })
    const world = new World({ seed: 'cooldown', strategies: [strategy] })
    world.start()
    await world.runFor(5 * MINUTE)
    world.clock.stall(40 * MINUTE)
    await world.runFor(45 * MINUTE)
    return world
  }

  test('wait for the cooldown one after the other, within their maximum lateness', async () => {
    const world = await stalled('all')
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    await world.runFor(HOUR)
    // The second opens at 01:15; the third would open at 01:45, but its maximum lateness ends at 01:30.
    expect(outcomes(world, 'hourly')).toEqual([
      'filled filled',
      'filled filled',
      'skipped cooldown',
      'skipped cooldown',
    ])
    const opened = world.disk
      .records()
      .flatMap(({ event, atMs }) => (event.type === 'slot-opened' ? [atMs] : []))
    expect((opened[1] ?? 0) - (opened[0] ?? 0)).toBeGreaterThanOrEqual(30 * MINUTE)
    expectSound(world)
  })

  test('open as one slot under `missed: latest`', async () => {
    const world = await stalled('latest')
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['missed 3', 'filled filled'])
    expectSound(world)
  })
})
