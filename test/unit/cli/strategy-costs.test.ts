import { describe, expect, test } from 'vitest'
import { costsOf, costTexts } from '../../../src/cli/commands/inspect/strategy-costs.ts'
import type { Quote } from '../../../src/domain/order/quote.ts'
import type { Entry } from '../../../src/journal/ledger/entry.ts'
import { accountOf } from '../../../src/journal/ledger/figures.ts'
import type { StrategyRecord } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { aCall, aSchedule, aStrategy, aView, NOON_SECONDS, usdc } from '../../support/builders.ts'
import { aThreshold, aTwap, usdcPerWeth } from '../../support/market-view.ts'
import { settingsOf } from '../config/config-fixture.ts'

const DAY_MS = 86_400_000
const nowMs = NOON_SECONDS * 1_000
const settings = { ...settingsOf(), prices: new Map([['WETH/USDC', WETH_USDC] as const]) }

/** A buy of 0.01 WETH for 25 USDC, 8 bps worse than the feed. */
function aFill(strategy: string, changes: object = {}): Entry {
  const intentId = `${strategy}:${NOON_SECONDS}:0` as const
  return {
    ...{ type: 'trade', atMs: nowMs - DAY_MS, strategy, intentId, paper: false },
    ...{ sell: USDC, buy: WETH, paid: usdc(25), received: 10n ** 16n },
    ...{ vsFeedBps: -8, fee: 12_500n, txHash: undefined, ...changes },
  } as Entry
}

function gasOf(strategy: string, fee: bigint): Entry {
  const of = { intentId: `${strategy}:${NOON_SECONDS}:0`, strategy, txHash: undefined } as const
  return { type: 'gas', atMs: nowMs - DAY_MS, ...of, purpose: 'approve', fee }
}

type Ask = NonNullable<Parameters<typeof costsOf>[1]['ask']>

async function costs(
  strategy: Strategy,
  entries: readonly Entry[],
  reply?: Awaited<ReturnType<Ask>>,
  spent = 0n,
) {
  const state = emptyState()
  if (spent > 0n)
    state.strategies.set(strategy.name, {
      spent: new Map([[USDC.address, spent]]),
    } as StrategyRecord)
  const recent = accountOf(entries, {
    ...{ valueToken: undefined, sinceMs: nowMs - 30 * DAY_MS, timezone: 'UTC' },
    by: 'strategy',
  }).groups
  const asked: unknown[] = []
  const data = await costsOf(strategy, {
    ...{ settings, state, nowMs, recent },
    market: { ok: true, view: aView(), owner: WALLET },
    ask: async (_, intent) => {
      asked.push(intent)
      if (reply === undefined) throw new Error('no quote was expected')
      return reply
    },
  })
  return { data, asked, text: costTexts(data) }
}

const WEEKLY = aStrategy({ schedule: aSchedule('0 9 * * 1') })

