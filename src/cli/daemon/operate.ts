import { createClock } from '../../adapters/clock.ts'
import { createHttpServer, type HttpServer } from '../../adapters/control/http-server.ts'
import { readSecretFile, readWalletKey } from '../../adapters/keys/keystore.ts'
import { createSigner } from '../../adapters/keys/signer.ts'
import { createWatchOnlySigner, readAddress } from '../../adapters/keys/watch-only-signer.ts'
import { type OpenedJournal, openJournal } from '../../adapters/state/journal-file.ts'
import { acquireLock } from '../../adapters/state/state-lock.ts'
import { createLog, type Log } from '../../adapters/tell/log.ts'
import { createMetrics } from '../../adapters/tell/metrics.ts'
import { createObserver } from '../../adapters/tell/observe.ts'
import { createScrubber, type Scrubber } from '../../adapters/tell/scrubber.ts'
import { createWebhooks } from '../../adapters/tell/webhooks.ts'
import { type Problem, problemOf } from '../../config/yaml/problem.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import { runDaemon } from '../../engine/daemon.ts'
import type { Signer } from '../../ports.ts'
import { compose } from '../compose.ts'
import { EXIT, type ExitCode, type Io } from '../io.ts'
import { type ConfigOptions, type Loaded, reportProblems } from '../load.ts'
import { VERSION } from '../version.ts'
import { announce } from './announce.ts'
import { attend } from './attend.ts'
import { checkServiceTokens } from './service-tokens.ts'
import { createWatch } from './watch.ts'

/** Longest time that orders in flight are followed after a stop was asked for. A supervisor must wait longer. */
const DRAIN_MS = 25_000
const WEBHOOK_FLUSH_MS = 3_000

export type RunOptions = ConfigOptions & {
  /** Stop by itself after this long, and drain. */
  readonly forMs?: number | undefined
}

/** Takes the state directory for this process (rule G6). */
export function lock(settings: Settings, io: Io): Promise<() => void> {
  return acquireLock(settings.stateDir, {
    pid: io.pid,
    command: 'tranched run',
    startedAtMs: Date.now(),
  })
}

export type LockedRun = {
  readonly options: RunOptions
  readonly io: Io
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  /** Reads the same files again. */
  readonly loadAgain: () => Promise<Loaded>
}

/** Runs the daemon in a state directory that this process holds. */
export async function runLocked(input: LockedRun): Promise<ExitCode> {
  const { options, io, settings } = input
  const scrubber = createScrubber()
  for (const secret of secretsOf(settings)) scrubber.add(secret)
  const log = await createLog({
    level: settings.log.level,
    format: settings.log.format,
    destination: options.json ? io.stderr : io.stdout,
    scrubber,
  })
  const key = await readSigner(settings, settings.gasless.wallet, { scrubber, io })
  if (!key.ok) return reportProblems([key.problem], io, options)
  const { aggregator } = settings
  const operator =
    aggregator === undefined
      ? undefined
      : await readSigner(settings, aggregator.wallet, { scrubber, io })
  if (operator !== undefined && !operator.ok) return reportProblems([operator.problem], io, options)
  const shutdown = new AbortController()
  const clock = createClock()
  let opened: OpenedJournal | undefined
  let diskFault: Error | undefined
  try {
    const metrics = createMetrics({ version: VERSION })
    metrics.registerStrategies(input.strategies.map(({ name }) => name))
    const { webhooks: hooks } = settings.notify
    const webhooks = createWebhooks({ webhooks: hooks, clock, log, scrubber })
    const watch = createWatch(clock)
    const tell = createObserver({ log, metrics, notify: webhooks.notify })
    const observe: typeof tell = (event) => {
      watch.saw(event)
      tell(event)
    }
    opened = await openJournal({
      dir: settings.stateDir,
      clock,
      observe,
      onFatal: (error) => {
        diskFault = error
        shutdown.abort(`the journal failed: ${error.message}`)
      },
    })
    for (const warning of opened.warnings) log.warn(warning)
    const server = await createHttpServer({ ...settings.http, metrics, ...watch.probes })
    try {
      const { journal } = opened
      await trade({
        ...input,
        log,
        clock,
        journal,
        observe,
        shutdown,
        signer: key.signer,
        operator: operator?.signer,
        server,
        watch,
        registerStrategies: metrics.registerStrategies,
      })
    } finally {
      await server.close()
      await webhooks.flush(clock.now() + WEBHOOK_FLUSH_MS)
    }
    if (diskFault !== undefined) throw diskFault
    return EXIT.done
  } finally {
    await opened?.close()
    await clock.close()
  }
}

