import { expect, test } from 'vitest'
import { csvSeries } from '../../../../src/backtest/price-files/csv.ts'
import { PAIR, priceFile, read, roundsOf } from './price-files.ts'

const T = 1_735_689_600
const DAY = 86_400

test('a file of times and prices becomes a series of exact answers with eight decimal places', () => {
  const file = priceFile(`time,price\n${T},3520.5\n${T + 60},0.00000001\n`)
  const series = csvSeries({ file, pair: PAIR })
  expect([series.pair, series.decimals, series.source]).toEqual([PAIR, 8, file])
  const rounds = [
    [T, 352_050_000_000n],
    [T + 60, 1n],
  ]
  expect(roundsOf(series)).toEqual(rounds)
  // Each read starts from the beginning.
  expect(roundsOf(series)).toEqual(rounds)
})

test.each([
  ['semicolons', 'time;price\n1735689600;1\n'],
  ['tabs', 'time\tprice\n1735689600\t1\n'],
  ['a byte order mark, CRLF and no line end at the end', '\ufefftime,price\r\n1735689600,1'],
  ['blanks, blank lines and comments', '# mine\n\n time , price \n  \n # x\n1735689600 , 1 \n\t\n'],
  ['quotation marks', '"time","price"\n"1735689600","1"\n'],
  ['names in capitals and other columns between', 'Symbol,UNIX,x,Answer\nA,1735689600,?,1\n'],
  ['names with several words', 'Updated At,value\n1735689600,1\n'],
  ['no names', '1735689600,1\n'],
])('accepts %s', (_, text) => {
  expect(read(text)).toEqual([[T, 100_000_000n]])
})

test.each([
  ['seconds', '1735689600'],
  ['seconds with decimals', '1735689600.000'],
  ['milliseconds', '1735689600000'],
  ['microseconds', '1735689600000000'],
  ['a day', '2025-01-01'],
  ['ISO with Z', '2025-01-01T00:00:00Z'],
  ['ISO with fractions', '2025-01-01T00:00:00.000Z'],
  ['ISO with an offset', '2025-01-01T02:30:00+02:30'],
  ['ISO with a short offset', '2024-12-31 19:00-05'],
  ['ISO without a zone, which is UTC', '2025-01-01 00:00:00'],
])('accepts a time as %s', (_, time) => {
  expect(read(`time,price\n${time},1\n`)).toEqual([[T, 100_000_000n]])
})

test('fractions of a second round up, and the last of several prices in one second counts', () => {
  const text = 'time,price\n1735689600001,1\n1735689600500,2\n1735689601000,3\n1735689601001,4\n'
  expect(read(text)).toEqual([
    [T + 1, 300_000_000n],
    [T + 2, 400_000_000n],
  ])
})

test('the same time twice with the same price is one row', () => {
  expect(read(`time,price\n${T},1\n${T},1.0\n${T + 1},2\n`)).toHaveLength(2)
})

test('prices with more places, or an exponent, are exact up to 18 places', () => {
  const of = (...prices: string[]) => {
    const text = prices.map((price, index) => `${T + index},${price}\n`).join('')
    const series = csvSeries({ file: priceFile(text), pair: PAIR })
    return [series.decimals, roundsOf(series).map(([, answer]) => answer)]
  }
  expect(of('1e-7', '2.5E2')).toEqual([8, [10n, 25_000_000_000n]])
  expect(of('1.10', '0.0000000001234', '2')).toEqual([
    13,
    [11_000_000_000_000n, 1_234n, 20_000_000_000_000n],
  ])
  expect(of('123456789.123456789012345678', '4')).toEqual([
    18,
    [123_456_789_123_456_789_012_345_678n, 4_000_000_000_000_000_000n],
  ])
  expect(of('0.0000000000000000015')).toEqual([18, [2n]])
})

test('decimal places beyond 18 are rounded half up', () => {
  const places = (tenths: string) => `0.${'0'.repeat(17)}${tenths}`
  const text = `${T},${places('25')}\n${T + 1},${places('249')}\n${T + 2},${places('05')}\n`
  expect(read(text).map(([, answer]) => answer)).toEqual([3n, 2n, 1n])
})

