/** Commands from Telegram. None can widen what may be signed. */
export type RemoteCommand =
  | { readonly tag: 'halt' }
  | { readonly tag: 'status' | 'help' | 'daily' | 'balance' | 'profit' }
  | { readonly tag: 'fills'; readonly count: number }
  | { readonly tag: 'why'; readonly slot: string }
  | { readonly tag: 'pause' | 'resume'; readonly strategy: string | undefined }
  /** A confirmation code, alone in its message. */
  | { readonly tag: 'code'; readonly code: string }
  | { readonly tag: 'unknown'; readonly hint: string }

/** A bot's name may follow, as when someone taps a command in a group. */
const WORD = /^\/([a-z]{1,32})(?:@\w{1,64})?$/
const CODE = /^\d{6}$/
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const SLOT = /^[a-z0-9][a-z0-9-]{0,62}:\d{1,12}(?::\d{1,3})?$/
/** Keyboards replace hyphens with these. */
const DASHES = /[\u2010-\u2015\u2212]/g

const HELP_HINT = '/help says what I understand.'

/** Ignores case and the kind of hyphen, because keyboards change both. */
export function readCommand(text: string): RemoteCommand {
  const [first = '', ...rest] = text.trim().toLowerCase().replace(DASHES, '-').split(/\s+/)
  if (CODE.test(first) && rest.length === 0) return { tag: 'code', code: first }
  const word = WORD.exec(first)?.[1]
  switch (word) {
    // A kill switch ignores extra words.
    case 'halt':
      return { tag: 'halt' }
    case 'status':
    case 'daily':
    case 'balance':
    case 'profit':
      return { tag: word }
    case 'fills':
      return fillsIn(rest)
    // Telegram sends it when someone opens the chat.
    case 'start':
    case 'help':
      return { tag: 'help' }
    case 'why':
      return slotIn(rest)
    case 'pause':
    case 'resume':
      return strategyIn(word, rest)
    default:
      return { tag: 'unknown', hint: `I do not know this. ${HELP_HINT}` }
  }
}

function slotIn([slot, ...rest]: readonly string[]): RemoteCommand {
  if (slot !== undefined && rest.length === 0 && SLOT.test(slot)) return { tag: 'why', slot }
  return { tag: 'unknown', hint: 'A slot is needed, as in /why weekly-eth:1767603600.' }
}

/** The newest fills shown without a number, and at most. */
const FILLS = 5
const FILLS_MAX = 20

function fillsIn([count = `${FILLS}`, ...rest]: readonly string[]): RemoteCommand {
  const number = /^\d{1,2}$/.test(count) ? Number.parseInt(count, 10) : 0
  if (rest.length === 0 && number >= 1 && number <= FILLS_MAX)
    return { tag: 'fills', count: number }
  return { tag: 'unknown', hint: `A number from 1 to ${FILLS_MAX}, as in /fills 10.` }
}

/** Accepts one name or none: a partly understood command could stop or start the wrong strategy. */
function strategyIn(
  tag: 'pause' | 'resume',
  [strategy, ...rest]: readonly string[],
): RemoteCommand {
  if (strategy === undefined) return { tag, strategy: undefined }
  if (rest.length === 0 && NAME.test(strategy)) return { tag, strategy }
  const hint = `One strategy at a time, as in /${tag} weekly-eth, or /${tag} alone for all of them.`
  return { tag: 'unknown', hint }
}