type Trading = LockedRun & {
  readonly log: Log
  readonly clock: ReturnType<typeof createClock>
  readonly journal: OpenedJournal['journal']
  readonly observe: Parameters<typeof compose>[0]['observe']
  readonly shutdown: AbortController
  readonly signer: Signer
  readonly operator: Signer | undefined
  readonly server: HttpServer
  readonly watch: ReturnType<typeof createWatch>
  readonly registerStrategies: (names: readonly string[]) => void
}

/** From composed ports to the end of the drain. */
async function trade(input: Trading): Promise<void> {
  const { options, io, settings, strategies, clock, shutdown, log } = input
  const enabled = strategies.filter((strategy) => strategy.enabled)
  const composed = compose({ ...input, strategies: enabled })
  let attended: Promise<{ close(): Promise<void> }> | undefined
  const offSignal = io.onSignal((name) => shutdown.abort(name))
  const timer = new AbortController()
  if (options.forMs !== undefined)
    void clock
      .sleep(options.forMs, timer.signal)
      .then(() => shutdown.abort(`--for ${Math.round((options.forMs ?? 0) / 1000)}s`))
  try {
    await checkServiceTokens(composed.context.ports.gasless, settings, log)
    await runDaemon({
      mode: settings.mode,
      wallet: settings.gasless.wallet,
      context: composed.context,
      strategies: enabled,
      drainMs: DRAIN_MS,
      shutdown: shutdown.signal,
      onTick: input.watch.ticked,
      onReady: (agenda, control) => {
        attended = attend(input, control)
        announce({
          log,
          settings,
          strategies,
          agenda,
          metricsAt: input.server.address,
          nowMs: clock.now(),
        })
        input.watch.ready()
        io.signalReady()
      },
    })
  } finally {
    timer.abort()
    offSignal()
    await (await attended)?.close()
    await composed.close()
  }
}

/** The signer of a wallet, its key hidden from every log; or what is wrong with its key source. */
export async function readSigner(
  settings: Settings,
  wallet: string,
  { scrubber, io }: { readonly scrubber: Scrubber; readonly io: Io },
): Promise<{ ok: true; signer: Signer } | { ok: false; problem: Problem }> {
  const source = settings.wallets.get(wallet)
  if (settings.mode === 'dry-run' && source !== undefined) {
    const address = await readAddress(source)
    if (address !== undefined) return { ok: true, signer: createWatchOnlySigner(address) }
  }
  if (source === undefined) throw new Error(`wallet ${wallet} is not configured`)
  const read = await readWalletKey(source, { readFile: readSecretFile, env: io.env })
  if (!read.ok) {
    const { message, remedy } = read
    const path = `wallets.${wallet}`
    return {
      ok: false,
      problem: problemOf({ file: settings.file, path, message, expected: remedy }),
    }
  }
  scrubber.add(Buffer.from(read.key).toString('hex'))
  const signer = createSigner(read.key)
  if (settings.mode !== 'dry-run') return { ok: true, signer }
  return { ok: true, signer: createWatchOnlySigner(signer.address) }
}

/** Addresses that may carry tokens of their own. */
function secretsOf(settings: Settings): readonly string[] {
  const rpc = [...settings.chains.values()].flatMap(({ rpcUrls }) => rpcUrls)
  const hooks = settings.notify.webhooks.map(({ url }) => url)
  const services = [settings.gasless.baseUrl, settings.aggregator?.rpcUrl ?? []].flat()
  return [...rpc, ...hooks, ...services].filter(carriesSecret)
}

/** A bare origin is no secret; a path, a query or credentials may be. */
function carriesSecret(url: string): boolean {
  const { pathname, search, username } = new URL(url)
  return pathname.length > 1 || search !== '' || username !== ''
}
