import { expect, test } from 'vitest'
import {
  partingText,
  sandboxReport,
  sandboxText,
} from '../../../src/cli/commands/author/sandbox.ts'

const address = (digit: string) => `0x${digit.repeat(40)}` as const
const at = (port: number) => `http://127.0.0.1:${port}`

const SANDBOX = {
  rpcUrl: at(48545),
  gaslessUrl: at(48080),
  aggregatorUrl: at(48082),
  adminUrl: at(48081),
  chainId: 8453,
  genesisHash: '0x01',
  contracts: {
    permit2: address('1'),
    multicall3: address('2'),
    settlement: address('3'),
    sequencerFeed: address('4'),
    feedBoard: address('5'),
  },
  tokens: [
    {
      symbol: 'USDC',
      address: address('6'),
      decimals: 6,
      name: 'USD',
      startUsd: 1n,
      stepSigmaPpm: 1,
    },
  ],
  feeds: [{ base: 'WETH', quote: 'USDC', address: address('7') }],
  trader: { address: address('8'), privateKey: `0x${'e1'.repeat(32)}` },
  evmPid: 1,
  sepolia: {
    rpcUrl: at(48546),
    chainId: 11_155_111,
    genesisHash: '0x02',
    evmPid: 2,
    contracts: {
      gasTank: address('9'),
      multicall: address('a'),
      trustedProposer: address('b'),
      trustlessProposer: address('c'),
      demoTarget: address('d'),
    },
  },
  operator: { address: address('e'), privateKey: `0x${'e2'.repeat(32)}` },
} as const

const CONFIG = '/home/me/config/sandbox-live.yaml'
const text = (config: string | undefined = CONFIG) =>
  sandboxText(sandboxReport(SANDBOX, { config }), {
    workingDirectory: '/home/me',
    obstacles: [],
    program: 'tranched',
  })

test('the text lists every address and the next commands, aligned, in at most 100 columns', () => {
  const lines = text().split('\n')
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  const rows = lines.filter((line) => /http:|0x/.test(line))
  expect(rows).toHaveLength(8)
  expect(new Set(rows.map((row) => row.search(/http:|0x/))).size).toBe(1)
  expect(lines).toContain(
    `  admin port              ${at(48081)}                      prices, funds and faults`,
  )
  expect(lines.filter((line) => line.startsWith('  tranched'))).toEqual([
    '  tranched gastank deposit 0.05 --yes --config config/sandbox-live.yaml',
    '  tranched delegation set --config config/sandbox-live.yaml',
    '  tranched run --config config/sandbox-live.yaml',
  ])
})

test('a command too long for a line continues on the next, and a path stays unbroken', () => {
  const path = `/srv/${'deep/'.repeat(12)}it's mine/live.yaml`
  expect(text(path)).toContain(
    `  tranched gastank deposit 0.05 --yes \\\n    --config '/srv/${'deep/'.repeat(12)}it'\\''s mine/live.yaml'\n`,
  )
})

test('the text without a config names the command that writes one', () => {
  const bare = sandboxText(sandboxReport(SANDBOX, {}), {
    workingDirectory: '/home/me',
    obstacles: [],
    program: 'tranched',
  })
  expect(bare).toContain('tranched sandbox --config-out config/sandbox-live.yaml')
  expect(bare).not.toContain('gastank')
})

test('the text of a persistent sandbox names its folder and how to resume it', () => {
  const written = { config: CONFIG, keptIn: '/home/me/config/chain' }
  const textOf = (isResumed: boolean) =>
    sandboxText(sandboxReport(SANDBOX, { ...written, isResumed }), {
      workingDirectory: '/home/me',
      obstacles: [],
      program: 'tranched',
    })
  expect(textOf(false)).toMatch(
    /^Two chains and two services are up; .* Ctrl-C stops and keeps them/,
  )
  expect(textOf(false)).toMatch(/^ {2}kept in +config\/chain$/m)
  expect(textOf(false)).toContain('tranched gastank deposit')
  expect(textOf(true)).toContain('have resumed')
  expect(textOf(true)).not.toContain('tranched gastank deposit')
  expect(partingText('/home/me/config/chain', '/home/me')).toBe(
    'The sandbox has stopped. It is kept in config/chain: the same command resumes it.\n',
  )
})

test('the data has both chains and every contract, and no key', () => {
  const report = sandboxReport(SANDBOX, { config: CONFIG })
  expect(report).toEqual({
    rpcUrl: at(48545),
    gaslessUrl: at(48080),
    aggregatorUrl: at(48082),
    sepoliaRpcUrl: at(48546),
    adminUrl: at(48081),
    chainId: 8453,
    aggregatorChainId: 11_155_111,
    trader: address('8'),
    operator: address('e'),
    contracts: {
      permit2: address('1'),
      multicall3: address('2'),
      settlement: address('3'),
      sequencerFeed: address('4'),
    },
    tokens: { USDC: address('6') },
    feeds: { 'WETH/USDC': address('7') },
    aggregatorContracts: SANDBOX.sepolia.contracts,
    config: CONFIG,
    keptIn: null,
    isResumed: false,
  })
  expect(sandboxReport(SANDBOX, {}).config).toBeNull()
  expect(JSON.stringify(report) + text()).not.toMatch(/e1e1e1|e2e2e2/)
})
