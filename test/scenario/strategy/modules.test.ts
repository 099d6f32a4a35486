import { describe, expect, test } from 'vitest'
import type { JournalRecord } from '../../../src/journal/events/registry.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC, WALLET } from '../../simulation/stage.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  HOUR,
  MINUTE,
  usdc,
} from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const OWN = aCustomStrategy()
const BUY_25 = { orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }
/** Five seconds before a full hour. */
const NEARLY_MS = 1_803_862_795_000
const EVERY_SECOND = aStrategy({
  name: 'second',
  schedule: aSchedule('* * * * * *', { missed: 'all' }),
  limits: { ...aStrategy().limits, maxOpenIntents: 100 },
})

/** Records of one strategy's slots, in disk order. */
function slotsOf(world: World, strategy: string): readonly JournalRecord[] {
  return world.disk
    .records()
    .filter(
      ({ event }) => 'slotSeconds' in event && 'strategy' in event && event.strategy === strategy,
    )
}

function detailsOf(world: World, strategy: string): readonly (string | undefined)[] {
  return slotsOf(world, strategy).flatMap(({ event }) =>
    event.type === 'slot-closed' ? [event.detail] : [],
  )
}

/** A world just before the first slot of `own`, whose module takes a second and a half. */
async function withSlowModule(
  seed: string,
  strategies: readonly Strategy[] = [OWN],
): Promise<World> {
  const modules = { own: () => BUY_25 }
  const world = new World({ seed, strategies, modules, startMs: NEARLY_MS })
  world.moduleFaults.lateMs.set('own', 1_500)
  world.start()
  await world.runFor(4_900)
  return world
}

test('a module trades by its answer and keeps its memory across slots and a crash', async () => {
  const world = new World({
    seed: 'module',
    strategies: [OWN],
    modules: {
      own: ({ memory }) => ({
        ...BUY_25,
        memory: { seen: `${Number(memory['seen'] ?? '0') + 1}` },
      }),
    },
  })
  world.start()
  await world.runFor(2 * HOUR + MINUTE)
  world.crash()
  world.start()
  await world.runFor(HOUR)
  expect(outcomes(world, 'own')).toEqual(Array(3).fill('filled filled'))
  expect(world.state.strategies.get('own')?.memory).toEqual({ seen: '3' })
  expectSound(world)
})

describe('a module that fails', () => {
  test('fails only its own slots, each with its cause', async () => {
    const failing = ['silent', 'late', 'throws', 'garbage', 'gone'].map((name) =>
      aCustomStrategy({ name }),
    )
    const world = new World({
      seed: 'failing modules',
      strategies: [...failing, OWN, aStrategy()],
      modules: {
        own: () => BUY_25,
        silent: () => BUY_25,
        late: () => BUY_25,
        garbage: () => BUY_25,
        throws: () => {
          throw new Error('no average')
        },
      },
    })
    world.moduleFaults.silent.add('silent')
    world.moduleFaults.lateMs.set('late', 60_000)
    world.moduleFaults.garbage.set('garbage', { orders: 'all of it' })
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(failing.flatMap(({ name }) => outcomes(world, name))).toEqual(
      Array(5).fill('skipped module-failed'),
    )
    expect(failing.flatMap(({ name }) => detailsOf(world, name))).toEqual([
      'it did not answer within 2 s',
      'it did not answer within 2 s',
      'no average',
      'orders is no list',
      'its module was not started',
    ])
    expect([...outcomes(world, 'own'), ...outcomes(world, 'hourly')]).toEqual(
      Array(2).fill('filled filled'),
    )
    expectSound(world)
  })

  test('delays no tick: slots due during its call open within their second', async () => {
    const strategies = [OWN, EVERY_SECOND]
    const world = new World({ seed: 'held tick', strategies, startMs: NEARLY_MS })
    world.moduleFaults.silent.add('own')
    world.start()
    await world.runFor(15_000)
    const closed = slotsOf(world, 'own')
    expect(closed).toHaveLength(1)
    const lateness = slotsOf(world, 'second').flatMap(({ event, atMs }) =>
      event.type === 'slot-opened' ? [atMs - event.slotSeconds * 1000] : [],
    )
    expect(lateness.length).toBeGreaterThan(10)
    expect(Math.max(...lateness)).toBeLessThan(1_000)
    expectSound(world)
  })
})

