/** Longest text of an outsider that reaches a log line or the journal. */
const OUTSIDE_TEXT_MAX = 300

const URL_CREDENTIALS = /\/\/[^/\s@]*@/g
/** More hex digits than a hash has: a signature, a key with its tail, or a raw transaction. */
const LONG_HEX = /(?:0x)?[0-9a-fA-F]{65,}/g
/** Control characters, line separators and marks that reorder text: what could forge a log line. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** Text of a service made fit for logs: one line, no URL credentials, no signatures, at most `max` characters. */
export function outsideText(text: string, max = OUTSIDE_TEXT_MAX): string {
  // Cut before the patterns run, so that a hostile megabyte costs nothing; the slack keeps redaction whole.
  const plain = text
    .slice(0, max * 4)
    .replace(UNPRINTABLE, ' ')
    .replace(URL_CREDENTIALS, '//')
    .replace(LONG_HEX, '[hex]')
    .trim()
  return plain.length <= max ? plain : `${plain.slice(0, max - 3)}...`
}