const HEADER = 'time,open,high,low,close,volume'
const bar = (time: number | string, close: number) => `${time},1,9,0.5,${close},7`

test('a bar counts by its close only, and not before it ends', () => {
  const text = [HEADER, bar(T, 2), bar(T + 60, 3), bar(T + 120, 4)].join('\n')
  const seen = [
    [T + 60, 200_000_000n],
    [T + 120, 300_000_000n],
    [T + 180, 400_000_000n],
  ]
  expect(read(text)).toEqual(seen)
  expect(read(text.slice(HEADER.length + 1))).toEqual(seen)
  expect(read(`time,close\n${T},2\n${T + 60},3\n${T + 120},4\n`)).toEqual(seen)
})

test('a bar before a gap ends after the length of a bar, not of the gap', () => {
  const text = [HEADER, bar(T, 2), bar(T + 600, 3), bar(T + 660, 4), bar(T + 720, 5)].join('\n')
  expect(read(text).map(([at]) => at - T)).toEqual([60, 660, 720, 780])
})

test('a misplaced row does not shorten the other bars', () => {
  const rows = [0, 60, 61, 120, 180, 240].map((at) => bar(T + at, 2 + at))
  const times = read([HEADER, ...rows, bar(T + 600, 9)].join('\n')).map(([at]) => at - T)
  expect(times).toEqual([60, 61, 120, 180, 240, 300, 660])
})

test('a month ends when the next begins, whatever its length', () => {
  const months = ['2025-01-01', '2025-02-01', '2025-03-01', '2025-04-01', '2025-05-01']
  const text = [HEADER, ...months.map((month, index) => bar(month, index + 1))].join('\n')
  const seen = read(text).map(([at]) => new Date(at * 1000).toISOString().slice(0, 10))
  expect(seen).toEqual(['2025-02-01', '2025-03-01', '2025-04-01', '2025-05-01', '2025-06-01'])
})

test('a bar stamped with its end time is known at that time', () => {
  const text = (name: string) => `${name},open,close\n${T},1,2\n${T + 60},1,3\n`
  const times = (given: string) => read(given).map(([at]) => at - T)
  expect(times(text('close_time'))).toEqual([0, 60])
  expect(times(text('time'))).toEqual([60, 120])
  expect(times(text('close_time').slice(0, text('close_time').indexOf('\n', 30)))).toEqual([0])
})

test('a bar with both times uses its start, and an end one millisecond short counts as the full end', () => {
  const row = (begins: number, close: number) => `${begins}000,1,${close},${begins + DAY - 1}999\n`
  const rows = row(T, 2) + row(T + DAY, 3)
  for (const names of ['Open time,Open,Close,Close time', 'Unused,Open,Close,Close time'])
    expect(read(`${names}\n${rows}`).map(([at]) => at - T)).toEqual([DAY, 2 * DAY])
})

test('prices without bars are known at their time', () => {
  expect(read(`close_time,price\n${T},1\n`)).toEqual([[T, 100_000_000n]])
})

test('a file read in blocks, with pieces no longer than a block, gives the whole series', () => {
  const rows = Array.from({ length: 5_000 }, (_, index) => `${T + index},${index + 1}.5`)
  const file = priceFile(`# a comment\ntime,price\n${rows.join('\n')}`)
  const series = csvSeries({ file, pair: PAIR, blockBytes: 4_096 })
  const sizes = [...series.rounds()].map(({ atSeconds }) => atSeconds.length)
  expect(sizes.length).toBeGreaterThan(15)
  expect(Math.max(...sizes)).toBeLessThan(4_096 / 12)
  const whole = roundsOf(csvSeries({ file, pair: PAIR }))
  expect(roundsOf(series)).toEqual(whole)
  expect(whole).toHaveLength(5_000)
  expect(whole.at(-1)).toEqual([T + 4_999, 500_050_000_000n])
})

test('bars across blocks equal those in a single block', () => {
  const rows = Array.from({ length: 500 }, (_, index) => bar(T + index * 60, index + 1))
  const text = `${HEADER}\r\n${rows.join('\r\n')}\r\n`
  expect(read(text, { blockBytes: 512 })).toEqual(read(text))
  expect(read(text)).toHaveLength(500)
})
