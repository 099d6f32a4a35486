/**
 * The one door for text from outside: services, nodes, modules, files, arguments, receivers. Text is cleaned where it enters
 * (`outsideText`, `excerpt`), and once more where it leaves (`printable`), because older journals hold it raw.
 */

/** Longest text of an outsider that reaches a log line or the journal. */
const OUTSIDE_TEXT_MAX = 300
/** Characters of a text that an excerpt looks for keys in. */
const EXCERPT_READ_MAX = 65_536
const MASK = '***'

const URL_CREDENTIALS = /\/\/[^/\s@]*@/g
/** More hex digits than a hash has: a signature, a key with its tail, or a raw transaction. */
const LONG_HEX = /(?:0x)?[0-9a-fA-F]{65,}/g

/** Most texts: nothing to clean. */
const PLAIN = /^[\n\t\x20-\x7e]*$/
/**
 * Control characters (ESC and C1 too), lone surrogates, line separators, and everything that is not seen: marks that reorder text, tags,
 * joiners, fillers, variation selectors.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu
/** The same but for line break and tab, one by one: what is aligned stays so. */
const UNPRINTABLE_IN_LINES =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** 64 hex digits are a key; a few less are one that was cut while copying. Addresses have 40. */
const HEX_KEY = '(?:0[xX])?(?<![0-9a-fA-F])[0-9a-fA-F]{56,}'
/** 32 bytes as base64. Not every word of 43 letters: a key has digits and letters of both cases. */
const BASE64_KEY =
  '(?<![\\w+/=-])(?=[\\w+/-]{0,42}[A-Z])(?=[\\w+/-]{0,42}[a-z])(?=[\\w+/-]{0,42}\\d)(?:[A-Za-z0-9+/]{43}=|[\\w-]{43})(?![\\w+/=-])'
/** The same in groups, or broken over lines. Where no letter comes early, it is numbers of a table. */
const HEX_GROUPS =
  '(?:0[xX])?(?<![0-9a-fA-F])(?=[\\d\\s:_-]{0,60}[a-fA-F])(?:[0-9a-fA-F][\\s:_-]{0,16}){55,}[0-9a-fA-F]'
/** At least the twelve words of a recovery phrase, which people also number, or write in capitals or one below the other. */
const phraseOf = (letter: string): string =>
  `\\b(?:${letter}{3,8}[\\s,]{1,16}(?:\\d{1,2}[.):]?[ \\t]*)?){11,}${letter}{3,8}\\b`
const PHRASE = `${phraseOf('[a-z]')}|${phraseOf('[A-Z]')}`
/** What may be a key, in the text of a file. */
export const KEY_SHAPED = new RegExp(`${HEX_KEY}|${HEX_GROUPS}|${BASE64_KEY}|${PHRASE}`, 'g')
/** Hashes that this program introduces by these words are hashes. */
const UNNAMED_KEY = new RegExp(
  `(?<!\\b(?:transaction|genesis|executed in|filled in) (?:0x)?)(?:${HEX_KEY}|${HEX_GROUPS}|${BASE64_KEY})`,
  'g',
)

/** Text made fit for logs and the journal: one line, no URL credentials, no signatures, at most `max` characters. */
export function outsideText(text: string, max = OUTSIDE_TEXT_MAX): string {
  // Cut before the patterns run, so that a hostile megabyte costs nothing; the slack keeps redaction whole.
  return cutTo(oneLine(text.slice(0, max * 4)).trim(), max)
}

function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, ' ').replace(URL_CREDENTIALS, '//').replace(LONG_HEX, '[hex]')
}

function cutTo(plain: string, max: number): string {
  return plain.length <= max
    ? plain
    : `${plain.slice(0, max - 3).replace(/[\ud800-\udbff]$/, '')}...`
}

/** Part of a file, or a module's words, as they are told: the same, and nothing in it that may be a key. Blanks at its ends stay. */
export function excerpt(text: string, max = OUTSIDE_TEXT_MAX): string {
  const masked = text.slice(0, EXCERPT_READ_MAX).replace(KEY_SHAPED, MASK)
  return cutTo(oneLine(masked.slice(0, max * 4)), max)
}

/** An error's own words, of any length, without anything that may be a key. Hashes that they name stay. */
export function withoutKeys(text: string): string {
  return text.replace(UNNAMED_KEY, MASK)
}

/** Text of any length that may be shown: nothing in it drives a terminal, hides or reorders. Line breaks and tabs stay. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(UNPRINTABLE_IN_LINES, ' ')
}

/** JSON text of a value, exact for programs, with everything escaped that `printable` would take out. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(UNPRINTABLE_IN_LINES, (unseen) =>
    unseen
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
