import { expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { brief, CONFIG, problemsOf, settingsOf } from './config-fixture.ts'

test('what a dry-run begins with is read by token, ether among them', () => {
  const { paper, tokens } = settingsOf(`${CONFIG}paper: { USDC: "1000", ETH: "0.5" }\n`)
  expect(paper).toEqual(
    new Map([
      [tokens.get('USDC')?.address, 1_000_000_000n],
      [NATIVE_TOKEN, 5n * 10n ** 17n],
    ]),
  )
  expect(settingsOf().paper).toBeUndefined()
})

test('a token that the config does not name, and an amount too fine, are errors', () => {
  expect(problemsOf(`${CONFIG}paper: { USDX: "1" }\n`).map(brief)).toEqual([
    expect.stringMatching(/paper\.USDX: /),
  ])
  expect(problemsOf(`${CONFIG}paper: { USDC: "0.0000001" }\n`).map(brief)).toEqual([
    expect.stringMatching(/paper\.USDC: this amount has more decimal places than USDC/),
  ])
})
