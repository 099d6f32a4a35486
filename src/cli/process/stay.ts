import { reportError } from '../text/explain.ts'
import { EXIT, type ExitCode, type Io } from './io.ts'

/** Exit codes that a restart cannot fix. */
const FOR_PEOPLE: readonly ExitCode[] = [EXIT.stateInUse, EXIT.badConfig]
/** Only a timer keeps a process alive while it waits for a signal. */
const WAKE_MS = 3_600_000

/**
 * For supervisors that restart after every exit: delays exit codes that a restart cannot fix until a termination signal.
 * Meanwhile the process holds and serves nothing, so that probes see the daemon as down.
 */
export async function stay(
  run: Promise<ExitCode>,
  io: Pick<Io, 'stdout' | 'stderr' | 'env' | 'onSignal'>,
  how: { readonly json: boolean; readonly wasTerminated: () => boolean },
): Promise<ExitCode> {
  const code = await run.catch((error: unknown) => reportError(error, io, how))
  if (!FOR_PEOPLE.includes(code) || how.wasTerminated()) return code
  io.stderr.write(
    `tranched: a restart cannot fix this (exit code ${code}), so the process waits without trading until it is stopped: fix the cause, and start it again\n`,
  )
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => undefined, WAKE_MS)
    const off = io.onSignal(() => {
      clearInterval(timer)
      off()
      resolve()
    })
  })
  return code
}
