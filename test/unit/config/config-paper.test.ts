import { expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { brief, CONFIG, problemsOf, settingsOf } from './config-fixture.ts'

test('initial balances of a dry-run are read by token, including ether', () => {
  const { paper, tokens } = settingsOf(`${CONFIG}paper: { USDC: "1000", ETH: "0.5" }\n`)
  expect(paper).toEqual(
    new Map([
      [tokens.get('USDC')?.address, 1_000_000_000n],
      [NATIVE_TOKEN, 5n * 10n ** 17n],
    ]),
  )
  expect(settingsOf().paper).toBeUndefined()
})

test('an unknown token or an amount with too many decimals is an error', () => {
  expect(problemsOf(`${CONFIG}paper: { USDX: "1" }\n`).map(brief)).toEqual([
    expect.stringMatching(/paper\.USDX: /),
  ])
  expect(problemsOf(`${CONFIG}paper: { USDC: "0.0000001" }\n`).map(brief)).toEqual([
    expect.stringMatching(/paper\.USDC: this amount has more decimal places than USDC/),
  ])
})
