import { pathToFileURL } from 'node:url'
import { openWorkers } from '../../backtest/sweep/workers.ts'
import type { ConfigSettings } from '../../config/settings/build.ts'
import { problemOf } from '../../config/yaml/problem.ts'
import { createPageControl } from '../../control/http/page-control.ts'
import { createWatch } from '../../control/probes.ts'
import type { ServiceManager } from '../../control/service-manager.ts'
import { messageOf, OperatorError, StateLockedError } from '../../domain/errors.ts'
import type { Address } from '../../domain/money/units.ts'
import { hasSwaps, type Settings } from '../../domain/settings.ts'
import { Bookkeeper } from '../../engine/accounts/bookkeeper.ts'
import { valueTokenOf } from '../../engine/accounts/portfolio.ts'
import type { Recorded } from '../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Log } from '../../observe/log.ts'
import type { ReadDrift } from '../../observe/notify/digest/digest.ts'
import type { Observer } from '../../observe/observe.ts'
import type { Clock, Key } from '../../ports.ts'
import type { OpenedJournal } from '../../store/file/journal-file.ts'
import { buildIndex, removeUnfit } from '../../store/index/build-index.ts'
import { JournalIndex } from '../../store/index/journal-index.ts'
import { createClock } from '../../system/clock.ts'
import { createScrubber } from '../../system/scrubber.ts'
import { inSlices } from '../../system/slices.ts'
import { giveHalt } from '../compose/daemons.ts'
import { requiredPart } from '../compose/modules.ts'
import { type Observing, openLog, openObserving } from '../compose/observing.ts'
import { openPage, readTokens, siteOf } from '../compose/page.ts'
import { openState } from '../compose/state.ts'
import { claimWallets, openAnchors, readWallets } from '../compose/wallets.ts'
import type { RunData } from '../json/operate-outputs.ts'
import type { FailureData } from '../json/shapes.ts'
import { logWarnings } from '../load-files.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../process/io.ts'
import { orRefuse, refusalOf } from '../process/refusal.ts'
import { keepHeapSmallFor } from '../process/v8-settings.ts'
import { COMMIT, VERSION, VERSION_TEXT } from '../process/version.ts'
import type { HandlerInput } from './handle.ts'
import { type Ended, type LockedRun, type RunLog, type RunOptions, trade } from './trade.ts'

export async function openRunLog(
  settings: ConfigSettings,
  options: RunOptions,
  io: Io,
): Promise<RunLog> {
  const scrubber = createScrubber()
  const log = await openLog(settings, { io, json: options.json === true, scrubber })
  const node = process.versions.node
  // Logged first, ahead of any failure of the start.
  const fields = { event: 'starting', version: VERSION, commit: COMMIT, node }
  log.info(`${VERSION_TEXT} on Node ${node}`, fields)
  return { scrubber, log }
}

