import { expect, test } from 'vitest'
import { checkCode, checkTokens } from '../../../../src/cli/commands/doctor/check-contracts.ts'
import { PERMIT2, SPENDER, USDC, WETH } from '../../../simulation/stage.ts'
import { findings, verdicts } from './verdicts.ts'

const NAMED = [
  { path: 'gasless.permit2', address: PERMIT2 },
  { path: 'gasless.spenders[0]', address: SPENDER },
]

test('addresses with code pass in one line', () => {
  const codes = new Map([
    [PERMIT2, '0x60'],
    [SPENDER, '0x60'],
  ] as const)
  expect(verdicts(checkCode('base', NAMED, codes))).toEqual(['fine code'])
})

test('an address without code, or without an answer, is named by its config path', () => {
  expect(findings(checkCode('base', NAMED, new Map([[PERMIT2, '0x']])))).toEqual([
    expect.stringMatching(/^fault code: gasless\.permit2: there is no contract at 0x0{10}22d47/),
    expect.stringMatching(/^fault code: gasless\.spenders\[0\]: .* -> compare the address/),
  ])
})

test('tokens that match their contracts pass in one line', () => {
  const seen = new Map([
    [USDC.address, { decimals: 6, symbol: 'USDC' }],
    [WETH.address, { decimals: 18, symbol: 'WETH' }],
  ])
  const checks = checkTokens([USDC, WETH], seen)
  expect(checks.map(({ says }) => says)).toEqual(['USDC, WETH: decimals match their contracts'])
})

test.each([
  [
    { decimals: 18, symbol: 'USDC' },
    'fault token-decimals: USDC: the config has 6 decimals, its contract says 18',
  ],
  [
    { decimals: undefined, symbol: 'USDC' },
    'unknown token-decimals: USDC: its contract returns no decimals',
  ],
  [
    { decimals: 6, symbol: 'USDbC' },
    'warning token-symbol: USDC: its contract has the symbol "USDbC"',
  ],
  [undefined, 'unknown token-decimals'],
])('a token contract that returns %o', (snapshot, message) => {
  const seen = new Map(snapshot === undefined ? [] : [[USDC.address, snapshot]])
  expect(findings(checkTokens([USDC], seen))).toEqual([expect.stringContaining(message)])
})
