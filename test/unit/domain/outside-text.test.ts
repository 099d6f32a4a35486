import { describe, expect, test } from 'vitest'
import {
  excerpt,
  outsideText,
  printable,
  printableJson,
  withoutKeys,
} from '../../../src/domain/text/outside-text.ts'

const KEY = 'c0ffee11'.repeat(8)
const HASH = `0x${'ab'.repeat(32)}`
const PHRASE = `${'abandon '.repeat(11)}about`

/** Characters that must not reach a terminal, a log or the journal, by name. */
const UNSEEN: readonly (readonly [what: string, text: string])[] = [
  ['an escape sequence', '\u001b'],
  ['a C1 control', '\u009b'],
  ['a bell', '\u0007'],
  ['a carriage return', '\r'],
  ['a mark that reorders', '\u202e'],
  ['an isolate', '\u2066'],
  ['an Arabic letter mark', '\u061c'],
  ['a right-to-left mark', '\u200f'],
  ['a zero-width space', '\u200b'],
  ['a byte order mark', '\ufeff'],
  ['a tag', '\u{e0041}'],
  ['a variation selector', '\u{e0101}'],
  ['a filler', '\u3164'],
  ['a line separator', '\u2028'],
  ['half of a pair', '\ud800'],
]

describe('external text', () => {
  test.each(UNSEEN)('loses %s', (_, unseen) => {
    expect(outsideText(`a${unseen}b`)).toBe('a b')
    expect(excerpt(`a${unseen}b`)).toBe('a b')
    expect(printable(`a${unseen}b`)).toBe('a b')
  })

  test('keeps letters of every script and digits', () => {
    const text = 'Größe 3 500,25 € – 東京 → ✓ 🙂'
    expect([outsideText(text), printable(text)]).toEqual([text, text])
  })

  test('keeps line breaks and tabs in multi-line mode', () => {
    expect(printable('a\tb\nc\u001bd')).toBe('a\tb\nc d')
    expect(outsideText('a\tb\nc')).toBe('a b c')
  })

  test('is bounded and never cut within a character', () => {
    expect(outsideText('x'.repeat(1_000_000))).toHaveLength(300)
    expect(outsideText(`${'x'.repeat(296)}🙂${'x'.repeat(50)}`)).toBe(`${'x'.repeat(296)}...`)
  })
})

describe('JSON for programs', () => {
  test.each(UNSEEN)('holds %s exactly, in escaped form', (_, unseen) => {
    const value = { [`k${unseen}`]: [`a${unseen}b`] }
    const text = printableJson(value, 2)
    expect(printable(text)).toBe(text)
    expect(JSON.parse(text)).toEqual(value)
  })
})

describe('the quotation in an error', () => {
  test.each([
    ['a key', KEY],
    ['a key with its prefix', `0x${KEY}`],
    ['a key in capitals', `0X${KEY.toUpperCase()}`],
    ['a key that lost some digits', KEY.slice(7)],
    ['a key in base64', Buffer.from(KEY, 'hex').toString('base64')],
    ['a key in base64url', Buffer.from(KEY, 'hex').toString('base64url')],
    ['a key in groups', KEY.replace(/.{4}(?=.)/g, '$& ')],
    ['a key as bytes', KEY.replace(/..(?=.)/g, '$&:')],
    ['a key on two lines', `${KEY.slice(0, 32)}\n  ${KEY.slice(32)}`],
    ['a recovery phrase', PHRASE],
    ['a recovery phrase in capitals', PHRASE.toUpperCase()],
    ['a recovery phrase on two lines', PHRASE.replace(/(?<=(?:\w+ ){5}\w+) /, '\n')],
    ['a recovery phrase, a word a line', PHRASE.replaceAll(' ', '\n')],
    ['a recovery phrase with numbers', PHRASE.replaceAll(' ', ' 2. ')],
  ])('is never %s', (_, secret) => {
    expect(excerpt(`2026-01-01,${secret},5`)).toBe('2026-01-01,***,5')
    expect(excerpt(`${'1,'.repeat(140)}${secret}`)).not.toContain(secret.slice(0, 10))
  })

  test.each([
    ['an address', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
    ['a path', '/home/operator/strategies/modules/moving-average-of-2-days.mjs'],
    ['a row of a table', '1732550400000 2500 2510 2490 2505 1234 1732550459999 308 1000000 999999'],
    ['addresses', `- 0x${'ab'.repeat(20)} - 0x${'cd'.repeat(20)}`],
    ['a long name', 'weekly-purchase-of-ether-on-the-second-day1'],
    [
      'a plain sentence',
      'there is no such file in the directory that the config names for all strategies',
    ],
  ])('may be %s', (_, text) => {
    expect(excerpt(text)).toBe(text)
  })
})

describe('the message of an error', () => {
  test.each([`transaction ${HASH}`, `it executed in ${HASH}`, `(genesis ${HASH})`])(
    'keeps a hash with its label: %s',
    (text) => {
      expect(withoutKeys(text)).toBe(text)
    },
  )

  test.each([
    `unknown command '0x${KEY}'`,
    `${KEY}: there is no such file`,
    `not ${HASH}`,
    `not ${KEY.replace(/.{18}(?=.)/g, '$& ')}`,
  ])('loses a possible key: %s', (text) => {
    expect(withoutKeys(text)).toContain('***')
    expect(withoutKeys(text)).not.toMatch(/[0-9a-f]{10}/)
  })
})
