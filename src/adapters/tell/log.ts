import { type Logger, pino, stdTimeFunctions } from 'pino'
import { createPeopleLines } from './log-for-people.ts'
import type { Scrubber } from './scrubber.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type LogFields = Readonly<Record<string, unknown>>

/** A log of scrubbed lines. Fields of any shape are welcome: bigints, errors, maps and cycles included. */
export type Log = {
  readonly [Level in LogLevel]: (message: string, fields?: LogFields) => void
} & {
  /** False when a line of that level would be dropped, so that its text need not be made. */
  enabled(level: LogLevel): boolean
}

/** Where lines go: `process.stdout`, or `process.stderr` when stdout carries a command's data. */
export type LogDestination = {
  write(line: string): unknown
  readonly isTTY?: boolean
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * The log of a process: one JSON object a line, or text for people when `format` is `pretty`, or `auto` on a terminal.
 * Written synchronously, without worker threads, so that the last line before a crash is there.
 */
export function createLog(options: {
  /** Of text for people; by default on a terminal. */
  readonly colour?: boolean
  readonly level: string
  readonly format: 'auto' | 'json' | 'pretty'
  readonly destination: LogDestination
  readonly scrubber: Scrubber
}): Log {
  const { level, destination, scrubber } = options
  // A closed pipe (`| head`, a supervisor that died) must not end a daemon that has orders open.
  destination.on?.('error', () => {})
  const { colour = destination.isTTY === true } = options
  const stream = isPretty(options) ? peopleStream(destination, { level, colour }) : destination
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors arrive here as plain, scrubbed objects: pino's own rendering would only rename them.
      serializers: { err: (error) => error },
      depthLimit: 16,
      edgeLimit: 2_000,
    },
    { write: (line) => void stream.write(line) },
  )
  return scrubbed(logger, scrubber)
}

function isPretty(options: { format: string; destination: LogDestination }): boolean {
  if (options.format === 'auto') return options.destination.isTTY === true
  return options.format === 'pretty'
}

function peopleStream(
  destination: LogDestination,
  { level, colour }: { readonly level: string; readonly colour: boolean },
): LogDestination {
  const verbose = level === 'debug' || level === 'trace'
  const lineFor = createPeopleLines({ colour, verbose })
  return {
    write(line) {
      const text = lineFor(line)
      return text === undefined ? true : destination.write(text)
    },
  }
}

function scrubbed(logger: Logger, scrubber: Scrubber): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (!logger.isLevelEnabled(level)) return
    const line = scrubber.text(message).replaceAll('\n', ' ')
    if (fields === undefined) logger[level](line)
    // The value of an object is an object again.
    else logger[level](scrubber.value(fields) as object, line)
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    enabled: (level) => logger.isLevelEnabled(level),
  }
}
