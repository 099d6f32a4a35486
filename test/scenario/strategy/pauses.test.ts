import { describe, expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent, untilExposed, untilSigned } from '../../support/worlds/run-until.ts'

/** Runs the simulation until an operator's request is answered; its record takes a moment to reach the disk. */
async function answered<Answer>(world: World, request: Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([request, world.runFor(1_000)])
  return answer
}

/** A world whose first order is signed but not filled. */
async function withOneOrder(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  return world
}

describe('a paused strategy', () => {
  test('opens no slot until it is resumed, while other strategies continue', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'other' })]
    const world = new World({ seed: 'pause one', strategies })
    world.start()
    await world.runFor(MINUTE)
    const paused = await answered(world, world.control.pause('hourly'))
    expect(paused).toEqual({ ok: true, changed: ['hourly'], inFlight: [] })
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('skipped paused'))
    expect(outcomes(world, 'other')).toEqual(Array(3).fill('filled filled'))
    const resumed = await answered(world, world.control.resume('hourly'))
    expect(resumed).toEqual({ ok: true, changed: ['hourly'], inFlight: [] })
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly').slice(3)).toEqual(Array(2).fill('filled filled'))
    expectSound(world)
  })

  test('stays paused across a crash', async () => {
    const world = new World({ seed: 'pause crash', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    await answered(world, world.control.pause('hourly'))
    world.crash()
    await world.runFor(10 * MINUTE)
    world.start()
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('skipped paused'))
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('withdraws its order unsigned when the permit is being recorded', async () => {
    const world = new World({ seed: 'pause at the signature', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR)
    await untilExposed(world)
    expect(world.watch.signatures).toBe(0)
    await answered(world, world.control.pause('hourly'))
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped paused'])
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('makes no approval for an order that waits for another wallet transaction', async () => {
    const strategies = ['one', 'two'].map((name) => aStrategy({ name }))
    const gasless = { approval: 'exact' } as const
    const world = new World({ seed: 'pause in the turn', strategies, gasless })
    const approvals = (): readonly string[] =>
      world.disk.events().flatMap((event) => {
        if (event.type !== 'transaction-recorded') return []
        return event.transaction.intentId?.split(':').slice(0, 1) ?? []
      })
    world.start()
    await world.runFor(HOUR - MINUTE)
    await runUntil(world, 'approval', () => approvals().length > 0, 10)
    const [first] = approvals()
    const second = first === 'one' ? 'two' : 'one'
    await answered(world, world.control.pause(second))
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, second)).toEqual(['skipped paused'])
    expect(new Set(approvals())).toEqual(new Set([first]))
    expectSound(world)
  })

  test('reports its order in flight, which is followed to its end', async () => {
    const world = await withOneOrder('pause in flight')
    const answer = await answered(world, world.control.pause(undefined))
    const [order] = world.state.intents.values()
    expect(answer).toMatchObject({
      changed: ['hourly'],
      inFlight: [{ intentId: order?.intent.id, deadlineSeconds: expect.any(Number) }],
    })
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'skipped paused'])
    expectSound(world)
  })

  test('records in each slot the cause of the pause and the command that ends it', async () => {
    const world = new World({ seed: 'pause text', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    await answered(world, world.control.pause('hourly'))
    await world.runFor(HOUR)
    const closed = world.disk.events().find(({ type }) => type === 'slot-closed')
    expect(closed).toMatchObject({
      detail: 'paused by the operator; `tranched resume hourly` ends it',
    })
  })

  test('refuses a trigger while it is paused or everything is halted, and names the remedy', async () => {
    const world = new World({ seed: 'trigger paused', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    const opened = () => eventTypes(world).filter((type) => type === 'slot-opened').length
    const before = opened()
    await answered(world, world.control.pause('hourly'))
    expect(await answered(world, world.control.trigger('hourly'))).toEqual({
      ok: false,
      detail: 'hourly is paused (paused by the operator): `tranched resume hourly` ends it',
    })
    await answered(world, world.control.halt())
    expect(await answered(world, world.control.trigger('hourly'))).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^everything is halted \(.*\): `tranched resume` lifts it$/),
    })
    expect(await answered(world, world.control.trigger('hourl'))).toEqual({
      ok: false,
      detail: 'no strategy is called hourl; did you mean hourly?',
    })
    expect(opened()).toBe(before)
  })

  test('is not paused twice, and an unknown strategy is refused', async () => {
    const world = new World({ seed: 'pause twice', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    await answered(world, world.control.pause('hourly'))
    const again = await answered(world, world.control.pause('hourly'))
    expect(again).toEqual({ ok: true, changed: [], inFlight: [] })
    expect(eventTypes(world).filter((type) => type === 'strategy-paused')).toHaveLength(1)
    expect(await answered(world, world.control.pause('weekly'))).toEqual({
      ok: false,
      detail: 'no strategy is called weekly; there are: hourly',
    })
  })
})

describe('a halt', () => {
  test('blocks new signatures and lets the order in flight end', async () => {
    const world = await withOneOrder('halt')
    const answer = await answered(world, world.control.halt())
    expect(answer).toMatchObject({ ok: true, changed: ['everything'], inFlight: [{}] })
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', ...Array(3).fill('skipped halted')])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('ends an order whose permit is dead instead of signing another', async () => {
    const world = new World({ seed: 'halt and retry', strategies: [aStrategy()] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR)
    await untilSigned(world, 1)
    await answered(world, world.control.halt())
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('withdraws an order unsigned when its permit is being recorded', async () => {
    const world = new World({ seed: 'halt at the signature', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR)
    await untilExposed(world)
    expect(world.watch.signatures).toBe(0)
    await answered(world, world.control.halt())
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(world.observations).toContainEqual(
      expect.objectContaining({ type: 'authorization-withdrawn', attempt: 1, reason: 'halted' }),
    )
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('blocks even the approval when it comes during a quote request', async () => {
    const world = new World({ seed: 'halt before the approval', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR)
    await untilEvent(world, 'slot-opened', 1)
    await answered(world, world.control.halt())
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped halted'])
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expectSound(world)
  })

  test('survives a crash right after its record, and nothing is signed after the start', async () => {
    const world = new World({ seed: 'halt crash', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    world.disk.crashAt = { append: world.disk.appends + 1, when: 'after' }
    void world.control.halt()
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('skipped halted'))
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('is lifted by resume without a name, which also ends every pause', async () => {
    const strategies = [aStrategy(), aStrategy({ name: 'other' })]
    const world = new World({ seed: 'lift', strategies })
    world.start()
    await world.runFor(MINUTE)
    await answered(world, world.control.pause('other'))
    await answered(world, world.control.halt())
    await world.runFor(HOUR)
    const byName = await answered(world, world.control.resume('other'))
    expect(byName).toMatchObject({ changed: ['other'] })
    await world.runFor(HOUR)
    expect(outcomes(world, 'other')).toEqual(Array(2).fill('skipped halted'))
    await answered(world, world.control.pause('other'))
    const all = await answered(world, world.control.resume(undefined))
    expect(all).toEqual({ ok: true, changed: ['everything', 'other'], inFlight: [] })
    await world.runFor(HOUR)
    for (const name of ['hourly', 'other'])
      expect(outcomes(world, name).slice(2)).toEqual(['filled filled'])
    expectSound(world)
  })
})

describe('failures in a row', () => {
  const failing = (name: string, maxFailures?: number) =>
    aStrategy({ name, schedule: aSchedule('0 * * * *'), limits: { ...OPEN, maxFailures } })

  test('pause their strategy at the limit', async () => {
    const world = new World({ seed: 'streak', strategies: [failing('fragile', 2)] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(4 * HOUR + 30 * MINUTE)
    expect(outcomes(world, 'fragile')).toEqual([
      ...Array(2).fill('expired order-expired'),
      ...Array(2).fill('skipped paused'),
    ])
    const types = eventTypes(world)
    expect(types[types.indexOf('strategy-paused') - 1]).toBe('slot-closed')
    expect(world.state.strategies.get('fragile')?.paused).toMatchObject({
      cause: 'failure-streak',
      detail: '2 slots in a row came to nothing, and limits.maxFailures is 2',
    })
    expectSound(world)
  })

  test('are counted from zero after a resume and after a fill', async () => {
    const world = new World({ seed: 'afresh', strategies: [failing('fragile', 2)] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(2 * HOUR + 30 * MINUTE)
    await answered(world, world.control.resume('fragile'))
    await world.runFor(HOUR)
    world.serviceFaults.neverFills = 0
    await world.runFor(HOUR)
    world.serviceFaults.neverFills = 1
    await world.runFor(HOUR)
    expect(outcomes(world, 'fragile').slice(2)).toEqual([
      'expired order-expired',
      'filled filled',
      'expired order-expired',
    ])
    expect(world.state.strategies.get('fragile')?.paused).toBeUndefined()
    expectSound(world)
  })

  test('halt the account at its limit across strategies and restarts', async () => {
    const strategies = [failing('one'), failing('two'), failing('three')]
    const world = new World({ seed: 'halted', strategies, account: { maxFailures: 3 } })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    expect(world.state.halted).toMatchObject({
      cause: 'failure-streak',
      detail: '3 slots in a row came to nothing, and limits.maxFailures is 3, of any strategy',
    })
    world.crash()
    world.serviceFaults.neverFills = 0
    world.start()
    await world.runFor(HOUR)
    for (const { name } of strategies)
      expect(outcomes(world, name)).toEqual(['expired order-expired', 'skipped halted'])
    await answered(world, world.control.resume(undefined))
    await world.runFor(HOUR)
    for (const { name } of strategies) expect(outcomes(world, name).at(-1)).toBe('filled filled')
    expectSound(world)
  })
})
