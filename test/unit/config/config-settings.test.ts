import { describe, expect, test } from 'vitest'
import {
  brief,
  CONFIG,
  edit,
  loadText,
  loadTexts,
  plain,
  problemsOf,
  STRATEGY,
  settingsOf,
} from './config-fixture.ts'

function briefly(text: string, rest = {}): string[] {
  return problemsOf(text, rest).map(brief)
}

describe('a valid config', () => {
  test('becomes settings with base units, absolute paths and defaults', () => {
    const settings = settingsOf()
    expect(settings).toMatchObject({
      mode: 'dry-run',
      file: '/etc/tranched/config.yaml',
      stateDir: '/etc/tranched/data',
      strategiesDir: '/etc/tranched/strategies',
      http: { host: '127.0.0.1', port: 9464, hosts: [], page: true },
      log: { level: 'info', format: 'auto' },
      notify: { webhooks: [] },
    })
    expect(settings.gasless).toEqual({
      baseUrl: 'https://swap.example',
      chain: 'base',
      wallet: 'trader',
      permit2: '0x000000000022d473030f116ddee9f6b43ac78ba3',
      spenders: ['0x00000000000000000000000000000000000000aa'],
      slippageBps: 50,
      routingPreference: 'auto',
      approval: 'budget',
      maxQuoteLifetimeMs: 600_000,
      requestsPerSecond: 5,
      wire: { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' },
    })
    expect(settings.limits.maxDeviationBps).toBe(200)
    expect(settings.limits.perOrder.get(settings.tokens.get('USDC')?.address ?? '0x')).toBe(
      250_000_000n,
    )
    expect(settings.limits.perDay.get(settings.tokens.get('WETH')?.address ?? '0x')).toBe(
      10n ** 18n,
    )
    expect(settings.tokens.get('USDC')).toEqual({
      symbol: 'USDC',
      chain: 'base',
      chainId: 8453,
      address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
      decimals: 6,
    })
    expect(settings.prices.get('WETH/USDC')).toMatchObject({
      pair: 'WETH/USDC',
      base: { symbol: 'WETH' },
      quote: { symbol: 'USDC' },
      maxAgeSeconds: 3_600,
      sequencerFeed: undefined,
    })
  })

  test('wallets take their key from one of three sources, relative to the file', () => {
    const text = edit(
      CONFIG,
      '  trader: { privateKeyEnv: TRADER_KEY }',
      `  trader: { privateKeyEnv: TRADER_KEY }
  stored: { keystore: ./keys/a.json, passwordFile: /run/pass }
  plain: { privateKeyFile: ../b.hex }`,
    )
    expect([...settingsOf(text).wallets.values()]).toEqual([
      { type: 'privateKeyEnv', name: 'TRADER_KEY' },
      { type: 'keystore', keystore: '/etc/tranched/keys/a.json', passwordFile: '/run/pass' },
      { type: 'privateKeyFile', file: '/etc/b.hex' },
    ])
  })

  test('webhooks get every event unless they list some', () => {
    const text = `${CONFIG}notify: { webhooks: [{ url: https://h.example/a }, { url: https://h.example/b, on: [filled] }] }\n`
    const { webhooks } = settingsOf(text).notify
    expect(webhooks[0]?.on).toEqual([
      'filled',
      'failed',
      'refused',
      'missed',
      'halted',
      'low-funds',
    ])
    expect(webhooks[1]?.on).toEqual(['filled'])
  })

  test('a host beyond loopback causes a warning with its position', () => {
    const loaded = loadText(`${CONFIG}http: { host: 0.0.0.0 }\n`)
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      '21:15 http.host: metrics, health and the page are open to the network: this host is not loopback',
    ])
    const without = loadText(`${CONFIG}http: { host: 0.0.0.0, page: false }\n`)
    expect(without.ok && without.warnings.map(brief)).toEqual([
      '21:15 http.host: metrics and health are open to the network: this host is not loopback',
    ])
    for (const host of ['127.0.0.2', 'localhost', '"::1"'])
      expect(loadText(`${CONFIG}http: { host: ${host} }\n`)).toMatchObject({ warnings: [] })
  })
})

describe('the page', () => {
  test('accepts further host names, and can be disabled', () => {
    const { http } = settingsOf(`${CONFIG}http: { hosts: [trader.example], page: false }\n`)
    expect(http).toMatchObject({ hosts: ['trader.example'], page: false })
  })

  test.each(['https://trader.example', 'trader.example:443', '""', '"*"'])(
    'rejects %s as a host name',
    (host) => {
      expect(briefly(`${CONFIG}http: { hosts: [${host}] }\n`)).toEqual([
        expect.stringContaining('http.hosts[0]: this is not well formed'),
      ])
    },
  )
})

