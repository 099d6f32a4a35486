import type { HttpServer } from '../../adapters/control/http-server.ts'
import type { ServiceManager } from '../../adapters/control/service-manager.ts'
import type { StateAnchors } from '../../adapters/state/anchor.ts'
import type { OpenedJournal } from '../../adapters/state/journal-file.ts'
import type { HeldLock } from '../../adapters/state/state-lock.ts'
import type { Log } from '../../adapters/tell/log.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import { type Problem, problemOf } from '../../config/yaml/problem.ts'
import type { Fact } from '../../domain/book/fact.ts'
import { OperatorError, StateLockedError } from '../../domain/errors.ts'
import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { Address } from '../../domain/units.ts'
import { runDaemon } from '../../engine/daemon.ts'
import { untilAborted } from '../../engine/drain.ts'
import type { Clock, Key } from '../../ports.ts'
import { openAnchors } from '../compose/anchors.ts'
import { type Bookkeeping, openBookkeeping } from '../compose/bookkeeping.ts'
import { openClock } from '../compose/clock.ts'
import { composeGuard } from '../compose/guard.ts'
import type { OpenedModules } from '../compose/modules.ts'
import { openPage, siteOf } from '../compose/page.ts'
import { type Composed, compose } from '../compose/services.ts'
import { openHalt, openState } from '../compose/state.ts'
import { openLog, openScrubber, openTelling, type Telling } from '../compose/telling.ts'
import { claimWallets } from '../compose/wallet-claims.ts'
import { readKey } from '../compose/wallets.ts'
import { letHeapGrow } from '../heap.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../io.ts'
import type { RunData } from '../json/operate.ts'
import type { FailureData } from '../json/shapes.ts'
import { type ConfigOptions, type Loaded, logWarnings, reportProblems } from '../load.ts'
import { programName } from '../program-name.ts'
import { COMMIT, VERSION, VERSION_TEXT } from '../version.ts'
import { announce } from './announce.ts'
import { type AttendInput, attend } from './attend.ts'
import type { ReloadInput } from './reload.ts'
import { causeOf, type Ended, neverBegan } from './run-end.ts'
import type { Readying } from './sandbox-account.ts'
import { checkServiceTokens } from './service-tokens.ts'
import { createWatch } from './watch.ts'

/** Longest time that orders in flight are followed after a stop was asked for. A supervisor must wait longer. */
const DRAIN_MS = 25_000

export type RunOptions = ConfigOptions & {
  /** Stop by itself after this long, and drain. */
  readonly forMs?: number | undefined
}

/** What a run tells through, from before it holds its state. */
export type RunLog = { readonly log: Log; readonly scrubber: Scrubber }

export async function openRunLog(settings: Settings, options: RunOptions, io: Io): Promise<RunLog> {
  const scrubber = openScrubber()
  const log = await openLog(settings, { io, json: options.json === true, scrubber })
  const node = process.versions.node
  // First of all, so that it also stands before whatever ends a start.
  const fields = { event: 'starting', version: VERSION, commit: COMMIT, node }
  log.info(`${VERSION_TEXT} on Node ${node}`, fields)
  return { scrubber, log }
}

export type LockedRun = RunLog & {
  readonly options: RunOptions
  readonly io: Io
  /** Of the state directory. */
  readonly lock: HeldLock
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  /** Of the files. */
  readonly warnings: readonly Problem[]
  /** Those of the strategies, started. */
  readonly modules: OpenedModules
  /** Reads the same files again, and starts their modules beside. */
  readonly loadAgain: () => Promise<Loaded>
  /** What is to be done with the composed parts before anything is traded. */
  readonly prepare?: (readying: Readying) => Promise<void>
  /** Resolves where something has ended that the run cannot do without. */
  readonly failing?: Promise<Error>
}

