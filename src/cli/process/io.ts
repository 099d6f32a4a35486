import { type Problem, renderProblem } from '../../config/yaml/problem.ts'
import { printable, printableJson, withoutKeys } from '../../domain/text/outside-text.ts'
import type { ProblemData } from '../json/shapes.ts'
import { wrapped } from '../text/table.ts'

export const EXIT = { done: 0, failed: 1, usage: 2, stateInUse: 75, badConfig: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const DEFAULT_CONFIG = 'config/sandbox.yaml'
export const CONFIG_VARIABLE = 'TRANCHED_CONFIG'

/** An empty variable counts as unset. */
export function defaultConfig({ env }: Pick<Io, 'env'>): string {
  return env[CONFIG_VARIABLE] || DEFAULT_CONFIG
}

/** True if the environment names the daemon that a command is for. */
export function isNamedBy({ env }: Pick<Io, 'env'>): boolean {
  return [CONFIG_VARIABLE, 'TRANCHED_STATE_DIR'].some((name) => (env[name] ?? '') !== '')
}

/** Process resources available to a command. */
export type Io = {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly pid: number
  /** Path of the program's file, or of a link to it. */
  readonly startedAs: string | undefined
  /** Asks for a line, trimmed; undefined without a terminal. */
  readonly ask: (question: string) => Promise<string | undefined>
  /** Undefined without a terminal. */
  readonly confirm: (question: string) => Promise<boolean | undefined>
  readonly signalReady: () => void
  readonly onSignal: (listener: (name: string) => void) => () => void
  readonly onHangup: (listener: () => void) => () => void
}

/** This program's own sequences: colours, clearing a line, returning to its start. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OWN_SEQUENCE = /(^\r|\x1b\[(?:[0-2]|3[1-6])m|\x1b\[K)/

/** Strips terminal sequences from outside text, which older journals store raw. Own sequences reach only a terminal. */
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

export function lineTo(stream: Pick<NodeJS.WriteStream, 'write'>): (line: string) => void {
  return (line) => void stream.write(`${line}\n`)
}

/** True on a terminal, unless NO_COLOR is set. */
export function mayColour({ env }: Pick<Io, 'env'>, stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && (env['NO_COLOR'] ?? '') === ''
}

/** Infinite if stdout is not a terminal. */
export function columnsOf({ stdout }: Pick<Io, 'stdout'>): number {
  return stdout.isTTY === true ? (stdout.columns ?? COLUMNS) : Number.POSITIVE_INFINITY
}

const COLUMNS = 80

export function renderAll(
  problems: readonly Problem[],
  io: Pick<Io, 'env' | 'stderr'>,
  label?: 'warning',
): string {
  const options = { color: mayColour(io, io.stderr), ...(label && { label }) }
  return problems.map((problem) => withoutKeys(renderProblem(problem, options))).join('\n\n')
}

/** Problems in the form of every command's `--json`. */
export function problemsData(problems: readonly Problem[]): readonly ProblemData[] {
  return problems.map((problem) => {
    const { suggestion = null, hint = null } = problem
    const { file, message } = problem
    return { ...problem, file: withoutKeys(file), message: withoutKeys(message), suggestion, hint }
  })
}

/** One JSON object on stdout. `Data` names its schema in src/cli/json. */
export function printJson<Data = never>(
  io: { readonly stdout: { write(text: string): unknown } },
  data: NoInfer<Data>,
): void {
  io.stdout.write(`${printableJson(data, 2)}\n`)
}

type OutputOptions = { readonly json?: boolean | undefined }

type Output = { readonly ok: boolean; readonly problems: readonly ProblemData[] }

/** A schema's data, with defaults: `ok` is true, and there are no problems. */
export type Given<Data extends Output> = Omit<Data, keyof Output> & {
  readonly ok?: Data['ok']
  readonly problems?: readonly Problem[]
}

/** Prints data under --json, or `lines` for a person, wrapped to the terminal. Returns the exit code. */
export function print<Data extends Output = never>(
  io: Pick<Io, 'stdout'>,
  options: OutputOptions,
  given: NoInfer<Given<Data>>,
  lines: (given: NoInfer<Given<Data>>) => readonly string[],
): ExitCode {
  const { ok = true, problems = [], ...data } = given
  if (options.json)
    io.stdout.write(`${printableJson({ ok, ...data, problems: problemsData(problems) }, 2)}\n`)
  else
    for (const line of wrapped(lines(given).join('\n').split('\n'), columnsOf(io)))
      io.stdout.write(`${line}\n`)
  return ok ? EXIT.done : EXIT.failed
}

/** Prints a finished command's message, with its data under --json. */
export function printOutcome<Data extends Output & { readonly message: string } = never>(
  io: Pick<Io, 'stdout' | 'stderr'>,
  options: OutputOptions,
  given: NoInfer<Given<Data>>,
): ExitCode {
  const { ok = true } = given
  const message = ok ? given.message : withoutKeys(given.message)
  if (options.json) return print<Data>(io, options, { ...given, message }, () => [])
  const stdout = ok ? io.stdout : io.stderr
  stdout.write(`${wrapped(message.split('\n'), columnsOf({ stdout })).join('\n')}\n`)
  return ok ? EXIT.done : EXIT.failed
}
