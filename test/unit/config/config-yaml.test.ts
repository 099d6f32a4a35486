import { expect, test } from 'vitest'
import { locate, valueAt } from '../../../src/config/yaml/document.ts'
import { parseConfigText } from '../../../src/config/yaml/tree.ts'
import { brief } from './config-fixture.ts'

function treeOf(text: string) {
  const { document, faults } = parseConfigText('f.yaml', text)
  expect(faults).toEqual([])
  return document.tree
}

function faultsOf(text: string): string[] {
  const { document, faults } = parseConfigText('f.yaml', text)
  return faults.map((fault) => brief(locate(document, fault)))
}

test('scalars keep their source text, regardless of YAML types', () => {
  const text = `address: 0x4200000000000000000000000000000000000006
amount: 123456789012345678901
price: 1.10
octal: 0o17
exponent: 1e3
yes: true
quoted: "0x01"
`
  expect(treeOf(text)).toEqual({
    address: '0x4200000000000000000000000000000000000006',
    amount: '123456789012345678901',
    price: '1.10',
    octal: '0o17',
    exponent: '1e3',
    yes: 'true',
    quoted: '0x01',
  })
})

test('empty values and null are null, and quoted values are text', () => {
  expect(treeOf('a:\nb: ~\nc: null\nd: "null"\ne: ""\n')).toEqual({
    a: null,
    b: null,
    c: null,
    d: 'null',
    e: '',
  })
})

test("aliases stand for their anchor's value", () => {
  expect(treeOf('a: &x { b: 1 }\nc: *x\nd: [*x]\n')).toEqual({
    a: { b: '1' },
    c: { b: '1' },
    d: [{ b: '1' }],
  })
})

test('a duplicate key is reported at its second position', () => {
  expect(faultsOf('a: 1\nb: { c: 1, c: 2 }\na: 2\n')).toEqual([
    '2:12 b.c: this key stands here twice',
    '3:1 a: this key stands here twice',
  ])
})

test.each([
  ['an open quote', 'a: "x\nb: 1\n', '3:1 : this is not YAML: missing closing "quote'],
  [
    'an open bracket',
    'a: [1, 2\nb: 3\n',
    '2:1 : this is not YAML: flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  [
    'a tab as indentation',
    'a:\n\tb: 1\n',
    '2:1 : this is not YAML: tabs are not allowed as indentation',
  ],
  ['a colon without a space', 'a: 1\nb:2\nc: 3\n', '2:1 : there is no key with a value here'],
  ['a tag', 'a: !!int 5\n', '1:4 : tags have no meaning here'],
  ['a second document', 'a: 1\n---\nb: 2\n', '2:1 : a second document begins here'],
  ['an alias without an anchor', 'a: *nowhere\n', '1:4 a: nothing above has this anchor'],
  ['an alias inside its own anchor', 'a: &x [*x]\n', '1:8 a[0]: this alias names itself'],
  ['a list as a key', '? [a, b]\n: 1\n', '1:3 : this is not a usable key'],
  [
    'a key that would reach the prototype',
    '__proto__: { a: 1 }\n',
    '1:1 : this is not a usable key',
  ],
])('%s is rejected with its position', (_, text, expected) => {
  expect(faultsOf(text)).toContain(expected)
})

test('faults quote no token of the text', () => {
  const { faults } = parseConfigText('f.yaml', '- a\nhunter2: correct-horse\n')
  expect(faults.length).toBeGreaterThan(0)
  expect(JSON.stringify(faults)).not.toMatch(/hunter2|correct-horse/)
})

test('alias expansion is bounded', () => {
  const level = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(of).join(', ')}]`
  const text = [
    'a: &a [1]',
    ...'bcdefgh'.split('').map((name, i) => level(name, `*${'abcdefg'[i]}`)),
  ]
  expect(faultsOf(text.join('\n'))).toHaveLength(1)
  expect(faultsOf(text.join('\n'))[0]).toContain('this file holds too many values')
})

test.each(['[', '{a: ', '- ', '? '])('nesting with %j cannot exhaust the process', (opening) => {
  const faults = faultsOf(opening.repeat(200_000))
  expect(faults).toHaveLength(1)
  expect(faults[0]).toContain('this is nested too deeply')
})

test('parsing gives up early on a text full of faults', () => {
  expect(faultsOf(']'.repeat(500_000)).length).toBeLessThanOrEqual(20)
})

test('Windows line ends and a byte order mark do not shift positions', () => {
  const { document, faults } = parseConfigText('f.yaml', '\uFEFFa: 1\r\nb:\r\n  c: 1\r\n  c: 2\r\n')
  expect(faults.map((fault) => brief(locate(document, fault)))).toEqual([
    '4:3 b.c: this key stands here twice',
  ])
  expect(valueAt(document.tree, ['b', 'c'])).toBe('1')
})
