import { describe, expect, test } from 'vitest'
import type { Token } from '../../../../src/domain/money/token.ts'
import { accountStatusOf } from '../../../../src/journal/ledger/account-status.ts'
import type { Entry } from '../../../../src/journal/ledger/entry.ts'
import { type AccountQuery, accountOf, averageBps } from '../../../../src/journal/ledger/figures.ts'
import { Positions } from '../../../../src/journal/ledger/positions.ts'
import { aCall, aTrade, DAI, someGas, USDC, unproven, WETH } from './entries.ts'

function account(entries: readonly Entry[], query: Partial<AccountQuery> = {}) {
  return accountOf(entries, { valueToken: USDC, timezone: 'UTC', ...query })
}

/** Number of trades per group, for trades at these times. */
function grouped(
  by: 'day' | 'week' | 'month',
  timezone: string,
  moments: readonly string[],
): Readonly<Record<string, number>> {
  const entries = moments.map((at) => aTrade({ atMs: Date.parse(at) }))
  const { groups } = account(entries, { by, timezone })
  return Object.fromEntries([...groups].map(([key, { fills }]) => [key, fills]))
}

test('what each strategy realised and traded is the same while it runs as in the groups of a report', () => {
  const trades = [
    aTrade({ strategy: 'one', sell: USDC, buy: WETH, paid: 3_000n, received: 1_000n }),
    aTrade({ strategy: 'two', sell: USDC, buy: WETH, paid: 5_000n, received: 1_000n }),
    aTrade({ strategy: 'two', sell: WETH, buy: USDC, paid: 1_500n, received: 9_000n }),
    aTrade({ strategy: 'one', sell: WETH, buy: USDC, paid: 300n, received: 100n }),
  ]
  const { groups } = account(trades, { by: 'strategy' })
  const running = new Positions('average', USDC)
  for (const trade of trades) running.take(trade)
  const { strategies } = accountStatusOf(running.copy(), USDC, () => undefined)
  expect([...strategies.keys()]).toEqual([...groups.keys()])
  for (const [name, { realised, trades: pairs }] of groups) {
    const own = strategies.get(name)
    expect(own?.realised).toBe(realised?.average)
    expect([...(own?.traded ?? [])]).toMatchObject(
      [...pairs].map(([pair, { fills, paid, received }]) => [pair, { fills, paid, received }]),
    )
  }
  running.take(aTrade({ strategy: 'one' }))
  expect(running.copy().strategies.get('one')).not.toEqual(strategies.get('one'))
})

