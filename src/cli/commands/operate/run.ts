import { peekMode } from '../../../config/settings/load-settings.ts'
import { type OpenedModules, withModules } from '../../compose/modules.ts'
import { lockDaemon } from '../../compose/state.ts'
import { openRunLog, runLocked } from '../../daemon/run-daemon.ts'
import type { RunOptions } from '../../daemon/trade.ts'
import { loadAll, reportProblems } from '../../load-files.ts'
import type { ExitCode, Io } from '../../process/io.ts'

/** `tranched run`: the daemon, from its files to its last drained order. */
export async function run(options: RunOptions, io: Io): Promise<ExitCode> {
  const peeked = peekMode({ file: options.config })
  if (!peeked.ok) return reportProblems(peeked.problems, io, options)
  if (peeked.mode === 'sandbox') {
    const { runOnSandbox } = await import('../../daemon/run-on-sandbox.ts')
    return runOnSandbox(options, io)
  }
  return withModules((modules) => runOn(options, io, modules))
}

async function runOn(options: RunOptions, io: Io, modules: OpenedModules): Promise<ExitCode> {
  const loaded = await loadAll(options, io, modules)
  if (!loaded.ok) return reportProblems(loaded.problems, io, options)
  const { settings } = loaded
  const observing = await openRunLog(settings, options, io)
  const lock = await lockDaemon(settings, io, (line) => observing.log.warn(line))
  try {
    return await runLocked({
      ...loaded,
      ...observing,
      options,
      io,
      lock,
      modules,
      loadAgain: () => loadAll(options, io, modules),
    })
  } finally {
    lock.release()
  }
}
