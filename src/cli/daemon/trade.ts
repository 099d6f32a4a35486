import { relative, resolve } from 'node:path'
import { openHaltFile } from '../../control/halt-file.ts'
import type { HttpServer } from '../../control/http/http-server.ts'
import type { PageControl } from '../../control/http/page-control.ts'
import type { createWatch } from '../../control/probes.ts'
import type { ServiceManager } from '../../control/service-manager.ts'
import { OperatorError } from '../../domain/errors.ts'
import { ETHER, type Token } from '../../domain/money/token.ts'
import type { Settings } from '../../domain/settings.ts'
import { durationText } from '../../domain/text/duration.ts'
import { runDaemon } from '../../engine/daemon.ts'
import { untilAborted } from '../../engine/drain.ts'
import type { Agenda } from '../../engine/tick.ts'
import type { Log } from '../../observe/log.ts'
import { instantText } from '../../observe/wording.ts'
import type { Clock, Gasless, Key } from '../../ports.ts'
import type { StateAnchors } from '../../store/anchor/anchor.ts'
import type { OpenedJournal } from '../../store/file/journal-file.ts'
import type { HeldLock } from '../../store/lock/state-lock.ts'
import { kindOf } from '../../strategies/registry.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import type { AggregatorContext, SendingContext } from '../../venues/context.ts'
import type { OpenedModules } from '../compose/modules.ts'
import type { Observing } from '../compose/observing.ts'
import type { openPage } from '../compose/page.ts'
import { type Composed, compose } from '../compose/services.ts'
import { composeGuard } from '../compose/state.ts'
import type { ConfigOptions, Loaded, Sound } from '../load-files.ts'
import { manualStrategyOf } from '../manual-order.ts'
import { tradedTokens } from '../market.ts'
import { DEFAULT_CONFIG, type Io } from '../process/io.ts'
import { programName } from '../process/program-name.ts'
import { collectGarbage, letHeapGrow, settleIn } from '../process/v8-settings.ts'
import { describeSchedule } from '../text/amount-data.ts'
import { type HandlerInput, handleRequests } from './handle.ts'
import type { ReloadInput } from './reload.ts'

/** Longest time for which open orders are followed after a stop. A supervisor must wait longer. */
const DRAIN_MS = 25_000
/** From the start of trading; longer than load-program.ts waits before it makes a code cache. */
const SETTLED_AFTER_MS = 6_000
/** V8 shrinks its young generation only if little was allocated in the last five seconds. */
const COLLECTED_AFTER_MS = 12_000

export type RunOptions = ConfigOptions & {
  readonly forMs?: number | undefined
}

/** Log of a run, opened before the run holds its state. */
export type RunLog = { readonly log: Log; readonly scrubber: Scrubber }

export type Readying = {
  readonly context: SendingContext
  readonly aggregator: AggregatorContext | undefined
  readonly report: (line: string) => void
}

export type LockedRun = RunLog &
  Sound & {
    readonly options: RunOptions
    readonly io: Io
    readonly lock: HeldLock
    readonly modules: OpenedModules
    readonly loadAgain: () => Promise<Loaded>
    /** Runs on the composed parts before trading starts. */
    readonly prepare?: (readying: Readying) => Promise<void>
    /** Resolves if a part that the run depends on ends. */
    readonly failing?: Promise<Error>
  }

type Trading = LockedRun & {
  readonly clock: Clock
  readonly journal: OpenedJournal['journal']
  readonly readPosted: HandlerInput['readPosted']
  readonly lastSeq: number
  readonly lastSeenMs: number | undefined
  readonly observing: Observing
  readonly shutdown: AbortController
  readonly trader: Key
  readonly operator: Key | undefined
  readonly anchors: StateAnchors | undefined
  readonly server: HttpServer
  readonly watch: ReturnType<typeof createWatch>
  readonly manager: ServiceManager
  readonly page: ReturnType<typeof openPage>
  readonly pageControl: PageControl | undefined
}

/** `drained`: all orders were followed to their end. Otherwise the time ended before the run could begin. */
export type Ended = 'drained' | { readonly reasons: readonly string[] }

