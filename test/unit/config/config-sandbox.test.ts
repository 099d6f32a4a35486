import { expect, test } from 'vitest'
import { brief, loadText, plain, problemsOf, settingsOf } from './config-fixture.ts'

const SANDBOX = {
  chains: { base: { chainId: 8453, rpcUrls: ['http://127.0.0.1:8545'] } },
  wallets: { trader: { privateKeyFile: '/tmp/sandbox/trader.hex', keystore: undefined } },
  gasless: {
    baseUrl: 'http://127.0.0.1:8080',
    chain: 'base',
    wallet: 'trader',
    permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
    spenders: ['0x00000000000000000000000000000000000000aa'],
    requestsPerSecond: 100,
  },
  tokens: {
    USDC: { chain: 'base', address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', decimals: 6 },
    WETH: { chain: 'base', address: '0x4200000000000000000000000000000000000006', decimals: 18 },
  },
  prices: {
    'WETH/USDC': { feed: '0x00000000000000000000000000000000000000bb', chain: 'base' },
  },
  http: { port: 0 },
}

test("a short sandbox file is completed with the running sandbox's values", () => {
  const settings = settingsOf('mode: sandbox\n', { sandbox: SANDBOX })
  expect(settings.chains.get('base')?.rpcUrls).toEqual(['http://127.0.0.1:8545'])
  expect(settings.gasless.requestsPerSecond).toBe(100)
  expect(settings.wallets.get('trader')).toEqual({
    type: 'privateKeyFile',
    file: '/tmp/sandbox/trader.hex',
  })
  expect(settings.http).toMatchObject({ host: '127.0.0.1', port: 0 })
})

test('the file overrides the sandbox, key by key', () => {
  const text = 'mode: sandbox\ngasless: { requestsPerSecond: 7 }\nhttp: { host: localhost }\n'
  const settings = settingsOf(text, { sandbox: SANDBOX })
  expect(settings.gasless).toMatchObject({ requestsPerSecond: 7, chain: 'base' })
  expect(settings.http).toMatchObject({ host: 'localhost', port: 0 })
})

test('flags and environment override the sandbox', () => {
  const given = { sandbox: SANDBOX, env: { TRANCHED_HTTP_PORT: '9000' } }
  expect(settingsOf('mode: sandbox\n', given).http.port).toBe(9000)
})

test('a sandbox file cannot name its own services, chains, tokens or keys', () => {
  const text = `mode: sandbox
wallets: { trader: { privateKeyEnv: REAL_KEY } }
gasless:
  slippageBps: 50
  baseUrl: https://swap.example
chains: { base: { chainId: 8453, rpcUrls: [https://rpc.example] } }
`
  expect(problemsOf(text, { sandbox: SANDBOX }).map(brief)).toContain(
    '2:1 wallets: in sandbox mode the sandbox supplies this',
  )
  expect(problemsOf(text, { sandbox: SANDBOX }).map((problem) => problem.path)).toEqual(
    expect.arrayContaining(['wallets', 'gasless.baseUrl', 'chains']),
  )
})

test("the sandbox's values are ignored in other modes", () => {
  const loaded = loadText('mode: live\n', { sandbox: SANDBOX })
  expect(loaded.ok).toBe(false)
})

test('an invalid value of the sandbox names the sandbox, not a line of the file', () => {
  const sandbox = { ...SANDBOX, gasless: { ...SANDBOX.gasless, chain: 'bass' } }
  const [problem] = problemsOf('mode: sandbox\n', { sandbox })
  expect(problem && plain(problem)).toBe(
    'the running sandbox gasless.chain: nothing under `chains` has this name\n' +
      '  expected: a key of `chains`: base\n' +
      '  did you mean `base`?',
  )
})

test('an invalid sandbox object is a bug and throws', () => {
  expect(() => loadText('mode: sandbox\n', { sandbox: { http: { port: 0.5 } } })).toThrow(TypeError)
})