describe('groups by time', () => {
  test('are days of the timezone, including the day of 23 hours', () => {
    const moments = [
      '2027-03-27T22:59:59Z',
      '2027-03-27T23:00:00Z',
      '2027-03-28T21:59:59Z',
      '2027-03-28T22:00:00Z',
    ]
    expect(grouped('day', 'Europe/Berlin', moments)).toEqual({
      '2027-03-27': 1,
      '2027-03-28': 2,
      '2027-03-29': 1,
    })
    expect(grouped('day', 'UTC', moments)).toEqual({ '2027-03-27': 2, '2027-03-28': 2 })
    expect(grouped('day', 'Asia/Kathmandu', ['2027-03-27T18:14:59Z', moments[0] ?? ''])).toEqual({
      '2027-03-27': 1,
      '2027-03-28': 1,
    })
  })

  test('are days of the timezone, including the day of 25 hours', () => {
    const moments = [
      '2026-10-24T22:00:00Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T22:59:59Z',
      '2026-10-25T23:00:00Z',
    ]
    expect(grouped('day', 'Europe/Berlin', moments)).toEqual({ '2026-10-25': 4, '2026-10-26': 1 })
  })

  test('are weeks that begin on Monday and belong to the year of their Thursday', () => {
    const week = (day: string) => Object.keys(grouped('week', 'UTC', [`${day}T12:00:00Z`]))[0]
    // From the ISO 8601 calendar.
    expect(week('2026-12-31')).toBe('2026-W53')
    expect(week('2027-01-03')).toBe('2026-W53')
    expect(week('2027-01-04')).toBe('2027-W01')
    expect(week('2024-12-29')).toBe('2024-W52')
    expect(week('2024-12-30')).toBe('2025-W01')
    expect(week('2023-01-01')).toBe('2022-W52')
    expect(week('2026-03-02')).toBe('2026-W10')
  })

  test('are weeks and months of the timezone', () => {
    const midnight = ['2027-01-03T23:30:00Z', '2027-01-31T23:30:00Z']
    expect(grouped('week', 'Europe/Berlin', midnight)).toEqual({ '2027-W01': 1, '2027-W05': 1 })
    expect(grouped('week', 'UTC', midnight)).toEqual({ '2026-W53': 1, '2027-W04': 1 })
    expect(grouped('month', 'Europe/Berlin', midnight)).toEqual({ '2027-01': 1, '2027-02': 1 })
    expect(grouped('month', 'America/New_York', ['2027-01-01T04:59:00Z'])).toEqual({ '2026-12': 1 })
  })

  test('are in chronological order, whatever the order of their entries', () => {
    const moments = ['2026-12-31T00:00:00Z', '2026-02-01T00:00:00Z', '2026-11-01T00:00:00Z']
    expect(Object.keys(grouped('month', 'UTC', moments))).toEqual(['2026-02', '2026-11', '2026-12'])
  })
})

test('groups by strategy list account entries separately and add up to the total', () => {
  const entries = [
    aTrade({ strategy: 'a' }),
    aTrade({ strategy: 'b', paid: 1n }),
    aCall({ strategy: 'b', value: 3n }),
    someGas({ strategy: 'a' }),
    someGas({ strategy: undefined, intentId: undefined, purpose: 'deposit', fee: 100n }),
    unproven({ strategy: 'b' }),
  ]
  const { groups, total } = account(entries, { by: 'strategy' })
  expect([...groups.keys()]).toEqual(['(account)', 'a', 'b'])
  expect(groups.get('(account)')).toMatchObject({ fills: 0, calls: 0, gas: 100n })
  expect(groups.get('b')).toMatchObject({ fills: 1, calls: 1, carried: 3n, unproven: 1, gas: 0n })
  expect(total).toMatchObject({ fills: 2, calls: 1, unproven: 1, gas: 107n, carried: 3n })
  const paid = [...groups.values()].flatMap(({ trades }) => [...trades.values()])
  expect(paid.reduce((sum, each) => sum + each.paid, 0n)).toBe(total.trades.get('USDC WETH')?.paid)
})

test('without a grouping there are no groups', () => {
  expect(account([aTrade()]).groups.size).toBe(0)
})

test('figures begin at the requested time, and earlier purchases keep their cost', () => {
  const bought = aTrade({ atMs: 1_000, paid: 100n, received: 10n })
  const sold = aTrade({ atMs: 2_000, sell: WETH, buy: USDC, paid: 4n, received: 90n })
  const { total, costBases: books } = account([bought, sold], { sinceMs: 2_000 })
  expect(total.fills).toBe(1)
  expect([...total.trades.keys()]).toEqual(['WETH USDC'])
  expect(total.realised).toEqual({ fifo: 50n, average: 50n })
  expect(books?.fifo.positions).toMatchObject([{ token: WETH, held: 6n, cost: 60n }])
})

test('each pair is summed per direction, with the known fees', () => {
  const { total } = account([
    aTrade({ paid: 10n, received: 3n, fee: 2n }),
    aTrade({ paid: 20n, received: 5n }),
    aTrade({ sell: WETH, buy: USDC, paid: 7n, received: 8n, fee: 1n }),
  ])
  expect(total.trades.get('USDC WETH')).toMatchObject({
    fills: 2,
    paid: 30n,
    received: 8n,
    fee: 2n,
  })
  expect(total.trades.get('WETH USDC')).toMatchObject({ fills: 1, paid: 7n, received: 8n, fee: 1n })
})

