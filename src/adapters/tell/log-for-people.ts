/** Steps on the way to what a person wants to know: a fill, or why there is none. They are in the JSON log, and at level debug. */
const STEPS: ReadonlySet<string> = new Set([
  'slot-opened',
  'order-accepted',
  'transaction',
  'strategy-scheduled',
  'intent-closed',
])

const MARKS: Readonly<Record<string, string>> = {
  warn: 'WARN  ',
  error: 'ERROR ',
  fatal: 'ERROR ',
  debug: 'debug ',
  trace: 'debug ',
}

const RESET = '\u001b[0m'
const COLOURS: Readonly<Record<string, string>> = { WARN: '\u001b[33m', ERROR: '\u001b[31m' }
const DIM = '\u001b[2m'

type Line = {
  readonly level: string
  readonly time: string
  readonly msg?: string
  readonly event?: string
  readonly strategy?: string
  readonly outcome?: string
  readonly reason?: string
  readonly status?: string
  readonly err?: { readonly message?: string }
}

/**
 * Makes lines of the JSON log into lines for a person: date, time and zone, a mark where something is wrong, one line a fill. A slot
 * that is skipped is told when its reason is another than the last time. Undefined for a line that is left out.
 */
export function createPeopleLines(options: {
  readonly colour: boolean
  /** Every step is told. */
  readonly verbose: boolean
}): (line: string) => string | undefined {
  const { colour, verbose } = options
  /** By strategy, of its last slot. */
  const skips = new Map<string, string>()
  const isNews = (line: Line): boolean => {
    const { level, event = '', strategy = '', outcome, reason = '', status } = line
    if (event === 'filled' || event === 'executed' || event === 'paper-filled')
      skips.delete(strategy)
    if (event === 'slot-closed') {
      if (outcome !== 'skipped') skips.delete(strategy)
      else if (skips.get(strategy) === reason) return verbose
      else skips.set(strategy, reason)
    }
    // Nothing has changed, and a config has a dozen.
    if (event === 'contract-code' && status === 'seen') return verbose
    return verbose || level !== 'info' || !STEPS.has(event)
  }
  return (text) => {
    const line = lineIn(text)
    if (line === undefined) return text
    if (!isNews(line)) return undefined
    const { level, time, msg = '', err } = line
    const mark = MARKS[level] ?? ''
    const why = err?.message === undefined || msg.includes(err.message) ? '' : `: ${err.message}`
    const told = `${mark}${msg}${why}`
    if (!colour) return `${timeText(time)}  ${told}\n`
    const tint = COLOURS[mark.trim()]
    return `${DIM}${timeText(time)}${RESET}  ${tint === undefined ? told : `${tint}${told}${RESET}`}\n`
  }
}

function lineIn(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line
  } catch {
    return undefined
  }
}

/** `2026-11-23 10:35:55 UTC`, or with the offset of this machine's zone. */
function timeText(iso: string): string {
  const at = new Date(iso)
  const offset = -at.getTimezoneOffset()
  const local = new Date(at.getTime() + offset * 60_000).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 19)} ${offset === 0 ? 'UTC' : offsetText(offset)}`
}

function offsetText(minutes: number): string {
  const size = Math.abs(minutes)
  const [hours, rest] = [Math.floor(size / 60), size % 60]
  const two = (number: number): string => `${number}`.padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`
}
