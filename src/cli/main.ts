import { EXIT, type ExitCode, guarded, type Io } from './process/io.ts'
import { plainHalt } from './process/plain-halt.ts'
import { createQuestions, createSignals } from './process/terminal.ts'
import { reportError } from './text/explain.ts'

const signals = createSignals(process, () => process.exit(EXIT.failed))
const io: Io = {
  stdout: guarded(process.stdout),
  stderr: guarded(process.stderr),
  env: process.env,
  pid: process.pid,
  startedAs: process.argv[1],
  ...createQuestions(process),
  signalReady: () => process.send?.('ready'),
  onHangup: signals.onHangup,
  onSignal: signals.onSignal,
}

let exitCode: ExitCode = EXIT.done

async function main(): Promise<ExitCode> {
  try {
    const halting = plainHalt(process.argv.slice(2), io)
    if (halting !== undefined) {
      const { halt } = await import('./commands/operate/halt.ts')
      return await halt(halting, io, Date.now())
    }
    const { createProgram } = await import('./program/root.ts')
    const does = async (outcome: ExitCode | Promise<ExitCode>) => {
      exitCode = await outcome
    }
    const program = createProgram({ io, signals, does }, process.argv[2])
    await program.parseAsync(process.argv)
    return exitCode
  } catch (error) {
    return reportError(error, io, { json: process.argv.includes('--json') })
  }
}

/** Waits for pending output, which an exit would lose. The reader may be gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}

void main().then(async (code) => {
  await Promise.all([process.stdout, process.stderr].map(flushed))
  process.exit(code)
})
