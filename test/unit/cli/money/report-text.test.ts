import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reportLines, reportRows } from '../../../../src/cli/commands/money/report-text.ts'
import type { FiguresData, ReportData } from '../../../../src/cli/json/money-outputs.ts'
import type { AmountData } from '../../../../src/cli/json/shapes.ts'
import { wrapped } from '../../../../src/cli/text/table.ts'
import { formatAmount } from '../../../../src/domain/money/units.ts'

const amount = (most = 2n ** 256n): fc.Arbitrary<string> =>
  fc
    .tuple(fc.bigInt({ min: 0n, max: most }), fc.constantFrom(0, 6, 18))
    .map(([units, decimals]) => formatAmount(units, decimals))
const token = fc.constantFrom('USDC', 'WETH', 'DAI', 'cbBTC', 'aBasUSDbC')
const amountData: fc.Arbitrary<AmountData> = fc.record({ amount: amount(), token })
const both = fc.record({ fifo: amountData, average: amountData })
const orNull = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: null })
const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,62}$/)
const count = fc.nat({ max: 1_000_000 })

const figures: fc.Arbitrary<FiguresData> = fc.record({
  fills: count,
  calls: count,
  unproven: fc.record({ orders: count, amounts: fc.array(amountData, { maxLength: 4 }) }),
  trades: fc.array(
    fc.record({
      fills: count,
      sold: amountData,
      bought: amountData,
      averagePrice: orNull(amount()),
      vsFeedBps: orNull(fc.integer({ min: -1_000_000, max: 1_000_000 }).map((bps) => bps / 100)),
      fee: amountData,
    }),
    { maxLength: 4 },
  ),
  charged: amountData,
  callsWithoutCharge: count,
  carried: amountData,
  gas: amountData,
  realised: orNull(both),
})

const at = fc.integer({ min: 1_700_000_000, max: 1_900_000_000 }).map((seconds) => {
  return new Date(seconds * 1000).toISOString()
})

const reportData: fc.Arbitrary<ReportData> = fc.record({
  paper: fc.boolean(),
  sinceAt: orNull(at),
  untilAt: at,
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/Argentina/ComodRivadavia'),
  valueToken: orNull(token),
  total: figures,
  groups: fc.array(
    fc.tuple(name, figures).map(([key, rest]) => ({ key, ...rest })),
    { maxLength: 4 },
  ),
  profit: orNull(
    fc.record({
      cost: both,
      realised: both,
      unrealised: orNull(both),
      proceedsOfUnknownCost: amountData,
      held: fc.array(
        fc.record({
          ...{ amount: amountData, cost: both, ofUnknownCost: both },
          paidWith: fc.array(token, { minLength: 1, maxLength: 4 }),
          value: orNull(amountData),
        }),
        { maxLength: 4 },
      ),
    }),
  ),
  portfolio: fc.record({
    unknown: orNull(fc.string({ maxLength: 200, unit: fc.constantFrom('a', ' ', ':') })),
    total: orNull(amountData),
    holdings: fc.array(
      fc.record({ amount: orNull(amountData), token, value: orNull(amountData) }),
      { maxLength: 4 },
    ),
    past: fc.array(fc.record({ at, value: orNull(amountData) }), { maxLength: 4 }),
  }),
  caps: fc.array(
    fc.record({
      strategy: orNull(name),
      window: fc.constantFrom('hour', 'day', 'week', 'total'),
      used: amountData,
      cap: amountData,
    }),
    { maxLength: 4 },
  ),
})

const BY = [undefined, 'day', 'strategy', 'token'] as const

test('a report with any content fits into 60 or more columns', () => {
  fc.assert(
    fc.property(
      reportData,
      fc.constantFrom(...BY),
      fc.constantFrom(60, 61, 80, 140),
      (data, by, columns) => {
        for (const line of wrapped(reportLines(data, { by, columns }), columns)) {
          // A word longer than the line takes a line alone, and an amount keeps its token.
          expect(line.length <= columns || /\S{20}/.test(line), line).toBe(true)
          expect(line).not.toMatch(/undefined|NaN|\[object|\n/)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('every spreadsheet row has one cell per heading', () => {
  fc.assert(
    fc.property(reportData, fc.constantFrom(...BY), (data, by) => {
      const [heading, ...rows] = reportRows(data, by)
      for (const row of rows) expect(row).toHaveLength(heading?.length ?? 0)
    }),
    { numRuns: 100 },
  )
})

test('a narrow report keeps all columns and explains its headings', () => {
  fc.assert(
    fc.property(reportData, fc.constantFrom('day', 'strategy'), (data, by) => {
      const isTraded = data.groups.some(({ trades }) => trades.length > 0)
      const text = reportLines(data, { by, columns: 60 }).join('\n')
      if (isTraded) expect(text).toMatch(/\bAVERAGE\b/)
      const isRated = data.total.trades.some(({ vsFeedBps }) => vsFeedBps !== null)
      expect(text.includes('BPS: basis points')).toBe(isRated)
    }),
    { numRuns: 100 },
  )
})

test('the lowest and highest value include the value now', () => {
  const value = fc
    .integer({ min: 1, max: 999 })
    .map((figure) => ({ amount: `${figure}`, token: 'USDC' }))
  fc.assert(
    fc.property(
      reportData,
      value,
      fc.array(value, { minLength: 1, maxLength: 4 }),
      (data, total, values) => {
        const past = values.map((each, index) => ({
          at: `2026-11-0${index + 1}T00:00:00Z`,
          value: each,
        }))
        const portfolio = { unknown: null, total, holdings: [], past }
        const text = reportLines({ ...data, portfolio }, { by: undefined, columns: 80 }).join('\n')
        const figures = [...values, total].map(({ amount: figure }) => Number(figure))
        expect(text).toContain(`portfolio now ${total.amount} USDC\n`)
        expect(text).toContain(`\nlowest ${Math.min(...figures)}, highest ${Math.max(...figures)}`)
      },
    ),
    { numRuns: 50 },
  )
})
