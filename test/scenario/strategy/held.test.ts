import { describe, expect, test } from 'vitest'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { ACCOUNT, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aStrategy, BUY_WETH, MINUTE, SELL_USDC } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { above, aThreshold, below } from '../../unit/strategies/decide-fixture.ts'

/** Sells at its first slot, since the price is 2,500 USDC per WETH. */
const FIRES_AT_ONCE = aThreshold({ rungs: [below(2_600)] })
/** The same rule with an inverted pair: the price is 0.0004 WETH per USDC. */
const INVERTED = aThreshold({
  watch: { pair: 'USDC/WETH', base: SELL_USDC.token, quote: BUY_WETH.token },
  rungs: [
    {
      id: 'below 2500',
      trigger: { type: 'below', level: { num: 2_500n * 10n ** 18n, den: 10n ** 6n } },
      size: { type: 'share', bps: 1_000 },
    },
  ],
})

function live(seed: string, strategy: Strategy): Simulation {
  const sim = new Simulation({ seed, mode: 'live', strategies: [strategy] })
  sim.start()
  return sim
}

/** Runs the simulation until an operator's request is answered; its record takes a moment to reach the disk. */
async function answered<Answer>(sim: Simulation, request: Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([request, sim.runFor(1_000)])
  return answer
}

function holds(sim: Simulation) {
  return sim.disk.events().filter(({ type }) => type === 'strategy-held' || type === 'hold-lifted')
}

function sold(sim: Simulation): boolean {
  return sim.balance(WETH.address) < sim.initialWeth
}

async function reload(sim: Simulation, strategy: Strategy): Promise<void> {
  await answered(sim, sim.control.reload({ strategies: [strategy], account: ACCOUNT }))
}