/** Runs the daemon in a state directory that this process holds. */
export async function runLocked(input: LockedRun): Promise<ExitCode> {
  const { options, io, lock, settings, log, scrubber } = input
  const shutdown = new AbortController()
  const offSignal = io.onSignal((name) => shutdown.abort(name))
  logWarnings(log, input.warnings)
  input.modules.tellTo(log)
  const { aggregator, gasless } = settings
  const trader = await readKey(settings, gasless.wallet, { scrubber, io })
  if (!trader.ok) return reportProblems([trader.problem], io, options)
  const operator = aggregator && (await readKey(settings, aggregator.wallet, { scrubber, io }))
  if (operator !== undefined && !operator.ok) return reportProblems([operator.problem], io, options)
  const shared = sharedKey(settings, trader.key, operator?.key)
  if (shared !== undefined) return reportProblems([shared], io, options)
  const addresses = { trader: trader.key.address, operator: operator?.key.address }
  const claim = await claimWallets(settings, addresses, { io, lock, command: 'run' })
  const clock = openClock()
  let opened: OpenedJournal | undefined
  let telling: Telling | undefined
  let books: Bookkeeping | undefined
  let manager: ServiceManager | undefined
  let fault: Error | undefined
  let faultOfDisk: Error | undefined
  let ended: Ended = 'drained'
  const stopFor = (error: Error, cause: string): void => {
    fault ??= error
    shutdown.abort(cause)
  }
  void input.failing?.then((error) => stopFor(error, error.message))
  const unwatch = lock.watch((why) => stopFor(new StateLockedError(why), why))
  try {
    const watch = createWatch({ clock, monotonicMs: () => performance.now() })
    const page = openPage(settings, { strategies: input.strategies, clock, log, scrubber })
    const keeping = openBookkeeping(settings, {
      ...{ clock, log },
      observe: (event) => telling?.observe(event),
    })
    books = keeping
    const saw = (event: Observation, record?: RecordPlace): void => {
      watch.saw(event)
      page?.saw(event)
      keeping?.saw(event, record)
      // What comes with its record is a fact.
      if (record !== undefined) page?.told({ ...record, fact: event as Fact })
    }
    telling = await openTelling(settings, {
      ...{ log, scrubber, clock, saw },
      mayWrite: () => lock.lostLately() === undefined,
      ailments: () => watch.probes.health().reasons,
    })
    telling.registerStrategies(input.strategies)
    const anchors = await openAnchors(settings, addresses, clock)
    opened = await openState(settings.mode, {
      dir: settings.stateDir,
      lock,
      anchors,
      clock,
      key: trader.journalKey,
      archive: archiveOf(settings),
      observe: telling.observe,
      onFatal: (error) => {
        if (isOfDisk(error)) faultOfDisk = error
        stopFor(error, `the journal failed: ${error.message}`)
      },
    })
    for (const warning of opened.warnings) log.warn(warning)
    const { journal, lastSeq } = opened
    keeping?.begin(journal, lastSeq)
    page?.begin({
      state: journal.state,
      wallets: namedWallets(settings, addresses),
      ready: watch.probes.ready,
    })
    manager = telling.manage(watch.probes, io)
    shutdown.signal.addEventListener('abort', manager.stopping, { once: true })
    const server = await telling.serve(watch.probes, await siteOf(page))
    try {
      const keys = { trader: trader.key, operator: operator?.key }
      const parts = {
        ...{ anchors, clock, journal, lastSeq, telling, shutdown },
        ...{ server, watch, page, manager },
      }
      ended = await trade({ ...input, ...keys, ...parts })
    } finally {
      await server.close()
    }
    // The last records and the snapshot may find the disk full as well.
    await opened.close()
    if (fault !== undefined) throw fault
    return tellEnd(ended, input)
  } catch (error) {
    // Whatever else has failed since, this is what somebody has to mend.
    const cause = fault ?? error
    telling?.notifying.crashed({ message: messageOf(cause), wasRunning: opened !== undefined })
    if (fault !== undefined && fault === faultOfDisk)
      log.error(fault.message, { event: 'disk-failed', stateDir: settings.stateDir })
    throw cause
  } finally {
    unwatch()
    offSignal()
    manager?.close()
    books?.close()
    // What it could not close has ended the run already.
    await opened?.close().catch(() => undefined)
    await telling?.notifying.close()
    await clock.close()
    claim.release()
  }
}

