import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StateCorruptError } from '../../src/domain/errors.ts'
import { printable } from '../../src/domain/text/outside-text.ts'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import { deriveJournalKey } from '../../src/signing/keys/journal-key.ts'
import { exactParse, exactStringify } from '../../src/store/file/exact-json.ts'
import {
  checkLine,
  decodeRecord,
  encodeRecords,
  GENESIS,
} from '../../src/store/file/journal-codec.ts'
import { ChainReader } from '../../src/store/file/journal-reader.ts'
import { filledSlot, scheduled } from '../support/state/journal-events.ts'

/** Texts around the escape: text that looks like a bigint, with and without backslashes. */
const trickyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.bigInt().map((value) => `${value}n`),
  fc.tuple(fc.nat(3), fc.bigInt()).map(([count, value]) => `${'\\'.repeat(count)}${value}n`),
  fc.constantFrom('n', '-n', '\\n', '1n\n', '00n', '+1n', '1N', '', '-0n'),
)
const scalar = fc.oneof(
  trickyText,
  fc.bigInt(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.boolean(),
  fc.constant(null),
)
const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '7'))
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc.array(tie('any')),
    fc.dictionary(key, tie('any'), { noNullPrototype: true }),
  ),
})).any

const message = (text: string): JournalEvent => ({
  type: 'order-ended',
  intentId: 'a:1:0',
  attempt: 1,
  status: 'failed',
  message: text,
})

