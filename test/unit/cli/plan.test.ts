import { describe, expect, test } from 'vitest'
import { planData, planText, totalsOf } from '../../../src/cli/commands/inspect/plan.ts'
import {
  type PlanInput,
  planOf,
  sharedCaps,
} from '../../../src/cli/commands/inspect/strategy-plan.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { AccountLimits } from '../../../src/domain/settings.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { addExposure } from '../../../src/journal/projections/exposures.ts'
import { purchaseKey } from '../../../src/journal/projections/purchases.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import type { Rung } from '../../../src/strategies/threshold/rungs.ts'
import { ACCOUNT, USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import {
  aCall,
  aSchedule,
  aStrategy,
  aView,
  capOf,
  ETH,
  HOUR,
  milliWeth,
  NOON_SECONDS,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { aThreshold, aTwap, usdcPerWeth } from '../../support/market-view.ts'

const DAY = 86_400
const UNLIMITED: AccountLimits = { ...ACCOUNT, perOrder: NO_CAPS, perDay: NO_CAPS }

type Stage = {
  readonly state?: DaemonState
  readonly account?: AccountLimits
  readonly held?: readonly (readonly [Token, bigint])[]
  readonly utc?: boolean
}

/** Output of `plan` at noon for the strategies, with the given balances and WETH at 2,500 USDC. */
async function planned(strategies: readonly Strategy[], stage: Stage = {}) {
  const { state = emptyState(), account: limits = UNLIMITED, held, utc: inUtc = false } = stage
  const balances = held?.map(([{ address }, amount]) => [address, amount] as const)
  const view = aView(balances === undefined ? {} : { balances: new Map(balances) })
  const settings = {
    mode: 'live',
    limits,
    prices: new Map([['WETH/USDC', WETH_USDC] as const]),
  } as const
  const input: PlanInput = {
    ...{ settings, state, nowMs: NOON_SECONDS * 1000, slots: 2 },
    market: { ok: true, view, owner: WALLET },
    modules: {
      decide: () => Promise.reject(new Error('no module is called')),
      versionOf: () => undefined,
    },
    shared: sharedCaps(settings, state),
  }
  const plans = await Promise.all(strategies.map((each) => planOf(each, input)))
  const totals = totalsOf(plans, input)
  const report = { market: input.market, plans, totals, costs: new Map(), inUtc }
  return { plans, totals, text: planText(report, 60), data: planData(report) }
}

/** A stop that sells an amount or a share below 2,000 USDC: not due at 2,500. */
function aStop(size: Rung['size'], limits = OPEN) {
  const trigger = { type: 'below', level: usdcPerWeth(2_000_00n) } as const
  return aThreshold([{ id: 'stop', trigger, size }], { name: 'stop-loss', limits })
}
const whole = (milli: number): Rung['size'] => ({ type: 'amount', amount: milliWeth(milli) })
const ALL: Rung['size'] = { type: 'share', bps: 10_000 }

async function warningsOf(strategy: Strategy, stage?: Stage): Promise<readonly string[]> {
  return (await planned([strategy], stage)).plans.flatMap(({ warnings }) => warnings)
}

describe('a rule that looks like a mistake', () => {
  const FIRES = 'it looks like a mistake: stop fires at once: WETH/USDC is 2,500'
  const atOnce = { type: 'below', level: usdcPerWeth(2_600_00n) } as const
  const rule = aThreshold([{ id: 'stop', trigger: atOnce, size: ALL }], { name: 'stop-loss' })

  test("causes a warning before the daemon's first decision, when it would be held", async () => {
    const { plans } = await planned([rule], { state: stateKnowing(rule, { isFirst: true }) })
    expect(plans[0]?.warnings[0]).toBe(FIRES)
    expect(plans[0]?.now.does).toMatch(/^skip: needs-approval, stop fires at once/)
    expect((await warningsOf(rule))[0]).toBe(FIRES)
  })

  test('causes no warning if the file confirms it, or after an earlier decision', async () => {
    const meant = { ...rule, fireAtOnce: true }
    expect((await warningsOf(meant)).join()).not.toContain('mistake')
    const state = stateKnowing(rule, {})
    expect((await warningsOf(rule, { state })).join()).not.toContain('mistake')
  })

  test('causes a warning at any time if a bound is far from the price, in a DCA too', async () => {
    const price = { min: undefined, max: usdcPerWeth(26_000_00n) }
    const dca = aStrategy({ price })
    const far =
      'it looks like a mistake: price.max 26,000 lies more than tenfold above the price: WETH/USDC is 2,500'
    expect(await warningsOf(dca)).toContain(far)
    expect(await warningsOf(dca, { state: stateKnowing(dca, {}) })).toContain(far)
  })

  function stateKnowing({ name }: Strategy, first: { readonly isFirst?: true }): DaemonState {
    const state = emptyState()
    const scheduled = { type: 'strategy-scheduled', strategy: name, ...first } as const
    reduce(state, { ...scheduled, scheduleKey: 'any', fromSeconds: 1 }, 0)
    return state
  }
})

describe('a stop that a cap blocks', () => {
  test('causes a warning although it is not due, naming each blocking cap by key', async () => {
    const limits = {
      ...OPEN,
      perOrder: capOf(WETH, milliWeth(1_000)),
      perDay: capOf(WETH, milliWeth(1_500)),
    }
    expect(await warningsOf(aStop(whole(2_000), limits))).toEqual([
      'rung stop sells 2 WETH and would be skipped each time: limits.perOrder allows 1 WETH and limits.perDay allows 1.5 WETH. Raise them, or sell less',
    ])
    expect(await warningsOf(aStop(whole(1_000), limits))).toEqual([])
  })

  test('causes a warning for a cap of the config, named as such', async () => {
    const account = { ...UNLIMITED, perDay: capOf(WETH, milliWeth(500)) }
    expect(await warningsOf(aStop(whole(2_000)), { account })).toEqual([
      "rung stop sells 2 WETH and would be skipped each time: the config's limits.perDay allows 0.5 WETH. Raise it, or sell less",
    ])
  })

  test('is compared with the free balance if it sells a share', async () => {
    const stop = aStop(ALL, { ...OPEN, perOrder: capOf(WETH, milliWeth(1_000)) })
    const held = (milli: number) => ({ held: [[WETH, milliWeth(milli)]] as const })
    expect(await warningsOf(stop, held(1_001))).toEqual([
      expect.stringMatching(
        /^rung stop sells 1\.001 WETH and would be skipped with what is free now: limits\.perOrder/,
      ),
    ])
    expect(await warningsOf(stop, held(1_000))).toEqual([])
  })

  test('is compared with the purchases of entryOf, not with the free balance', async () => {
    const stop = {
      ...aStop(ALL, { ...OPEN, perOrder: capOf(WETH, milliWeth(1_000)) }),
      entryOf: 'buy-weth',
    }
    const bought = (milli: number) => {
      const state = emptyState()
      const key = purchaseKey('buy-weth', WETH, USDC)
      state.purchases.set(key, { amount: milliWeth(milli), cost: usdc(100) })
      return { state, held: [[WETH, milliWeth(5_000)]] as const }
    }
    expect(await warningsOf(stop, bought(40))).toEqual([])
    expect(await warningsOf(stop, bought(1_001))).toEqual([
      expect.stringMatching(/^rung stop sells 1\.001 WETH and would be skipped/),
    ])
  })

  test('causes a warning if the used part of the cap leaves too little', async () => {
    const state = emptyState()
    const scheduled = { strategy: 'stop-loss', scheduleKey: 'any', fromSeconds: 1 }
    reduce(state, { type: 'strategy-scheduled', ...scheduled }, 0)
    state.strategies.get('stop-loss')?.spent.set(WETH.address, milliWeth(1_500))
    const stop = aStop(whole(1_000), { ...OPEN, total: capOf(WETH, milliWeth(2_000)) })
    expect(await warningsOf(stop, { state })).toEqual([
      'rung stop sells 1 WETH and would be skipped now by limits.total: 1.5 of 2 WETH is used',
    ])
    expect(await warningsOf(stop)).toEqual([])
  })

  test('causes a warning if the free balance is too small', async () => {
    expect(await warningsOf(aStop(whole(2_000)), { held: [[WETH, milliWeth(900)]] })).toEqual([
      'rung stop sells 2 WETH and would be skipped now: 0.9 WETH is free',
    ])
  })

  test('causes a warning for the sum of rungs that fire together', async () => {
    const one = aStop(whole(600), { ...OPEN, perOrder: capOf(WETH, milliWeth(1_000)) })
    const rungs = [...one.rungs, ...one.rungs.map((rung) => ({ ...rung, id: 'second' }))]
    expect(await warningsOf({ ...one, rungs })).toEqual([
      expect.stringMatching(
        /^rungs that fire together sell 1\.2 WETH .*limits\.perOrder allows 1 WETH/,
      ),
    ])
  })
})

describe('orders of other kinds that a cap blocks', () => {
  test('cause a warning if no order is ever possible', async () => {
    const limits = { ...OPEN, perHour: capOf(USDC, usdc(5)) }
    expect(await warningsOf(aStrategy({ limits }))).toEqual([
      expect.stringMatching(/^an order sells up to 25 USDC .* limits\.perHour allows 5 USDC/),
    ])
  })

  test('cause a warning if the cap skips slots, or cuts a TWAP below its total', async () => {
    const limits = { ...OPEN, perDay: capOf(USDC, usdc(50)), cooldownMs: 2 * HOUR }
    expect(await warningsOf(aStrategy({ limits }))).toEqual([
      'hourly asks for 25 USDC at more than 2 slots in a day, and limits.perDay of 50 USDC skips the others',
      'hourly has slots 3600 s apart, and limits.cooldown of 7200 s skips those that come before it is over',
    ])
    const account = { ...UNLIMITED, perHour: capOf(USDC, usdc(5)) }
    expect(await warningsOf(aTwap(), { account })).toEqual([
      "twap sells at most 50 USDC of 100 USDC under the config's limits.perHour of 5 USDC",
    ])
  })

  test('wait for a cap that frees before the next slot', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, perHour: capOf(USDC, usdc(25)) } })
    const state = emptyState()
    const exposure = { strategy: 'hourly', token: USDC.address, amount: usdc(25), live: false }
    const doesNow = async (): Promise<string | undefined> =>
      (await planned([strategy], { state })).plans[0]?.now.does
    addExposure(state, 'one', { ...exposure, atMs: NOON_SECONDS * 1000 - HOUR + 5_000 })
    expect(await doesNow()).toBe(
      'would wait for limits.perHour: 25 USDC asked, 25 of 25 used; there is room again in 5s',
    )
    addExposure(state, 'one', { ...exposure, atMs: NOON_SECONDS * 1000 })
    expect(await doesNow()).toMatch(/^would be skipped by limits\.perHour: /)
  })

  test('name the cap in the current decision', async () => {
    const account = { ...UNLIMITED, perOrder: capOf(USDC, usdc(20)) }
    const { plans } = await planned([aStrategy()], { account })
    expect(plans[0]?.now.does).toBe(
      "would be skipped by the config's limits.perOrder: 25 USDC asked, 0 of 20 used",
    )
  })
})

