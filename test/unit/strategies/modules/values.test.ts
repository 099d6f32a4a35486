import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeValue, encodeValue } from '../../../../src/strategies/custom/host/values.ts'

const cross = (value: unknown): unknown =>
  decodeValue(JSON.parse(JSON.stringify(encodeValue(value))))

const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: 'binary' }),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
    fc.integer(),
    fc.bigInt(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
})).value

test('every text, list, object and bigint is transferred exactly', () => {
  fc.assert(
    fc.property(plain, (value) => {
      const crossed = cross(value)
      expect(fc.stringify(crossed)).toBe(fc.stringify(value))
    }),
  )
})

test('a field called __proto__ stays a field', () => {
  const crossed = cross(JSON.parse('{"__proto__":{"polluted":"yes"}}')) as object
  expect(Object.keys(crossed)).toEqual(['__proto__'])
  expect(Object.getPrototypeOf(crossed)).toBe(Object.prototype)
  expect('polluted' in crossed).toBe(false)
})

test('unsupported values become symbols with their name', () => {
  expect(cross(() => 1)).toSatisfy((value) => typeof value === 'symbol')
  expect(cross(Number.NaN)).toSatisfy((value) => typeof value === 'symbol')
  expect(cross({ a: undefined, b: [undefined] })).toEqual({ a: undefined, b: [undefined] })
})

const circle: unknown[] = []
circle.push(circle)

test.each<[string, unknown]>([
  ['a circular value', circle],
  ['a long list', Array(30_000).fill(1)],
  ['an endless list', { list: new Array(2 ** 32 - 1) }],
  ['a huge number', 2n ** 100_000n],
])('%s is refused before it is encoded', (_, value) => {
  expect(() => encodeValue(value)).toThrow(/it (is too large|holds a number without end)/)
})

test.each<[string, unknown]>([
  ['an object, which is never written', { sell: 'USDC' }],
  ['an unknown tag', ['date', 1]],
  ['an empty list', []],
  ['invalid digits', ['int', '1e9']],
  ['a huge number', ['int', '9'.repeat(5_000)]],
  ['an invalid pair', ['map', 'a']],
  ['a name that is not text', ['map', [1, 2]]],
  ['depth', JSON.parse(`${'["list",'.repeat(50)}1${']'.repeat(50)}`)],
  ['length', ['list', ...Array(30_000).fill(1)]],
])('%s is refused by the decoder', (_, encoded) => {
  expect(() => decodeValue(encoded)).toThrow(/^it is /)
})