export async function trade(input: Trading): Promise<Ended> {
  const { options, io, settings, strategies, clock, shutdown, observing } = input
  const { log, observe, registerStrategies, timezone } = observing
  const enabled = strategies.filter((strategy) => strategy.enabled)
  input.modules.retain(enabled)
  const { lock, anchors } = input
  const haltFile = openHaltFile(settings.stateDir)
  const guard = composeGuard(
    haltFile.blocked,
    () => lock.lostLately(),
    () => anchors?.lost(),
  )
  const startedAtMs = clock.now()
  const composed = await compose({ ...input, guard, haltFile, observe, strategies: enabled })
  const { account, strategies: active } = composed.context
  const seen = {
    state: input.journal.state,
    strategies: () => active.values(),
    account,
    tokens: [...settings.tokens.values(), ETHER],
  }
  observing.notifying.notifyFrom(input.journal, input.lastSeq)
  observing.notifying.begin(seen, input.journal)
  observing.watchState({
    ...seen,
    blocks: {
      lock: () => lock.lostLately(),
      anchor: () => anchors?.fault,
      'halt-file': haltFile.blocked,
    },
    turnedAtMs: input.watch.turnedAtMs,
  })
  let handlers: Promise<{ close(): Promise<void> }> | undefined
  const timer = new AbortController()
  const { forMs } = options
  const timeOver = forMs === undefined ? undefined : `--for ${Math.round(forMs / 1000)}s`
  if (forMs !== undefined)
    void clock.sleep(forMs, timer.signal).then(() => shutdown.abort(timeOver))
  try {
    const unlisted = await untilAborted(shutdown.signal, makeReady(input, composed))
    const hasBegun = await runDaemon({
      wallet: settings.gasless.wallet,
      context: composed.context,
      tokens: tradedTokens(settings),
      unlisted,
      feeds: [...settings.prices.values()],
      strategies: enabled,
      manual: manualStrategyOf(settings),
      drainMs: DRAIN_MS,
      lastSeenMs: input.lastSeenMs,
      shutdown: shutdown.signal,
      onTick: input.watch.ticked,
      onBound: () => anchors?.keep(input.journal),
      onReady: (agenda, control) => {
        const snapshot = (): ReturnType<HandlerInput['snapshot']> => ({
          mode: settings.mode,
          startedAtMs,
          state: input.journal.state,
          haltFile: haltFile.status(),
          strategies: [...composed.context.strategies.keys()],
          nextSlotOf: agenda.nextSlotOf,
          gasTank: input.watch.gasTank(),
        })
        input.pageControl?.begin({ control, stops: snapshot })
        const status = (): ReturnType<HandlerInput['status']> =>
          observing.account.status(seen, clock.now())
        const taken: ReloadInput['taken'] = (files) => input.page?.take(files)
        handlers = handleRequests(
          { ...input, log, observe, registerStrategies, taken, snapshot, status, timezone },
          control,
        )
        announce(input, agenda)
        letHeapGrow()
        setTimeout(settleIn, SETTLED_AFTER_MS).unref()
        setTimeout(collectGarbage, COLLECTED_AFTER_MS).unref()
        input.watch.ready()
        io.signalReady()
        input.manager.ready()
      },
    })
    // A signal ends a run on purpose; a time that ends before the run began is a failure.
    const isOutOfTime = timeOver !== undefined && shutdown.signal.reason === timeOver
    return hasBegun || !isOutOfTime ? 'drained' : { reasons: input.watch.failing() }
  } finally {
    timer.abort()
    await (await handlers)?.close()
    await composed.close()
  }
}

/** Waits for the service and `prepare`, but not past a request to stop. */
async function makeReady(
  input: Trading,
  { context }: Composed,
): Promise<readonly Token[] | undefined> {
  const { settings, shutdown, observing } = input
  const { log } = observing
  if (shutdown.signal.aborted) return undefined
  const unlisted = await checkServiceTokens(context.ports.gasless, settings, log)
  await input.prepare?.({
    context: { ...context, closing: shutdown.signal, stop: shutdown.signal },
    aggregator: context.aggregator,
    report: (line) => log.info(line),
  })
  return unlisted
}

/** Stops the start: trading would misread every amount of the token. */
class TokenMismatchError extends OperatorError {
  override readonly name = 'TokenMismatchError'
  readonly means = 'badConfig'
}

/**
 * Compares the config's tokens with the service's list. Different decimals stop the start; an unreachable service is only a
 * warning. Returns the tokens that the list lacks.
 */
async function checkServiceTokens(
  gasless: Pick<Gasless, 'tokens'>,
  settings: Settings,
  log: Log,
): Promise<readonly Token[]> {
  const reply = await gasless.tokens()
  if (!reply.ok) log.warn(`the service's token list could not be read: ${reply.fault.message}`)
  if (!reply.ok || reply.value.length === 0) return []
  const listed = new Map(reply.value.map((token) => [token.address, token]))
  return tradedTokens(settings).filter((token) => {
    const known = listed.get(token.address)
    if (known !== undefined && known.decimals !== token.decimals)
      throw new TokenMismatchError(
        `${settings.file}: tokens.${token.symbol}.decimals is ${token.decimals}, the service says ${known.decimals}: correct it`,
      )
    return known === undefined
  })
}

function announce(input: Trading, agenda: Agenda): void {
  const { log, settings, strategies } = input
  const { address: servedAt } = input.server
  const nowMs = input.clock.now()
  log.info(`state in ${settings.stateDir}`)
  const { gasless, aggregator } = settings
  if (gasless.baseUrl !== undefined)
    log.info(`gasless service ${new URL(gasless.baseUrl).origin}, chain ${gasless.chain}`)
  if (aggregator !== undefined)
    log.info(`aggregation service ${new URL(aggregator.rpcUrl).origin}, chain ${aggregator.chain}`)
  log.info(`metrics at ${servedAt}/metrics`)
  if (settings.http.page) log.info(`page at ${servedAt}/`)
  if (input.pageControl !== undefined)
    log.info('the page may pause, halt and resume, with its token', { event: 'page-control' })
  for (const strategy of strategies) {
    const what = kindOf(strategy).describe(strategy)
    const next = strategy.enabled ? nextText(agenda.nextSlotOf(strategy.name), nowMs) : 'disabled'
    log.info(`strategy ${strategy.name}: ${what}, ${describeSchedule(strategy.schedule)}, ${next}`)
  }
  const [first] = strategies
  const config =
    settings.file === resolve(DEFAULT_CONFIG) ? '' : ` --config ${relative('', settings.file)}`
  const tries = ['status', `why ${first?.name ?? 'STRATEGY'}`, 'report']
  const typed = tries.map((words) => `${programName(input.io, '.')} ${words}${config}`)
  log.info(`in another terminal: ${typed.join('; ')}`, { event: 'next-steps' })
}

function nextText(slotSeconds: number | undefined, nowMs: number): string {
  if (slotSeconds === undefined) return 'never due'
  const leftMs = slotSeconds * 1000 - nowMs
  const when = leftMs < 0 ? `due ${durationText(-leftMs)} ago` : `in ${durationText(leftMs)}`
  return `next ${instantText(slotSeconds)} (${when})`
}
