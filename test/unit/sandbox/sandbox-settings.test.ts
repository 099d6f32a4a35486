import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AGGREGATOR_DEFAULTS } from '../../../src/sandbox/aggregator/settings.ts'
import { MARKET_DEFAULTS } from '../../../src/sandbox/market/market.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { SETTING_ROWS, type TypedFlag } from '../../../src/sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../src/sandbox/settings/load.ts'
import { isOfFlag } from '../../../src/sandbox/settings/typed.ts'
import { brief, plain } from '../config/config-fixture.ts'

const FILE = '/etc/sandbox/settings.yaml'

/** Loads a settings file from its text, with flags such as `--seed 3`. */
function load(text: string, flags: readonly string[] = [], others: Record<string, string> = {}) {
  const files: Record<string, string> = { [FILE]: text, ...others }
  const readFile = (path: string): string => {
    const found = files[path]
    if (found === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
    return found
  }
  return loadSandboxOptions({ file: FILE, typed: flags.map(typed), readFile })
}

function typed(line: string): TypedFlag {
  const [flag = '', text = ''] = line.split(' ')
  return { flag, text }
}

function optionsOf(...given: Parameters<typeof load>): SandboxOptions {
  const loaded = load(...given)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.options
}

function problemsOf(...given: Parameters<typeof load>) {
  const loaded = load(...given)
  return loaded.ok ? [] : loaded.problems
}

const EVERYTHING = `
reading: described
seed: 7
ports: { rpc: 8545, gasless: 8080, admin: 8081, aggregatorRpc: 8546, aggregator: 8082 }
market:
  feedInterval: 500ms
  ownDepthUsd: 1000
  ownShareMaxBps: 100
  externalDepthUsd: 5000
  externalSpreadBps: 20
gasless:
  quoteLifetime: 2m
  feeBps: 7
  listDomainType: false
  logoURI: "https://icons.example/{symbol}.svg"
  rateLimits: { tokens: 1/1s, quote: { limit: 2, window: 2s }, orders: 3/3s, order: 4/4s }
  rateLimitReset: duration
  wire: { preferOwn: preferHouse, onlyOwn: onlyHouse }
  ordersPerTransaction: 2
  sameOwnerInTransaction: false
aggregator:
  chainId: 1
  gasTank: balanceOf
  gasLimit: target
  domain: proposer
  blobCost: "0.000000000000000001"
  window: 50ms
  callsPerBatch: 4
  feeBps: 500
  indexingDelay: 0s
  settleEvery: 1m
  traffic: { participants: 5, every: 0s, patience: 10s }
  rateLimit: { limit: 9, window: 1m }
  wire: { methodPrefix: "", signatureHeader: X-Sig }
faults: { seed: 2, rules: [{ kind: slow, delayMs: 5, probability: 1e-1 }, { kind: batchReverted, retry: false }] }
`

const EVERY_OPTION: SandboxOptions = {
  reading: 'described',
  seed: 7,
  ports: { rpc: 8545, gasless: 8080, admin: 8081, sepoliaRpc: 8546, aggregator: 8082 },
  feedIntervalMs: 500,
  market: {
    ownDepthUsd: 1_000,
    ownShareMaxBps: 100,
    externalDepthUsd: 5_000,
    externalSpreadBps: 20,
  },
  quoteLifetimeSeconds: 120,
  feeBps: 7,
  listDomainType: false,
  logoURI: 'https://icons.example/{symbol}.svg',
  rateLimits: {
    tokens: { limit: 1, windowMs: 1_000 },
    quote: { limit: 2, windowMs: 2_000 },
    orders: { limit: 3, windowMs: 3_000 },
    order: { limit: 4, windowMs: 4_000 },
  },
  rateLimitReset: 'duration',
  routingWords: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
  settlement: { ordersPerTransaction: 2, sameOwnerInTransaction: false },
  aggregator: {
    chainId: 1,
    gasTank: 'balanceOf',
    gasLimit: 'target',
    domain: 'proposer',
    blobCostWei: 1n,
    windowMs: 50,
    callsPerBatch: 4,
    feeBps: 500,
    indexingDelayMs: 0,
    settleEveryMs: 60_000,
    traffic: { participants: 5, everyMs: 0, patienceMs: 10_000 },
    rateLimit: { limit: 9, windowMs: 60_000 },
    wire: { methodPrefix: '', signatureHeader: 'X-Sig' },
  },
  faults: {
    seed: 2,
    rules: [
      { kind: 'slow', delayMs: 5, probability: 0.1 },
      { kind: 'batchReverted', retry: false },
    ],
  },
}

test('every key of a settings file reaches the sandbox', () => {
  expect(optionsOf(EVERYTHING)).toEqual(EVERY_OPTION)
})

test('what is not given is left to the defaults of the sandbox', () => {
  const nothing = { ports: {}, market: {}, rateLimits: {}, routingWords: {}, settlement: {} }
  const aggregator = { traffic: {}, wire: {} }
  for (const text of ['', '# nothing yet\n', '{}'])
    expect(optionsOf(text)).toStrictEqual({ ...nothing, aggregator })
  expect(loadSandboxOptions({ typed: [] })).toEqual(load('{}'))
})

test('the defaults that the table names are those of the parts', () => {
  const flags = SETTING_ROWS.filter(({ byDefault }) => byDefault !== '').map(
    ({ flag, entry, byDefault }) =>
      `${flag} ${entry === undefined ? byDefault : `${entry}=${byDefault}`}`,
  )
  const { aggregator, market } = optionsOf('{}', flags)
  expect(aggregator).toEqual(AGGREGATOR_DEFAULTS)
  expect(market).toEqual(MARKET_DEFAULTS)
})

test('a flag comes before the file, the last of its kind before the others, and leaves its neighbours', () => {
  const flags = [
    '--fee-bps 1',
    '--fee-bps 9',
    '--rate-limit quote=5/1s',
    '--aggregator-domain account',
  ]
  const { feeBps, rateLimits, aggregator, quoteLifetimeSeconds } = optionsOf(EVERYTHING, flags)
  expect(feeBps).toBe(9)
  expect(rateLimits?.quote).toEqual({ limit: 5, windowMs: 1_000 })
  expect(rateLimits?.orders).toEqual({ limit: 3, windowMs: 3_000 })
  expect([aggregator?.domain, aggregator?.gasTank]).toEqual(['account', 'balanceOf'])
  expect(quoteLifetimeSeconds).toBe(120)
})

describe('a problem', () => {
  test('with the file names line, column, what was expected and the nearest name', () => {
    const problems = problemsOf('gasless:\n  quoteLifetim: 60s\n  feeBps: 0x5\n')
    expect(problems.map(brief)).toEqual([
      '2:3 gasless.quoteLifetim: unknown key',
      '3:11 gasless.feeBps: this is no whole number',
    ])
    expect(problems.map(({ suggestion }) => suggestion)).toEqual(['quoteLifetime', undefined])
    expect(problems[1]?.expected).toBe('a whole number from 0 to 5000')
  })

  test('with a flag names the flag and no line', () => {
    const problems = problemsOf('seed: 1\n', ['--quote-lifetime 1500ms', '--rate-limit quot=1/1s'])
    expect(problems.map(plain)).toEqual([
      'flag --quote-lifetime gasless.quoteLifetime: this is no whole number of seconds\n' +
        '  expected: a duration of whole seconds such as 30s or 10m, from 1s to 1d',
      'flag --rate-limit nothing has this name\n' +
        '  expected: route=limit/window such as tokens=600/10s, the first word one of: tokens, quote, orders, order\n' +
        '  did you mean `quote`?',
    ])
    expect(problems.every(isOfFlag)).toBe(true)
    expect(problemsOf('sed: 1\n').some(isOfFlag)).toBe(false)
  })

  test.each([
    ['gasless: { quoteLifetime: 0s }', 'gasless.quoteLifetime: this duration is out of range'],
    [
      'gasless: { rateLimits: { quote: 0/10s } }',
      'gasless.rateLimits.quote: this is no rate limit',
    ],
    ['gasless: { rateLimits: { quote: 9/1d } }', 'gasless.rateLimits.quote: this is no rate limit'],
    [
      'gasless: { rateLimits: { quote: 9/1s/1 } }',
      'gasless.rateLimits.quote: this is no rate limit',
    ],
    [
      'gasless: { rateLimits: { quote: { limit: 1 } } }',
      'gasless.rateLimits.quote.window: this key is missing',
    ],
    ['gasless: { logoURI: icon.svg }', 'gasless.logoURI: this is not well formed'],
    ['aggregator: { chainId: 5 }', 'aggregator.chainId: the service is on no such chain'],
    ['aggregator: { blobCost: -1 }', 'aggregator.blobCost: this is no plain amount of ether'],
    [
      'aggregator: { traffic: { participants: 0 } }',
      'aggregator.traffic.participants: this number is out of range',
    ],
    ['ports: { rpc: 65536 }', 'ports.rpc: this number is out of range'],
    ['ports: { rpc: 81, admin: 81 }', 'ports.admin: ports.rpc has this port already'],
    [
      'gasless: { wire: { onlyOwn: preferOwn } }',
      'gasless.wire.onlyOwn: this word is that of preferOwn already',
    ],
    [
      'gasless: { wire: { preferOwn: auto } }',
      'gasless.wire.preferOwn: this word means that the service chooses',
    ],
    ['gasless:', 'gasless: this value is empty'],
    ['seed: [1', 'this is not YAML'],
  ])('with `%s` is told', (text, told) => {
    expect(problemsOf(text).map(brief).join('\n')).toContain(told)
  })

  test('with a settings file that is not there says what was expected', () => {
    const missing = loadSandboxOptions({ file: '/nowhere/at-all.yaml', typed: [] })
    expect(missing.ok ? [] : missing.problems.map(plain)).toEqual([
      '/nowhere/at-all.yaml there is no such file\n' +
        '  expected: the path of a settings file; docs/sandbox.md has its keys',
    ])
  })

  test('any number of free ports is no problem', () => {
    expect(problemsOf('ports: { rpc: 0, gasless: 0, admin: 0 }')).toEqual([])
  })
})

describe('faults', () => {
  test('come from a file that starts at the directory of the settings, or where the flag was typed', () => {
    const rules = [{ kind: 'neverFill' }]
    const beside = { '/etc/sandbox/faults.json': JSON.stringify({ rules }) }
    expect(optionsOf('faults: faults.json\n', [], beside).faults).toEqual({ rules })
    const here = { [resolve('other.yaml')]: 'rules: []\n' }
    expect(optionsOf('faults: faults.json\n', ['--faults other.yaml'], here).faults).toEqual({
      rules: [],
    })
  })

  test('that are wrong are told by place, in the settings as in a file of their own', () => {
    const rules = `rules:
  - { kind: slow, delayMs: soon, rout: quote }
  - { kind: rateLimt }
  - { kind: errorAfter, route: ordres, probability: 2 }
  - { route: quote }
  - often
`
    const told = [
      'rules[0].delayMs: this is a single value (a number)',
      'rules[0].rout: unknown key (route)',
      'rules[1].kind: there is no such fault (rateLimit)',
      'rules[2].route: this word is not known here (orders)',
      'rules[2].probability: this number is out of range (a number of at most 1)',
      'rules[3].kind: this rule says no kind',
      'rules[4]: this is no rule',
    ]
    const texts = (problems: ReturnType<typeof problemsOf>) =>
      problems.map(
        ({ path, message, suggestion, expected }) =>
          `${path}: ${message} (${suggestion ?? expected})`,
      )
    const own = problemsOf('faults: own.yaml\n', [], { '/etc/sandbox/own.yaml': rules })
    expect(own.map(({ file }) => file)).toEqual(told.map(() => '/etc/sandbox/own.yaml'))
    const inside = problemsOf(`faults:\n${rules.replace(/^/gm, '  ')}`)
    expect(inside.map(({ line }) => line)).toEqual([3, 3, 4, 5, 5, 6, 7])
    for (const [index, text] of told.entries()) {
      expect(texts(own)[index]).toContain(text.replace(/ \(.*/, ''))
      expect(texts(own)[index]).toContain(/\((.*)\)/.exec(text)?.[1] ?? '')
      expect(texts(inside)[index]).toBe(`faults.${texts(own)[index]}`)
    }
    expect(problemsOf('faults: { seed: -1, rule: [] }').map(brief)).toEqual([
      '1:17 faults.seed: this number is out of range',
      '1:21 faults.rule: unknown key',
    ])
  })

  test('in a file that is not there name it', () => {
    expect(problemsOf('{}', ['--faults none.yaml']).map(plain)).toEqual([
      `${resolve('none.yaml')} there is no such file\n` +
        '  expected: the path of a faults file; docs/sandbox.md has its rules',
    ])
  })
})