describe('a TWAP that no daemon has loaded yet', () => {
  test('plans its slots from now, counts in full and notes the reason', async () => {
    const { plans, totals } = await planned([aTwap()])
    expect(plans[0]?.next[0]).toEqual({ slotSeconds: NOON_SECONDS + 1, inSeconds: 1 })
    expect(totals).toMatchObject([{ perDay: usdc(100) }])
    expect(plans[0]?.notes).toEqual([
      expect.stringMatching(/^no daemon has loaded it yet: its slices begin/),
    ])
  })
})

describe('how long a token lasts', () => {
  test('follows the slots ahead: a weekly order is not a daily one', async () => {
    const weekly = aStrategy({ schedule: aSchedule('0 12 * * 1') })
    const { totals } = await planned([weekly], { held: [[USDC, usdc(60)]] })
    // Noon is on a Monday, so the first slot is due in a week.
    expect(totals).toMatchObject([{ perDay: usdc(25), lastsSeconds: 21 * DAY }])
  })

  test("counts the sum of all strategies under the account's cap", async () => {
    const two = [aStrategy(), aStrategy({ name: 'second' })]
    const held = [[USDC, usdc(400)]] as const
    expect((await planned(two, { held })).totals).toMatchObject([{ lastsSeconds: 9 * 3_600 }])
    const account = { ...UNLIMITED, perDay: capOf(USDC, usdc(100)) }
    const { totals } = await planned(two, { held, account })
    // Four orders a day: the first day's are filled in its first two hours.
    expect(totals).toMatchObject([{ perDay: usdc(100), lastsSeconds: 4 * DAY + 3_600 }])
  })

  test('counts a TWAP until its end, not for every day', async () => {
    const weekly = aStrategy({ schedule: aSchedule('0 12 * * 1') })
    const { totals } = await planned([aTwap(), weekly], { held: [[USDC, usdc(149)]] })
    expect(totals).toMatchObject([{ lastsSeconds: 14 * DAY }])
  })

  test('is omitted for a strategy that only waits for a price', async () => {
    const { totals, text } = await planned([aStop(whole(1_000))], {
      held: [[WETH, milliWeth(1_000)]],
    })
    expect(totals).toMatchObject([{ lastsSeconds: undefined, isSoldByPrice: true }])
    expect(text).not.toMatch(/lasts/)
  })
})

