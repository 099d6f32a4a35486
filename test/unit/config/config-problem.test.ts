import { describe, expect, test } from 'vitest'
import { maskSecrets } from '../../../src/config/yaml/mask.ts'
import {
  codeFrame,
  formatPath,
  problemOf,
  renderProblem,
  toSource,
} from '../../../src/config/yaml/problem.ts'
import { editDistance, nearest } from '../../../src/domain/text/nearest.ts'
import { printable } from '../../../src/domain/text/outside-text.ts'
import { CONFIG, problemsOf } from './config-fixture.ts'

describe('nearest', () => {
  test.each([
    ['timezome', 'timezone'],
    ['perDya', 'perDay'],
    ['slel', 'sell'],
    ['USDc', 'USDC'],
    ['by', 'buy'],
  ])('the nearest name to %s is %s', (name, meant) => {
    expect(nearest(name, ['timezone', 'perDay', 'sell', 'buy', 'USDC'])).toBe(meant)
  })

  test('a distant name has no suggestion', () => {
    expect(nearest('frequency', ['timezone', 'cron', 'missed'])).toBeUndefined()
  })

  test('edit distance counts insertions, deletions and substitutions', () => {
    expect(editDistance('kitten', 'sitting')).toBe(3)
    expect(editDistance('', 'abc')).toBe(3)
    expect(editDistance('abc', '')).toBe(3)
  })
})

describe('code frames', () => {
  test('line numbers of different widths stay aligned', () => {
    const text = `${'\n'.repeat(8)}before: 1\nhere: 2\n`
    const start = text.indexOf('2')
    expect(codeFrame(toSource('f', text), [start, start + 1])).toBe(
      [' 9 | before: 1', '10 | here: 2', '   |       ^'].join('\n'),
    )
  })

  test('tabs before the caret are kept', () => {
    expect(codeFrame(toSource('f', '\tab'), [1, 3])).toBe('1 | \tab\n  | \t^^')
  })

  test('a range over several lines is marked on its first line', () => {
    expect(codeFrame(toSource('f', 'a: [1,\n  2]\n'), [3, 11])).toBe('1 | a: [1,\n  |    ^^^')
  })

  test('a very long line is cut', () => {
    const frame = codeFrame(toSource('f', `a: ${'x '.repeat(5_000)}`), [3, 9_000])
    expect(Math.max(...frame.split('\n').map((row) => row.length))).toBeLessThan(180)
  })
})

describe('masking', () => {
  const key = 'ab'.repeat(32)

  test.each([
    ['hex of a key', `x: 0x${key}`, key],
    ['a key with missing digits', `x: ${key.slice(4)}`, key.slice(4)],
    ['a password', 'password: correct horse', 'horse'],
    ['a quoted mnemonic in a flow map', '{ mnemonic: "legal winner", a: 1 }', 'winner'],
    ['a mnemonic over several lines', 'mnemonic: |\n  legal\n  winner\nb: 1', 'winner'],
    ['credentials of an address', 'url: https://user:hunter2@rpc.example', 'hunter2'],
    [
      'a key in the path of an address',
      'url: https://rpc.example/v2/abcdefghij0123456789',
      'abcdefghij',
    ],
    ['a key in the query of an address', 'url: https://rpc.example/?key=abc', '=abc'],
  ])('%s is masked in place', (_, text, secret) => {
    const masked = maskSecrets(text)
    expect(masked).not.toContain(secret)
    expect(masked).toHaveLength(text.length)
  })

  test.each([
    'address: 0x4200000000000000000000000000000000000006',
    'passwordFile: ./keys/trader.pass',
    'privateKeyEnv: TRANCHED_OPERATOR_KEY',
    `url: https://rpc.example/v2/\${MY_VERY_LONG_VARIABLE_NAME}?key=\${OTHER}`,
  ])('%s is unchanged', (text) => {
    expect(maskSecrets(text)).toBe(text)
  })
})

describe('rendering', () => {
  const problem = problemOf({ file: 'x.yaml', path: 'a.b', message: 'is wrong', expected: 'right' })

  test('a problem without a position names only its file', () => {
    expect(renderProblem(problem, { color: false })).toBe('x.yaml a.b: is wrong\n  expected: right')
  })

  test('colour adds escapes and changes no text', () => {
    const painted = renderProblem({ ...problem, suggestion: 'c' }, { color: true })
    expect(painted).toContain('\u001b[31m')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test removes the escapes.
    expect(painted.replace(/\u001b\[\d+m/g, '')).toBe(
      renderProblem({ ...problem, suggestion: 'c' }, { color: false }),
    )
  })

  test('list indexes are shown in brackets', () => {
    expect(formatPath(['chains', 'base', 'rpcUrls', 0])).toBe('chains.base.rpcUrls[0]')
  })
})

test('text of a file cannot control the terminal through a problem', () => {
  const line = 'colour\u001b[2J\u202e: "\u009b31m"'
  for (const problem of problemsOf(`${CONFIG}${line}\n`)) {
    const rendered = renderProblem(problem, { color: false })
    expect(printable(rendered)).toBe(rendered)
  }
})
