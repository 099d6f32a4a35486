import { describe, expect, test } from 'vitest'
import { World } from '../../../src/simulate/world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** What orders waited for. */
function waits(world: World): string[] {
  return world.observations.flatMap((event) => (event.type === 'order-waits' ? [event.reason] : []))
}

describe('clocks that disagree', () => {
  test.each([
    ["the service's clock is 6 s ahead", 6_000, 0],
    ["the service's clock is 6 s behind", -6_000, 0],
    ["this machine's clock is 8 s behind", 0, -8_000],
    ["this machine's clock is ten minutes ahead", 0, 10 * MINUTE],
  ])('%s: nothing is signed', async (_name, skewMs, offsetMs) => {
    const world = new World({ seed: 'skew', strategies: [aStrategy()] })
    world.serviceFaults.skewMs = skewMs
    world.start()
    await world.runFor(MINUTE)
    world.clock.offsetMs = offsetMs
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(0)
    expect(waits(world)[0]).toMatch(/^(clock-skew|chain-stale)$/)
    expectSound(world)
    world.serviceFaults.skewMs = 0
    world.clock.offsetMs = 0
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expectSound(world)
  })

  test('a disagreement within the tolerance trades', async () => {
    const world = new World({ seed: 'small skew', strategies: [aStrategy()] })
    world.serviceFaults.skewMs = 3_000
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('a clock set back doubles no slot', async () => {
    const world = new World({ seed: 'back', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    world.clock.offsetMs = -2 * HOUR
    await world.runFor(2 * HOUR + 29 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    world.clock.offsetMs = 0
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expectSound(world)
  })

  test('a clock set back over a restart doubles no slot either', async () => {
    const world = new World({ seed: 'back and restarted', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    world.crash()
    world.clock.offsetMs = -2 * HOUR
    world.start()
    await world.runFor(HOUR)
    world.clock.offsetMs = 0
    await world.runFor(HOUR)
    const slots = world.disk
      .events()
      .flatMap((event) => (event.type === 'slot-opened' ? [event.slotSeconds] : []))
    expect(new Set(slots).size).toBe(slots.length)
    expectSound(world)
  })

  test('a clock that jumps ten days ahead and comes back uses up no slot in between', async () => {
    const world = new World({ seed: 'ahead', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    world.clock.offsetMs = 10 * 24 * HOUR
    await world.runFor(5 * MINUTE)
    world.clock.offsetMs = 0
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expect(world.observations.some(({ type }) => type === 'clock-trouble')).toBe(true)
    expectSound(world)
  })

  test('a daemon started by a clock far ahead uses up no slots whose time has not come', async () => {
    const world = new World({ seed: 'early', strategies: [aStrategy()] })
    world.clock.offsetMs = 10 * 24 * HOUR
    world.start()
    await world.runFor(MINUTE)
    world.stop('SIGTERM')
    await world.runFor(MINUTE)
    world.clock.offsetMs = 0
    world.start()
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(world)
  })

  test('a node that lags two minutes and more is not signed by', async () => {
    const world = new World({ seed: 'lag', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    world.chainFaults.lagSeconds = 130
    await world.runFor(HOUR)
    expect(world.watch.signatures).toBe(0)
    expect(waits(world)).toEqual(['chain-stale'])
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')[0]).toBe('expired too-late')
    expectSound(world)
  })

  test('the clock is asked to wake at each cron text, in its zone, and at no interval', async () => {
    const slices = {
      type: 'interval',
      everySeconds: 60,
      count: 3,
      startSeconds: undefined,
    } as const
    const world = new World({
      seed: 'woken',
      strategies: [
        aStrategy(),
        aStrategy({ name: 'slices', schedule: { ...aSchedule('0 * * * *'), ...slices } }),
      ],
    })
    world.start()
    await world.runFor(MINUTE)
    expect(world.clock.cronTexts).toMatchObject([{ cron: '0 * * * *', timezone: 'UTC' }])
  })
})

describe('an order that is over but for a clock that stands still', () => {
  /** What was told of it. */
  const told = (world: World): string[] =>
    world.observations.flatMap((event) =>
      event.type === 'disbelieved' && event.what === 'clock' && event.moneyWaits
        ? [`${event.service}: ${event.detail}`]
        : [],
    )

  /** A world whose order the service has ended, and whose permit is past its deadline in a minute. */
  async function lapsing(): Promise<World> {
    const world = new World({ seed: 'stands still', strategies: [aStrategy()] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR + 10_000)
    expect(world.state.intents.size).toBe(1)
    return world
  }

  test("of the service: it is told what is waited for, and the order ends once the service's clock goes on", async () => {
    const world = await lapsing()
    world.serviceFaults.skewMs = -HOUR
    await world.runFor(20 * MINUTE)
    expect([...world.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
    expect(told(world)[0]).toMatch(
      /^gasless: its permit's deadline has passed \d+ s ago by chain and machine, and not by the service's clock, which is 3600 s behind: it counts as live until/,
    )
    world.serviceFaults.skewMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.state.intents.size).toBe(0)
    expectSound(world)
  })

  test('of this machine: it is told that the chain is ahead, and the order ends once it goes on', async () => {
    const world = await lapsing()
    world.clock.offsetMs = -HOUR
    await world.runFor(20 * MINUTE)
    expect(world.state.intents.size).toBe(1)
    const doing = world.observations.flatMap((event) =>
      event.type === 'chain-trouble' ? [event.doing] : [],
    )
    expect(doing).toContain('finding an order dead')
    world.clock.offsetMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.state.intents.size).toBe(0)
  })
})
