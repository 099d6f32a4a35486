import { CommanderError } from 'commander'
import { OperatorError } from '../domain/errors.ts'
import { EXIT, type ExitCode } from './io.ts'

const IS_FULL =
  ': the disk is full. Nothing was signed whose record is not on disk; make room, and start again'
const FULL: Readonly<Record<string, string>> = { ENOSPC: IS_FULL, EDQUOT: IS_FULL }

/** What the operator is to read of an error, and the exit code it means. */
export function explain(error: unknown): { readonly code: ExitCode; readonly text: string } {
  if (error instanceof CommanderError)
    return { code: error.exitCode === 0 ? EXIT.done : EXIT.usage, text: '' }
  if (error instanceof OperatorError) return { code: EXIT[error.means], text: error.message }
  if (!(error instanceof Error)) return { code: EXIT.failed, text: String(error) }
  // What the operating system says needs no stack: the path and the reason are in its text.
  if ('code' in error && 'syscall' in error)
    return { code: EXIT.failed, text: `${error.message}${FULL[String(error.code)] ?? ''}` }
  return { code: EXIT.failed, text: error.stack ?? error.message }
}