describe('mistakes', () => {
  test('an unknown key is shown with the nearest known key', () => {
    const [problem] = problemsOf(edit(CONFIG, 'perDay: {', 'perDya: {'))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "/etc/tranched/config.yaml:20:3 limits.perDya: unknown key
        19 |   perOrder: { USDC: 250 }
        20 |   perDya: { USDC: "1000", DAI: "1000", WETH: "1" }
           |   ^^^^^^
        expected: one of: maxDeviationBps, perOrder, perHour, perDay, perWeek, total, cooldown, maxOpenIntents, maxFailures
        did you mean \`perDay\`?"
    `)
  })

  test('a value of the wrong type is marked', () => {
    const [problem] = problemsOf(edit(CONFIG, 'decimals: 6', 'decimals: six'))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "/etc/tranched/config.yaml:12:87 tokens.USDC.decimals: this is not a whole number
        11 | tokens:
        12 |   USDC: { chain: base, address: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, decimals: six }
           |                                                                                       ^^^
        expected: a whole number from 0 to 36"
    `)
  })

  test('a missing key is shown at its section', () => {
    const [problem] = problemsOf(edit(CONFIG, '  wallet: trader\n', ''))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "/etc/tranched/config.yaml:6:1 gasless.wallet: this key is missing
        5 |   base: { chainId: 8453, rpcUrls: ["https://rpc.example"] }
        6 | gasless:
          | ^^^^^^^
        expected: a key of \`wallets\`"
    `)
  })

  test('an unknown keyword suggests the nearest keyword', () => {
    const [problem] = problemsOf(edit(CONFIG, 'mode: dry-run', 'mode: dryrun'))
    expect(problem && plain(problem)).toMatchInlineSnapshot(`
      "/etc/tranched/config.yaml:1:7 mode: this word is not known here
        1 | mode: dryrun
          |       ^^^^^^
        expected: one of: sandbox, dry-run, live
        did you mean \`dry-run\`?"
    `)
  })

  test('problems are plain data for other programs', () => {
    const [problem] = problemsOf(edit(CONFIG, 'wallet: trader', 'wallet: tradre'))
    expect(JSON.parse(JSON.stringify(problem))).toEqual({
      file: '/etc/tranched/config.yaml',
      line: 9,
      column: 11,
      path: 'gasless.wallet',
      message: 'nothing under `wallets` has this name',
      expected: 'a key of `wallets`: trader',
      suggestion: 'trader',
      frame: '8 |   chain: base\n9 |   wallet: tradre\n  |           ^^^^^^',
    })
  })

  test('all problems are reported at once, in file order', () => {
    let text = edit(CONFIG, 'mode: dry-run', 'mode: dryrun')
    text = edit(text, 'privateKeyEnv: TRADER_KEY', 'privateKeyEnv: 1KEY, colour: red')
    text = edit(text, 'decimals: 6', 'decimals: 99')
    text = edit(text, 'perOrder: { USDC: 250 }', 'perOrder: { USDC: -250 }')
    expect(briefly(text)).toEqual([
      '1:7 mode: this word is not known here',
      '3:28 wallets.trader.privateKeyEnv: this is not well formed',
      '3:34 wallets.trader.colour: unknown key',
      '12:87 tokens.USDC.decimals: this number is out of range',
      '19:21 limits.perOrder.USDC: this is not a plain decimal',
    ])
  })

  test.each([
    [
      'no key source',
      'privateKeyEnv: TRADER_KEY',
      '',
      '3:11 wallets.trader: this wallet has no key',
    ],
    [
      'two key sources',
      'privateKeyEnv: TRADER_KEY',
      'privateKeyEnv: TRADER_KEY, privateKeyFile: a',
      '3:11 wallets.trader: this wallet has several keys',
    ],
    [
      'a keystore without its password',
      'privateKeyEnv: TRADER_KEY',
      'keystore: a.json',
      '3:11 wallets.trader: a keystore and its passwordFile belong together',
    ],
    [
      'an empty list',
      '["https://rpc.example"]',
      '[]',
      '5:35 chains.base.rpcUrls: this list is empty',
    ],
    [
      'a value for a list',
      '["https://rpc.example"]',
      'x',
      '5:35 chains.base.rpcUrls: this is a single value',
    ],
    [
      'a bad list item',
      '"https://rpc.example"',
      'rpc',
      '5:36 chains.base.rpcUrls[0]: this is not a web address',
    ],
    [
      'an invalid finality',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example"], finality: latest',
      '5:70 chains.base.finality: this is not a number of blocks',
    ],
    [
      'a quorum above the number of nodes',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example"], agree: 2',
      '5:67 chains.base.agree: 2 nodes have to agree, and there is 1 node in rpcUrls',
    ],
    [
      'one node listed twice, which would agree with itself',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example", "https://rpc.example"], agree: 2',
      '5:59 chains.base.rpcUrls[1]: this is the node of entry 1 once more, and would count twice',
    ],
    [
      'one node under two spellings of its address',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example/v2", "https://other.example", "https://me@RPC.example:443/v2/#a"]',
      '5:87 chains.base.rpcUrls[2]: this is the node of entry 1 once more, and would count twice',
    ],
    [
      'a quorum of zero',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example"], agree: 0',
      '5:67 chains.base.agree: this number is out of range',
    ],
    [
      'an explorer that is not an address',
      'rpcUrls: ["https://rpc.example"]',
      'rpcUrls: ["https://rpc.example"], explorer: basescan',
      '5:70 chains.base.explorer: this is not a web address',
    ],
    ['an empty value', 'wallet: trader', 'wallet:', '9:10 gasless.wallet: this value is empty'],
    ['a list for a section', 'limits:\n', 'limits: [1]\nhttp:\n', '18:9 limits: this is a list'],
    [
      'the wrong chain',
      'chainId: 8453',
      'chainId: 1',
      '8:10 gasless.chain: this chain has id 1, and the gasless service settles on Base',
    ],
    [
      'an unknown chain',
      'chain: base\n  wallet',
      'chain: bas\n  wallet',
      '8:10 gasless.chain: nothing under `chains` has this name',
    ],
    [
      'one address under two symbols',
      '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb',
      '0x4200000000000000000000000000000000000006',
      '14:32 tokens.DAI.address: WETH has this address already',
    ],
    [
      'a token called ETH',
      'DAI: {',
      'ETH: {',
      '14:3 tokens.ETH: ETH is no token: in a strategy it means WETH, wrapped or unwrapped around the order',
    ],
    [
      'a feed for an unknown token',
      'DAI/WETH',
      'DAY/WETH',
      '17:3 prices.DAY/WETH: nothing under `tokens` has this name',
    ],
    [
      'a feed without a slash',
      'DAI/WETH',
      'DAIWETH',
      '17:3 prices.DAIWETH: this is not a usable name',
    ],
    [
      'a second feed for the inverse pair',
      'DAI/WETH',
      'USDC/WETH',
      '17:3 prices.USDC/WETH: this price is given already, or is always one',
    ],
    [
      'a cap with more decimals than its token',
      'USDC: 250',
      'USDC: 0.0000001',
      '19:21 limits.perOrder.USDC: this amount has more decimal places than USDC',
    ],
    [
      'a cap on an unknown token',
      'USDC: 250',
      'USDT: 250',
      '19:15 limits.perOrder.USDT: nothing under `tokens` has this name',
    ],
    [
      'a wrong checksum',
      '0x833589fCD6',
      '0x833589fcD6',
      '12:33 tokens.USDC.address: the checksum of this address is wrong: a digit may be mistyped',
    ],
  ])('%s is rejected', (_, from, to, expected) => {
    expect(briefly(edit(CONFIG, from, to))).toContain(expected)
  })

  test('one misspelt chain name is one error, at the misspelling', () => {
    const withSuggestion = (text: string) =>
      problemsOf(text).map((problem) => `${brief(problem)} | ${problem.suggestion}`)
    expect(withSuggestion(edit(CONFIG, 'chain: base\n  wallet', 'chain: bsae\n  wallet'))).toEqual([
      '8:10 gasless.chain: nothing under `chains` has this name | base',
    ])
    expect(withSuggestion(edit(CONFIG, '  base: {', '  bsae: {'))).toEqual([
      '5:3 chains.bsae: nothing uses this name, and `base`, which is used 6 times, is not defined | base',
    ])
    expect(withSuggestion(edit(CONFIG, '  base: {', '  ethereum: {'))).toEqual([
      '8:10 gasless.chain: nothing under `chains` has this name, which is used 6 times | undefined',
    ])
    expect(withSuggestion(edit(CONFIG, '  USDC: {', '  USCD: {'))).toEqual([
      expect.stringMatching(
        /: nothing under `tokens` has this name, which is used 3 times \| USCD$/,
      ),
    ])
  })

  test('tokens and feeds must be on the trading chain', () => {
    let text = edit(
      CONFIG,
      'gasless:\n',
      '  other: { chainId: 10, rpcUrls: [https://o.example] }\ngasless:\n',
    )
    text = edit(text, 'DAI: { chain: base', 'DAI: { chain: other')
    text = edit(text, '00bb, chain: base', '00bb, chain: other')
    expect(briefly(text)).toEqual([
      '15:17 tokens.DAI.chain: this is not the chain that trades',
      '18:72 prices.DAI/WETH.chain: this is not the chain that trades',
    ])
  })

  test('an empty file is reported as empty', () => {
    expect(briefly('# nothing\n')).toEqual(['1:1 : this file is empty'])
  })
})

