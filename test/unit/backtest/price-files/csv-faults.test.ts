import { mkdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { csvSeries } from '../../../../src/backtest/price-files/csv.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { type Fault, faultOf, PAIR, priceFile, read } from './price-files.ts'

const T = 1_735_689_600

function faultIn(text: string | Buffer, options: { readonly blockBytes?: number } = {}) {
  const file = priceFile(text)
  const fault = faultOf(() => [...csvSeries({ file, pair: PAIR, ...options }).rounds()])
  expect(fault.file).toBe(file)
  expect(fault.message).toContain(fault.line === 0 ? `${file}: ` : `${file}:${fault.line}: `)
  expect(fault.message).toContain(fault.detail)
  expect(fault.message).toContain(fault.remedy)
  return fault
}

function lineAndDetail({ line, detail }: Fault): readonly [number, string] {
  return [line, detail]
}

test('rejects a missing file, a directory and an empty file by name', () => {
  const dir = temporaryDirectory()
  mkdirSync(dir, { recursive: true })
  const open = (file: string) => faultOf(() => csvSeries({ file, pair: PAIR }))
  expect(open(`${dir}/none.csv`)).toMatchObject({ line: 0, detail: 'there is no such file' })
  expect(open(dir).detail).toBe('this is a directory')
  expect(faultIn('').detail).toBe('it is empty')
  expect(faultIn('# nothing\n\n  \n').detail).toBe('it is empty')
  expect(faultIn('time,price\n').detail).toBe('it has no row of prices')
})

test.each([
  ['UTF-16', Buffer.from('\ufefftime,price\n', 'utf16le'), /UTF-16/],
  ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), /compressed/],
  ['zip', Buffer.from('PK\u0003\u0004'), /archive/],
])('identifies %s in the error', (_, bytes, detail) => {
  expect(faultIn(bytes).detail).toMatch(detail)
})

test('a header without a time or price column lists the present and accepted columns', () => {
  const fault = faultIn('# x\nwhen,price,volume\n1,2,3\n')
  expect(lineAndDetail(fault)).toEqual([2, 'no column is a time; there are: when, price, volume'])
  expect(fault.remedy).toMatch(/unix, time, timestamp/)
  expect(faultIn('time,cost\n').detail).toMatch(/^no column is a price; there are: time, cost$/)
  expect(faultIn('a,b\n').detail).toMatch(/no column is a time, and none a price/)
})

test('columns without names number two, or six and more', () => {
  const fault = faultIn(`${T},1,2\n`)
  expect(lineAndDetail(fault)).toEqual([1, 'there are 3 columns, and nothing says what they are'])
  expect(fault.remedy).toMatch(/two columns, time and price/)
})

test.each([
  ['', 'nothing'],
  ['soon', '`soon`'],
  ['44197', '`44197`'],
  [`${T}000`, `\`${T}000\``],
  ['2025-02-01', '`2025-02-01`'],
])('rejects the time `%s` among epoch seconds with its line', (time, named) => {
  const fault = faultIn(`time,price\n${T},1\n\n${time},2\n`)
  expect(lineAndDetail(fault)).toEqual([
    4,
    `${named} is no time, or is not written as the first of the file is`,
  ])
  expect(fault.text).toBe(`${time},2`)
})

test.each(['2025-02-30', '2025-13-01', '2025-01-01T24:30:00Z', '2025-01-01T00:00:00+19:00'])(
  'rejects a day or time that does not exist: %s',
  (time) => {
    expect(lineAndDetail(faultIn(`time,price\n2025-01-01,1\n${time},2\n`))).toEqual([
      3,
      expect.stringContaining(`\`${time}\` is no time`),
    ])
  },
)

test.each([
  ['', 'nothing is no price'],
  ['NaN', '`NaN` is no price'],
  ['-1', '`-1` is no price'],
  ['1.2.3', '`1.2.3` is no price'],
  ['0', 'the price `0` is nothing with 8 decimal places'],
  ['0.000', 'the price `0.000` is nothing with 8 decimal places'],
  ['1e30', 'the price `1e30` is too large'],
])('rejects the price `%s` with its line', (price, detail) => {
  expect(lineAndDetail(faultIn(`time,price\n${T},1\n${T + 1},${price}\n`))).toEqual([3, detail])
})

test('a row without a price, or with a decimal comma, explains the expected format', () => {
  expect(lineAndDetail(faultIn(`time,price\n${T}\n`))).toEqual([2, 'nothing is no price'])
  const fault = faultIn(`time;price\n${T};3520,25\n`)
  expect(fault.detail).toBe('`3520,25` is no price')
  expect(fault.remedy).toMatch(/a point before its decimals/)
})

test('times that run backwards, and two prices for one time, are reported with both rows', () => {
  const fault = faultIn(`time,price\n${T + 1},1\n${T},1\n`)
  expect(lineAndDetail(fault)).toEqual([
    3,
    `the time \`${T}\` comes after \`${T + 1}\`: times run backwards`,
  ])
  expect(lineAndDetail(faultIn(`time,price\n${T},1\n${T},1\n${T},2\n`))).toEqual([
    4,
    `the time \`${T}\` is there twice, with two prices`,
  ])
})

test('a single bar does not show when it ends', () => {
  expect(faultIn(`time,open,close\n${T},1,2\n`).detail).toMatch(
    /^one row does not show the length of bars/,
  )
  expect(read(`close_time,open,close\n${T},1,2\n`)).toHaveLength(1)
})

test('line numbers count comments, blank lines and earlier blocks', () => {
  const rows = Array.from({ length: 400 }, (_, index) =>
    index % 10 === 0 ? `# ${index}\n\n${T + index},1` : `${T + index},1`,
  )
  const lines = ['time,price', ...rows, 'bad,1'].join('\r\n').split('\n')
  for (const blockBytes of [256, 1_000, 1 << 20])
    expect(faultIn(lines.join('\n'), { blockBytes }).line).toBe(lines.length)
})

test('an unclosed quotation mark and an endless line are reported with their line', () => {
  expect(lineAndDetail(faultIn(`time,price\n${T},1\n${T + 1},"2\n${T + 2},3\n`))).toEqual([
    3,
    'the line is not valid CSV',
  ])
  expect(lineAndDetail(faultIn(`time,price\n${'1'.repeat(600)}`, { blockBytes: 512 }))).toEqual([
    2,
    'the line is longer than 512 bytes',
  ])
})
