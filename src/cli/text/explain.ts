import type { CommanderError } from 'commander'
import { OperatorError } from '../../domain/errors.ts'
import { withoutKeys } from '../../domain/text/outside-text.ts'
import type { FailureData } from '../json/shapes.ts'
import {
  columnsOf,
  EXIT,
  type ExitCode,
  type Io,
  printJson,
  problemsData,
  renderAll,
} from '../process/io.ts'
import { Refusal } from '../process/refusal.ts'
import { wrapped } from './table.ts'

const IS_FULL =
  ': the disk is full. Nothing was signed without a record on disk; free some space, and start again'
const FULL: Readonly<Record<string, string>> = { ENOSPC: IS_FULL, EDQUOT: IS_FULL }

/** Prints an error for a person and, under --json, for programs; returns the exit code. */
export function reportError(
  error: unknown,
  io: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  { json }: { readonly json: boolean },
): ExitCode {
  if (error instanceof Refusal) return printRefusal(error, io, json)
  const { code, text: said } = explain(error)
  const text = withoutKeys(said)
  if (text !== '') io.stderr.write(`tranched: ${text}\n`)
  if (json && code !== EXIT.done) {
    // Commander has already printed wrong command lines.
    const message = isUsageError(error) ? flagError(error.message).trimEnd() : text
    printJson<FailureData>(io, { ok: false, message, problems: [] })
  }
  return code
}

function printRefusal(
  { message, code, text, problems, data }: Refusal,
  io: Pick<Io, 'stdout' | 'stderr' | 'env'>,
  json: boolean,
): ExitCode {
  if (json) {
    const failure = { message: withoutKeys(message), ...data, problems: problemsData(problems) }
    printJson<FailureData>(io, { ok: false, ...failure })
  } else if (problems.length > 0) io.stderr.write(`${renderAll(problems, io)}\n`)
  else if (text !== '') {
    const lines = wrapped(withoutKeys(text).split('\n'), columnsOf({ stdout: io.stderr }))
    io.stderr.write(`${lines.join('\n')}\n`)
  }
  return code
}

function explain(error: unknown): { readonly code: ExitCode; readonly text: string } {
  if (isUsageError(error)) return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, text: '' }
  if (error instanceof OperatorError) return { code: EXIT[error.means], text: error.message }
  if (!(error instanceof Error)) return { code: EXIT.failed, text: String(error) }
  // An operating system error's text says everything, so it needs no stack.
  if ('code' in error && 'syscall' in error)
    return { code: EXIT.failed, text: `${error.message}${FULL[String(error.code)] ?? ''}` }
  return { code: EXIT.failed, text: error.stack ?? error.message }
}

/** Not by its class: a halt loads no parser. */
function isUsageError(error: unknown): error is CommanderError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('commander.')
}

type Parts = Readonly<Record<string, string | undefined>>

const WORDINGS: readonly { readonly said: RegExp; readonly ours: (parts: Parts) => string }[] = [
  {
    said: /^error: option '(?:-\w, )?(?<flag>--[\w-]+)[^']*' argument '[\s\S]*?' is invalid\. /,
    ours: ({ flag }) => `flag ${flag}: `,
  },
  {
    said: /^error: option '(?:-\w, )?(?<usage>(?<flag>--[\w-]+)[^']*)' argument missing/,
    ours: ({ flag, usage }) => `flag ${flag}: its value is missing\n  expected: ${usage}`,
  },
  {
    said: /^error: required option '(?:-\w, )?(?<usage>(?<flag>--[\w-]+)[^']*)' not specified/,
    ours: ({ flag, usage }) => `flag ${flag}: it is required\n  expected: ${usage}`,
  },
  {
    said: /^error: unknown option '(?<flag>[^']+)'(?:\n\(Did you mean (?:one of )?(?<near>.+)\?\))?/,
    ours: ({ flag, near }) => `flag ${flag}: unknown flag${near === undefined ? '' : meant(near)}`,
  },
]

/** Commander's error about a flag, in the form of file problems: flag, mistake, expectation. */
export function flagError(text: string): string {
  for (const { said, ours } of WORDINGS) {
    const { groups } = said.exec(text) ?? {}
    if (groups !== undefined) return text.replace(said, () => ours(groups))
  }
  return text
}

function meant(names: string): string {
  const quoted = names.split(', ').map((name) => `\`${name}\``)
  return `\n  did you mean ${quoted.join(' or ')}?`
}