describe('exact JSON', () => {
  test('round-trips any value of texts, bigints, numbers, lists and records', () => {
    fc.assert(
      fc.property(value, (before) => {
        const after = exactParse(exactStringify(before))
        // Vitest detects types by a field called `constructor`, which may occur here.
        expect(isDeepStrictEqual(after, before) || { before, after }).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test('keeps a field called `__proto__` without setting a prototype', () => {
    const text = '{"memory":{"__proto__":"12n","seen":"\\\\1n"},"__proto__":{"polluted":"1n"}}'
    const read = exactParse(text) as { memory: object; polluted?: unknown }
    expect(exactStringify(read)).toBe(text)
    expect(Object.entries(read.memory)).toEqual([
      ['__proto__', 12n],
      ['seen', '1n'],
    ])
    expect(read.polluted).toBeUndefined()
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
    expect(exactStringify(exactParse(exactStringify(read)))).toBe(text)
  })

  test.each([
    '\u001b]52;c;x\u0007',
    'a\u202eb',
    '\u009b2J',
    '\u{e0041}',
    '\u2028',
    '\ufeff',
    '🙂 €',
  ])('escapes control and invisible characters and round-trips them: %j', (text) => {
    const line = exactStringify({ memory: { [text]: text } })
    expect(printable(line)).toBe(line)
    expect(exactParse(line)).toEqual({ memory: { [text]: text } })
  })

  test('omits undefined fields', () => {
    expect(exactStringify({ a: undefined, b: { c: undefined, d: 1n } })).toBe('{"b":{"d":"1n"}}')
  })

  test.each([
    ['a map', new Map([[1, 2]])],
    ['a set', new Set([1])],
    ['a date', new Date(0)],
    ['NaN', Number.NaN],
    ['an infinity', Number.POSITIVE_INFINITY],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['undefined in a list', [undefined]],
    ['a hole', Array(1)],
    ['undefined itself', undefined],
  ])('refuses %s', (_, unfit) => {
    expect(() => exactStringify(unfit)).toThrow(TypeError)
    if (unfit !== undefined) expect(() => exactStringify({ unfit: [unfit] })).toThrow(TypeError)
  })
})

describe('journal lines', () => {
  test('round-trip every event, one line each, with any text', () => {
    fc.assert(
      fc.property(fc.array(trickyText, { minLength: 1, maxLength: 4 }), fc.nat(), (texts, atMs) => {
        const { text, head } = encodeRecords(GENESIS, texts.map(message), atMs)
        const lines = text.split('\n').slice(0, -1)
        const records = lines.map((line) => decodeRecord(Buffer.from(line)))
        expect(records.map(({ event }) => event)).toStrictEqual(texts.map(message))
        expect(records.map((record) => record.atMs)).toEqual(texts.map(() => atMs))
        expect(records.at(-1)).toMatchObject(head)
      }),
    )
  })

  test('are accepted only after their predecessor', () => {
    const first = encodeRecords(GENESIS, [scheduled('a')], 1)
    const second = encodeRecords(first.head, [scheduled('b')], 2)
    const line = Buffer.from(second.text.trimEnd())
    expect(checkLine(first.head, line)).toMatchObject({ head: second.head, more: false })
    expect(checkLine(GENESIS, line)).toMatchObject({
      fault: 'holds record 2 where record 1 should be',
    })
    expect(checkLine({ ...first.head, hash: GENESIS.hash }, line)).toMatchObject({
      fault: 'does not follow the record before it',
    })
  })

  test('are refused at encoding when longer than the bound', () => {
    const long = 'x'.repeat(4 * 1024 * 1024)
    expect(() => encodeRecords(GENESIS, [message(long)], 1)).toThrow(RangeError)
  })
})

const SEGMENT = { file: 'journal/000000000001.jsonl', firstSeq: 1 }

describe('the journal reader', () => {
  const batches = [[scheduled()], filledSlot(2_000), filledSlot(3_000).slice(0, 2)]
  let head = GENESIS
  const texts = batches.map((events) => {
    const encoded = encodeRecords(head, events, 5)
    head = encoded.head
    return encoded.text
  })
  const whole = Buffer.from(texts.join(''))
  const ends = [0, 1, 7, 9]
  const endBytes = [0, 1, 2, 3].map((n) => Buffer.byteLength(texts.slice(0, n).join('')))

  test('finds the same records for any chunk sizes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4_000 })), (sizes) => {
        const reader = new ChainReader(SEGMENT, GENESIS)
        let at = 0
        let lines = 0
        for (const size of [...sizes, whole.length]) {
          lines += reader.push(whole.subarray(at, at + size)).lines.length
          at += size
        }
        expect({ lines, head: reader.head, bytes: reader.bytes }).toEqual({
          lines: 9,
          head,
          bytes: whole.length,
        })
      }),
    )
  })

  test('stops after the last complete append when the file ends at any byte', () => {
    fc.assert(
      fc.property(fc.nat(whole.length), (length) => {
        const reader = new ChainReader(SEGMENT, GENESIS)
        reader.push(whole.subarray(0, length))
        const complete = endBytes.filter((end) => end <= length).length - 1
        expect({ seq: reader.head.seq, bytes: reader.bytes }).toEqual({
          seq: ends[complete],
          bytes: endBytes[complete],
        })
      }),
      { numRuns: 500 },
    )
  })

  test('never accepts a changed byte, or a changed MAC when the key is given', () => {
    const key = deriveJournalKey(new Uint8Array(32).fill(7))
    const signed = Buffer.from(encodeRecords(GENESIS, batches.flat(), 5, key).text)
    fc.assert(
      fc.property(fc.nat(signed.length - 2), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const altered = Buffer.from(signed)
        altered.writeUInt8(altered.readUInt8(at) ^ change, at)
        const reader = new ChainReader(SEGMENT, GENESIS, { key })
        expect(reader.push(altered).fault).toBeInstanceOf(StateCorruptError)
      }),
      { numRuns: 1_000 },
    )
  })

  test('never accepts a changed byte', () => {
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const altered = Buffer.from(whole)
        altered.writeUInt8(altered.readUInt8(at) ^ change, at)
        const reader = new ChainReader(SEGMENT, GENESIS)
        const { fault } = reader.push(altered)
        // A changed last newline looks like a truncated append and is omitted as one.
        if (at === whole.length - 1) expect(fault).toBeUndefined()
        else expect(fault).toBeInstanceOf(StateCorruptError)
        expect(reader.head.seq).toBeLessThan(9)
      }),
      { numRuns: 1_000 },
    )
  })
})
