import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problemOf } from '../../config/yaml/problem.ts'
import { proposerOf } from '../../domain/order/contract.ts'
import { delegationCharged } from '../../journal/events/state/wallets.ts'
import { writeSandboxKeys } from '../../sandbox/config-files.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { SANDBOX_TEMPLATE } from '../../sandbox/template.ts'
import { changeDelegation } from '../../venues/wallet/delegate.ts'
import { makeDeposit, waitForIndexing } from '../../venues/wallet/deposit.ts'
import { withModules } from '../compose/modules.ts'
import { isInState, lockDaemon, SIDE_NAMES, STATE_NAMES } from '../compose/state.ts'
import { loadAll, SANDBOX_RECORD, sandboxRecordOf } from '../load-files.ts'
import type { ExitCode, Io } from '../process/io.ts'
import { orRefuse, refusalOf } from '../process/refusal.ts'
import { openRunLog, runLocked } from './run-daemon.ts'
import type { Readying, RunOptions } from './trade.ts'

const PREVIOUS = 'previous'
const TRADER_KEY = 'trader.key'
/** Key files that the sandbox writes beside its state. */
const KEY_NAMES = [TRADER_KEY, 'operator.key']
/** Shorter than on a real service, because a trial run should not wait for a deposit. */
const INDEXING_DELAY_MS = 200

/** The sandbox's deposit in wei: enough for a day of calls, and small enough to be topped up. */
const DEPOSIT_WEI = 5n * 10n ** 16n

/**
 * Runs the daemon with its own sandbox: chain, services and state start and end together. Checks files against a template
 * first, so that a typo is reported before anything starts.
 */
export async function runOnSandbox(options: RunOptions, io: Io): Promise<ExitCode> {
  const checked = orRefuse(
    await withModules((modules) => loadAll(options, io, modules, SANDBOX_TEMPLATE)),
  )
  const { stateDir } = checked.settings
  const observing = await openRunLog(checked.settings, options, io)
  const lock = await lockDaemon(checked.settings, io, (line) => observing.log.warn(line))
  try {
    const put = await putAside(stateDir)
    if (put !== undefined)
      observing.log.info(
        `a new sandbox: chain and journal start again; the files of the last run are in ${put}`,
      )
    const sandbox = await startSandbox({
      anvilBin: io.env['ANVIL_BIN'],
      aggregator: { indexingDelay: INDEXING_DELAY_MS },
    })
    try {
      const keyFile = join(stateDir, TRADER_KEY)
      const { strategiesDir } = checked.settings
      const config = sandbox.config({ stateDir, strategiesDir, keyFile })
      // Written first: it marks the keys beside it as a sandbox's, even if this start is interrupted.
      await writeFile(sandboxRecordOf(stateDir), JSON.stringify(config), { mode: 0o600 })
      await writeSandboxKeys(sandbox, { keyFile })
      return await withModules(async (modules) => {
        const loadAgain = () => loadAll(options, io, modules, config)
        const run = { ...orRefuse(await loadAgain()), ...observing, options, io, lock, modules }
        const own = { prepare: readySandboxAccount, failing: sandbox.failed }
        return runLocked({ ...run, ...own, loadAgain })
      })
    } finally {
      await sandbox.stop()
    }
  } finally {
    lock.release()
  }
}

/**
 * Moves the last sandbox run's files and keys away, because their chain is gone. Returns their new folder, undefined if
 * there were none. Throws a Refusal if the directory holds other state.
 */
async function putAside(stateDir: string): Promise<string | undefined> {
  const names = [...STATE_NAMES, ...KEY_NAMES]
  const present = await Promise.all(names.map((name) => isInState(stateDir, name)))
  if (!(await isInState(stateDir, SANDBOX_RECORD))) {
    if (present.includes(true)) throw refusalOf([foreignState(stateDir)])
    return undefined
  }
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
    message: 'this directory holds state or keys that no sandbox run created',
    expected: 'a separate stateDir for the sandbox',
  })
}

/**
 * Sets up the calling account with an operator's own steps: a deposit, its indexing, and the proposer's code. Reports a
 * failure; then calls are refused, and swaps continue.
 */
async function readySandboxAccount(readying: Readying): Promise<void> {
  const { context, aggregator, report } = readying
  if (aggregator === undefined) return
  const { clock, journal } = context.ports
  const progress = { clock, journal, stop: context.stop, report }
  const made = await makeDeposit(context, aggregator, DEPOSIT_WEI)
  const indexed = made.ok ? await waitForIndexing(aggregator, made.deposit, progress) : made
  report(`the sandbox's call account: ${indexed.ok ? 'its deposit is indexed' : indexed.message}`)
  if (!indexed.ok) return
  const delegate = proposerOf(aggregator.settings)
  const { chainId, signer } = aggregator.wallet
  const { tag, message, charged } = await changeDelegation({
    ...progress,
    aggregator,
    delegate,
    route: 'service',
    record: (event) => journal.append(event),
  })
  if (charged !== undefined)
    await journal.append(delegationCharged({ chainId, account: signer.address, charged }))
  report(`the sandbox's call account: ${tag === 'failed' ? message : `delegated to ${delegate}`}`)
}