/** Under --json the end of a run is all that stdout gets. */
function tellEnd(ended: Ended, { settings, log, options, io }: LockedRun): ExitCode {
  if (ended === 'drained') {
    if (options.json) printJson<RunData>(io, { ok: true, message: 'the run is over', problems: [] })
    return EXIT.done
  }
  const message = neverBegan(settings, ended.reasons)
  log.error(message, { event: 'never-began' })
  if (options.json) printJson<FailureData>(io, { ok: false, message, problems: [] })
  return EXIT.failed
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Addresses by wallet name: the one that trades first. */
function namedWallets(
  { gasless, aggregator }: Settings,
  { trader, operator }: { readonly trader: Address; readonly operator: Address | undefined },
): ReadonlyMap<string, Address> {
  const wallets = new Map([[gasless.wallet, trader]])
  if (aggregator !== undefined && operator !== undefined) wallets.set(aggregator.wallet, operator)
  return wallets
}

function archiveOf({ journal: { archive: dir, keepFiles } }: Settings) {
  return dir === undefined ? undefined : { dir, keepFiles }
}

/** A state directory or an anchor that went to another daemon is no fault of a disk. */
function isOfDisk(fault: Error): boolean {
  return !(fault instanceof OperatorError) || fault.means === 'failed'
}

/** One key for both wallets, under whatever names (rules A5, T11). */
function sharedKey(
  { aggregator, file }: Settings,
  trader: Key,
  operator: Key | undefined,
): Problem | undefined {
  if (aggregator === undefined || operator?.address !== trader.address) return undefined
  return problemOf({
    file,
    path: `wallets.${aggregator.wallet}`,
    message: `this wallet has the key of the one that trades through the gasless service (${trader.address})`,
    expected: 'a key of its own: code delegated to a wallet could empty it on Base',
  })
}

type Trading = LockedRun & {
  readonly clock: Clock
  readonly journal: OpenedJournal['journal']
  readonly lastSeq: number
  readonly telling: Telling
  readonly shutdown: AbortController
  readonly trader: Key
  readonly operator: Key | undefined
  readonly anchors: StateAnchors | undefined
  readonly server: HttpServer
  readonly watch: ReturnType<typeof createWatch>
  readonly manager: ServiceManager
  readonly page: ReturnType<typeof openPage>
}

/** What comes before anything is traded. It waits on others, and who asks for the end does not wait for them. */
async function makeReady(input: Trading, { context }: Composed): Promise<void> {
  const { settings, shutdown, telling } = input
  const { log } = telling
  if (shutdown.signal.aborted) return
  await checkServiceTokens(context.ports.gasless, settings, log)
  await input.prepare?.({
    context: { ...context, closing: shutdown.signal, stop: shutdown.signal },
    aggregator: context.aggregator,
    tell: (line) => log.info(line),
  })
}

/** From composed ports to the end of the drain. */
async function trade(input: Trading): Promise<Ended> {
  const { options, io, settings, strategies, clock, shutdown, telling } = input
  const { log, observe, registerStrategies } = telling
  const enabled = strategies.filter((strategy) => strategy.enabled)
  input.modules.retain(enabled)
  const { lock, anchors } = input
  const haltFile = openHalt(settings.stateDir)
  const guard = composeGuard(
    haltFile.barred,
    () => lock.lostLately(),
    () => anchors?.lost(),
  )
  const startedAtMs = clock.now()
  const composed = compose({ ...input, guard, haltFile, observe, strategies: enabled })
  const { account, strategies: attendedNow } = composed.context
  const seen = {
    state: input.journal.state,
    strategies: () => attendedNow.values(),
    account,
  }
  telling.notifying.tellFrom(input.journal, input.lastSeq)
  telling.notifying.attend(seen, input.journal)
  telling.watchState({
    ...seen,
    bars: {
      lock: () => lock.lostLately(),
      anchor: () => anchors?.fault,
      'halt-file': haltFile.barred,
    },
    turnedAtMs: input.watch.turnedAtMs,
  })
  let attended: Promise<{ close(): Promise<void> }> | undefined
  const timer = new AbortController()
  if (options.forMs !== undefined)
    void clock.sleep(options.forMs, timer.signal).then(() => shutdown.abort(causeOf(options.forMs)))
  try {
    await untilAborted(shutdown.signal, makeReady(input, composed))
    const hasBegun = await runDaemon({
      mode: settings.mode,
      wallet: settings.gasless.wallet,
      context: composed.context,
      tokens: [...settings.tokens.values()].filter(({ chain }) => chain === settings.gasless.chain),
      feeds: [...settings.prices.values()],
      strategies: enabled,
      drainMs: DRAIN_MS,
      shutdown: shutdown.signal,
      onTick: input.watch.ticked,
      onBound: () => anchors?.keep(input.journal),
      onReady: (agenda, control) => {
        const sight = (): ReturnType<AttendInput['sight']> => ({
          mode: settings.mode,
          startedAtMs,
          state: input.journal.state,
          haltFile: haltFile.standing(),
          strategies: [...composed.context.strategies.keys()],
          nextSlotOf: agenda.nextSlotOf,
          gasTank: input.watch.gasTank(),
        })
        const taken: ReloadInput['taken'] = (files) => input.page?.take(files)
        attended = attend({ ...input, log, observe, registerStrategies, taken, sight }, control)
        const servedAt = input.server.address
        const program = programName(io, '.')
        announce({ log, settings, strategies, agenda, servedAt, program, nowMs: clock.now() })
        letHeapGrow()
        input.watch.ready()
        io.signalReady()
        input.manager.ready()
      },
    })
    // Who asks by a signal knows that it ends early; who gave it a time is told that nothing came of it.
    const isOutOfTime =
      options.forMs !== undefined && shutdown.signal.reason === causeOf(options.forMs)
    return hasBegun || !isOutOfTime ? 'drained' : { reasons: input.watch.failing() }
  } finally {
    timer.abort()
    await (await attended)?.close()
    await composed.close()
  }
}