describe('the aggregator section', () => {
  const AGGREGATOR = `aggregator:
  rpcUrl: https://agg.example
  chain: sepolia
  wallet: operator
  contracts:
    gasTank: 0x0000000000000000000000000000000000000001
    multicall: 0x0000000000000000000000000000000000000002
    trustedProposer: 0x0000000000000000000000000000000000000003
    trustlessProposer: 0x0000000000000000000000000000000000000004
  fallback: { mode: after-deadline, deadline: 3m }
  gasTank: { alertBelow: "0.02", topUp: { below: "0.02", amount: "0.05", maxPerDay: "0.1" } }
  wire: { methodPrefix: agg_, signatureHeader: X-Relay-Signature }
`
  const withSepolia = edit(
    edit(
      CONFIG,
      'gasless:\n',
      '  sepolia: { chainId: 11155111, rpcUrls: [https://s.example] }\ngasless:\n',
    ),
    'chains:\n',
    '  operator: { privateKeyEnv: OPERATOR_KEY }\nchains:\n',
  )

  test('becomes settings with amounts in wei and lower-case addresses, without a warning', () => {
    const target = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    const loaded = loadText(`${withSepolia}${AGGREGATOR}  targets: { claim: "${target}" }\n`)
    expect(loaded.ok && loaded.warnings).toEqual([])
    expect(loaded.ok && loaded.settings.aggregator).toMatchObject({
      chain: 'sepolia',
      wallet: 'operator',
      proposer: 'trustless',
      targets: new Map([['claim', target.toLowerCase()]]),
      fallback: { mode: 'after-deadline', deadlineMs: 180_000 },
      gasTank: {
        alertBelowWei: 2n * 10n ** 16n,
        topUp: { belowWei: 2n * 10n ** 16n, amountWei: 5n * 10n ** 16n, maxPerDayWei: 10n ** 17n },
        methods: 'auto',
      },
      wire: {
        envelopeTo: 'account',
        status: { charged: 'costs.charged', saved: 'savings.saved', blob: 'costs.blob_cost' },
      },
    })
  })

  test('accepts the wire names of another deployment', () => {
    let text = edit(
      AGGREGATOR,
      'gasTank: { alertBelow',
      'gasTank: { methods: balanceOf, alertBelow',
    )
    const wire =
      'signatureHeader: X-Relay-Signature, envelopeTo: proposer, status: { charged: fee }'
    text = edit(text, 'signatureHeader: X-Relay-Signature', wire)
    const loaded = loadText(withSepolia + text)
    expect(loaded.ok && loaded.settings.aggregator).toMatchObject({
      gasTank: { methods: 'balanceOf' },
      wire: { envelopeTo: 'proposer', status: { charged: 'fee', saved: 'savings.saved' } },
    })
    const wrong = edit(text, 'envelopeTo: proposer', 'envelopeTo: proposers')
    const [problem] = briefly(withSepolia + wrong)
    expect(problem).toMatch(/aggregator\.wire\.envelopeTo: /)
    const listed = `${withSepolia}${AGGREGATOR}  targets: ["0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"]\n`
    const loadedList = loadText(listed)
    expect(loadedList).toMatchObject({
      ok: false,
      problems: [{ expected: expect.stringMatching(/map of name: address/) }],
    })
  })

  test('warns of what trusted mode trusts', () => {
    const text = edit(AGGREGATOR, '  contracts:', '  proposer: trusted\n  contracts:')
    const loaded = loadText(withSepolia + text)
    expect(loaded.ok && loaded.warnings.map(brief)).toEqual([
      '27:13 aggregator.proposer: the service can make the account of wallet `operator` do anything: `trusted` asks for no signature per call',
    ])
    expect(loaded.ok && loaded.warnings[0]?.expected).toMatch(/dedicated hot wallet/)
  })

  test('rejects an undefined chain or wallet', () => {
    let text = edit(AGGREGATOR, 'wallet: operator', 'wallet: operators')
    text = edit(text, 'chain: sepolia', 'chain: mainnet')
    expect(briefly(withSepolia + text)).toEqual([
      '25:10 aggregator.chain: nothing under `chains` has this name',
      '26:11 aggregator.wallet: nothing under `wallets` has this name',
    ])
  })

  test('rejects unknown keys, the trading wallet and a chain without the service', () => {
    let text = edit(AGGREGATOR, 'wallet: operator', 'wallet: trader')
    text = edit(text, 'chain: sepolia', 'chain: base')
    expect(briefly(withSepolia + text)).toEqual([
      '25:10 aggregator.chain: this chain has id 8453, which the aggregator does not serve',
      '26:11 aggregator.wallet: this wallet trades through the gasless service already',
    ])
    expect(briefly(withSepolia + edit(AGGREGATOR, 'gasTank: 0x', 'gastank: 0x'))).toEqual([
      '27:3 aggregator.contracts.gasTank: this key is missing',
      '28:5 aggregator.contracts.gastank: unknown key',
    ])
  })

  const CALLS_ONLY = `mode: live
wallets:
  operator: { keystore: operator.json, passwordFile: operator.pass }
chains:
  sepolia: { chainId: 11155111, rpcUrls: [https://s.example] }
${AGGREGATOR}`

  test('is enough for a daemon that only makes calls: its wallet and chain are the only ones', () => {
    const { gasless, anchors, tokens } = settingsOf(CALLS_ONLY)
    expect(gasless).toMatchObject({ baseUrl: undefined, chain: 'sepolia', wallet: 'operator' })
    // No permit can pass the signing policy.
    expect(gasless).toMatchObject({ spenders: [], maxQuoteLifetimeMs: 0 })
    expect([...anchors.keys()]).toEqual(['operator'])
    expect(tokens.size).toBe(0)
  })

  test('is needed where there is no `gasless`, and leaves no use for tokens and feeds', () => {
    const chainsOnly = CALLS_ONLY.slice(0, CALLS_ONLY.indexOf('aggregator:'))
    expect(briefly(chainsOnly)).toEqual([
      '1:1 gasless: this config names no service, so nothing could be traded',
    ])
    const usdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    const withTokens = `${CALLS_ONLY}tokens:\n  USDC: { chain: sepolia, address: "${usdc}", decimals: 6 }\n`
    expect(briefly(withTokens)).toEqual([
      '18:1 tokens: only swaps use this, and the config has no `gasless`',
    ])
  })

  test('alone accepts no strategy that swaps', () => {
    const loaded = loadTexts({ 'one.yaml': STRATEGY }, settingsOf(CALLS_ONLY))
    expect(loaded.ok ? [] : loaded.problems.map(brief)).toEqual([
      '4:7 sell: this swaps, and the config has no `gasless` section',
      '5:6 buy: this swaps, and the config has no `gasless` section',
    ])
  })
})

describe('chains.*.code', () => {
  const chain = 'base: { chainId: 8453, rpcUrls: ["https://rpc.example"] }'
  const pinned = (address: string, hash: string): string =>
    edit(CONFIG, chain, chain.replace(' }', `, code: { "${address}": "${hash}" } }`))
  const SPENDER = '0x00000000000000000000000000000000000000AA'
  const HASH = `0x${'Ab'.repeat(32)}`

  test('pins the code of contracts in the config', () => {
    const pins = settingsOf(pinned(SPENDER, HASH)).chains.get('base')?.code
    expect([...(pins ?? [])]).toEqual([[SPENDER.toLowerCase(), HASH.toLowerCase()]])
  })

  test.each([
    [
      'an address that the config does not use',
      `0x${'00'.repeat(19)}ab`,
      HASH,
      'no contract of this config',
    ],
    ['an invalid address', '0xaa', HASH, 'this is not a usable name'],
    ['an invalid hash', SPENDER, '0xabcd', 'this is not a hash'],
  ])('rejects %s', (_, address, hash, message) => {
    expect(briefly(pinned(address, hash)).join()).toContain(message)
  })
})