export async function runLocked(input: LockedRun): Promise<ExitCode> {
  const { io, lock, settings, log, scrubber } = input
  keepHeapSmallFor(input.strategies)
  const shutdown = new AbortController()
  const offSignal = io.onSignal((name) => shutdown.abort(name))
  logWarnings(log, input.warnings)
  input.modules.logTo(log)
  const wallets = orRefuse(await readWallets(settings, { scrubber, io }))
  const { trader, operator, addresses } = wallets
  requireSeparate(settings, trader, operator)
  const read = await readTokens(settings)
  if (!read.ok) throw refusalOf(read.problems)
  const { tokens } = read
  for (const token of Object.values(tokens)) if (token !== undefined) scrubber.add(token)
  const claim = await claimWallets(settings, addresses, { io, lock, command: 'run' })
  const clock = createClock()
  let opened: OpenedJournal | undefined
  let observing: Observing | undefined
  let bookkeeping: ReturnType<typeof openBookkeeping>
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
    const watch = createWatch(clock, () => performance.now())
    const haltByFile = (text: string): string | undefined =>
      giveHalt(settings.stateDir, { text, mayMake: false }).fault
    const page = openPage(settings, { strategies: input.strategies, clock, log, scrubber })
    const observe = (event: RuntimeEvent): void => observing?.observe(event)
    const keeper = openBookkeeping(settings, { clock, log, observe })
    bookkeeping = keeper
    const first: Observer = {
      observe(event) {
        watch.saw(event)
        page?.observe(event)
        keeper?.saw(event)
      },
      recorded(entry) {
        watch.recorded(entry.event)
        keeper?.recorded(entry)
        page?.recorded(entry)
      },
    }
    observing = await openObserving(settings, {
      log,
      scrubber,
      clock,
      first,
      mayWrite: () => lock.lostLately() === undefined,
      ailments: () => watch.probes.health().reasons,
      drift: driftReader(input.options),
    })
    observing.registerStrategies(input.strategies)
    const anchors = await openAnchors(settings, addresses, clock)
    const { archive: dir, keepFiles } = settings.journal
    opened = await openState(settings.mode, {
      dir: settings.stateDir,
      lock,
      anchors,
      clock,
      key: wallets.journalKey,
      archive: dir === undefined ? undefined : { dir, keepFiles },
      recorded: observing.recorded,
      observe: observing.observe,
      onFatal: (error) => {
        // A state directory or anchor taken by another daemon is not a disk fault.
        if (!(error instanceof OperatorError) || error.means === 'failed') faultOfDisk = error
        stopFor(error, `the journal failed: ${error.message}`)
      },
    })
    for (const warning of opened.warnings) log.warn(warning)
    const { journal, lastSeq, lastSeenMs } = opened
    const readPosted = postedIn(opened)
    keeper?.begin(readPosted, lastSeq)
    void keepIndex(opened, settings, { clock, log, signal: shutdown.signal })
    page?.begin({
      state: journal.state,
      wallets: namedWallets(settings, addresses),
      ready: watch.probes.ready,
      waits: watch.waits,
    })
    manager = observing.manage(watch.probes, io)
    shutdown.signal.addEventListener('abort', manager.stopping, { once: true })
    const control =
      tokens.control === undefined
        ? undefined
        : createPageControl({ clock, observe: observing.observe, haltByFile })
    const site = await siteOf(page)
    const server = await observing.serve(watch.probes, { site, control, tokens })
    try {
      const state = { clock, journal, readPosted, lastSeq, lastSeenMs, anchors }
      const serving = { observing, server, watch, page, pageControl: control, manager }
      ended = await trade({ ...input, ...state, ...serving, trader, operator, shutdown })
    } finally {
      await server.close()
    }
    // Writes the last records and the snapshot, for which the disk may also be full.
    await opened.close()
    if (fault !== undefined) throw fault
    return reportEnd(ended, input)
  } catch (error) {
    // Later failures follow from the first.
    const cause = fault ?? error
    observing?.notifying.crashed({ message: messageOf(cause), wasRunning: opened !== undefined })
    if (fault !== undefined && fault === faultOfDisk)
      log.error(fault.message, { event: 'disk-failed', stateDir: settings.stateDir })
    throw cause
  } finally {
    unwatch()
    offSignal()
    manager?.close()
    bookkeeping?.close()
    // A failure to close has already ended the run.
    await opened?.close().catch(() => undefined)
    await observing?.notifying.close()
    await clock.close()
    claim.release()
  }
}

/** Under --json this is all of stdout. */
function reportEnd(ended: Ended, { settings, log, options, io }: LockedRun): ExitCode {
  if (ended === 'drained') {
    if (options.json) printJson<RunData>(io, { ok: true, message: 'the run is over', problems: [] })
    return EXIT.done
  }
  const message = neverBegan(settings, ended.reasons)
  log.error(message, { event: 'never-began' })
  if (options.json) printJson<FailureData>(io, { ok: false, message, problems: [] })
  return EXIT.failed
}

function namedWallets(
  { gasless, aggregator }: Settings,
  { trader, operator }: { readonly trader: Address; readonly operator: Address | undefined },
): ReadonlyMap<string, Address> {
  const wallets = new Map([[gasless.wallet, trader]])
  if (aggregator !== undefined && operator !== undefined) wallets.set(aggregator.wallet, operator)
  return wallets
}

/** Refuses one key for both wallets, under any names (rules A5, T11). */
function requireSeparate(settings: Settings, trader: Key, operator?: Key): void {
  const { aggregator, file } = settings
  if (!hasSwaps(settings) || aggregator === undefined) return
  if (operator?.address !== trader.address) return
  const problem = problemOf({
    file,
    path: `wallets.${aggregator.wallet}`,
    message: `this wallet has the same key as the trading wallet of the gasless service (${trader.address})`,
    expected: 'a separate key: code delegated to a wallet could empty it on Base',
  })
  throw refusalOf([problem])
}

