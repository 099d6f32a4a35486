import { looseFiles } from '../../config/loose-files.ts'
import { problemOf } from '../../config/yaml/problem.ts'
import { openHaltFile } from '../../control/halt-file.ts'
import type { Address } from '../../domain/money/units.ts'
import { DEFAULT_POLICY } from '../../domain/policy.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Recorded } from '../../journal/events/registry.ts'
import { transactionStepOf } from '../../journal/events/state/transactions.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import { emptyState } from '../../journal/state/state-image.ts'
import type { Clock, Guard } from '../../ports.ts'
import type { HeldLock } from '../../store/lock/state-lock.ts'
import { createScrubber, type Scrubber } from '../../system/scrubber.ts'
import type { AggregatorContext, SendingContext } from '../../venues/context.ts'
import { type ConfigOptions, settingsForReading } from '../load-files.ts'
import type { ExitCode, Io } from '../process/io.ts'
import { orRefuse, Refusal, refusalOf } from '../process/refusal.ts'
import { haltOf } from './daemons.ts'
import { composeAggregator, filesOf, type SignedState } from './services.ts'
import { composeGuard, whileHeld, withClock } from './state.ts'
import { readKey, whileClaimed } from './wallets.ts'

/** Tools for commands that set up an account of the aggregation service. */
export type AggregatorTools = {
  readonly settings: Settings
  readonly aggregator: AggregatorContext
  readonly account: Address
  /** Bases the signing policy on this recorded state and these reasons; until then its state is empty. Returns the guard. */
  readonly signBy: (signed: SignedState, ...reasons: readonly Guard['blocked'][]) => Guard
  readonly clock: Clock
  readonly observe: (event: RuntimeEvent) => void
  readonly stop: AbortSignal
  readonly scrubber: Scrubber
  readonly report: (line: string) => void
}

/**
 * Opens the aggregator's wallet and adapters for one task. Reads no strategy files: a broken one must not stop these tasks.
 */
export async function withAggregator(
  options: ConfigOptions,
  io: Io,
  task: (tools: AggregatorTools) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { settings } = orRefuse(settingsForReading(options, io))
  if (settings.aggregator === undefined) throw refusalOf([sectionMissing(settings)])
  const scrubber = createScrubber()
  const read = await readKey(settings, settings.aggregator.wallet, { scrubber, io })
  const { key: operator } = orRefuse(read)
  let signed: SignedState = { state: emptyState(), isOnDisk: () => false }
  // Readers need no state directory; signers hold one.
  let guard: Guard = { blocked: () => haltOf(settings.stateDir) }
  const report = (line: string): void => void io.stderr.write(`${scrubber.text(line)}\n`)
  const observe = (event: RuntimeEvent): void => reportEvent(event, report)
  const stopping = new AbortController()
  const offSignal = io.onSignal((name) => stopping.abort(name))
  return withClock(async (clock) => {
    const composed = composeAggregator({
      settings,
      clock,
      observe,
      operator,
      journal: {
        get state() {
          return signed.state
        },
        isOnDisk: (name) => signed.isOnDisk(name),
      },
      guard: { blocked: () => guard.blocked() },
      files: filesOf(settings),
    })
    if (composed === undefined) throw new Error('the aggregator is not configured')
    const { context: aggregator } = composed
    const { signal: stop } = stopping
    try {
      const { address: account } = operator
      const signBy: AggregatorTools['signBy'] = (known, ...reasons) => {
        signed = known
        guard = composeGuard(openHaltFile(settings.stateDir).blocked, ...reasons)
        return guard
      }
      const tools = {
        settings,
        aggregator,
        account,
        signBy,
        clock,
        observe,
        stop,
        scrubber,
        report,
      }
      return await task(tools)
    } finally {
      offSignal()
      await composed.close()
    }
  })
}

/**
 * Holds the state directory during `task` (rule G6), because a daemon would use the same account nonces. Refuses in dry-run
 * mode, which signs nothing. Throws StateLockedError.
 */
export async function whileStopped<Result>(
  /** A given account is claimed as well. */
  tools: Pick<AggregatorTools, 'settings'> & { readonly account?: Address },
  { io, command }: { readonly io: Io; readonly command: string },
  task: (lock: HeldLock, clock: Clock) => Promise<Result>,
): Promise<Result> {
  const { settings } = tools
  const loose = settings.mode === 'live' ? looseFiles(settings, [], () => []) : []
  if (loose.length > 0) throw refusalOf(loose)
  requireSigning(settings)
  return whileHeld(settings.stateDir, { io, command }, (lock, clock) => {
    const wallets = { trader: undefined, operator: tools.account }
    return whileClaimed(settings, wallets, { io, command, lock }, () => task(lock, clock))
  })
}

/** `stop` ends every wait. */
export function sendingContext(
  ports: Omit<SendingContext['ports'], 'random'>,
  stop: AbortSignal,
): SendingContext {
  const random = { jitter: Math.random }
  return { ports: { ...ports, random }, policy: DEFAULT_POLICY, closing: stop, stop }
}

/** Throws a Refusal in dry-run mode, which sends no transaction. */
export function requireSigning({ mode }: Settings): void {
  if (mode === 'dry-run')
    throw new Refusal('a dry-run signs nothing that costs money: this needs `mode: live`')
}

/** Reports progress of transactions from their records and from events. */
export function reportStep(entry: Recorded, report: (line: string) => void): void {
  const step = transactionStepOf(entry)
  if (step?.hash !== undefined && step.status !== 'signed')
    report(`transaction ${step.hash}: ${step.status}`)
}

export function reportEvent(event: RuntimeEvent, report: (line: string) => void): void {
  if (event.type === 'transaction-sent') report(`transaction ${event.hash}: sent`)
  else if (event.type === 'chain-trouble') report(`${event.doing}: ${event.message}`)
}

function sectionMissing(settings: Settings): ReturnType<typeof problemOf> {
  return problemOf({
    file: settings.file,
    path: 'aggregator',
    message: 'this config does not use the aggregation service',
    expected: 'an `aggregator` section; config/live.example.yaml shows one',
  })
}
