import { describe, expect, test } from 'vitest'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, MINUTE, OPEN, usdc } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

describe('caps', () => {
  test('stop a strategy per day until its first fill is a day old', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(100)) } })
    const sim = new Simulation({ seed: 'per day', strategies: [strategy] })
    sim.start()
    await sim.runFor(30 * HOUR)
    const results = outcomes(sim, 'hourly')
    expect(results.slice(0, 5)).toEqual([
      ...Array(4).fill('filled filled'),
      'skipped limit-per-day',
    ])
    expect(results.filter((result) => result === 'filled filled').length).toBeGreaterThan(7)
    expectSound(sim)
  })

  test('stop a strategy in total for good, across restarts', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, total: capOf(USDC, usdc(60)) } })
    const sim = new Simulation({ seed: 'total', strategies: [strategy] })
    sim.start()
    await sim.runFor(3 * HOUR + MINUTE)
    sim.crash()
    sim.start()
    await sim.runFor(40 * HOUR)
    expect(sim.state.strategies.get('hourly')?.spent.get(USDC.address)).toBe(usdc(50))
    expect(new Set(outcomes(sim, 'hourly').slice(2))).toEqual(new Set(['skipped limit-total']))
    expectSound(sim)
  })

  test('are checked again at the signature when orders of one slot compete for the rest', async () => {
    const strategies = ['one', 'two', 'three'].map((name) => aStrategy({ name }))
    const account = { perDay: capOf(USDC, usdc(60)) }
    const sim = new Simulation({ seed: 'rivals', strategies, account })
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    const results = strategies.flatMap(({ name }) => outcomes(sim, name)).sort()
    expect(results).toEqual(['filled filled', 'filled filled', 'skipped limit-account-per-day'])
    expect(sim.watch.signatures).toBe(2)
    expectSound(sim)
  })

  test('count a permit in full while its outcome is unknown', async () => {
    const strategy = aStrategy({
      schedule: aSchedule('*/10 * * * *'),
      limits: { ...OPEN, perDay: capOf(USDC, usdc(60)) },
    })
    const sim = new Simulation({ seed: 'live permits', strategies: [strategy] })
    Object.assign(sim.serviceFaults, { neverFills: 1, quoteLifetimeMs: 590_000 })
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(sim.watch.signatures).toBeGreaterThan(2)
    expect(outcomes(sim, 'hourly')).toContain('skipped limit-per-day')
    expectSound(sim)
  })

  test('hold when the clock is set back while a fill is proven', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(50)) } })
    const sim = new Simulation({ seed: 'set back', strategies: [strategy] })
    sim.serviceFaults.fillsLate = 1
    sim.start()
    await sim.runFor(HOUR + 30_000)
    sim.clock.offsetMs = -20 * HOUR
    await sim.runFor(5 * MINUTE)
    sim.clock.offsetMs = 0
    await sim.runFor(30 * HOUR)
    expect(sim.state.strategies.get('hourly')?.fills).toBeGreaterThan(2)
    expectSound(sim)
  })

  test('hold when the clock jumps far ahead while a fill is proven', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perDay: capOf(USDC, usdc(50)) } })
    const sim = new Simulation({ seed: 'far ahead', strategies: [strategy] })
    sim.serviceFaults.fillsLate = 1
    sim.start()
    await sim.runFor(2 * HOUR + 30_000)
    sim.clock.offsetMs = 10 * 24 * HOUR
    sim.clock.stall(2 * MINUTE)
    await sim.runFor(3 * MINUTE)
    sim.clock.offsetMs = 0
    expect(sim.state.strategies.get('hourly')?.fills).toBe(2)
    expect([...sim.state.exposures.values()].length).toBe(2)
    expectSound(sim)
  })
})

describe('slots caught up at once under a cooldown', () => {
  /** Slots at 00:10, 00:20, 00:30 and 00:40, all found at 00:45. */
  async function stalled(missed: MissedPolicy): Promise<Simulation> {
    const strategy = aStrategy({
      schedule: aSchedule('10,20,30,40 0 * * *', { missed }),
      limits: { ...OPEN, cooldownMs: 30 * MINUTE, maxOpenIntents: 10 },
    })
    const sim = new Simulation({ seed: 'cooldown', strategies: [strategy] })
    sim.start()
    await sim.runFor(5 * MINUTE)
    sim.clock.stall(40 * MINUTE)
    await sim.runFor(45 * MINUTE)
    return sim
  }

  test('wait for the cooldown one after the other, within their maximum lateness', async () => {
    const sim = await stalled('all')
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    await sim.runFor(HOUR)
    // The second opens at 01:15; the third would open at 01:45, but its maximum lateness ends at 01:30.
    expect(outcomes(sim, 'hourly')).toEqual([
      'filled filled',
      'filled filled',
      'skipped cooldown',
      'skipped cooldown',
    ])
    const opened = sim.disk
      .records()
      .flatMap(({ event, atMs }) => (event.type === 'slot-opened' ? [atMs] : []))
    expect((opened[1] ?? 0) - (opened[0] ?? 0)).toBeGreaterThanOrEqual(30 * MINUTE)
    expectSound(sim)
  })

  test('open as one slot under `missed: latest`', async () => {
    const sim = await stalled('latest')
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['missed 3', 'filled filled'])
    expectSound(sim)
  })
})
