import { checksumAddress } from 'viem'
import { expect, test } from 'vitest'
import {
  BASE_GENESIS,
  BASE_SEQUENCER_FEED,
  BASE_TOKENS,
} from '../../../../src/chain/base-contracts.ts'
import {
  checkCode,
  checkFeedNames,
  checkKnownTokens,
  checkTokens,
  inspectContracts,
} from '../../../../src/cli/commands/doctor/check-contracts.ts'
import type { Address } from '../../../../src/domain/money/units.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import { PERMIT2, SPENDER, USDC, WETH } from '../../../simulation/stage.ts'
import { settingsOf } from '../../config/config-fixture.ts'
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
    [USDC.address, { decimals: 6, symbol: 'USDC', description: undefined }],
    [WETH.address, { decimals: 18, symbol: 'WETH', description: undefined }],
  ])
  const checks = checkTokens([USDC, WETH], seen)
  expect(checks.map(({ says }) => says)).toEqual(['USDC, WETH: decimals match their contracts'])
})

test.each([
  [
    { decimals: 18, symbol: 'USDC', description: undefined },
    'fault token-decimals: USDC: the config has 6 decimals, its contract says 18',
  ],
  [
    { decimals: undefined, symbol: 'USDC', description: undefined },
    'unknown token-decimals: USDC: its contract returns no decimals',
  ],
  [
    { decimals: 6, symbol: 'USDbC', description: undefined },
    'warning token-symbol: USDC: its contract has the symbol "USDbC"',
  ],
  [undefined, 'unknown token-decimals'],
])('a token contract that returns %o', (snapshot, message) => {
  const seen = new Map(snapshot === undefined ? [] : [[USDC.address, snapshot]])
  expect(findings(checkTokens([USDC], seen))).toEqual([expect.stringContaining(message)])
})

const FEED: Address = '0x00000000000000000000000000000000000000fe'
const PAIR = {
  ...{ pair: 'WETH/USDC' as const, base: WETH, quote: USDC, feed: FEED },
  sequencerFeed: undefined,
}
const described = (description: string | undefined) =>
  new Map([[FEED, { decimals: 8, symbol: undefined, description }]])

test('the known addresses of Base have correct checksums', () => {
  const known = BASE_TOKENS.flatMap(({ address, feed }) => [address, feed])
  for (const address of [...known, BASE_SEQUENCER_FEED]) {
    expect(checksumAddress(address)).toBe(address)
  }
})

test("a token at another token's known address, and a known name at another address, are faults", () => {
  const [weth, usdc] = ['WETH', 'USDC'].map((symbol) => ({
    ...{ ...USDC, symbol },
    address: BASE_TOKENS.find((known) => known.symbol === symbol)?.address ?? FEED,
  }))
  if (weth === undefined || usdc === undefined) throw new Error('the table has no WETH or USDC')
  expect(verdicts(checkKnownTokens([weth, usdc]))).toEqual(['fine known-token', 'fine known-token'])
  expect(
    findings(
      checkKnownTokens([
        { ...weth, symbol: 'DAI' },
        { ...usdc, address: FEED },
        { ...usdc, symbol: 'PEPE', address: FEED },
      ]),
    ),
  ).toEqual([
    expect.stringMatching(/^fault known-token: DAI: its address is that of WETH on Base/),
    expect.stringMatching(/^fault known-token: USDC: USDC on Base is 0x833589fC\w+, not 0x0+fe/),
  ])
})

test.each([
  ['ETH / USD', 'WETH', 'USDC', 'fine'],
  ['WETH / USDC', 'WETH', 'USDC', 'fine'],
  ['ETH / USD', 'WETH', 'USDT', 'fine'],
  ['ETH / USD', 'WETH', 'EURC', 'fault'],
  ['BTC / USD', 'WETH', 'USDC', 'fault'],
  ['ETH / USD', 'cbETH', 'USDC', 'fault'],
  ['USD / ETH', 'WETH', 'USDC', 'fault'],
  ['cbETH-ETH Exchange Rate', 'WETH', 'USDC', 'warning'],
  [undefined, 'WETH', 'USDC', 'warning'],
])('the feed %s for %s/%s is %s', (description, base, quote, verdict) => {
  const tokenOf = (symbol: string) => ({
    ...{ ...USDC, symbol },
    address: BASE_TOKENS.find((known) => known.symbol === symbol)?.address ?? FEED,
  })
  const pair = { ...PAIR, base: tokenOf(base), quote: tokenOf(quote) }
  expect(verdicts(checkFeedNames([pair], described(description)))).toEqual([
    `${verdict} feed-description`,
  ])
})

test('a sequencer feed other than that of Base is a fault', () => {
  const checks = checkFeedNames([{ ...PAIR, sequencerFeed: FEED }], described('WETH / USD'))
  expect(findings(checks)).toEqual([
    expect.stringMatching(
      /0x0+fe is not the sequencer uptime feed of Base -> set .* to 0xBCF85224/,
    ),
  ])
  const known = checkFeedNames(
    [{ ...PAIR, sequencerFeed: BASE_SEQUENCER_FEED }],
    described('WETH / USD'),
  )
  expect(verdicts(known)).toEqual(['fine feed-description'])
})

test('known addresses and feeds are checked on Base only, not on a local chain with its id', async () => {
  const settings = settingsOf()
  const chain = settings.chains.get('base')
  if (chain === undefined) throw new Error('the fixture has no chain named base')
  const read: Address[] = []
  const probes = {
    code: async (_: unknown, addresses: readonly Address[]) =>
      ({ ok: true, value: new Map(addresses.map((each) => [each, '0x60'] as const)) }) as const,
    tokens: async (_: unknown, addresses: readonly Address[]) => {
      read.push(...addresses)
      return { ok: true, value: new Map() } as const
    },
  }
  const known = { settings, strategies: [], state: emptyState(), owner: undefined }
  const found = async (genesisHash: `0x${string}` | undefined) => {
    const checks = await inspectContracts(
      { ...known, operator: undefined, genesisHash },
      chain,
      probes,
    )
    return new Set([checks].flat().map(({ id }) => id))
  }
  const ofBase = new Set(['code', 'token-decimals', 'known-token', 'feed-description'])
  expect(await found('0x0123')).toEqual(new Set(['code', 'token-decimals']))
  const feeds = [...settings.prices.values()].map(({ feed }) => feed)
  expect(read).not.toEqual(expect.arrayContaining(feeds))
  expect(await found(BASE_GENESIS)).toEqual(ofBase)
  expect(await found(undefined)).toEqual(ofBase)
  expect(read).toEqual(expect.arrayContaining(feeds))
})
