/** What a person may ask for from afar. Nothing here can widen what may be signed. */
export type RemoteCommand =
  | { readonly tag: 'halt' }
  | { readonly tag: 'status' | 'help' }
  | { readonly tag: 'why'; readonly slot: string }
  | { readonly tag: 'pause' | 'resume'; readonly strategy: string | undefined }
  /** The answer to a question, nothing else beside it. */
  | { readonly tag: 'code'; readonly code: string }
  | { readonly tag: 'unknown'; readonly hint: string }

/** With the bot's name behind it, as a tap on a command in a group writes it. */
const WORD = /^\/([a-z]{1,32})(?:@\w{1,64})?$/
const CODE = /^\d{6}$/
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const SLOT = /^[a-z0-9][a-z0-9-]{0,62}:\d{1,12}(?::\d{1,3})?$/
/** What keyboards make of a hyphen. */
const DASHES = /[\u2010-\u2015\u2212]/g

const HELP_HINT = '/help says what I understand.'

/** Reads a message. Keyboards begin with a capital letter and lengthen hyphens: neither makes a difference. */
export function readCommand(text: string): RemoteCommand {
  const [first = '', ...rest] = text.trim().toLowerCase().replace(DASHES, '-').split(/\s+/)
  if (CODE.test(first) && rest.length === 0) return { tag: 'code', code: first }
  const word = WORD.exec(first)?.[1]
  switch (word) {
    // Whatever stands behind it: a kill switch is not particular.
    case 'halt':
      return { tag: 'halt' }
    case 'status':
      return { tag: 'status' }
    // What Telegram sends when somebody opens the chat.
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

/** One name or none: half of what was meant could stop, or start, the wrong thing. */
function strategyIn(
  tag: 'pause' | 'resume',
  [strategy, ...rest]: readonly string[],
): RemoteCommand {
  if (strategy === undefined) return { tag, strategy: undefined }
  if (rest.length === 0 && NAME.test(strategy)) return { tag, strategy }
  const hint = `One strategy at a time, as in /${tag} weekly-eth, or /${tag} alone for all of them.`
  return { tag: 'unknown', hint }
}
