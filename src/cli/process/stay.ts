import { tellError } from './explain.ts'
import { EXIT, type ExitCode, type Io } from './io.ts'

/** Ends after which another start comes to the same: somebody has to look into it first. */
const FOR_PEOPLE: readonly ExitCode[] = [EXIT.stateInUse, EXIT.badConfig]
/** Nothing but a timer keeps a process that waits for a signal. */
const WAKE_MS = 3_600_000

/**
 * For a supervisor that knows no exit codes and starts again whatever ends: gives the code of a run, but where no restart mends
 * that, not before a termination signal. Nothing is held or served meanwhile, so that every watch sees the daemon as down.
 */
export async function stay(
  run: Promise<ExitCode>,
  io: Pick<Io, 'stdout' | 'stderr' | 'onSignal'>,
  how: { readonly json: boolean; readonly wasTerminated: () => boolean },
): Promise<ExitCode> {
  const code = await run.catch((error: unknown) => tellError(error, io, how))
  if (!FOR_PEOPLE.includes(code) || how.wasTerminated()) return code
  io.stderr.write(
    `tranched: no restart mends this (exit code ${code}), so it stays as it is, trading nothing: mend it, and start it again\n`,
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
