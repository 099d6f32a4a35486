import { type Logger, pino } from 'pino'
import { paperFilled } from '../journal/events/order/fills.ts'
import { intentClosed, orderAccepted } from '../journal/events/order/outcomes.ts'
import { contractCode } from '../journal/events/state/contracts.ts'
import { slotClosed, slotOpened } from '../journal/events/strategy/slots.ts'
import { strategyScheduled } from '../journal/events/strategy/strategies.ts'
import type { Scrubber } from '../system/scrubber.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LogFields = Readonly<Record<string, unknown>>

/** Scrubs every line. Fields may have any shape, including bigints, errors, maps and cycles. */
export type Log = {
  readonly [Level in LogLevel]: (message: string, fields?: LogFields) => void
} & {
  /** False if a line of that level would be dropped, so that its text need not be built. */
  enabled(level: LogLevel): boolean
}

/** `process.stdout`, or `process.stderr` if stdout carries a command's data. */
type LogDestination = {
  write(line: string): unknown
  readonly isTTY?: boolean
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * A process's log: one JSON object per line, or text for people if `format` is `pretty`, or `auto` on a terminal. Writes
 * synchronously, without worker threads: at once, or with `later` all lines of a turn together after it. The exit of the
 * process writes what is left, so that the last line before a crash is not lost.
 */
export function createLog(options: {
  /** Default: only on a terminal. */
  readonly colour?: boolean
  readonly level: string
  readonly format: 'auto' | 'json' | 'pretty'
  readonly destination: LogDestination
  readonly scrubber: Scrubber
  /** Runs a task after the current turn of the event loop; default: at once. */
  readonly later?: (task: () => void) => void
}): Log {
  const { level, destination, scrubber, later } = options
  // A closed pipe (`| head`, a dead supervisor) must not end a daemon with open orders.
  destination.on?.('error', () => {})
  const isTerminal = destination.isTTY === true
  const { colour = isTerminal } = options
  const isPretty = options.format === 'pretty' || (options.format === 'auto' && isTerminal)
  const verbose = level === 'debug' || level === 'trace'
  const lineFor = isPretty ? createPeopleLines({ colour, verbose }) : (line: string) => line
  let atMs = 0
  let lines = ''
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(atMs).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Errors are already plain, scrubbed objects: pino's rendering would only rename their fields.
      serializers: { err: (error) => error },
      depthLimit: 16,
      edgeLimit: 2_000,
    },
    {
      write(line) {
        lines += lineFor(line) ?? ''
      },
    },
  )
  const waiting: Entry[] = []
  const write = (): void => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      atMs = entry.atMs
      writeScrubbed(logger, scrubber, entry)
    }
    const text = lines
    lines = ''
    if (text !== '') destination.write(text)
  }
  // A log that is broken (a full disk, a closed pipe) stops no daemon with open orders.
  const writeLater = (): void => {
    do {
      try {
        write()
      } catch {
        // There is nowhere to report it. The entry that failed is gone, the others follow.
      }
    } while (waiting.length > 0 || lines !== '')
  }
  if (later !== undefined) beforeExit(writeLater)
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (!logger.isLevelEnabled(level)) return
    waiting.push({ level, message, fields, atMs: Date.now() })
    if (later === undefined || waiting.length >= WAITING_MAX) write()
    else if (waiting.length === 1) later(writeLater)
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    enabled: (level) => logger.isLevelEnabled(level),
  }
}

type Entry = {
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields | undefined
  readonly atMs: number
}

const WAITING_MAX = 1_000

function writeScrubbed(logger: Logger, scrubber: Scrubber, { level, message, fields }: Entry) {
  const line = scrubber.text(message).replaceAll('\n', ' ')
  if (fields === undefined) logger[level](line)
  else logger[level](scrubber.value(fields) as object, line)
}

const atExit = new Set<() => void>()

/** One listener for the logs of a process. */
function beforeExit(write: () => void): void {
  if (atExit.size === 0)
    process.once('exit', () => {
      for (const write of atExit) write()
    })
  atExit.add(write)
}

/** Steps towards a fill or a skip: in text for people only at level debug, in the JSON log always. */
const STEPS: ReadonlySet<string> = new Set([
  slotOpened.type,
  orderAccepted.type,
  'transaction',
  strategyScheduled.type,
  intentClosed.type,
])
const FILLS: ReadonlySet<string> = new Set(['filled', 'executed', paperFilled.type])

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
 * Converts JSON log lines to text for people: date, time and zone, a mark for problems, one line per fill. Shows a skip only
 * if its reason differs from the last one. Returns undefined for an omitted line.
 */
export function createPeopleLines(options: {
  readonly colour: boolean
  readonly verbose: boolean
}): (line: string) => string | undefined {
  const { colour, verbose } = options
  /** Reason of each strategy's last skip. */
  const skips = new Map<string, string>()
  const isNews = (line: Line): boolean => {
    const { level, event = '', strategy = '', outcome, reason = '', status } = line
    if (FILLS.has(event)) skips.delete(strategy)
    if (event === slotClosed.type) {
      if (outcome !== 'skipped') skips.delete(strategy)
      else if (skips.get(strategy) === reason) return verbose
      else skips.set(strategy, reason)
    }
    // Nothing changed, and a config names a dozen contracts.
    if (event === contractCode.type && status === 'seen') return verbose
    return verbose || level !== 'info' || !STEPS.has(event)
  }
  return (json) => {
    const line = lineIn(json)
    if (line === undefined) return json
    if (!isNews(line)) return undefined
    const { level, time, msg = '', err } = line
    const mark = MARKS[level] ?? ''
    const why = err?.message === undefined || msg.includes(err.message) ? '' : `: ${err.message}`
    const text = `${mark}${msg}${why}`
    if (!colour) return `${timeText(time)}  ${text}\n`
    const tint = COLOURS[mark.trim()]
    return `${DIM}${timeText(time)}${RESET}  ${tint === undefined ? text : `${tint}${text}${RESET}`}\n`
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