describe('during the call of a module', () => {
  test('a halt skips the slot', async () => {
    const world = await withSlowModule('halt at a module')
    await world.runFor(700)
    const halted = world.control.halt()
    await world.runFor(10_000)
    expect(await halted).toMatchObject({ ok: true })
    expect(outcomes(world, 'own')).toEqual(['skipped halted'])
    expect(eventTypes(world)).not.toContain('slot-opened')
    expectSound(world)
  })

  test('the balance reserved by another strategy is not sold twice', async () => {
    const secondLater = aStrategy({ schedule: aSchedule('1 0 * * * *') })
    const world = await withSlowModule('balance at a module', [OWN, secondLater])
    world.ledger.setBalance(USDC.address, WALLET, usdc(40))
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(outcomes(world, 'own')).toEqual(['skipped insufficient-balance'])
    expectSound(world)
  })

  test('a crash repeats the call and fills the slot once', async () => {
    const world = await withSlowModule('crash at a module')
    await world.runFor(700)
    expect(slotsOf(world, 'own')).toEqual([])
    world.crash()
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'own')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('a stop leaves the slot due', async () => {
    const world = await withSlowModule('stop at a module')
    await world.runFor(700)
    world.stop('SIGTERM')
    await world.runFor(MINUTE)
    expect(world.ended).toBe('returned')
    expect(slotsOf(world, 'own')).toEqual([])
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'own')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('a reload waits for the answer, and a trigger is refused', async () => {
    const world = await withSlowModule('reload at a module')
    await world.runFor(700)
    const triggered = world.control.trigger('own')
    await world.runFor(100)
    expect(await triggered).toMatchObject({
      ok: false,
      detail: 'own has a slot of its own at this very moment',
    })
    const reloaded = world.control.reload({
      strategies: [{ ...OWN, slippageBps: 40 }],
      account: world.account,
    })
    await world.runFor(HOUR + MINUTE)
    await reloaded
    expect(outcomes(world, 'own')).toEqual(['skipped strategy-changed', 'filled filled'])
    expectSound(world)
  })
})

test('a triggered module trades, and ticks continue meanwhile', async () => {
  const world = await withSlowModule('trigger a module', [OWN, EVERY_SECOND])
  await world.runFor(20_000)
  const before = outcomes(world, 'second').length
  const triggered = world.control.trigger('own')
  await world.runFor(5_000)
  expect(await triggered).toMatchObject({ ok: true })
  expect(outcomes(world, 'second').length - before).toBeGreaterThanOrEqual(3)
  await world.runFor(20_000)
  expect(outcomes(world, 'own')).toEqual(Array(2).fill('filled filled'))
  // The invariant checks do not cover slots outside the calendar.
  expect(world.state).toEqual(world.disk.reducedState())
})

test('slots caught up call the module one after the other, each with the memory of the last', async () => {
  const own = aCustomStrategy({
    schedule: aSchedule('*/10 * * * *', { missed: 'all', overlap: 'skip' }),
  })
  const seen: string[] = []
  const modules = {
    own: ({ memory }: { readonly memory: Readonly<Record<string, string>> }) => {
      seen.push(memory['count'] ?? 'none')
      return { skip: 'counted', memory: { count: `${seen.length}` } }
    },
  }
  const world = new World({ seed: 'made up', strategies: [own], modules })
  world.start()
  await world.runFor(MINUTE)
  world.crash()
  await world.runFor(35 * MINUTE)
  world.start()
  await world.runFor(10_000)
  expect(seen).toEqual(['none', '1', '2'])
  expectSound(world)
})

test('the same seed gives the same journal with slow modules', async () => {
  const journal = async (): Promise<readonly string[]> => {
    const strategies = [OWN, aCustomStrategy({ name: 'late' }), aStrategy()]
    const modules = { own: () => BUY_25, late: () => BUY_25 }
    const world = new World({ seed: 'replay', strategies, modules })
    world.moduleFaults.lateMs.set('late', 1_900)
    world.start()
    await world.runFor(3 * HOUR)
    return world.disk.lines
  }
  expect(await journal()).toEqual(await journal())
})
