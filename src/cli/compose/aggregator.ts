import type { HeldLock } from '../../adapters/state/state-lock.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import { looseFiles } from '../../config/loose-files.ts'
import { problemOf } from '../../config/yaml/problem.ts'
import { emptyState } from '../../domain/book/fields.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Address } from '../../domain/units.ts'
import type { AggregatorContext } from '../../execute/context.ts'
import type { Clock, Guard } from '../../ports.ts'
import { type ExitCode, type Io, printFailure } from '../io.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../load.ts'
import { withClock } from './clock.ts'
import { composeGuard } from './guard.ts'
import { type Books, composeAggregator, filesOf } from './services.ts'
import { haltOf, openHalt, whileHeld } from './state.ts'
import { openScrubber } from './telling.ts'
import { whileClaimed } from './wallet-claims.ts'
import { readKey } from './wallets.ts'

/** What the commands that set up an account of the aggregation service work with. */
export type AggregatorTools = {
  readonly settings: Settings
  readonly aggregator: AggregatorContext
  /** The aggregator's wallet. */
  readonly account: Address
  /** What signatures are judged by from now on, and what bars them beside it: nothing is on record before. */
  readonly signBy: (books: Books | undefined, ...reasons: readonly Guard['barred'][]) => void
  readonly clock: Clock
  readonly observe: (event: Observation) => void
  /** Aborted by the first termination signal. */
  readonly stop: AbortSignal
  readonly scrubber: Scrubber
  /** One line of progress for a person, beside the data on stdout. */
  readonly tell: (line: string) => void
}

/**
 * Opens the aggregator's wallet and adapters for one task, and closes them after it. Strategy files are not read: none of
 * these tasks may fail for one that is broken.
 */
export async function withAggregator(
  options: ConfigOptions,
  io: Io,
  task: (tools: AggregatorTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  if (settings.aggregator === undefined)
    return reportProblems([sectionMissing(settings)], io, options)
  const scrubber = openScrubber()
  const wallet = await readKey(settings, settings.aggregator.wallet, { scrubber, io })
  if (!wallet.ok) return reportProblems([wallet.problem], io, options)
  const { key: operator } = wallet
  let books: Books = { state: emptyState(), isOnDisk: () => false }
  // Who only looks needs no state directory; whoever signs holds one.
  let guard: Guard = { barred: () => haltOf(settings.stateDir) }
  const tell = (line: string): void => void io.stderr.write(`${scrubber.text(line)}\n`)
  const observe = (event: Observation): void => tellOf(event, tell)
  const stopping = new AbortController()
  const offSignal = io.onSignal((name) => stopping.abort(name))
  return withClock(async (clock) => {
    const composed = composeAggregator({
      ...{ settings, clock, observe, operator },
      journal: {
        get state() {
          return books.state
        },
        isOnDisk: (name) => books.isOnDisk(name),
      },
      guard: { barred: () => guard.barred() },
      files: filesOf(settings, { strategies: new Map(), versionOf: () => undefined }),
    })
    if (composed === undefined) throw new Error('the aggregator is not configured')
    const { context: aggregator } = composed
    const { signal: stop } = stopping
    try {
      const { address: account } = operator
      const signBy: AggregatorTools['signBy'] = (known, ...reasons) => {
        books = known ?? books
        guard = composeGuard(openHalt(settings.stateDir).barred, ...reasons)
      }
      const tools = { settings, aggregator, account, signBy, clock, observe, stop, scrubber, tell }
      return await task(tools)
    } finally {
      offSignal()
      await composed.close()
    }
  })
}

/**
 * Holds the state directory while `task` runs (rule G6): a daemon beside it would use the same account nonces. Throws
 * StateLockedError. Refuses in dry-run mode, which signs nothing that costs money.
 */
export async function whileStopped(
  input: {
    /** The account is claimed as well where it is what signs. */
    readonly tools: Pick<AggregatorTools, 'settings' | 'clock'> & { readonly account?: Address }
    readonly options: ConfigOptions
    readonly io: Io
    readonly command: string
  },
  task: (lock: HeldLock) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { tools, options, io, command } = input
  const { settings, clock } = tools
  const loose = settings.mode === 'live' ? looseFiles(settings, [], () => []) : []
  if (loose.length > 0) return reportProblems(loose, io, options)
  if (settings.mode === 'dry-run') return refuseDryRun(options, io)
  return whileHeld(settings.stateDir, { io, command, clock }, (lock) => {
    const wallets = { trader: undefined, operator: tools.account }
    return whileClaimed(settings, wallets, { io, command, lock }, () => task(lock))
  })
}

/** What is said to whoever asks a dry-run for a transaction. */
export function refuseDryRun(options: ConfigOptions, io: Io): ExitCode {
  const message = 'a dry-run signs nothing that costs money: this takes `mode: live`'
  return printFailure(io, options, { message })
}

/** What a person hears while a command waits for its transactions. */
export function tellOf(event: Observation, tell: (line: string) => void): void {
  if (event.type === 'transaction-sent') tell(`transaction ${event.hash}: sent`)
  else if (event.type === 'transaction' && event.hash !== undefined && event.status !== 'signed')
    tell(`transaction ${event.hash}: ${event.status}`)
  else if (event.type === 'chain-trouble') tell(`${event.doing}: ${event.message}`)
}

function sectionMissing(settings: Settings): ReturnType<typeof problemOf> {
  return problemOf({
    file: settings.file,
    path: 'aggregator',
    message: 'this config does not use the aggregation service',
    expected: 'an `aggregator` section; config/live.example.yaml shows one',
  })
}
