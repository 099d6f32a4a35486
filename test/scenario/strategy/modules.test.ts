import { describe, expect, test } from 'vitest'
import type { JournalRecord } from '../../../src/journal/events/registry.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
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
function slotsOf(sim: Simulation, strategy: string): readonly JournalRecord[] {
  return sim.disk
    .records()
    .filter(
      ({ event }) => 'slotSeconds' in event && 'strategy' in event && event.strategy === strategy,
    )
}

function detailsOf(sim: Simulation, strategy: string): readonly (string | undefined)[] {
  return slotsOf(sim, strategy).flatMap(({ event }) =>
    event.type === 'slot-closed' ? [event.detail] : [],
  )
}

/** A simulation just before the first slot of `own`, whose module takes a second and a half. */
async function withSlowModule(
  seed: string,
  strategies: readonly Strategy[] = [OWN],
): Promise<Simulation> {
  const modules = { own: () => BUY_25 }
  const sim = new Simulation({ seed, strategies, modules, startMs: NEARLY_MS })
  sim.moduleFaults.lateMs.set('own', 1_500)
  sim.start()
  await sim.runFor(4_900)
  return sim
}

test('a module trades by its answer and keeps its memory across slots and a crash', async () => {
  const sim = new Simulation({
    seed: 'module',
    strategies: [OWN],
    modules: {
      own: ({ memory }) => ({
        ...BUY_25,
        memory: { seen: `${Number(memory['seen'] ?? '0') + 1}` },
      }),
    },
  })
  sim.start()
  await sim.runFor(2 * HOUR + MINUTE)
  sim.crash()
  sim.start()
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'own')).toEqual(Array(3).fill('filled filled'))
  expect(sim.state.strategies.get('own')?.memory).toEqual({ seen: '3' })
  expectSound(sim)
})

describe('a module that fails', () => {
  test('fails only its own slots, each with its cause', async () => {
    const failing = ['silent', 'late', 'throws', 'garbage', 'gone'].map((name) =>
      aCustomStrategy({ name }),
    )
    const sim = new Simulation({
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
    sim.moduleFaults.silent.add('silent')
    sim.moduleFaults.lateMs.set('late', 60_000)
    sim.moduleFaults.garbage.set('garbage', { orders: 'all of it' })
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(failing.flatMap(({ name }) => outcomes(sim, name))).toEqual(
      Array(5).fill('skipped module-failed'),
    )
    expect(failing.flatMap(({ name }) => detailsOf(sim, name))).toEqual([
      'it did not answer within 2 s',
      'it did not answer within 2 s',
      'no average',
      'orders is no list',
      'its module was not started',
    ])
    expect([...outcomes(sim, 'own'), ...outcomes(sim, 'hourly')]).toEqual(
      Array(2).fill('filled filled'),
    )
    expectSound(sim)
  })

  test('delays no tick: slots due during its call open within their second', async () => {
    const strategies = [OWN, EVERY_SECOND]
    const sim = new Simulation({ seed: 'held tick', strategies, startMs: NEARLY_MS })
    sim.moduleFaults.silent.add('own')
    sim.start()
    await sim.runFor(15_000)
    const closed = slotsOf(sim, 'own')
    expect(closed).toHaveLength(1)
    const lateness = slotsOf(sim, 'second').flatMap(({ event, atMs }) =>
      event.type === 'slot-opened' ? [atMs - event.slotSeconds * 1000] : [],
    )
    expect(lateness.length).toBeGreaterThan(10)
    expect(Math.max(...lateness)).toBeLessThan(1_000)
    expectSound(sim)
  })
})

describe('during the call of a module', () => {
  test('a halt skips the slot', async () => {
    const sim = await withSlowModule('halt at a module')
    await sim.runFor(700)
    const halted = sim.control.halt()
    await sim.runFor(10_000)
    expect(await halted).toMatchObject({ ok: true })
    expect(outcomes(sim, 'own')).toEqual(['skipped halted'])
    expect(eventTypes(sim)).not.toContain('slot-opened')
    expectSound(sim)
  })

  test('the balance reserved by another strategy is not sold twice', async () => {
    const secondLater = aStrategy({ schedule: aSchedule('1 0 * * * *') })
    const sim = await withSlowModule('balance at a module', [OWN, secondLater])
    sim.ledger.setBalance(USDC.address, WALLET, usdc(40))
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(outcomes(sim, 'own')).toEqual(['skipped insufficient-balance'])
    expectSound(sim)
  })

  test('a crash repeats the call and fills the slot once', async () => {
    const sim = await withSlowModule('crash at a module')
    await sim.runFor(700)
    expect(slotsOf(sim, 'own')).toEqual([])
    sim.crash()
    sim.start()
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'own')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('a stop leaves the slot due', async () => {
    const sim = await withSlowModule('stop at a module')
    await sim.runFor(700)
    sim.stop('SIGTERM')
    await sim.runFor(MINUTE)
    expect(sim.ended).toBe('returned')
    expect(slotsOf(sim, 'own')).toEqual([])
    sim.start()
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'own')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('a reload waits for the answer, and a trigger is refused', async () => {
    const sim = await withSlowModule('reload at a module')
    await sim.runFor(700)
    const triggered = sim.control.trigger('own')
    await sim.runFor(100)
    expect(await triggered).toMatchObject({
      ok: false,
      detail: 'own has a slot of its own at this very moment',
    })
    const reloaded = sim.control.reload({
      strategies: [{ ...OWN, slippageBps: 40 }],
      account: sim.account,
    })
    await sim.runFor(HOUR + MINUTE)
    await reloaded
    expect(outcomes(sim, 'own')).toEqual(['skipped strategy-changed', 'filled filled'])
    expectSound(sim)
  })
})

test('a triggered module trades, and ticks continue meanwhile', async () => {
  const sim = await withSlowModule('trigger a module', [OWN, EVERY_SECOND])
  await sim.runFor(20_000)
  const before = outcomes(sim, 'second').length
  const triggered = sim.control.trigger('own')
  await sim.runFor(5_000)
  expect(await triggered).toMatchObject({ ok: true })
  expect(outcomes(sim, 'second').length - before).toBeGreaterThanOrEqual(3)
  await sim.runFor(20_000)
  expect(outcomes(sim, 'own')).toEqual(Array(2).fill('filled filled'))
  // The invariant checks do not cover slots outside the calendar.
  expect(sim.state).toEqual(sim.disk.reducedState())
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
  const sim = new Simulation({ seed: 'made up', strategies: [own], modules })
  sim.start()
  await sim.runFor(MINUTE)
  sim.crash()
  await sim.runFor(35 * MINUTE)
  sim.start()
  await sim.runFor(10_000)
  expect(seen).toEqual(['none', '1', '2'])
  expectSound(sim)
})

test('the same seed gives the same journal with slow modules', async () => {
  const journal = async (): Promise<readonly string[]> => {
    const strategies = [OWN, aCustomStrategy({ name: 'late' }), aStrategy()]
    const modules = { own: () => BUY_25, late: () => BUY_25 }
    const sim = new Simulation({ seed: 'replay', strategies, modules })
    sim.moduleFaults.lateMs.set('late', 1_900)
    sim.start()
    await sim.runFor(3 * HOUR)
    return sim.disk.lines
  }
  expect(await journal()).toEqual(await journal())
})
