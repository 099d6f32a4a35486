import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problemOf } from '../../config/yaml/problem.ts'
import { writeSandboxKeys } from '../../sandbox/config-files.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { SANDBOX_TEMPLATE } from '../../sandbox/template.ts'
import { withModules } from '../compose/modules.ts'
import { isInState, lockDaemon, SIDE_NAMES, STATE_NAMES } from '../compose/state.ts'
import type { ExitCode, Io } from '../io.ts'
import { loadAll, reportProblems, SANDBOX_RECORD, sandboxRecordOf } from '../load.ts'
import { openRunLog, type RunOptions, runLocked } from './operate.ts'
import { readySandboxAccount } from './sandbox-account.ts'

/** State files of the run before, kept for one run more. */
const PREVIOUS = 'previous'
const TRADER_KEY = 'trader.key'
/** Keys of the sandbox, which are written beside its state. */
const KEY_NAMES = [TRADER_KEY, 'operator.key']
/** Who tries the daemon for a minute is not to wait for a deposit as long as on a real service. */
const INDEXING_DELAY_MS = 200

/**
 * Runs the daemon with a sandbox of its own: chain, services and state begin and end together. Files are checked
 * against a template first, so that a typo is told before anything starts.
 */
export async function runOnSandbox(options: RunOptions, io: Io): Promise<ExitCode> {
  const checked = await withModules((modules) => loadAll(options, io, modules, SANDBOX_TEMPLATE))
  if (!checked.ok) return reportProblems(checked.problems, io, options)
  const { stateDir } = checked.settings
  const telling = await openRunLog(checked.settings, options, io)
  const lock = await lockDaemon(checked.settings, io, (line) => telling.log.warn(line))
  try {
    const put = await putAside(stateDir)
    if (put === 'foreign') return reportProblems([foreignState(stateDir)], io, options)
    if (put !== undefined)
      telling.log.info(
        `a new sandbox: chain and books begin again; what the last run left is in ${put}`,
      )
    const sandbox = await startSandbox({
      anvilBin: io.env['ANVIL_BIN'],
      aggregator: { indexingDelayMs: INDEXING_DELAY_MS },
    })
    try {
      const keyFile = join(stateDir, TRADER_KEY)
      const { strategiesDir } = checked.settings
      const config = sandbox.config({ stateDir, strategiesDir, keyFile })
      // First: it says that the keys beside it are a sandbox's, to a start after one that was cut short here too.
      await writeFile(sandboxRecordOf(stateDir), JSON.stringify(config), { mode: 0o600 })
      await writeSandboxKeys(sandbox, { keyFile })
      return await withModules(async (modules) => {
        const loadAgain = () => loadAll(options, io, modules, config)
        const loaded = await loadAgain()
        if (!loaded.ok) return reportProblems(loaded.problems, io, options)
        return runLocked({
          ...loaded,
          ...telling,
          options,
          io,
          lock,
          modules,
          loadAgain,
          prepare: readySandboxAccount,
          failing: sandbox.failed,
        })
      })
    } finally {
      await sandbox.stop()
    }
  } finally {
    lock.release()
  }
}

/**
 * Moves the last sandbox run's files and keys away: its chain is gone, so its state means nothing any more. Gives where they are
 * now, undefined where there were none, or `foreign` when the directory holds the state of something else.
 */
async function putAside(stateDir: string): Promise<string | undefined> {
  const names = [...STATE_NAMES, ...KEY_NAMES]
  const present = await Promise.all(names.map((name) => isInState(stateDir, name)))
  if (!(await isInState(stateDir, SANDBOX_RECORD)))
    return present.includes(true) ? 'foreign' : undefined
  const previous = join(stateDir, PREVIOUS)
  await rm(previous, { recursive: true, force: true })
  await mkdir(previous, { mode: 0o700 })
  for (const name of [...names, ...SIDE_NAMES, SANDBOX_RECORD]) {
    if (await isInState(stateDir, name)) await rename(join(stateDir, name), join(previous, name))
  }
  return previous
}

function foreignState(stateDir: string): ReturnType<typeof problemOf> {
  return problemOf({
    file: stateDir,
    path: 'stateDir',
    message: 'this directory holds state or keys that no sandbox run has made',
    expected: 'a stateDir of its own for the sandbox',
  })
}
