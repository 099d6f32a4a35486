import { describe, expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import {
  runUntil,
  untilEvent,
  untilExposed,
  untilSigned,
} from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** Runs the simulation until an operator's request is answered; its record takes a moment to reach the disk. */
async function answered<Answer>(sim: Simulation, request: Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([request, sim.runFor(1_000)])
  return answer
}

/** A simulation whose first order is signed but not filled. */
async function withOneOrder(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy()] })
  sim.serviceFaults.fillsLate = 1
  sim.start()
  await sim.runFor(HOUR)
  await untilSigned(sim, 1)
  return sim
}

describe('a paused strategy', () => {
  test('opens no slot until it is resumed, while other strategies continue', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'other' })]
    const sim = new Simulation({ seed: 'pause one', strategies })
    sim.start()
    await sim.runFor(MINUTE)
    const paused = await answered(sim, sim.control.pause('hourly'))
    expect(paused).toEqual({ ok: true, changed: ['hourly'], inFlight: [] })
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('skipped paused'))
    expect(outcomes(sim, 'other')).toEqual(Array(3).fill('filled filled'))
    const resumed = await answered(sim, sim.control.resume('hourly'))
    expect(resumed).toEqual({ ok: true, changed: ['hourly'], inFlight: [] })
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'hourly').slice(3)).toEqual(Array(2).fill('filled filled'))
    expectSound(sim)
  })

  test('stays paused across a crash', async () => {
    const sim = new Simulation({ seed: 'pause crash', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    await answered(sim, sim.control.pause('hourly'))
    sim.crash()
    await sim.runFor(10 * MINUTE)
    sim.start()
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('skipped paused'))
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('withdraws its order unsigned when the permit is being recorded', async () => {
    const sim = new Simulation({ seed: 'pause at the signature', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR)
    await untilExposed(sim)
    expect(sim.watch.signatures).toBe(0)
    await answered(sim, sim.control.pause('hourly'))
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped paused'])
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('makes no approval for an order that waits for another wallet transaction', async () => {
    const strategies = ['one', 'two'].map((name) => aStrategy({ name }))
    const gasless = { approval: 'exact' } as const
    const sim = new Simulation({ seed: 'pause in the turn', strategies, gasless })
    const approvals = (): readonly string[] =>
      sim.disk.events().flatMap((event) => {
        if (event.type !== 'transaction-recorded') return []
        return event.transaction.intentId?.split(':').slice(0, 1) ?? []
      })
    sim.start()
    await sim.runFor(HOUR - MINUTE)
    await runUntil(sim, 'approval', () => approvals().length > 0, 10)
    const [first] = approvals()
    const second = first === 'one' ? 'two' : 'one'
    await answered(sim, sim.control.pause(second))
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, second)).toEqual(['skipped paused'])
    expect(new Set(approvals())).toEqual(new Set([first]))
    expectSound(sim)
  })

  test('reports its order in flight, which is followed to its end', async () => {
    const sim = await withOneOrder('pause in flight')
    const answer = await answered(sim, sim.control.pause(undefined))
    const [order] = sim.state.intents.values()
    expect(answer).toMatchObject({
      changed: ['hourly'],
      inFlight: [{ intentId: order?.intent.id, deadlineSeconds: expect.any(Number) }],
    })
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'skipped paused'])
    expectSound(sim)
  })

  test('records in each slot the cause of the pause and the command that ends it', async () => {
    const sim = new Simulation({ seed: 'pause text', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    await answered(sim, sim.control.pause('hourly'))
    await sim.runFor(HOUR)
    const closed = sim.disk.events().find(({ type }) => type === 'slot-closed')
    expect(closed).toMatchObject({
      detail: 'paused by the operator; `tranched resume hourly` ends it',
    })
  })

  test('refuses a trigger while it is paused or everything is halted, and names the remedy', async () => {
    const sim = new Simulation({ seed: 'trigger paused', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    const opened = () => eventTypes(sim).filter((type) => type === 'slot-opened').length
    const before = opened()
    await answered(sim, sim.control.pause('hourly'))
    expect(await answered(sim, sim.control.trigger('hourly'))).toEqual({
      ok: false,
      detail: 'hourly is paused (paused by the operator): `tranched resume hourly` ends it',
    })
    await answered(sim, sim.control.halt())
    expect(await answered(sim, sim.control.trigger('hourly'))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^everything is halted \(.*\): `tranched resume` lifts it$/),
    })
    expect(await answered(sim, sim.control.trigger('hourl'))).toEqual({
      ok: false,
      detail: 'no strategy is called hourl; did you mean hourly?',
    })
    expect(opened()).toBe(before)
  })

  test('is not paused twice, and an unknown strategy is refused', async () => {
    const sim = new Simulation({ seed: 'pause twice', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    await answered(sim, sim.control.pause('hourly'))
    const again = await answered(sim, sim.control.pause('hourly'))
    expect(again).toEqual({ ok: true, changed: [], inFlight: [] })
    expect(eventTypes(sim).filter((type) => type === 'strategy-paused')).toHaveLength(1)
    expect(await answered(sim, sim.control.pause('weekly'))).toEqual({
      ok: false,
      detail: 'no strategy is called weekly; there are: hourly',
    })
  })
})

describe('a halt', () => {
  test('blocks new signatures and lets the order in flight end', async () => {
    const sim = await withOneOrder('halt')
    const answer = await answered(sim, sim.control.halt())
    expect(answer).toMatchObject({ ok: true, changed: ['everything'], inFlight: [{}] })
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', ...Array(3).fill('skipped halted')])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('ends an order whose permit is dead instead of signing another', async () => {
    const sim = new Simulation({ seed: 'halt and retry', strategies: [aStrategy()] })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(HOUR)
    await untilSigned(sim, 1)
    await answered(sim, sim.control.halt())
    await sim.runFor(30 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('withdraws an order unsigned when its permit is being recorded', async () => {
    const sim = new Simulation({ seed: 'halt at the signature', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR)
    await untilExposed(sim)
    expect(sim.watch.signatures).toBe(0)
    await answered(sim, sim.control.halt())
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(sim.observations).toContainEqual(
      expect.objectContaining({ type: 'authorization-withdrawn', attempt: 1, reason: 'halted' }),
    )
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('blocks even the approval when it comes during a quote request', async () => {
    const sim = new Simulation({ seed: 'halt before the approval', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR)
    await untilEvent(sim, 'slot-opened', 1)
    await answered(sim, sim.control.halt())
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped halted'])
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expectSound(sim)
  })

  test('survives a crash right after its record, and nothing is signed after the start', async () => {
    const sim = new Simulation({ seed: 'halt crash', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    sim.disk.crashAt = { append: sim.disk.appends + 1, when: 'after' }
    void sim.control.halt()
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('skipped halted'))
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('is lifted by resume without a name, which also ends every pause', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'other' })]
    const sim = new Simulation({ seed: 'lift', strategies })
    sim.start()
    await sim.runFor(MINUTE)
    await answered(sim, sim.control.pause('other'))
    await answered(sim, sim.control.halt())
    await sim.runFor(HOUR)
    const byName = await answered(sim, sim.control.resume('other'))
    expect(byName).toMatchObject({ changed: ['other'] })
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'other')).toEqual(Array(2).fill('skipped halted'))
    await answered(sim, sim.control.pause('other'))
    const all = await answered(sim, sim.control.resume(undefined))
    expect(all).toEqual({ ok: true, changed: ['everything', 'other'], inFlight: [] })
    await sim.runFor(HOUR)
    for (const name of ['hourly', 'other'])
      expect(outcomes(sim, name).slice(2)).toEqual(['filled filled'])
    expectSound(sim)
  })
})

describe('failures in a row', () => {
  const failing = (name: string, maxFailures?: number) =>
    aStrategy({ name, schedule: aSchedule('0 * * * *'), limits: { ...OPEN, maxFailures } })

  test('pause their strategy at the limit', async () => {
    const sim = new Simulation({ seed: 'streak', strategies: [failing('fragile', 2)] })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(4 * HOUR + 30 * MINUTE)
    expect(outcomes(sim, 'fragile')).toEqual([
      ...Array(2).fill('expired order-expired'),
      ...Array(2).fill('skipped paused'),
    ])
    const types = eventTypes(sim)
    expect(types[types.indexOf('strategy-paused') - 1]).toBe('slot-closed')
    expect(sim.state.strategies.get('fragile')?.paused).toMatchObject({
      cause: 'failure-streak',
      detail: '2 slots in a row failed, and limits.maxFailures is 2',
    })
    expectSound(sim)
  })

  test('are counted from zero after a resume and after a fill', async () => {
    const sim = new Simulation({ seed: 'afresh', strategies: [failing('fragile', 2)] })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(2 * HOUR + 30 * MINUTE)
    await answered(sim, sim.control.resume('fragile'))
    await sim.runFor(HOUR)
    sim.serviceFaults.neverFills = 0
    await sim.runFor(HOUR)
    sim.serviceFaults.neverFills = 1
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'fragile').slice(2)).toEqual([
      'expired order-expired',
      'filled filled',
      'expired order-expired',
    ])
    expect(sim.state.strategies.get('fragile')?.paused).toBeUndefined()
    expectSound(sim)
  })

  test('halt the account at its limit across strategies and restarts', async () => {
    const strategies = [failing('one'), failing('two'), failing('three')]
    const sim = new Simulation({ seed: 'halted', strategies, account: { maxFailures: 3 } })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(HOUR + 30 * MINUTE)
    expect(sim.state.halted).toMatchObject({
      cause: 'failure-streak',
      detail: '3 slots in a row failed, and limits.maxFailures is 3, of any strategy',
    })
    sim.crash()
    sim.serviceFaults.neverFills = 0
    sim.start()
    await sim.runFor(HOUR)
    for (const { name } of strategies)
      expect(outcomes(sim, name)).toEqual(['expired order-expired', 'skipped halted'])
    await answered(sim, sim.control.resume(undefined))
    await sim.runFor(HOUR)
    for (const { name } of strategies) expect(outcomes(sim, name).at(-1)).toBe('filled filled')
    expectSound(sim)
  })
})
