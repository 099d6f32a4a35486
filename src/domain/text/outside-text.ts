/**
 * Sanitizes text from outside: services, nodes, modules, files, arguments, receivers. Text is cleaned where it enters
 * (`outsideText`, `excerpt`) and again where it leaves (`printable`), because older journals hold it raw.
 */

/** Maximum length of outside text in a log line or the journal. */
const OUTSIDE_TEXT_MAX = 300
/** Characters that an excerpt scans for keys. */
const EXCERPT_READ_MAX = 65_536
const MASK = '***'

const URL_CREDENTIALS = /\/\/[^/\s@]*@/g
/** Longer than a hash: a signature, a key with more text, or a raw transaction. */
const LONG_HEX = /(?:0x)?[0-9a-fA-F]{65,}/g

/** Fast path: nothing to clean. */
const PLAIN = /^[\n\t\x20-\x7e]*$/
const LINE = /^[\x20-\x7e]*$/
/**
 * Control characters (ESC, C1), lone surrogates, line separators, and invisible or reordering characters. A function, because
 * V8 needs half a millisecond to read the classes, and most text is plain.
 */
const UNPRINTABLE = (): RegExp =>
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu
/** The same except line break and tab, matched singly to keep alignment. */
const UNPRINTABLE_IN_LINES = (): RegExp =>
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** 64 hex digits are a key; slightly fewer are a truncated one. Addresses have 40. */
const HEX_KEY = '(?:0[xX])?(?<![0-9a-fA-F])[0-9a-fA-F]{56,}'
/** 32 bytes as base64. Requires digits and letters of both cases, so long words do not match. */
const BASE64_KEY =
  '(?<![\\w+/=-])(?=[\\w+/-]{0,42}[A-Z])(?=[\\w+/-]{0,42}[a-z])(?=[\\w+/-]{0,42}\\d)(?:[A-Za-z0-9+/]{43}=|[\\w-]{43})(?![\\w+/=-])'
/** The same in groups or across lines. Without an early letter it is a table of numbers. */
const HEX_GROUPS =
  '(?:0[xX])?(?<![0-9a-fA-F])(?=[\\d\\s:_-]{0,60}[a-fA-F])(?:[0-9a-fA-F][\\s:_-]{0,16}){55,}[0-9a-fA-F]'
/** At least twelve words of a recovery phrase, possibly numbered, in capitals or one per line. */
const phraseOf = (letter: string): string =>
  `\\b(?:${letter}{3,8}[\\s,]{1,16}(?:\\d{1,2}[.):]?[ \\t]*)?){11,}${letter}{3,8}\\b`
const PHRASE = `${phraseOf('[a-z]')}|${phraseOf('[A-Z]')}`
export const KEY_SHAPED = new RegExp(`${HEX_KEY}|${HEX_GROUPS}|${BASE64_KEY}|${PHRASE}`, 'g')
/** Hashes that this program introduces by these words are kept. */
const UNNAMED_KEY = new RegExp(
  `(?<!\\b(?:transaction|genesis|executed in|filled in) (?:0x)?)(?:${HEX_KEY}|${HEX_GROUPS}|${BASE64_KEY})`,
  'g',
)

/** Text made safe for logs and the journal: one line, no URL credentials, no signatures, at most `max` characters. */
export function outsideText(text: string, max = OUTSIDE_TEXT_MAX): string {
  // Cut before the patterns run, so that a hostile megabyte costs nothing; the slack keeps redaction intact.
  return cutTo(oneLine(text.slice(0, max * 4)).trim(), max)
}

function oneLine(text: string): string {
  const line = LINE.test(text) ? text : text.replace(UNPRINTABLE(), ' ')
  return line.replace(URL_CREDENTIALS, '//').replace(LONG_HEX, '[hex]')
}

/** At most `max` UTF-16 units, without half a surrogate pair before the dots. */
export function cutTo(plain: string, max: number): string {
  return plain.length <= max
    ? plain
    : `${plain.slice(0, max - 3).replace(/[\ud800-\udbff]$/, '')}...`
}

/** Like `outsideText`, but also removes possible keys and keeps blanks at the ends. */
export function excerpt(text: string, max = OUTSIDE_TEXT_MAX): string {
  const masked = text.slice(0, EXCERPT_READ_MAX).replace(KEY_SHAPED, MASK)
  return cutTo(oneLine(masked.slice(0, max * 4)), max)
}

/** An error's text of any length without possible keys. Hashes that it names stay. */
export function withoutKeys(text: string): string {
  return text.replace(UNNAMED_KEY, MASK)
}

/** Text of any length without characters that control a terminal, hide or reorder. Keeps line breaks and tabs. */
export function printable(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(UNPRINTABLE_IN_LINES(), ' ')
}

/** Exact JSON, with everything escaped that `printable` would remove. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(UNPRINTABLE_IN_LINES(), (unseen) =>
    unseen
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
