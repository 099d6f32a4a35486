export type RefusalKind =
  /** Ask for fewer blocks. */
  | 'range'
  /** Ask for fewer blocks: one answer would be too long. Other ranges may still work. */
  | 'results'
  /** Send fewer requests per batch. */
  | 'batch'
  /** Wait. */
  | 'pace'
  | 'limit'
  /** Use another node, key or plan; a smaller request does not help. */
  | 'missing'
  | 'other'

/** "Limit exceeded" of EIP-1474, and the gateways' code for the same. */
export const LIMIT_CODES: readonly number[] = [-32005, 429]
/** Revert codes of geth and its forks, and of Nethermind. */
export const REVERT_CODES: readonly number[] = [3, -32015]
const METHOD_NOT_FOUND = -32601

/**
 * Providers share no codes, only this wording. The first match wins: a free plan's "not supported" refers to the range or
 * the batch that it names. Tested with the messages in test/support/chain/node-refusals.ts.
 */
const WORDINGS: readonly (readonly [RefusalKind, RegExp])[] = [
  // A contract controls its revert text. A range of blocks that do not exist yet is not too wide.
  ['other', /revert|vm exception|beyond .*(?:head|latest)|future block/i],
  ['batch', /\bbatch(?:es|ed)?\b|unmarshal array|array requests?/i],
  [
    'pace',
    /\brate\b|too many requests?\b|requests? (?:limit|count|per )|per second|\/sec(?:ond)?\b|compute units|throttl|slow down|quota|\bcredits\b|capacity|\brps\b|too much load|overloaded|try again later/i,
  ],
  [
    'results',
    /\b(?:results|logs|events)\b.{0,40}(?:limit|exceed)|(?:more than|too many|max\w*|exceed\w*).{0,30}\b(?:results|logs|events)\b|response.{0,20}(?:too (?:large|big|long)|exceed|larger|greater)|tim(?:e|ed)[ -]?out/i,
  ],
  [
    'range',
    /\branges?\b|too many blocks|number of requested blocks|\d[km]? blocks\b|blocks distance/i,
  ],
  [
    'missing',
    /method.{0,60}(?:not found|does not exist|disabled)|unsupported method|not (?:available|supported|included|allowed|enabled|whitelisted)|is disabled|authenticat|unauthori[sz]ed|forbidden|api[ -]?key|token/i,
  ],
]

export function refusalKind({
  code,
  message,
}: {
  readonly code: number
  readonly message: string
}): RefusalKind {
  if (REVERT_CODES.includes(code)) return 'other'
  const kind = WORDINGS.find(([, words]) => words.test(message))?.[0]
  if (code === METHOD_NOT_FOUND && kind !== 'batch') return 'missing'
  if (kind !== undefined || !LIMIT_CODES.includes(code)) return kind ?? 'other'
  return code === 429 ? 'pace' : 'limit'
}

const RANGES = [/\[(0x[0-9a-f]{1,14}), ?(0x[0-9a-f]{1,14})\]/i, /range (\d{1,15})-(\d{1,15})\b/i]
const MOST =
  /(?:up to|limited to|limit(?: is| of)?|at most|over|greater than|max(?:imum)?)[^\d.,;]{0,24}?([1-9][\d,.]*)(k?)\b/i

/**
 * The block range that a refusal of eth_getLogs suggests. Untrusted, so the caller must bound it. In a `results` refusal
 * only an explicit range counts, because other numbers there count results.
 */
export function hintedBlocks(kind: RefusalKind, message: string): number | undefined {
  const [, digits, thousands] = (kind === 'range' ? MOST.exec(message) : null) ?? []
  if (digits !== undefined)
    return Number(digits.replace(/[,.]/g, '')) * (thousands === '' ? 1 : 1_000)
  const [, from, to] =
    RANGES.map((each) => each.exec(message)).find((found) => found !== null) ?? []
  return from === undefined ? undefined : Number(to) - Number(from) + 1
}
