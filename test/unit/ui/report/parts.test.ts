import { expect, test } from 'vitest'
import type { FillResult } from '../../../../src/backtest/report/result.ts'
import { marksOn } from '../../../../src/ui/parts/marks.tsx'
import {
  axisTexts,
  barAt,
  bucketsOf,
  fallOf,
  highestOf,
} from '../../../../src/ui/report/data/charts.ts'
import { firstChoice, heatMapOf, ranked } from '../../../../src/ui/report/data/heat.ts'
import { partText, priceOf } from '../../../../src/ui/report/data/labels.ts'
import {
  fillRows,
  packFills,
  pagesOf,
  rangeText,
} from '../../../../src/ui/report/data/long-tables.ts'
import { decodeData, encodeData, type PageData } from '../../../../src/ui/report/data/page-data.ts'

test('axis labels have as many decimals as their step needs', () => {
  expect(axisTexts([0, 2_950, 5_900], 2_950)).toEqual(['0', '2,950', '5,900'])
  expect(axisTexts([0, 0.005, 0.01], 0.005)).toEqual(['0.000', '0.005', '0.010'])
  expect(axisTexts([0, 500_000, 1_250_000], 250_000)).toEqual(['0.0M', '0.5M', '1.3M'])
  expect(axisTexts([-20, 0], 20, '%')).toEqual(['\u221220 %', '0 %'])
})

test('each skipped slot counts in exactly one bar, that of its time', () => {
  const at = [0, 10, 20, 30, 40]
  const lines = [
    [1, 2, 3, 4, 5],
    [0, null, 1, 0, 1],
  ]
  const buckets = bucketsOf({ at, lines, fromSeconds: 0, untilSeconds: 40, most: 2 })
  expect(buckets.sums).toEqual([
    [3, 0],
    [12, 2],
  ])
  expect(highestOf(buckets)).toBe(14)
  expect(barAt(buckets, 5)).toEqual([3, 0])
  const part = bucketsOf({ at, lines, fromSeconds: 10, untilSeconds: 30, most: 1 })
  expect(part.sums).toEqual([[9, 1]])
})

test('a drawdown is relative to the highest value before it', () => {
  expect(fallOf([100, 50, null, 200, 150])).toEqual([0, -50, null, 0, -25])
})

const FILLS: readonly FillResult[] = [
  fill('a', { amount: '25', token: 'USDC' }, { amount: '0.01', token: 'WETH' }, '2500'),
  fill('b', { amount: '0.5', token: 'WETH' }, { amount: '1200', token: 'USDC' }, '0.0004166667'),
  fill('b', { amount: '5', token: 'DAI' }, { amount: '0.002', token: 'WETH' }, '2500'),
  fill('b', { amount: '5', token: 'DAI' }, { amount: '5', token: 'USDC' }, '1'),
]

function fill(
  strategy: string,
  paid: FillResult['paid'],
  received: FillResult['received'],
  price: string,
): FillResult {
  return {
    ...{ at: '2025-01-01T09:00:14.000Z', slotSeconds: 1_735_722_000, strategy },
    ...{ paid, received, price, marketPrice: price },
  }
}

test('packed fills are unpacked unchanged', () => {
  const packed = packFills(FILLS)
  expect(fillRows(packed)[1]).toEqual({
    ...{ atSeconds: 1_735_722_014, slotSeconds: 1_735_722_000, strategy: 'b' },
    ...{ paid: { amount: '0.5', token: 'WETH' }, received: { amount: '1200', token: 'USDC' } },
    ...{ price: 0.0004166667, marketPrice: 0.0004166667 },
  })
})

test('page data survives its JSON unchanged, with times to the millisecond', () => {
  const atSeconds = [
    1_735_722_014, 1_735_722_014, 1_735_722_314.5, 1_735_722_314.501, 1_735_721_000,
  ]
  const series = { atSeconds, value: [1.5, null, 2, 3, 4] } as unknown as PageData['series']
  const data = { period: '', series, fills: packFills(FILLS) } as PageData
  const text = encodeData(data)
  expect(text).toContain('"atSeconds":[1735722014,0,300.5,0.001,-1314.501]')
  expect(decodeData(text)).toEqual(data)
})

test("fills are marked on the feed of the traded token, at their price if it is in that feed's units", () => {
  const marks = marksOn('WETH/USDC', fillRows(packFills(FILLS)))
  expect(marks.map(({ side, index }) => [side, index])).toEqual([
    ['buy', 0],
    ['sell', 1],
    ['buy', 2],
  ])
  expect(marks[0]?.price).toBe(2_500)
  expect(marks[1]?.price).toBeCloseTo(2_400, 2)
  expect(marks[2]?.price).toBeUndefined()
})

test('prices are quoted in the usual direction', () => {
  expect(priceOf({ price: 2_500, paid: 'USDC', received: 'WETH' })).toEqual({
    number: '2,500',
    unit: 'USDC per WETH',
  })
  expect(priceOf({ price: 0.0004, paid: 'WETH', received: 'USDC' })).toEqual({
    number: '2,500',
    unit: 'USDC per WETH',
  })
})

test('a part is never rounded to all, nor to nothing', () => {
  expect([partText(0, 5), partText(5, 5), partText(0, 0)]).toEqual(['0 %', '100.0 %', '–'])
  expect(partText(99_999, 100_000)).toBe('>99.9 %')
  expect(partText(1, 1_000_000)).toBe('<0.01 %')
})

test('a heat map has every combination of two axes on one scale, and marks the best', () => {
  const point = (a: string, b: string, returnPercent: number | null) => ({
    ...{ values: [a, b], returnPercent, drawdownPercent: 5, fills: 1 },
  })
  const sweep = {
    axes: [
      { key: 'a', values: ['1', '2'] },
      { key: 'b', values: ['x', 'y'] },
    ],
    metric: 'returnPercent',
    points: [point('1', 'x', 0), point('1', 'y', 4), point('2', 'x', 8), point('2', 'y', null)],
    ...{ best: 2, isLonely: false, walkForward: null },
  } as const
  const map = heatMapOf(sweep, firstChoice(sweep))
  expect(map.columns).toEqual(['1', '2'])
  expect(map.rows.map(({ cells }) => cells.map(({ text }) => text))).toEqual([
    ['x', '0 %', '★ +8.00 %'],
    ['y', '+4.00 %', '–'],
  ])
  expect(map.rows[0]?.cells.map(({ kind }) => kind)).toEqual([
    undefined,
    'heat heat-0',
    'heat heat-8 best',
  ])
  expect(ranked(sweep)).toEqual([2, 1, 0])
})

test('pages of rows are counted from one', () => {
  expect(pagesOf({ page: 0, size: 25 }, 0)).toBe(1)
  expect(pagesOf({ page: 0, size: 25 }, 51)).toBe(3)
  expect(rangeText({ page: 1, size: 25 }, 312, 5_000)).toBe('26 to 50 of 312 rows, of 5,000')
  expect(rangeText({ page: 0, size: 25 }, 0, 5_000)).toBe('No rows, of 5,000')
})