describe('text output', () => {
  const berlin = aStrategy({
    name: 'weekly-eth',
    schedule: aSchedule('0 9 * * 1', { timezone: 'Europe/Berlin' }),
  })

  test("shows each time once, in the schedule's time zone", async () => {
    const { text } = await planned([berlin])
    expect(text).toMatch(/^ {2}next {6}Mon 08 Mar 2027 09:00 Europe\/Berlin, in 6d 20h$/m)
    expect(text).not.toMatch(/UTC|Z\b/)
  })

  test('shows all times in UTC with --utc', async () => {
    const { text } = await planned([berlin], { utc: true })
    expect(text).toMatch(/Mon 08 Mar 2027 08:00 UTC, in 6d 20h$/m)
    expect(text).not.toMatch(/Berlin/)
  })

  test('names a single strategy alone, not as a total', async () => {
    const off = aStrategy({ name: 'off', enabled: false })
    for (const strategies of [[berlin], [berlin, off]]) {
      const { text } = await planned(strategies)
      expect(text).not.toMatch(/together/)
      expect(text).toMatch(/^weekly-eth alone$/m)
    }
    expect((await planned([berlin, aStrategy()])).text).toMatch(/^all together$/m)
    expect((await planned([off])).text).toMatch(/it is disabled and spends nothing$/)
  })

  test('fits 60 columns except for unbreakable words, without base units or an address for ether', async () => {
    const account = { ...UNLIMITED, perDay: capOf(USDC, usdc(1_000_000)) }
    const sell = baseUnits(1_234_567_890_123_000n)
    const eth = aStrategy({
      name: 'eth',
      sell: ETH,
      buy: SELL_USDC,
      size: { side: 'sell', amount: sell },
    })
    const stop = aStop(whole(2_000), { ...OPEN, perOrder: capOf(WETH, milliWeth(1)) })
    const call = aCall({ value: baseUnits(10n ** 16n) })
    const { text } = await planned([berlin, eth, stop, aTwap(), call], {
      account,
      held: [
        [USDC, usdc(10_000)],
        [WETH, milliWeth(10)],
      ],
    })
    expect(
      text.split('\n').filter((line) => line.length > 60 && line.trim().includes(' ')),
    ).toEqual([])
    expect(text).toMatch(/sell 0\.00123456 ETH for USDC/)
    expect(text).toMatch(/^ {2}at most {3}1\.44 ETH per day, limited by 144 slots a day$/m)
    expect(text).toMatch(/^ {2}ETH +at most 1\.44 per day with calls/m)
    expect(text.replace(WALLET, '')).not.toMatch(/0xeee|\d{17}/)
  })
})

test('JSON output has ISO times and amounts with tokens', async () => {
  const { data } = await planned([aStrategy()], { held: [[USDC, usdc(60)]] })
  expect(data).toMatchObject({
    strategies: [
      {
        next: [
          { slotSeconds: NOON_SECONDS + 3_600, at: '2027-03-01T13:00:00Z', inSeconds: 3_600 },
          { at: '2027-03-01T14:00:00Z' },
        ],
        now: { does: 'sell 25 USDC for WETH', sells: [{ token: 'USDC', amount: '25' }] },
        mostPerDay: [{ token: 'USDC', amount: '60', boundBy: 'what the wallet holds' }],
      },
    ],
    totals: [
      {
        of: ['hourly'],
        token: 'USDC',
        perDay: { token: 'USDC', amount: '60' },
        cap: null,
        held: { token: 'USDC', amount: '60' },
        lastsSeconds: 3 * 3_600,
      },
    ],
  })
})
