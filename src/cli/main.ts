#!/usr/bin/env node
import { CommanderError } from 'commander'
import { OperatorError } from '../domain/errors.ts'
import { createAsking } from './asking.ts'
import { EXIT, type ExitCode, type Io } from './io.ts'
import { createProgram } from './program/root.ts'
import { createSignals } from './signals.ts'

const signals = createSignals(process, () => process.exit(EXIT.failed))
const io: Io = {
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  pid: process.pid,
  startedAs: process.argv[1],
  ...createAsking(process),
  signalReady: () => process.send?.('ready'),
  onHangup: signals.onHangup,
  onSignal: signals.onSignal,
}

let exitCode: ExitCode = EXIT.done

const IS_FULL =
  ': the disk is full. Nothing was signed whose record is not on disk; make room, and start again'
const FULL: Readonly<Record<string, string>> = { ENOSPC: IS_FULL, EDQUOT: IS_FULL }

/** What the operator is to read of an error, and the exit code it means. */
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

async function main(): Promise<ExitCode> {
  try {
    const program = createProgram({
      ...{ io, signals },
      does: async (outcome) => {
        exitCode = await outcome
      },
    })
    await program.parseAsync(process.argv)
    return exitCode
  } catch (error) {
    const { code, text } = explain(error)
    if (text !== '') process.stderr.write(`tranched: ${text}\n`)
    return code
  }
}

/** A pipe takes what fits and the rest later: what is on its way would be lost at the exit. Whoever reads may have gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}

const code = await main()
await Promise.all([process.stdout, process.stderr].map(flushed))
process.exit(code)
