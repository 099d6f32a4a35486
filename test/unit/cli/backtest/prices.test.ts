import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failureOf } from '../../../support/output-of.ts'
import { aFolder, hour, hoursOf, outcomesOf } from './backtest-fixture.ts'

const STEADY = hoursOf([
  [-1, 1990],
  [0, 2000],
  [1, 2010],
  [2, 2020],
  [3, 2030],
  [4, 2040],
  [5, 2050],
])

test('a directory of price files is played: each slot sees the newest round of the file', async () => {
  const { report, type, prices } = aFolder({ 'WETH-USDC.csv': STEADY })
  const data = await report({ spread: 0 })
  expect(data.prices).toEqual([
    { pair: 'WETH/USDC', source: join(prices, 'WETH-USDC.csv'), rounds: 7 },
  ])
  expect(outcomesOf(data)).toEqual({ filled: 6 })
  const market = data.fills.map(({ marketPrice }) => marketPrice)
  expect(market).toEqual(['2000', '2010', '2020', '2030', '2040', '2050'])
  expect((await type()).stdout).toMatch(/^prices {2}WETH\/USDC: 7 rounds of .*WETH-USDC\.csv$/m)
})

test('feeds that only value holdings are played if a file exists', async () => {
  const { report } = aFolder({ 'WETH-USDC.csv': STEADY, 'dai_usdc.csv': hoursOf([[-1, 1]]) })
  const held = { balance: ['USDC=1000', 'DAI=500'] }
  const data = await report(held)
  expect(data.prices.map(({ pair }) => pair)).toEqual(['WETH/USDC', 'DAI/USDC'])
  expect(data.begin.value).toEqual({ amount: '1500', token: 'USDC' })
  const without = await aFolder({ 'WETH-USDC.csv': STEADY }).report(held)
  expect(without.begin.value).toBeNull()
  expect(without.notes.join('\n')).toMatch(/had no price at/)
})

test('an hourly bar trades at its close, and only after the hour is over', async () => {
  const bars = ['time,open,high,low,close,volume']
  for (let at = -3; at <= 5; at += 1)
    bars.push(`${hour(at)},${2000 + 10 * at},9999,1,${2000 + 10 * (at + 1)},5`)
  const { report } = aFolder({ 'WETHUSDC.csv': bars.join('\n') })
  const { fills } = await report({ spread: 0 })
  expect(
    fills.slice(0, 3).map(({ slotSeconds, marketPrice }) => [slotSeconds, marketPrice]),
  ).toEqual([
    [hour(0), '2000'],
    [hour(1), '2010'],
    [hour(2), '2020'],
  ])
})

test('slots before the first price are skipped, and a note states when prices begin', async () => {
  const { report } = aFolder({
    'WETH-USDC.csv': hoursOf([
      [2, 2000],
      [3, 2000],
      [4, 2000],
      [5, 2000],
    ]),
  })
  const data = await report()
  expect(outcomesOf(data)).toEqual({ filled: 4, 'price-missing': 2 })
  expect(data.notes).toContain(
    'WETH/USDC: prices begin at 2025-01-01T02:00:00Z; slots before that found none.',
  )
})

test('a gap in the prices and their end count as stale prices and are noted', async () => {
  const { report } = aFolder(
    {
      'WETH-USDC.csv': hoursOf([
        [0, 2000],
        [0.5, 2000],
        [3, 2000],
        [4, 2000],
        [4.5, 2000],
      ]),
    },
    8,
  )
  const data = await report()
  expect(outcomesOf(data)).toEqual({ filled: 5, 'price-stale': 4 })
  expect(data.notes).toEqual(
    expect.arrayContaining([
      'WETH/USDC: for 18.7% of the period the newest price was older than the maxAge of 3600 s, the longest from 2025-01-01T01:30:00Z to 2025-01-01T03:00:00Z.',
      'WETH/USDC: prices end at 2025-01-01T04:30:00Z; slots later by more than the maxAge of 3600 s found none.',
    ]),
  )
})

test.each([
  [900, 'they begin at 2025-02-07T12:00:00Z.'],
  [-900, 'they end at 2024-11-24T12:00:00Z.'],
])('prices %d hours later are noted as outside the period', async (at, text) => {
  const { report } = aFolder({ 'WETH-USDC.csv': hoursOf([[at, 2000]]) })
  const data = await report()
  expect(data.notes).toContain(`WETH/USDC: no price is of this period: ${text}`)
})

test('complete prices add no note', async () => {
  const { notes } = await aFolder({ 'WETH-USDC.csv': STEADY }).report()
  expect(notes.filter((note) => note.startsWith('WETH/USDC'))).toEqual([])
})

test('a feed that a strategy needs is an error without a file, and the error names the file', async () => {
  const { type, prices } = aFolder({ 'DAI-USDC.csv': STEADY })
  const { code, stderr } = await type()
  expect(code).toBe(78)
  expect(stderr).toMatch(
    /prices: there is no file of WETH\/USDC; there are: DAI-USDC\.csv\n {2}expected: WETH-USDC\.csv .*`tranched backtest fetch WETH\/USDC`/,
  )
  const { stdout } = await type({ prices: `${prices}/none`, json: true })
  expect(failureOf(stdout).problems).toEqual([
    expect.objectContaining({ file: `${prices}/none`, message: 'there is no such directory' }),
  ])
})

test('a broken line is reported with file, line and remedy when a run reaches it', async () => {
  const broken = `${STEADY}${hour(6)},2 060\n${hour(7)},2070\n`
  const { type, prices } = aFolder({ 'WETH-USDC.csv': broken }, 9)
  const file = join(prices, 'WETH-USDC.csv')
  const { code, stdout } = await type({ json: true })
  expect(code).toBe(78)
  expect(failureOf(stdout).problems).toEqual([
    {
      ...{ file, line: 9, column: 1, path: '', suggestion: null, hint: null },
      message: '`2 060` is no price',
      expected: expect.stringMatching(/^a number above 0 such as 3520\.25/),
      frame: `9 | ${hour(6)},2 060`,
    },
  ])
  const shown = await type()
  expect([shown.code, shown.stdout]).toEqual([78, ''])
  expect(shown.stderr).toContain(`${file}:9:1`)
})

test('prices come from either a directory or a random market', async () => {
  const { type } = aFolder({ 'WETH-USDC.csv': STEADY })
  const { code, stderr } = await type({ market: '7' })
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/--market: it cannot be combined with --prices/),
  ])
})
