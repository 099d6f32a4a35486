import { CommanderError } from 'commander'
import { OperatorError } from '../domain/errors.ts'
import { withoutKeys } from '../domain/outside-text.ts'
import { flagError } from './flag-errors.ts'
import { EXIT, type ExitCode, type Io, printJson } from './io.ts'
import type { FailureData } from './json/shapes.ts'

const IS_FULL =
  ': the disk is full. Nothing was signed whose record is not on disk; make room, and start again'
const FULL: Readonly<Record<string, string>> = { ENOSPC: IS_FULL, EDQUOT: IS_FULL }

/** Tells the operator of an error, and a program that wants data; gives the exit code that it means. */
export function tellError(
  error: unknown,
  io: Pick<Io, 'stdout' | 'stderr'>,
  { json }: { readonly json: boolean },
): ExitCode {
  const { code, text: said } = explain(error)
  const text = withoutKeys(said)
  if (text !== '') io.stderr.write(`tranched: ${text}\n`)
  if (json && code !== EXIT.done) {
    // Of a mistyped line commander has told people already.
    const message = error instanceof CommanderError ? flagError(error.message).trimEnd() : text
    printJson<FailureData>(io, { ok: false, message, problems: [] })
  }
  return code
}

function explain(error: unknown): { readonly code: ExitCode; readonly text: string } {
  if (error instanceof CommanderError)
    return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, text: '' }
  if (error instanceof OperatorError) return { code: EXIT[error.means], text: error.message }
  if (!(error instanceof Error)) return { code: EXIT.failed, text: String(error) }
  // What the operating system says needs no stack: the path and the reason are in its text.
  if ('code' in error && 'syscall' in error)
    return { code: EXIT.failed, text: `${error.message}${FULL[String(error.code)] ?? ''}` }
  return { code: EXIT.failed, text: error.stack ?? error.message }
}
