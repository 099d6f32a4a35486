import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy, callWorld, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const DAY = 24 * HOUR
const FILLED = 'filled filled'

/** Sets the machine's clock thirty days ahead for four minutes. */
async function jumpAhead(world: World): Promise<void> {
  world.clock.offsetMs = 30 * DAY
  await world.runFor(4 * MINUTE)
  world.clock.offsetMs = 0
}

describe('a clock thirty days ahead for four minutes', () => {
  test.each([
    ['between two slots', 30 * MINUTE],
    ['at a slot', 58 * MINUTE],
  ])('consumes no slot of swaps or calls %s', async (_name, afterMs) => {
    const world = new World({ seed: `jump ${afterMs}`, strategies: [aStrategy(), aCallStrategy()] })
    world.start()
    await world.runFor(HOUR + afterMs)
    await jumpAhead(world)
    await world.runFor(3 * HOUR)
    for (const name of ['hourly', 'claim']) {
      const ends = outcomes(world, name)
      // The slot due meanwhile may fail because of the clock; all others fill.
      expect(ends.length).toBe(afterMs > 30 * MINUTE ? 5 : 4)
      expect(ends.filter((end) => end === FILLED).length).toBeGreaterThanOrEqual(4)
    }
    expect(world.observations.some(({ type }) => type === 'clock-trouble')).toBe(true)
    // A tick of calls reads no swap balances, so it must not report them as missing.
    expect(
      world.observations.filter((each) => each.type === 'wallet-balance' && !each.amount),
    ).toEqual([])
    expectSound(world)
  })

  test('stops no calls while the chain of swaps is silent', async () => {
    const world = callWorld({ seed: 'jump and silence' })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    world.chainFaults.down = true
    await jumpAhead(world)
    world.chainFaults.down = false
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'claim')).toEqual(Array(4).fill(FILLED))
    expectSound(world)
  })

  test('refuses a trigger, which would consume all slots until then', async () => {
    const world = new World({ seed: 'triggered', strategies: [aStrategy(), aCallStrategy()] })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    world.clock.offsetMs = 30 * DAY
    const replies = ['hourly', 'claim'].map((name) => world.control.trigger(name))
    await world.runFor(2 * MINUTE)
    for (const answer of await Promise.all(replies))
      expect(answer).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/block is \d+ s old/),
      })
    world.clock.offsetMs = 0
    await world.runFor(2 * HOUR)
    for (const name of ['hourly', 'claim'])
      expect(outcomes(world, name)).toEqual(Array(3).fill(FILLED))
    expectSound(world)
  })

  test('loses no slot under `missed: skip` at the start', async () => {
    const schedule = aSchedule('0 * * * *', { missed: 'skip' })
    const strategies = [aStrategy({ schedule }), aCallStrategy({ schedule })]
    const world = new World({ seed: 'started ahead', strategies })
    world.start()
    await world.runFor(30 * MINUTE)
    world.stop('SIGTERM')
    await world.runFor(MINUTE)
    world.clock.offsetMs = 30 * DAY
    world.start()
    await jumpAhead(world)
    await world.runFor(3 * HOUR)
    for (const name of ['hourly', 'claim'])
      expect(outcomes(world, name)).toEqual(Array(3).fill(FILLED))
    expectSound(world)
  })

  test('neither extends the cap of a trusted call for thirty days nor frees it early during its proof', async () => {
    const limits = { ...OPEN, perDay: new Map([[NATIVE_TOKEN, baseUnits(2_500n)]]) }
    const world = callWorld({
      seed: 'trusted and ahead',
      strategies: [aCallStrategy({ limits })],
      aggregator: { proposer: 'trusted' },
    })
    world.aggregation.faults.delayMs = MINUTE
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.clock.offsetMs = 30 * DAY
    await untilEvent(world, 'call-proven')
    world.clock.offsetMs = 0
    await world.runFor(2 * HOUR)
    // Two calls of 1,000 wei fit into a day, the third only on the next.
    expect(outcomes(world, 'claim')).toEqual([FILLED, FILLED, 'skipped limit-per-day'])
    await world.runFor(24 * HOUR)
    expect(outcomes(world, 'claim').filter((end) => end === FILLED).length).toBeGreaterThan(2)
    expectSound(world)
  })

  test('leaves the length of a cooldown unchanged', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, cooldownMs: 30 * MINUTE } })
    const world = new World({ seed: 'cooled', strategies: [strategy] })
    world.start()
    await world.runFor(HOUR - 3 * MINUTE)
    await jumpAhead(world)
    await world.runFor(3 * HOUR)
    expect(outcomes(world, 'hourly').slice(1)).toEqual(Array(3).fill(FILLED))
    expectSound(world)
  })
})

test('a slot of calls stays due while its chain is silent, and opens once the chain answers', async () => {
  const world = callWorld({ seed: 'silent chain of calls' })
  world.start()
  await world.runFor(50 * MINUTE)
  world.aggregation.chainFaults.down = true
  await world.runFor(30 * MINUTE)
  expect(outcomes(world, 'claim')).toEqual([])
  world.aggregation.chainFaults.down = false
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'claim')).toEqual([FILLED])
  expectSound(world)
})

test('a silent chain of calls delays no swap, and a silent chain of swaps delays no call', async () => {
  const world = new World({ seed: 'half silent', strategies: [aStrategy(), aCallStrategy()] })
  world.start()
  await world.runFor(50 * MINUTE)
  world.aggregation.chainFaults.down = true
  await world.runFor(12 * MINUTE)
  expect([outcomes(world, 'hourly'), outcomes(world, 'claim')]).toEqual([[FILLED], []])
  world.aggregation.chainFaults.down = false
  await world.runFor(48 * MINUTE)
  world.chainFaults.down = true
  await world.runFor(15 * MINUTE)
  expect([outcomes(world, 'hourly'), outcomes(world, 'claim')]).toEqual([
    [FILLED],
    [FILLED, FILLED],
  ])
  expectSound(world)
})
