import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Column, tableLines, wrapped } from '../../../src/cli/text/table.ts'

type Row = { readonly name: string; readonly amount: string; readonly note: string }

const NAME: Column<Row> = { title: 'NAME', cell: ({ name }) => name }
const AMOUNT: Column<Row> = { title: 'AMOUNT', cell: ({ amount }) => amount, right: true }
const NOTE: Column<Row> = { title: 'NOTE', cell: ({ note }) => note }

const ROWS: readonly Row[] = [
  { name: 'a', amount: '1', note: 'first' },
  { name: 'longer', amount: '1000', note: '' },
]

test('cells align with their title, numbers by their last digit, without trailing blanks', () => {
  expect(tableLines([NAME, AMOUNT, NOTE], ROWS, 80)).toEqual([
    'NAME    AMOUNT  NOTE',
    'a            1  first',
    'longer    1000',
  ])
})

test('no rows give no lines, and an empty column is left out', () => {
  expect(tableLines([NAME], [], 80)).toEqual([])
  const empty: Column<Row> = { title: 'EMPTY', cell: () => '' }
  expect(tableLines([NAME, empty], ROWS, 80)).toEqual(['NAME', 'a', 'longer'])
})

const WIDE = [{ name: 'x'.repeat(30), amount: '9'.repeat(20), note: 'n'.repeat(30) }]

test('a shrinkable column is cut if the table is too wide, and no other is', () => {
  const [, line = ''] = tableLines([NAME, AMOUNT, { ...NOTE, gives: true }], WIDE, 70)
  expect(line).toBe(`${'x'.repeat(30)}  ${'9'.repeat(20)}  ${'n'.repeat(15)}…`)
})

test('an optional column is dropped before a shrinkable one becomes too narrow', () => {
  const optional = { ...NAME, optional: true }
  const [title, line] = tableLines([optional, AMOUNT, { ...NOTE, gives: true }], WIDE, 60)
  expect(title).toMatch(/^ +AMOUNT {2}NOTE$/)
  expect(line).toBe(`${'9'.repeat(20)}  ${'n'.repeat(30)}`)
})

test('a column marked below moves to lines below in full, wrapped between words', () => {
  const below: Column<Row> = { ...NOTE, below: true }
  const reason = `${'words '.repeat(12)}end`
  const [title, line, ...rest] = tableLines(
    [NAME, below],
    [{ name: 'slot', amount: '', note: reason }],
    60,
  )
  expect([title, line]).toEqual(['NAME  NOTE', 'slot'])
  expect(rest.map((each) => each.trim()).join(' ')).toBe(reason)
  for (const each of rest) expect(each).toMatch(/^ {2}\S.{0,57}$/)
  expect(tableLines([NAME, below], ROWS, 60)).toEqual(['NAME    NOTE', 'a       first', 'longer'])
})

test('a row with an empty cell below gets no extra line', () => {
  const lines = tableLines(
    [NAME, AMOUNT, NOTE],
    [...WIDE, { name: 'b', amount: '2', note: '' }],
    60,
  )
  expect(lines.slice(-2)).toEqual([`  ${'n'.repeat(30)}`, `b${' '.repeat(50)}2`])
})

test('columns that do not fit continue on the line below, with their titles', () => {
  expect(tableLines([NAME, AMOUNT, NOTE], WIDE, 60)).toEqual([
    `NAME${' '.repeat(28)}${'AMOUNT'.padStart(20)}`,
    '  NOTE',
    `${'x'.repeat(30)}  ${'9'.repeat(20)}`,
    `  ${'n'.repeat(30)}`,
  ])
})

const text = fc.string({ unit: fc.constantFrom('a', '7', '.', ' '), maxLength: 90 })

test('no line is wider than the terminal, and an amount that fits is never cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ name: text, amount: text, note: text }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 60, max: 130 }),
      fc.boolean(),
      (rows, columns, gives) => {
        const lines = tableLines([NAME, AMOUNT, { ...NOTE, gives }], rows, columns)
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
        const whole = lines.join('\n')
        for (const { amount } of rows)
          if (amount.length <= columns - 2) expect(whole).toContain(amount.trim())
      },
    ),
    { numRuns: 300 },
  )
})

test('a long line wraps between words, and a short one is unchanged', () => {
  const long = 'some words that are together longer than sixty columns allow here'
  expect(wrapped(['short', long], 60)).toEqual([
    'short',
    'some words that are together longer than sixty columns allow',
    '  here',
  ])
  expect(wrapped([long], Number.POSITIVE_INFINITY)).toEqual([long])
  fc.assert(
    fc.property(fc.array(text), fc.integer({ min: 60, max: 90 }), (lines, columns) => {
      const shown = wrapped(lines, columns)
      for (const line of shown)
        expect(line.length <= columns || !line.trim().includes(' ')).toBe(true)
      expect(shown.join('').replaceAll(' ', '')).toBe(lines.join('').replaceAll(' ', ''))
    }),
  )
})
