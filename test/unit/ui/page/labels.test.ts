import { expect, test } from 'vitest'
import { createRandom } from '../../../../src/domain/random.ts'
import {
  coursesOf,
  nextKnown,
  spread,
} from '../../../../src/ui/page/client/data/holdings-series.ts'
import {
  attentionOf,
  shortHash,
  statusOf,
  titleOf,
  webAddress,
} from '../../../../src/ui/page/client/parts/labels.ts'
import { extentOf } from '../../../../src/ui/parts/wording/amounts.ts'
import { fullOverview } from '../../../support/page/page-overview.ts'
import { strategyRows } from '../../../support/page/page-strategies.ts'

const WELL = fullOverview(
  { fills: 0, orders: 0 },
  { strategies: [], nowMs: 1_000, random: createRandom('words') },
)

test('only web addresses become links', () => {
  expect(webAddress('https://explorer.example/tx/0x1')).toBe('https://explorer.example/tx/0x1')
  expect(webAddress('http://127.0.0.1:4000/tx')).toBe('http://127.0.0.1:4000/tx')
  for (const text of [
    'javascript:alert(1)',
    ' JAVASCRIPT:alert(1)',
    'data:text/html,x',
    '//evil',
    'tx/0x1',
    '',
    null,
  ])
    expect(webAddress(text), String(text)).toBeUndefined()
})

test('a hash is shortened in the middle', () => {
  expect(shortHash(`0x${'ab'.repeat(32)}`)).toBe('0xabab…abab')
  expect(shortHash('0x1234')).toBe('0x1234')
})

test('the worst condition determines the status, and a lost connection is never ready', () => {
  const halted = { sinceMs: 1, cause: 'operator', detail: '' }
  const lost = { tag: 'lost', sinceMs: 1, attempts: 1 } as const
  const live = { tag: 'live' } as const
  expect(statusOf(lost, WELL).text).toBe('Not connected')
  expect(statusOf({ tag: 'connecting' }, undefined).text).toBe('Connecting')
  expect(statusOf(live, { ...WELL, halted, ready: { ok: false, reasons: [] } }).text).toBe('Halted')
  expect(statusOf(live, { ...WELL, ready: { ok: false, reasons: ['x'] } }).text).toBe('Not ready')
  expect(statusOf(live, WELL)).toEqual({ tone: 'good', text: 'Ready' })
  expect(titleOf(live, WELL)).toBe('tranched · live')
  expect(titleOf(live, { ...WELL, halted })).toBe('Halted · tranched · live')
})

test('a missed slot needs attention, but orders by hand have none to miss', () => {
  const [row] = strategyRows(1, 1_000, createRandom('attention'))
  if (row === undefined) throw new Error('there is no row')
  const lastSlot = { slotSeconds: 1, outcome: 'missed', reason: null, detail: null }
  const missed = { ...row, state: 'active', paused: null, waits: null, lastSlot } as const
  expect(attentionOf(missed)?.word).toBe('missed')
  expect(attentionOf({ ...missed, schedule: '' })).toBeUndefined()
  const refused = { ...lastSlot, outcome: 'refused' }
  expect(attentionOf({ ...missed, schedule: '', lastSlot: refused })?.word).toBe('refused')
})

const SERIES = {
  valueToken: 'USDC',
  atSeconds: [10, 20, 30, 40],
  value: [null, 5, 3, null],
  tokens: [
    { token: 'WETH', amounts: [1, 2, 3, 4] },
    { token: 'GONE', amounts: [null, null, null, null] },
  ],
}

test('a series without any value has no curve', () => {
  expect(coursesOf(SERIES).map(({ name, unit }) => [name, unit])).toEqual([
    ['Total value', 'USDC'],
    ['WETH', 'WETH'],
  ])
})

test('the extent of a series covers its known values', () => {
  const ends = { first: 5, last: 3, lowest: 3, highest: 5, from: 1 }
  expect(extentOf(SERIES.value)).toEqual(ends)
  expect(extentOf([null, null])).toBeUndefined()
})

test('the keyboard moves between known points and stops at the last', () => {
  expect(nextKnown(SERIES.value, -1, 1)).toBe(1)
  expect(nextKnown(SERIES.value, 2, 1)).toBe(2)
  expect(nextKnown(SERIES.value, 4, -1)).toBe(2)
})

test('the table of a long series has its first and last point', () => {
  expect(spread(3, 60)).toEqual([0, 1, 2])
  const rows = spread(100_000, 60)
  expect([rows.length, rows[0], rows.at(-1)]).toEqual([60, 0, 99_999])
})