describe('a live threshold that fires at its first slot', () => {
  test('is held once, names the bound and the price, and skips its slots until approved', async () => {
    const sim = live('fires at once', FIRES_AT_ONCE)
    await sim.runFor(5 * MINUTE)
    expect(new Set(outcomes(sim, 'stop'))).toEqual(new Set(['skipped needs-approval']))
    expect(outcomes(sim, 'stop').length).toBeGreaterThan(3)
    expect(holds(sim)).toEqual([
      {
        ...{ type: 'strategy-held', strategy: 'stop', terms: expect.any(String) },
        detail: 'below 2600 fires at once: WETH/USDC is 2,500',
      },
    ])
    expect(sold(sim)).toBe(false)

    expect(await answered(sim, sim.control.approve('stop'))).toMatchObject({
      ...{ ok: true, approved: ['stop'], waiting: [] },
    })
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'stop')).toContain('filled filled')
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })

  test('is held with an inverted pair, and the detail names the pair the other way round', async () => {
    const sim = live('inverted', INVERTED)
    await sim.runFor(3 * MINUTE)
    expect(holds(sim)).toMatchObject([
      {
        detail:
          'below 2500 fires at once and lies more than tenfold above the price: USDC/WETH is 0.0004; the other way round, WETH/USDC is 2,500',
      },
    ])
    expect(sold(sim)).toBe(false)
    expectSound(sim)
  })

  test('stays held across a crash, and approved across another crash', async () => {
    const sim = live('held crash', FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    sim.crash()
    sim.start()
    await sim.runFor(3 * MINUTE)
    expect(holds(sim)).toHaveLength(1)
    expect(sold(sim)).toBe(false)
    await answered(sim, sim.control.approve('stop'))
    sim.crash()
    sim.start()
    await sim.runFor(3 * MINUTE)
    expect(holds(sim)).toHaveLength(2)
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })

  test('refuses a manual trigger, and the refusal names the command that approves it', async () => {
    const sim = live('held trigger', FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    expect(await answered(sim, sim.control.trigger('stop'))).toEqual({
      ok: false,
      detail:
        'stop waits for your approval (below 2600 fires at once: WETH/USDC is 2,500): `tranched approve stop` gives it',
    })
    expect(sold(sim)).toBe(false)
  })

  test('is held at a trigger before its first slot', async () => {
    const sim = live('triggered first', FIRES_AT_ONCE)
    await sim.runFor(1_000)
    expect(await answered(sim, sim.control.trigger('stop'))).toMatchObject({
      ...{ ok: true, intents: [], skip: { reason: 'needs-approval' } },
    })
    expect(holds(sim)).toHaveLength(1)
  })

  test('is not held when its file sets fireAtOnce', async () => {
    const sim = live('fire at once', { ...FIRES_AT_ONCE, fireAtOnce: true })
    await sim.runFor(3 * MINUTE)
    expect(holds(sim)).toEqual([])
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })

  test('trades once a changed file sets fireAtOnce, and the journal records the cause', async () => {
    const sim = live('fire later', FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    await reload(sim, { ...FIRES_AT_ONCE, fireAtOnce: true })
    await sim.runFor(2 * MINUTE)
    expect(holds(sim).slice(1)).toMatchObject([
      { type: 'hold-lifted', cause: 'file', detail: 'its file says fireAtOnce: true' },
    ])
    expect(sim.state.strategies.get('stop')?.held).toBeUndefined()
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })

  test('needs another approval when its terms change and fire at once again', async () => {
    const sim = live('changed again', FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    await reload(sim, aThreshold({ rungs: [below(2_700)] }))
    await sim.runFor(2 * MINUTE)
    expect(holds(sim)).toMatchObject([
      { detail: 'below 2600 fires at once: WETH/USDC is 2,500' },
      { detail: 'below 2700 fires at once: WETH/USDC is 2,500' },
    ])
    await answered(sim, sim.control.approve('stop'))
    await reload(sim, FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    expect(holds(sim).map(({ type }) => type)).toEqual([
      'strategy-held',
      'strategy-held',
      'hold-lifted',
      'strategy-held',
    ])
    expect(sold(sim)).toBe(false)
    expectSound(sim)
  })

  test('is released by a changed file that does not fire at once, and fires at its price', async () => {
    const sim = live('mended', FIRES_AT_ONCE)
    await sim.runFor(2 * MINUTE)
    await reload(sim, aThreshold({ rungs: [below(2_400)] }))
    await sim.runFor(2 * MINUTE)
    expect(holds(sim).slice(1)).toMatchObject([
      { type: 'hold-lifted', cause: 'file', detail: 'its file was changed' },
    ])
    expect(outcomes(sim, 'stop').at(-1)).toBe('skipped not-triggered')
    sim.market.setPrice(2_300n)
    await sim.runFor(2 * MINUTE)
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })
})

test('a hold ends when its file is removed, and the restored file is held again', async () => {
  const sim = live('file gone', FIRES_AT_ONCE)
  await sim.runFor(2 * MINUTE)
  await answered(sim, sim.control.reload({ strategies: [], account: ACCOUNT }))
  expect(holds(sim).slice(1)).toMatchObject([
    { type: 'hold-lifted', cause: 'file', detail: 'its file is gone or disabled' },
  ])
  await reload(sim, FIRES_AT_ONCE)
  await sim.runFor(2 * MINUTE)
  expect(holds(sim).slice(2)).toMatchObject([{ type: 'strategy-held' }])
  expect(sold(sim)).toBe(false)
  expectSound(sim)
})

describe('a live threshold', () => {
  test('fires without an approval when its price is reached later, across a restart', async () => {
    const sim = live('later', aThreshold())
    await sim.runFor(2 * MINUTE)
    sim.crash()
    sim.market.setPrice(1_900n)
    sim.start()
    await sim.runFor(2 * MINUTE)
    expect(holds(sim)).toEqual([])
    expect(sold(sim)).toBe(true)
    expectSound(sim)
  })

  test('is held for a level more than tenfold off the price, although it does not fire', async () => {
    const sim = live('far', aThreshold({ rungs: [above(26_000)] }))
    await sim.runFor(2 * MINUTE)
    expect(holds(sim)).toMatchObject([
      {
        type: 'strategy-held',
        detail: 'above 26000 lies more than tenfold above the price: WETH/USDC is 2,500',
      },
    ])
  })

  test('is not held for a level exactly tenfold off the price', async () => {
    const sim = live('not so far', aThreshold({ rungs: [above(25_000), below(250)] }))
    await sim.runFor(2 * MINUTE)
    expect(holds(sim)).toEqual([])
  })

  test('is held only once there is a price', async () => {
    const sim = live('no price', FIRES_AT_ONCE)
    sim.ledger.setReading(WETH_USDC.feed, { answer: 0n, decimals: 8 })
    await sim.runFor(2 * MINUTE)
    expect(new Set(outcomes(sim, 'stop'))).toEqual(new Set(['skipped price-invalid']))
    expect(holds(sim)).toEqual([])
    sim.market.setPrice(2_500n)
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'stop').at(-1)).toBe('skipped needs-approval')
    expect(sold(sim)).toBe(false)
  })
})

test('a threshold that fires at once trades outside live mode, with one warning', async () => {
  const sim = new Simulation({ seed: 'sandbox', strategies: [FIRES_AT_ONCE] })
  sim.start()
  await sim.runFor(3 * MINUTE)
  expect(sold(sim)).toBe(true)
  expect(holds(sim)).toEqual([])
  expect(warnings(sim)).toEqual(['stop below 2600 fires at once: WETH/USDC is 2,500'])
})

test('a live DCA whose bound excludes no price buys, with one warning', async () => {
  const price = { min: undefined, max: { num: 40_000n * 10n ** 6n, den: 10n ** 18n } }
  const sim = live('dca', aStrategy({ schedule: FIRES_AT_ONCE.schedule, price }))
  await sim.runFor(5 * MINUTE)
  expect(holds(sim)).toEqual([])
  expect(outcomes(sim, 'hourly')).toContain('filled filled')
  expect(warnings(sim)).toEqual([
    'hourly price.max 40,000 lies more than tenfold above the price: WETH/USDC is 2,500',
  ])
})

function warnings(sim: Simulation): string[] {
  return sim.observations.flatMap((event) =>
    event.type === 'implausible' ? [`${event.strategy} ${event.detail}`] : [],
  )
}
