import { describe, expect, test } from 'vitest'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
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

function live(seed: string, strategy: Strategy): World {
  const world = new World({ seed, mode: 'live', strategies: [strategy] })
  world.start()
  return world
}

/** Runs the simulation until an operator's request is answered; its record takes a moment to reach the disk. */
async function answered<Answer>(world: World, request: Promise<Answer>): Promise<Answer> {
  const [answer] = await Promise.all([request, world.runFor(1_000)])
  return answer
}

function holds(world: World) {
  return world.disk
    .events()
    .filter(({ type }) => type === 'strategy-held' || type === 'hold-lifted')
}

function sold(world: World): boolean {
  return world.balance(WETH.address) < world.initialWeth
}

async function reload(world: World, strategy: Strategy): Promise<void> {
  await answered(world, world.control.reload({ strategies: [strategy], account: ACCOUNT }))
}

describe('a live threshold that fires at its first slot', () => {
  test('is held once, names the bound and the price, and skips its slots until approved', async () => {
    const world = live('fires at once', FIRES_AT_ONCE)
    await world.runFor(5 * MINUTE)
    expect(new Set(outcomes(world, 'stop'))).toEqual(new Set(['skipped needs-approval']))
    expect(outcomes(world, 'stop').length).toBeGreaterThan(3)
    expect(holds(world)).toEqual([
      {
        ...{ type: 'strategy-held', strategy: 'stop', terms: expect.any(String) },
        detail: 'below 2600 fires at once: WETH/USDC is 2500',
      },
    ])
    expect(sold(world)).toBe(false)

    expect(await answered(world, world.control.approve('stop'))).toMatchObject({
      ...{ ok: true, approved: ['stop'], waiting: [] },
    })
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'stop')).toContain('filled filled')
    expect(sold(world)).toBe(true)
    expectSound(world)
  })

  test('is held with an inverted pair, and the detail names the pair the other way round', async () => {
    const world = live('inverted', INVERTED)
    await world.runFor(3 * MINUTE)
    expect(holds(world)).toMatchObject([
      {
        detail:
          'below 2500 fires at once and lies more than tenfold above the price: USDC/WETH is 0.0004; the other way round, WETH/USDC is 2500',
      },
    ])
    expect(sold(world)).toBe(false)
    expectSound(world)
  })

  test('stays held across a crash, and approved across another crash', async () => {
    const world = live('held crash', FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    world.crash()
    world.start()
    await world.runFor(3 * MINUTE)
    expect(holds(world)).toHaveLength(1)
    expect(sold(world)).toBe(false)
    await answered(world, world.control.approve('stop'))
    world.crash()
    world.start()
    await world.runFor(3 * MINUTE)
    expect(holds(world)).toHaveLength(2)
    expect(sold(world)).toBe(true)
    expectSound(world)
  })

  test('refuses a manual trigger, and the refusal names the command that approves it', async () => {
    const world = live('held trigger', FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    expect(await answered(world, world.control.trigger('stop'))).toEqual({
      ok: false,
      detail:
        'stop waits for your approval (below 2600 fires at once: WETH/USDC is 2500): `tranched approve stop` gives it',
    })
    expect(sold(world)).toBe(false)
  })

  test('is held at a trigger before its first slot', async () => {
    const world = live('triggered first', FIRES_AT_ONCE)
    await world.runFor(1_000)
    expect(await answered(world, world.control.trigger('stop'))).toMatchObject({
      ...{ ok: true, intents: [], skip: { reason: 'needs-approval' } },
    })
    expect(holds(world)).toHaveLength(1)
  })

  test('is not held when its file sets fireAtOnce', async () => {
    const world = live('fire at once', { ...FIRES_AT_ONCE, fireAtOnce: true })
    await world.runFor(3 * MINUTE)
    expect(holds(world)).toEqual([])
    expect(sold(world)).toBe(true)
    expectSound(world)
  })

  test('trades once a changed file sets fireAtOnce, and the journal records the cause', async () => {
    const world = live('fire later', FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    await reload(world, { ...FIRES_AT_ONCE, fireAtOnce: true })
    await world.runFor(2 * MINUTE)
    expect(holds(world).slice(1)).toMatchObject([
      { type: 'hold-lifted', cause: 'file', detail: 'its file says fireAtOnce: true' },
    ])
    expect(world.state.strategies.get('stop')?.held).toBeUndefined()
    expect(sold(world)).toBe(true)
    expectSound(world)
  })

  test('needs another approval when its terms change and fire at once again', async () => {
    const world = live('changed again', FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    await reload(world, aThreshold({ rungs: [below(2_700)] }))
    await world.runFor(2 * MINUTE)
    expect(holds(world)).toMatchObject([
      { detail: 'below 2600 fires at once: WETH/USDC is 2500' },
      { detail: 'below 2700 fires at once: WETH/USDC is 2500' },
    ])
    await answered(world, world.control.approve('stop'))
    await reload(world, FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    expect(holds(world).map(({ type }) => type)).toEqual([
      'strategy-held',
      'strategy-held',
      'hold-lifted',
      'strategy-held',
    ])
    expect(sold(world)).toBe(false)
    expectSound(world)
  })

  test('is released by a changed file that does not fire at once, and fires at its price', async () => {
    const world = live('mended', FIRES_AT_ONCE)
    await world.runFor(2 * MINUTE)
    await reload(world, aThreshold({ rungs: [below(2_400)] }))
    await world.runFor(2 * MINUTE)
    expect(holds(world).slice(1)).toMatchObject([
      { type: 'hold-lifted', cause: 'file', detail: 'its file was changed' },
    ])
    expect(outcomes(world, 'stop').at(-1)).toBe('skipped not-triggered')
    world.market.setPrice(2_300n)
    await world.runFor(2 * MINUTE)
    expect(sold(world)).toBe(true)
    expectSound(world)
  })
})

test('a hold ends when its file is removed, and the restored file is held again', async () => {
  const world = live('file gone', FIRES_AT_ONCE)
  await world.runFor(2 * MINUTE)
  await answered(world, world.control.reload({ strategies: [], account: ACCOUNT }))
  expect(holds(world).slice(1)).toMatchObject([
    { type: 'hold-lifted', cause: 'file', detail: 'its file is gone or disabled' },
  ])
  await reload(world, FIRES_AT_ONCE)
  await world.runFor(2 * MINUTE)
  expect(holds(world).slice(2)).toMatchObject([{ type: 'strategy-held' }])
  expect(sold(world)).toBe(false)
  expectSound(world)
})

describe('a live threshold', () => {
  test('fires without an approval when its price is reached later, across a restart', async () => {
    const world = live('later', aThreshold())
    await world.runFor(2 * MINUTE)
    world.crash()
    world.market.setPrice(1_900n)
    world.start()
    await world.runFor(2 * MINUTE)
    expect(holds(world)).toEqual([])
    expect(sold(world)).toBe(true)
    expectSound(world)
  })

  test('is held for a level more than tenfold off the price, although it does not fire', async () => {
    const world = live('far', aThreshold({ rungs: [above(26_000)] }))
    await world.runFor(2 * MINUTE)
    expect(holds(world)).toMatchObject([
      {
        type: 'strategy-held',
        detail: 'above 26000 lies more than tenfold above the price: WETH/USDC is 2500',
      },
    ])
  })

  test('is not held for a level exactly tenfold off the price', async () => {
    const world = live('not so far', aThreshold({ rungs: [above(25_000), below(250)] }))
    await world.runFor(2 * MINUTE)
    expect(holds(world)).toEqual([])
  })

  test('is held only once there is a price', async () => {
    const world = live('no price', FIRES_AT_ONCE)
    world.ledger.setReading(WETH_USDC.feed, { answer: 0n, decimals: 8 })
    await world.runFor(2 * MINUTE)
    expect(new Set(outcomes(world, 'stop'))).toEqual(new Set(['skipped price-invalid']))
    expect(holds(world)).toEqual([])
    world.market.setPrice(2_500n)
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'stop').at(-1)).toBe('skipped needs-approval')
    expect(sold(world)).toBe(false)
  })
})

test('a threshold that fires at once trades outside live mode, with one warning', async () => {
  const world = new World({ seed: 'sandbox', strategies: [FIRES_AT_ONCE] })
  world.start()
  await world.runFor(3 * MINUTE)
  expect(sold(world)).toBe(true)
  expect(holds(world)).toEqual([])
  expect(warnings(world)).toEqual(['stop below 2600 fires at once: WETH/USDC is 2500'])
})

test('a live DCA whose bound excludes no price buys, with one warning', async () => {
  const price = { min: undefined, max: { num: 40_000n * 10n ** 6n, den: 10n ** 18n } }
  const world = live('dca', aStrategy({ schedule: FIRES_AT_ONCE.schedule, price }))
  await world.runFor(5 * MINUTE)
  expect(holds(world)).toEqual([])
  expect(outcomes(world, 'hourly')).toContain('filled filled')
  expect(warnings(world)).toEqual([
    'hourly price.max 40000 lies more than tenfold above the price: WETH/USDC is 2500',
  ])
})

function warnings(world: World): string[] {
  return world.observations.flatMap((event) =>
    event.type === 'implausible' ? [`${event.strategy} ${event.detail}`] : [],
  )
}
