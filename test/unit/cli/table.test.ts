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

test('an optional column is dropped if the table is too wide', () => {
  const optional = { ...NAME, optional: true }
  const [title, line] = tableLines([optional, AMOUNT, NOTE], WIDE, 60)
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

test('rows of a table that does not fit become blocks, without empty cells', () => {
  const rows = [...WIDE, { name: 'b', amount: '2', note: '' }]
  expect(tableLines([NAME, AMOUNT, NOTE], rows, 60)).toEqual([
    `NAME ${'x'.repeat(30)}`,
    `  AMOUNT  ${'9'.repeat(20)}`,
    `  NOTE    ${'n'.repeat(30)}`,
    'NAME b',
    '  AMOUNT  2',
  ])
})

const text = fc.string({ unit: fc.constantFrom('a', '7', '.', ' '), maxLength: 90 })

test('no line of short words is wider than the terminal, and nothing is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ name: text, amount: text, note: text }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 60, max: 130 }),
      (rows, columns) => {
        const lines = tableLines([NAME, AMOUNT, NOTE], rows, columns)
        for (const line of lines)
          expect(line.length <= columns || /\S{40}/.test(line), line).toBe(true)
        const whole = lines.join('').replace(/\s/g, '')
        for (const { name, amount, note } of rows)
          for (const cell of [name, amount, note]) expect(whole).toContain(cell.replaceAll(' ', ''))
      },
    ),
    { numRuns: 300 },
  )
})

test('a long line wraps between words, and a short one is unchanged', () => {
  const long = 'some words that are together longer than sixty columns allow here'
  expect(wrapped(['short', long], 60)).toEqual([
    'short',
    'some words that are together longer than sixty columns',
    '  allow here',
  ])
  expect(wrapped([long], Number.POSITIVE_INFINITY)).toEqual([long])
  fc.assert(
    fc.property(fc.array(text), fc.integer({ min: 60, max: 90 }), (lines, columns) => {
      const shown = wrapped(lines, columns)
      for (const line of shown)
        expect(line.length <= columns || /\S{40}/.test(line), line).toBe(true)
      expect(shown.join('').replaceAll(' ', '')).toBe(lines.join('').replaceAll(' ', ''))
    }),
  )
})

test('an amount stays beside its token, and further lines begin below the text of a label', () => {
  const fees = 'service fees   0.182507 USDC, 0.015 DAI, 1,000,000 AERO, 25 WETH, in the prices'
  expect(wrapped([fees], 60)).toEqual([
    'service fees   0.182507 USDC, 0.015 DAI, 1,000,000 AERO,',
    '               25 WETH, in the prices',
  ])
})
