/** Exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2, stateInUse: 75, badConfig: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DEFAULT_CONFIG = 'config/sandbox.yaml'

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

/** One JSON document on stdout; base units as decimal text. */
export function printJson(io: Io, value: unknown): void {
  const text = JSON.stringify(
    value,
    (_, field: unknown) => {
      if (typeof field === 'bigint') return field.toString()
      return field instanceof Map ? Object.fromEntries(field) : field
    },
    2,
  )
  io.stdout.write(`${text}\n`)
}

/** What a command found out: data on stdout, or `name value` lines for a person. */
export function printReport(
  io: Io,
  options: { readonly json?: boolean | undefined },
  report: { readonly data: object; readonly lines: readonly (readonly [string, string])[] },
): void {
  if (options.json) {
    printJson(io, report.data)
    return
  }
  const width = Math.max(...report.lines.map(([name]) => name.length))
  for (const [name, value] of report.lines) io.stdout.write(`${name.padEnd(width)}  ${value}\n`)
}

/** Says how a command ended. A failure's reason is data under --json. */
export function printOutcome(
  io: Io,
  options: { readonly json?: boolean | undefined },
  outcome: { readonly ok: boolean; readonly message: string; readonly data?: object },
): ExitCode {
  const { ok, message, data = {} } = outcome
  if (options.json) printJson(io, { ok, message, ...data })
  else (ok ? io.stdout : io.stderr).write(`${message}\n`)
  return ok ? EXIT.done : EXIT.failed
}
