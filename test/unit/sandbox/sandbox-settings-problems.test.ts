import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSandboxOptions } from '../../../src/sandbox/settings/load-sandbox-settings.ts'
import { isOfFlag } from '../../../src/sandbox/settings/typed.ts'
import { brief, plain } from '../config/config-fixture.ts'
import { optionsOf, problemsOf } from './sandbox-settings-fixture.ts'

describe('a settings problem', () => {
  test('in the file names line, column, expected value and nearest name', () => {
    const problems = problemsOf('gasless:\n  quoteLifetim: 60s\n  feeBps: 0x5\n')
    expect(problems.map(brief)).toEqual([
      '2:3 gasless.quoteLifetim: unknown key',
      '3:11 gasless.feeBps: this is not a whole number',
    ])
    expect(problems.map(({ suggestion }) => suggestion)).toEqual(['quoteLifetime', undefined])
    expect(problems[1]?.expected).toBe('a whole number from 0 to 5000')
  })

  test('in a flag names the flag without a line', () => {
    const problems = problemsOf('seed: 1\n', ['--quote-lifetime 1500ms', '--rate-limit quot=1/1s'])
    expect(problems.map(plain)).toEqual([
      'flag --quote-lifetime gasless.quoteLifetime: this is not a whole number of seconds\n' +
        '  expected: a duration of whole seconds such as 30s or 10m, from 1s to 1d',
      'flag --rate-limit: nothing has this name\n' +
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
      'gasless.rateLimits.quote: this is not a rate limit',
    ],
    [
      'gasless: { rateLimits: { quote: 9/1d } }',
      'gasless.rateLimits.quote: this is not a rate limit',
    ],
    [
      'gasless: { rateLimits: { quote: 9/1s/1 } }',
      'gasless.rateLimits.quote: this is not a rate limit',
    ],
    [
      'gasless: { rateLimits: { quote: { limit: 1 } } }',
      'gasless.rateLimits.quote.window: this key is missing',
    ],
    ['gasless: { logoURI: icon.svg }', 'gasless.logoURI: this is not well formed'],
    ['aggregator: { chainId: 5 }', 'aggregator.chainId: the service is on no such chain'],
    ['aggregator: { blobCost: -1 }', 'aggregator.blobCost: this is not a plain amount of ether'],
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
  ])('for `%s` has its message', (text, message) => {
    expect(problemsOf(text).map(brief).join('\n')).toContain(message)
  })

  test('for a missing settings file names the expected path', () => {
    const missing = loadSandboxOptions({ file: '/nowhere/at-all.yaml', typed: [] })
    expect(missing.ok ? [] : missing.problems.map(plain)).toEqual([
      '/nowhere/at-all.yaml: there is no such file\n' +
        '  expected: the path of a settings file; docs/sandbox.md has its keys',
    ])
  })

  test('does not arise from several free ports', () => {
    expect(problemsOf('ports: { rpc: 0, gasless: 0, admin: 0 }')).toEqual([])
  })
})

describe('faults', () => {
  test('are read from a file relative to the settings file, or to the working directory for a flag', () => {
    const rules = [{ kind: 'neverFill' }]
    const beside = { '/etc/sandbox/faults.json': JSON.stringify({ rules }) }
    expect(optionsOf('faults: faults.json\n', [], beside).faults).toEqual({ rules })
    const here = { [resolve('other.yaml')]: 'rules: []\n' }
    expect(optionsOf('faults: faults.json\n', ['--faults other.yaml'], here).faults).toEqual({
      rules: [],
    })
  })

  test('are reported by position if invalid, both inline and in a separate file', () => {
    const rules = `rules:
  - { kind: slow, delayMs: soon, rout: quote }
  - { kind: rateLimt }
  - { kind: errorAfter, route: ordres, probability: 2 }
  - { route: quote }
  - often
`
    const expected = [
      'rules[0].delayMs: this is a single value (a number)',
      'rules[0].rout: unknown key (route)',
      'rules[1].kind: there is no such fault (rateLimit)',
      'rules[2].route: this word is not known here (orders)',
      'rules[2].probability: this number is out of range (a number of at most 1)',
      'rules[3].kind: this rule has no kind',
      'rules[4]: this is not a rule',
    ]
    const texts = (problems: ReturnType<typeof problemsOf>) =>
      problems.map(
        ({ path, message, suggestion, expected: wanted }) =>
          `${path}: ${message} (${suggestion ?? wanted})`,
      )
    const own = problemsOf('faults: own.yaml\n', [], { '/etc/sandbox/own.yaml': rules })
    expect(own.map(({ file }) => file)).toEqual(expected.map(() => '/etc/sandbox/own.yaml'))
    const inside = problemsOf(`faults:\n${rules.replace(/^/gm, '  ')}`)
    expect(inside.map(({ line }) => line)).toEqual([3, 3, 4, 5, 5, 6, 7])
    for (const [index, text] of expected.entries()) {
      expect(texts(own)[index]).toContain(text.replace(/ \(.*/, ''))
      expect(texts(own)[index]).toContain(/\((.*)\)/.exec(text)?.[1] ?? '')
      expect(texts(inside)[index]).toBe(`faults.${texts(own)[index]}`)
    }
    expect(problemsOf('faults: { seed: -1, rule: [] }').map(brief)).toEqual([
      '1:17 faults.seed: this number is out of range',
      '1:21 faults.rule: unknown key',
    ])
  })

  test('in a missing file are reported by its path', () => {
    expect(problemsOf('{}', ['--faults none.yaml']).map(plain)).toEqual([
      `${resolve('none.yaml')}: there is no such file\n` +
        '  expected: the path of a faults file; docs/sandbox.md has its rules',
    ])
  })
})