test('the average against the feed weighs fills by the paid amount and omits fills without a price', () => {
  const { total } = account([
    aTrade({ paid: 900n, vsFeedBps: 10 }),
    aTrade({ paid: 100n, vsFeedBps: -40.5 }),
    aTrade({ paid: 10n ** 9n }),
  ])
  const traded = total.trades.get('USDC WETH')
  expect(traded && averageBps(traded)).toBe(4.95)
  const unpriced = account([aTrade()]).total.trades.get('USDC WETH')
  expect(unpriced && averageBps(unpriced)).toBeUndefined()
})

test('calls are summed by value and charge, and calls of unknown charge are counted separately', () => {
  const { total } = account([
    aCall({ value: 10n, charged: 5n }),
    aCall({ charged: undefined }),
    aCall({ charged: 0n }),
    aCall({ paper: true, charged: undefined, txHash: undefined }),
  ])
  expect(total).toMatchObject({ calls: 4, carried: 10n, charged: 5n, uncharged: 1 })
})

test('unproven amounts are summed by token and form no position', () => {
  const { total, costBases: books } = account([
    unproven({ booked: 4n }),
    unproven({ booked: 6n }),
    unproven({ token: DAI, booked: 1n }),
  ])
  expect(total.unproven).toBe(3)
  expect([...total.unprovenAmounts.values()]).toEqual([
    { token: USDC, amount: 10n },
    { token: DAI, amount: 1n },
  ])
  expect(books?.fifo.positions).toEqual([])
})

test('without a value token there is no profit, and all other figures stay the same', () => {
  const { total, costBases: books } = account([aTrade()], { valueToken: undefined })
  expect(books).toBeUndefined()
  expect(total.realised).toBeUndefined()
  expect(total.fills).toBe(1)
})

describe('the account status', () => {
  const entries = [
    aTrade({ paid: 100n, received: 10n }),
    aTrade({ paid: 300n, received: 10n }),
    aTrade({ sell: WETH, buy: USDC, paid: 5n, received: 200n }),
    aTrade({ buy: DAI, paid: 7n, received: 70n }),
    aTrade({ sell: DAI, buy: USDC, paid: 70n, received: 9n }),
  ]
  const books = account(entries).costBases
  if (books === undefined) throw new Error('there is a value token')

  const worth = (_: Token, amount: bigint): bigint => amount * 30n

  test('values holdings by both cost methods and omits sold tokens', () => {
    expect(accountStatusOf(books.fifo, USDC, worth)).toMatchObject({
      held: [{ token: WETH, amount: 15n, cost: 350n, value: 450n }],
      ...{ cost: 350n, realised: 150n + 2n, unrealised: 100n, proceedsOfUnknownCost: 0n },
    })
    expect(accountStatusOf(books.average, USDC, worth)).toMatchObject({
      held: [{ token: WETH, amount: 15n, cost: 300n, value: 450n }],
      ...{ cost: 300n, realised: 100n + 2n, unrealised: 150n },
    })
  })

  test('has no unrealised profit if a holding has no price', () => {
    const { unrealised, held } = accountStatusOf(books.fifo, USDC, () => undefined)
    expect(unrealised).toBeUndefined()
    expect(held).toMatchObject([{ value: undefined }])
  })

  test('shows the cost of a holding below one base unit', () => {
    const dust = account([
      aTrade({ paid: 5n, received: 1n }),
      aTrade({ sell: WETH, buy: DAI, paid: 2n, received: 1n }),
    ]).costBases
    if (dust === undefined) throw new Error('there is a value token')
    for (const positions of [dust.fifo, dust.average]) {
      const { held, cost } = accountStatusOf(positions, USDC, () => undefined)
      expect(held).toMatchObject([{ token: DAI, amount: 1n, ofUnknownCost: 1n, cost: 5n }])
      expect(cost).toBe(5n)
    }
  })
})
