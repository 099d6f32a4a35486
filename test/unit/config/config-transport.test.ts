import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadSettings } from '../../../src/config/settings/load-settings.ts'
import { ROOT } from '../../support/process/cli.ts'

const address = (digits: string) => `0x${digits.repeat(20)}`

function settingsWith(change: (config: ReturnType<typeof parse>) => void) {
  const config = parse(readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8'))
  config.gasless.baseUrl = 'https://swap.example'
  config.gasless.spenders = [address('5e')]
  config.chains.base.rpcUrls = ['https://node.example/key']
  change(config)
  return loadSettings({ file: '/c.yaml', env: {}, readFile: () => stringify(config) })
}

function pathsOf(loaded: ReturnType<typeof settingsWith>): readonly string[] {
  return (loaded.ok ? loaded.warnings : loaded.problems).map(({ path }) => path)
}

test('plain http to another machine is rejected in live mode under any key, without showing the address', () => {
  const loaded = settingsWith((config) => {
    config.gasless.baseUrl = 'http://swap.example'
    config.chains.base.rpcUrls = ['https://node.example', 'http://10.0.0.1:8545/secret']
    config.notify = { webhooks: [{ url: 'http://hooks.example/secret' }] }
  })
  expect(loaded.ok).toBe(false)
  expect(pathsOf(loaded)).toEqual([
    'chains.base.rpcUrls[1]',
    'gasless.baseUrl',
    'notify.webhooks[0].url',
  ])
})

test.each([
  'http://127.0.0.1:8545',
  'http://localhost:8545',
  'http://[::1]:8545',
  'https://x.example',
])('%s is accepted', (url) => {
  const loaded = settingsWith((config) => {
    config.chains.base.rpcUrls = [url]
  })
  expect(loaded.ok).toBe(true)
})

test('plain http is a warning in dry-run', () => {
  const loaded = settingsWith((config) => {
    config.mode = 'dry-run'
    config.gasless.baseUrl = 'http://swap.example'
  })
  expect(loaded.ok).toBe(true)
  expect(pathsOf(loaded)).toContain('gasless.baseUrl')
})

test('one key for both wallets is rejected under any path', () => {
  const aggregator = {
    rpcUrl: 'https://agg.example',
    chain: 'sepolia',
    wallet: 'operator',
    proposer: 'trustless',
    contracts: {
      gasTank: address('01'),
      multicall: address('02'),
      trustedProposer: address('03'),
      trustlessProposer: address('04'),
    },
    targets: {},
  }
  const loaded = settingsWith((config) => {
    config.aggregator = aggregator
    config.chains.sepolia = { chainId: 11155111, rpcUrls: ['https://s.example'] }
    config.wallets = {
      trader: { privateKeyFile: './keys/one.hex' },
      operator: { privateKeyFile: './keys/../keys/one.hex' },
    }
  })
  expect(loaded.ok).toBe(false)
  expect(pathsOf(loaded)).toEqual(['wallets.operator'])
})
