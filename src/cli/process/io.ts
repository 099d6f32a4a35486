import { printable, printableJson, withoutKeys } from '../domain/outside-text.ts'
import type { FailureData } from './json/shapes.ts'

/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2, stateInUse: 75, badConfig: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DEFAULT_CONFIG = 'config/sandbox.yaml'
export const CONFIG_VARIABLE = 'TRANCHED_CONFIG'

/** The config file of a command whose flags name none. An empty variable counts as unset. */
export function defaultConfig({ env }: Pick<Io, 'env'>): string {
  return env[CONFIG_VARIABLE] || DEFAULT_CONFIG
}

/** What a command may touch of its process. */
export type Io = {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Path that the program was started by: of its file, or of a link to it. */
  readonly startedAs: string | undefined
  /** Asks a person for a line, which comes without blanks around it; undefined where there is nobody to ask. */
  readonly ask: (question: string) => Promise<string | undefined>
  /** Asks a person for a yes or no; undefined where there is nobody to ask. */
  readonly confirm: (question: string) => Promise<boolean | undefined>
  /** Tells a supervisor that the daemon is up (pm2's wait_ready). */
  readonly signalReady: () => void
  /** Calls back with the name of each termination signal. */
  readonly onSignal: (listener: (name: string) => void) => () => void
  /** Calls back on each SIGHUP. */
  readonly onHangup: (listener: () => void) => () => void
}

/** What this program itself sends a terminal: a colour, the rest of a line taken away, a line begun anew. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OWN_SEQUENCE = /(^\r|\x1b\[(?:[0-2]|3[1-6])m|\x1b\[K)/

/**
 * A stream on which text from outside drives no terminal: older journals hold such text raw. Only a terminal is sent what this
 * program sends one.
 */
export function guarded(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  const clean = (text: string): string => {
    if (stream.isTTY !== true) return printable(text)
    const parts = text.split(OWN_SEQUENCE)
    return parts.map((part, index) => (index % 2 === 1 ? part : printable(part))).join('')
  }
  const write = (chunk: string | Uint8Array, ...rest: []): boolean =>
    stream.write(typeof chunk === 'string' ? clean(chunk) : chunk, ...rest)
  return new Proxy(stream, {
    get(target, name) {
      if (name === 'write') return write
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Writes lines to a stream. */
export function lineTo(stream: NodeJS.WriteStream): (line: string) => void {
  return (line) => void stream.write(`${line}\n`)
}

/** Whether text may be coloured: on a terminal, unless the environment has a NO_COLOR that says something. */
export function mayColour({ env }: Pick<Io, 'env'>, stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === ''
}

/** Columns of the terminal; no end of them where stdout is a file or a pipe, which nothing has to fit. */
export function columnsOf({ stdout }: Pick<Io, 'stdout'>): number {
  return stdout.isTTY === true ? (stdout.columns ?? COLUMNS) : Number.POSITIVE_INFINITY
}

const COLUMNS = 80

/** One JSON object on stdout. Of which shape, the call says: that of a schema in src/cli/json. */
export function printJson<Data = never>(
  io: { readonly stdout: { write(text: string): unknown } },
  data: NoInfer<Data>,
): void {
  io.stdout.write(`${printableJson(data, 2)}\n`)
}

type OutputOptions = { readonly json?: boolean | undefined }

/** What a command found out: data on stdout, or `name value` lines for a person. */
export function printReport<Data = never>(
  io: Io,
  options: OutputOptions,
  report: {
    readonly data: NoInfer<Data>
    readonly lines: readonly (readonly [string, string])[]
  },
): void {
  if (options.json) {
    printJson<Data>(io, report.data)
    return
  }
  const width = Math.max(...report.lines.map(([name]) => name.length))
  for (const [name, value] of report.lines) io.stdout.write(`${name.padEnd(width)}  ${value}\n`)
}

/** Says how a command ended, with what belongs to it under --json. */
export function printOutcome<Data extends Ending = never>(
  io: Io,
  options: OutputOptions,
  data: NoInfer<Data>,
): ExitCode {
  const { ok } = data
  const message = ok ? data.message : withoutKeys(data.message)
  if (options.json) printJson<Data>(io, { ...data, message })
  else (ok ? io.stdout : io.stderr).write(`${message}\n`)
  return ok ? EXIT.done : EXIT.failed
}

type Ending = { readonly ok: boolean; readonly message: string }

/** Says why a command failed, `by` which one for a person. The reason is data under --json. */
export function printFailure(
  io: Io,
  options: OutputOptions,
  failure: { readonly message: string; readonly by?: string; readonly code?: ExitCode },
): ExitCode {
  const { by, code = EXIT.failed } = failure
  const message = withoutKeys(failure.message)
  if (options.json) printJson<FailureData>(io, { ok: false, message, problems: [] })
  else io.stderr.write(`${by === undefined ? '' : `${by}: `}${message}\n`)
  return code
}

/** Ends a command to which a person did not say yes, and has been told so. */
export function printUnwanted(io: Io, options: OutputOptions): ExitCode {
  const message = 'nothing was changed: it takes a yes, or --yes'
  if (options.json) printJson<FailureData>(io, { ok: false, message, problems: [] })
  return EXIT.usage
}