test('recent fills give the cost of an order, its fee and its gas, and that of a month', async () => {
  const { name } = WEEKLY
  const entries = [aFill(name), aFill(name, { vsFeedBps: -4 }), gasOf(name, 4_000n * 10n ** 9n)]
  const { data, asked, text } = await costs(WEEKLY, entries)
  expect(asked).toEqual([])
  expect(data).toMatchObject({ source: 'journal', orders: 2, note: null })
  // 30 days from a Monday have five.
  const slots = 5
  expect(data).toMatchObject({ ordersPerMonth: slots, ordersBoundBy: null })
  expect(data.items).toEqual([
    {
      what: 'execution',
      // 8 and 4 bps of 25 USDC: 0.02 and 0.01.
      perOrder: { amount: '0.015', token: 'USDC' },
      perMonth: { amount: `${(0.015 * slots).toFixed(3).replace(/0+$/, '')}`, token: 'USDC' },
      worseThanFeedBps: 6,
    },
    expect.objectContaining({ what: 'fee', perOrder: { amount: '0.0125', token: 'USDC' } }),
    expect.objectContaining({ what: 'gas', perOrder: { amount: '0.000002', token: 'ETH' } }),
  ])
  expect(text).toEqual([
    expect.stringMatching(
      /^0\.015 USDC per order, [\d.]+ USDC a month: against the feed.*, 6 bps$/,
    ),
    expect.stringMatching(/^0\.0125 USDC per order, .*: of it the service's fee$/),
    expect.stringMatching(/^0\.000002 ETH per order, .*: gas of own transactions$/),
    `from 2 orders in 30 days, at most ${slots} orders a month`,
  ])
})

test('orders of other strategies and of earlier months do not count', async () => {
  const entries = [aFill('other'), aFill(WEEKLY.name, { atMs: nowMs - 31 * DAY_MS })]
  const fault = { tag: 'unavailable', message: 'gone' } as const
  const { data, text } = await costs(WEEKLY, entries, { reply: { ok: false, fault }, nowMs })
  expect(data).toMatchObject({ source: 'none', orders: 0, items: [] })
  expect(text).toEqual(['no quote: gone'])
})

test('without an order a real quote gives the cost', async () => {
  // The feed says 2,500 USDC for a WETH; this quote asks 2,502.5 with the fee, 10 bps more.
  const reply = {
    ok: true,
    value: {
      ...{ sellAmount: usdc(25), buyAmount: (usdc(25) * 10n ** 18n) / 2_502_500_000n },
      ...{ minBuyAmount: 0n, feeAmount: 5_000n, validToSeconds: 0, expirationMs: 0 },
    } as Quote,
  } as const
  const { data, asked, text } = await costs(WEEKLY, [], { reply, nowMs })
  expect(asked).toHaveLength(1)
  expect(data).toMatchObject({ source: 'quote', orders: 0 })
  expect(data.items[0]).toMatchObject({
    ...{ what: 'execution', worseThanFeedBps: 10 },
    perOrder: { amount: '0.025', token: 'USDC' },
  })
  expect(data.items[1]).toMatchObject({ what: 'fee', perOrder: { amount: '0.005', token: 'USDC' } })
  expect(text.at(-1)).toMatch(/^from a quote now, at most 5 orders a month$/)
})

describe('the month of a strategy with caps', () => {
  const { address } = USDC
  const EVERY_30_S = aSchedule('*/30 * * * * *')
  const month = async (limits: Partial<Strategy['limits']>, changes: object = {}, spent = 0n) => {
    const own = { ...WEEKLY, schedule: EVERY_30_S, ...changes }
    const strategy = { ...own, limits: { ...own.limits, ...limits } }
    const { data, text } = await costs(strategy, [aFill(strategy.name)], undefined, spent)
    return { count: data.ordersPerMonth, by: data.ordersBoundBy, text: text.at(-1) ?? '', data }
  }
  const cap = (amount: number) => new Map([[address, usdc(amount)]])

  test('has as many orders of the planned amount as each cap allows, and names the tightest', async () => {
    // Orders of 25 USDC.
    const perDay = await month({ perDay: cap(800) })
    expect(perDay.count).toBe(32 * 30)
    expect(perDay.text).toMatch(/at most 960 orders a month \(its cap of 800 USDC per day\)$/)
    expect(perDay.data.items[0]?.perMonth).toEqual({ amount: '19.2', token: 'USDC' })
    const others = [
      await month({ perHour: cap(49) }),
      await month({ perDay: cap(800), perWeek: cap(120) }),
      await month({ perDay: cap(800), total: cap(1_000) }),
      await month({ perDay: cap(800), total: cap(1_000) }, {}, usdc(940)),
    ]
    expect(others.map(({ count, by }) => [count, by])).toEqual([
      [24 * 30, 'its cap of 49 USDC per hour'],
      // A month touches five weeks.
      [4 * 5, 'its cap of 120 USDC per week'],
      [40, 'its cap of 1,000 USDC in total'],
      [2, 'its cap of 1,000 USDC in total'],
    ])
  })

  test('has an order per slot if the caps allow more', async () => {
    const { count, by } = await month({ perDay: cap(800) }, { schedule: WEEKLY.schedule })
    expect([count, by]).toEqual([5, null])
  })

  test('has an order per slot if its orders have no planned amount', async () => {
    const slices = aTwap({ limits: { ...WEEKLY.limits, perDay: cap(800) } })
    const { data } = await costs(slices, [aFill(slices.name)])
    expect([data.ordersPerMonth, data.ordersBoundBy]).toEqual([expect.any(Number), null])
    expect(data.ordersPerMonth).toBeGreaterThan(0)
  })
})

test('a price rule expects as many orders as the last 30 days had', async () => {
  const trigger = { type: 'below', level: usdcPerWeth(2_000_00n) } as const
  const size = { type: 'amount', amount: usdc(25) } as const
  const rule = aThreshold([{ id: 'dip', trigger, size }], { name: 'dip' })
  const { data } = await costs(rule, [aFill('dip'), aFill('dip'), aFill('dip')])
  expect(data.ordersPerMonth).toBe(3)
})

test('calls cost their charges; without one nothing is known', async () => {
  const call = aCall()
  const entry = {
    ...{ type: 'call', atMs: nowMs - DAY_MS, strategy: call.name, paper: false },
    ...{ intentId: `${call.name}:${NOON_SECONDS}:0`, venue: 'aggregated', label: 'claim()' },
    ...{ value: 0n, charged: 38n * 10n ** 12n, blob: 0n, txHash: undefined },
  } as Entry
  const { data } = await costs(call, [entry])
  expect(data.items).toEqual([
    expect.objectContaining({ what: 'charge', perOrder: { amount: '0.000038', token: 'ETH' } }),
  ])
  expect((await costs(call, [])).text).toEqual([expect.stringMatching(/^no call in 30 days/)])
})
