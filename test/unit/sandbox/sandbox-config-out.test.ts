import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { loadSettings } from '../../../src/config/settings/load-settings.ts'
import { sandboxConfig } from '../../../src/sandbox/config-out.ts'
import { SANDBOX_DEFAULTS } from '../../../src/sandbox/settings/sandbox-schema.ts'
import { SANDBOX_TEMPLATE } from '../../../src/sandbox/template.ts'
import { plain } from '../config/config-fixture.ts'

const address = (digit: string) => `0x${digit.repeat(40)}` as const

type Source = Parameters<typeof sandboxConfig>[0]

/** Settings that the daemon reads from the config of a sandbox with the given options. */
function settingsWith(options: {
  readonly gasless?: Partial<Source['settings']['gasless']>
  readonly aggregator?: Partial<Source['settings']['aggregator']>
}) {
  const config = sandboxConfig(
    {
      rpcUrl: 'http://127.0.0.1:1',
      gaslessUrl: 'http://127.0.0.1:2',
      settings: {
        gasless: { ...SANDBOX_DEFAULTS.gasless, ...options.gasless },
        aggregator: { ...SANDBOX_DEFAULTS.aggregator, ...options.aggregator },
      },
      deployment: {
        permit2: address('1'),
        settlement: address('2'),
        sequencerFeed: address('3'),
        tokens: [
          {
            symbol: 'USDC',
            name: 'USD Coin',
            address: address('4'),
            decimals: 6,
            startUsd: 1n,
            stepSigmaPpm: 1,
          },
        ],
        feeds: [],
      },
      aggregator: {
        url: 'http://127.0.0.1:3',
        rpcUrl: 'http://127.0.0.1:4',
        contracts: {
          gasTank: address('5'),
          multicall: address('6'),
          trustedProposer: address('7'),
          trustlessProposer: address('8'),
          demoTarget: address('9'),
        },
      },
    },
    { stateDir: '/s', strategiesDir: '/t', keyFile: '/k/trader.key' },
  )
  const limits = { perOrder: { USDC: '1' }, perDay: { USDC: '1' } }
  const text = stringify({ ...config, limits })
  const loaded = loadSettings({ file: '/c.yaml', env: {}, readFile: () => text })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.settings
}

test("the config names the services' wire keywords", () => {
  const wire = { methodPrefix: 'relay_', signatureHeader: 'X-Sig' }
  const own = { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' }
  const { gasless, aggregator } = settingsWith({ gasless: { wire: own }, aggregator: { wire } })
  expect(gasless.wire).toEqual(own)
  expect(aggregator?.wire).toMatchObject(wire)
})

test('the second chain has the id of the settings and the name of that network', () => {
  for (const [chainId, name] of [
    [1, 'mainnet'],
    [11_155_111, 'sepolia'],
  ] as const) {
    const { chains, aggregator } = settingsWith({ aggregator: { chainId } })
    expect([...chains.keys()]).toEqual(['base', name])
    expect([chains.get(name)?.chainId, aggregator?.chain]).toEqual([chainId, name])
  }
})

test('the maximum quote lifetime follows the sandbox, and is at least ten minutes', () => {
  expect(settingsWith({}).gasless.maxQuoteLifetimeMs).toBe(600_000)
  expect(settingsWith({ gasless: { quoteLifetime: 30 } }).gasless.maxQuoteLifetimeMs).toBe(600_000)
  expect(settingsWith({ gasless: { quoteLifetime: 3_600 } }).gasless.maxQuoteLifetimeMs).toBe(
    3_600_000,
  )
})

test('the template has the words and the chain of the default settings', () => {
  const { gasless, aggregator } = SANDBOX_DEFAULTS
  expect(SANDBOX_TEMPLATE).toMatchObject({
    chains: { sepolia: { chainId: aggregator.chainId } },
    gasless: { maxQuoteLifetime: '600s', wire: gasless.wire },
    aggregator: { wire: aggregator.wire },
  })
})
