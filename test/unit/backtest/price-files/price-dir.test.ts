import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { priceDir } from '../../../../src/backtest/price-files/price-dir.ts'
import type { Pair } from '../../../../src/domain/money/token.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { faultOf, roundsOf } from './price-files.ts'

const T = 1_735_689_600

function dirOf(...names: string[]): string {
  const dir = temporaryDirectory()
  mkdirSync(dir, { recursive: true })
  for (const name of names) writeFileSync(join(dir, name), `time,price\n${T},2\n`)
  return dir
}

const open = (dir: string, ...pairs: Pair[]) =>
  priceDir({ dir, feeds: pairs.map((pair) => ({ pair })) })

test.each(['WETH-USDC.csv', 'WETH_USDC.csv', 'WETHUSDC.csv', 'weth-usdc.csv', 'wethusdc.csv'])(
  '%s is the file of WETH/USDC',
  (name) => {
    const dir = dirOf(name, 'DAI-USDC.csv', 'notes.txt')
    const priceSeries = open(dir, 'WETH/USDC', 'DAI/USDC')
    expect(priceSeries.map(({ pair, source }) => [pair, source])).toEqual([
      ['WETH/USDC', join(dir, name)],
      ['DAI/USDC', join(dir, 'DAI-USDC.csv')],
    ])
    for (const series of priceSeries) expect(roundsOf(series)).toEqual([[T, 200_000_000n]])
  },
)

test('a feed without a file is reported with the expected file name and the existing files', () => {
  const dir = dirOf('DAI-USDC.csv')
  const fault = faultOf(() => open(dir, 'WETH/USDC'))
  expect(fault).toMatchObject({
    file: dir,
    detail: 'there is no file of WETH/USDC; there are: DAI-USDC.csv',
    remedy: expect.stringMatching(/^WETH-USDC\.csv .*`tranched backtest fetch WETH\/USDC`/),
  })
  expect(faultOf(() => open(dirOf(), 'WETH/USDC')).detail).toMatch(/has no CSV file$/)
  expect(faultOf(() => open(join(dir, 'none'), 'WETH/USDC')).detail).toMatch(/no such directory/)
})

test('rejects a file of the opposite pair by name instead of inverting it', () => {
  const dir = dirOf('usdc_weth.csv')
  expect(faultOf(() => open(dir, 'WETH/USDC'))).toMatchObject({
    file: join(dir, 'usdc_weth.csv'),
    detail: 'these are prices of USDC/WETH, and the feed is WETH/USDC: no file is turned over',
  })
})

test('a feed that no strategy needs is played if it has a file, and may have none', () => {
  const dir = dirOf('WETH-USDC.csv', 'DAI-USDC.csv', 'usdc-cbBTC.csv')
  const more = (['DAI/USDC', 'cbBTC/USDC', 'EURC/USDC'] as const).map((pair) => ({ pair }))
  const priceSeries = priceDir({ dir, feeds: [{ pair: 'WETH/USDC' }], more })
  expect(priceSeries.map(({ pair }) => pair)).toEqual(['WETH/USDC', 'DAI/USDC'])
})

test('rejects two files for one feed as ambiguous', () => {
  const fault = faultOf(() => open(dirOf('WETH-USDC.csv', 'WETH_USDC.csv'), 'WETH/USDC'))
  expect(fault.detail).toBe('WETH-USDC.csv and WETH_USDC.csv are both prices of WETH/USDC')
})
