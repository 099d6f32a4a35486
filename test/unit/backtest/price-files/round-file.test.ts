import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openRoundFile } from '../../../../src/backtest/price-files/round-file.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

const HEAD = { chainId: 8453, feed: `0x${'f1'.repeat(20)}`, decimals: 8 } as const

test.each([
  ['an empty file', '', 'this is a link, which is never written through'],
  ['a started file', '# rounds of a feed', 'this is a link, which is never written through'],
])('refuses to write rounds through a link, even to %s', (_, text, detail) => {
  const dir = temporaryDirectory()
  writeFileSync(join(dir, 'elsewhere'), text)
  symlinkSync('elsewhere', join(dir, 'WETH-USDC.csv'))
  expect(() => openRoundFile(join(dir, 'WETH-USDC.csv'), HEAD)).toThrow(
    expect.objectContaining({ name: 'PriceFileError', fault: expect.objectContaining({ detail }) }),
  )
  expect(readFileSync(join(dir, 'elsewhere'), 'utf8')).toBe(text)
})

test('an unexpected line is quoted with possible keys masked', () => {
  const file = join(temporaryDirectory(), 'WETH-USDC.csv')
  openRoundFile(file, HEAD).append([{ id: 1n, atSeconds: 1, text: '1,2000,1' }])
  appendFileSync(file, `0x${'c0ffee11'.repeat(8)}\n`)
  expect(() => openRoundFile(file, HEAD)).toThrow(/the line `\*\*\*` is none that/)
})

test('refuses to write rounds into a pipe', () => {
  const file = join(temporaryDirectory(), 'WETH-USDC.csv')
  expect(spawnSync('mkfifo', [file]).status).toBe(0)
  expect(() => openRoundFile(file, HEAD)).toThrow(
    expect.objectContaining({
      fault: expect.objectContaining({ detail: 'this is not a regular file' }),
    }),
  )
})
