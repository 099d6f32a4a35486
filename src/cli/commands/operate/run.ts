import { peekMode } from '../../../config/settings/load-settings.ts'
import { type OpenedModules, withModules } from '../../compose/modules.ts'
import { lockDaemon } from '../../compose/state.ts'
import { openRunLog, runLocked } from '../../daemon/run-daemon.ts'
import type { RunOptions } from '../../daemon/trade.ts'
import { loadAll } from '../../load-files.ts'
import type { ExitCode, Io } from '../../process/io.ts'
import { orRefuse } from '../../process/refusal.ts'

/** `tranched run`: runs the daemon, from reading its files to draining its last order. */
export async function run(options: RunOptions, io: Io): Promise<ExitCode> {
  const { mode } = orRefuse(peekMode({ file: options.config }))
  if (mode === 'sandbox') {
    const { runOnSandbox } = await import('../../daemon/run-on-sandbox.ts')
    return runOnSandbox(options, io)
  }
  return withModules((modules) => runOn(options, io, modules))
}

async function runOn(options: RunOptions, io: Io, modules: OpenedModules): Promise<ExitCode> {
  const loadAgain = () => loadAll(options, io, modules)
  const loaded = orRefuse(await loadAgain())
  const { settings } = loaded
  const observing = await openRunLog(settings, options, io)
  const lock = await lockDaemon(settings, io, (line) => observing.log.warn(line))
  try {
    return await runLocked({ ...loaded, ...observing, options, io, lock, modules, loadAgain })
  } finally {
    lock.release()
  }
}
