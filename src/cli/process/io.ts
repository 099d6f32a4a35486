import { printable, printableJson, withoutKeys } from '../../domain/text/outside-text.ts'
import type { FailureData } from '../json/shapes.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, stateInUse: 75, badConfig: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DEFAULT_CONFIG = 'config/sandbox.yaml'
export const CONFIG_VARIABLE = 'TRANCHED_CONFIG'

/** An empty variable counts as unset. */
export function defaultConfig({ env }: Pick<Io, 'env'>): string {
  return env[CONFIG_VARIABLE] || DEFAULT_CONFIG
}

/** What a command may use of its process. */
export type Io = {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Path of the program's file, or of a link to it. */
  readonly startedAs: string | undefined
  /** Asks for a line, trimmed; undefined if there is no person to ask. */
  readonly ask: (question: string) => Promise<string | undefined>
  /** Undefined if there is no person to ask. */
  readonly confirm: (question: string) => Promise<boolean | undefined>
  readonly signalReady: () => void
  readonly onSignal: (listener: (name: string) => void) => () => void
  readonly onHangup: (listener: () => void) => () => void
}

/** Sequences of this program: colours, clearing a line, starting it anew. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OWN_SEQUENCE = /(^\r|\x1b\[(?:[0-2]|3[1-6])m|\x1b\[K)/

/** Strips terminal sequences from text of others, which older journals hold raw. Own sequences reach only a terminal. */
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

export function lineTo(stream: NodeJS.WriteStream): (line: string) => void {
  return (line) => void stream.write(`${line}\n`)
}

/** On a terminal, unless NO_COLOR is set. */
export function mayColour({ env }: Pick<Io, 'env'>, stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === ''
}

/** Infinite if stdout is no terminal. */
export function columnsOf({ stdout }: Pick<Io, 'stdout'>): number {
  return stdout.isTTY === true ? (stdout.columns ?? COLUMNS) : Number.POSITIVE_INFINITY
}

const COLUMNS = 80

/** One JSON object on stdout. `Data` names its schema in src/cli/json. */
export function printJson<Data = never>(
  io: { readonly stdout: { write(text: string): unknown } },
  data: NoInfer<Data>,
): void {
  io.stdout.write(`${printableJson(data, 2)}\n`)
}

type OutputOptions = { readonly json?: boolean | undefined }

/** Data on stdout under --json, or `lines` for a person. Returns the exit code. */
export function print<Data extends { readonly ok: boolean } = never>(
  io: Io,
  options: OutputOptions,
  data: NoInfer<Data>,
  lines: (data: Data) => readonly string[],
): ExitCode {
  if (options.json) printJson<Data>(io, data)
  else for (const line of lines(data)) io.stdout.write(`${line}\n`)
  return data.ok ? EXIT.done : EXIT.failed
}

/** The message of a command that ended, with its data under --json. */
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

/** The reason of a failure, `by` the command for a person. */
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

/** Asks unless `--yes` was given; without a person the answer is no. */
export async function isWanted(
  question: string,
  { options, io }: { readonly options: { readonly yes?: boolean }; readonly io: Io },
): Promise<boolean> {
  if (options.yes === true) return true
  const answer = await io.confirm(question)
  if (answer === undefined)
    io.stderr.write('there is no terminal to ask on: repeat the command with --yes\n')
  else if (!answer) io.stderr.write('nothing was changed\n')
  return answer === true
}

/** Ends a command that was not confirmed; `isWanted` has said so. */
export function printUnwanted(io: Io, options: OutputOptions): ExitCode {
  const message = 'nothing was changed: answer yes, or give --yes'
  if (options.json) printJson<FailureData>(io, { ok: false, message, problems: [] })
  return EXIT.usage
}