/** The time of `--for` ended before the chain was read: no node was readable, or the time was too short. */
function neverBegan({ file, gasless }: Settings, reasons: readonly string[]): string {
  if (reasons.length === 0)
    return 'the time of --for ended before the run started: give it more time'
  return (
    `the time of --for ended before the run started: no node of chain ${gasless.chain} could be read (${reasons.join('; ')}). ` +
    `Start the nodes in chains.${gasless.chain}.rpcUrls of ${file} (for a sandbox's config, the sandbox), or correct them`
  )
}

/** Reads the drift in a thread of its own, so that no order waits for it. */
function driftReader(options: RunOptions): ReadDrift {
  return async (period) => {
    const program = pathToFileURL(requiredPart('drift-worker.js'))
    const { answer, close } = openWorkers<typeof period, Awaited<ReturnType<ReadDrift>>>({
      ...{ program, order: { ...options, json: true }, count: 1 },
    })
    try {
      return await answer(period)
    } finally {
      await close()
    }
  }
}

/** Pause between two slices of the journal, so that orders go first. */
const REST_MS = 16
/** Delay of the first slice, so that a start's first orders go first. */
const FIRST_MS = 500

function restOf({ sleep }: Pick<Clock, 'sleep'>, signal: AbortSignal): () => Promise<void> {
  return async () => {
    await sleep(REST_MS, signal)
    signal.throwIfAborted()
  }
}

type ReadPosted = HandlerInput['readPosted']

/** Reads changes to the ledger beside orders, as far as records are there. */
function postedIn({ beside }: OpenedJournal): ReadPosted {
  const onMissing = (): void => undefined
  return (task) =>
    beside(async (files) => {
      const options = { ...files, madeBy: VERSION, isBeside: true, onMissing }
      await task((await JournalIndex.open(options)).posted())
    })
}

/** Far shorter than the time that orders take to fill a file. */
const INDEX_EVERY_MS = 60_000

/** Makes side files of finished journal files, so that commands and reports need not read those. */
async function keepIndex(
  { beside }: OpenedJournal,
  { prices }: Settings,
  by: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  const { clock, log, signal } = by
  const made = { valueToken: valueTokenOf(prices.values()), madeBy: VERSION }
  const rest = restOf(clock, signal)
  const report = (error: unknown): void => {
    if (!signal.aborted) log.warn('finished journal files could not be indexed', { err: error })
  }
  await clock.sleep(FIRST_MS, signal)
  if (!signal.aborted) await beside(({ segments, key }) => removeUnfit(segments, key)).catch(report)
  while (!signal.aborted) {
    await beside((files) => buildIndex({ ...files, ...made, rest })).catch(report)
    await clock.sleep(INDEX_EVERY_MS, signal)
  }
}

/** Tracks costs and profit; undefined without a price feed, which defines the value token. */
function openBookkeeping(
  settings: Settings,
  parts: Pick<Observing, 'log' | 'observe'> & { readonly clock: Clock },
) {
  const { clock, log, observe } = parts
  const valueToken = valueTokenOf(settings.prices.values())
  if (valueToken === undefined) return undefined
  const keeper = new Bookkeeper({ valueToken, observe })
  const closed = new AbortController()
  return {
    saw: (event: RuntimeEvent) => keeper.saw(event),
    recorded: (entry: Recorded) => keeper.recorded(entry),
    /** Reads the journal up to `lastSeq` while the daemon runs. */
    begin(readPosted: ReadPosted, lastSeq: number): void {
      const rest = restOf(clock, closed.signal)
      const unread = 'costs and profit are unknown: the journal could not be read'
      const read: Parameters<ReadPosted>[0] = async (posted) => {
        closed.signal.throwIfAborted()
        await keeper.readBack(inSlices(posted, rest), lastSeq)
      }
      clock
        .sleep(FIRST_MS, closed.signal)
        .then(() => readPosted(read))
        .catch((error: unknown) => {
          if (!closed.signal.aborted) log.warn(unread, { err: error })
        })
    },
    close: (): void => closed.abort(),
  }
}
