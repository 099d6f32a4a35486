import { createAsking } from './asking.ts'
import { tellError } from './explain.ts'
import { EXIT, type ExitCode, guarded, type Io } from './io.ts'
import { createProgram } from './program/root.ts'
import { createSignals } from './signals.ts'

const signals = createSignals(process, () => process.exit(EXIT.failed))
const io: Io = {
  stdout: guarded(process.stdout),
  stderr: guarded(process.stderr),
  env: process.env,
  pid: process.pid,
  startedAs: process.argv[1],
  ...createAsking(process),
  signalReady: () => process.send?.('ready'),
  onHangup: signals.onHangup,
  onSignal: signals.onSignal,
}

let exitCode: ExitCode = EXIT.done

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
    return tellError(error, io, { json: process.argv.includes('--json') })
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
