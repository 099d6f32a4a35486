import type { ConfigSettings } from '../../config/settings/build.ts'
import { notifySecrets, receiversOf } from '../../config/settings/notify.ts'
import {
  createHttpServer,
  type HttpServer,
  type HttpServerOptions,
  type Probe,
} from '../../control/http/http-server.ts'
import { createServiceManager, type ServiceManager } from '../../control/service-manager.ts'
import { ETHER } from '../../domain/money/token.ts'
import { addressSecrets, tokenSecrets } from '../../domain/web-address.ts'
import type { Recorded } from '../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { TextContext } from '../../journal/wording/text.ts'
import { createLog, type Log } from '../../observe/log.ts'
import { type ReadingsInput, stateReadings } from '../../observe/metrics/readings.ts'
import { createMetrics, type Metrics } from '../../observe/metrics.ts'
import type { Receiver } from '../../observe/notify/channels/channel.ts'
import { createPing } from '../../observe/notify/channels/ping.ts'
import { createDigest, type ReadDrift } from '../../observe/notify/digest/digest.ts'
import {
  type AccountWatch,
  createAccountWatch,
  type DaemonView,
} from '../../observe/notify/digest/digest-figures.ts'
import { createNotifier, type Notifier, recordsAfter } from '../../observe/notify/notifier.ts'
import { openOutboxFile } from '../../observe/notify/outbox-file.ts'
import { createObserver, type Observer } from '../../observe/observe.ts'
import type { Clock, Journal } from '../../ports.ts'
import { type StateSize, stateSize } from '../../store/maintenance/state-size.ts'
import type { Strategy } from '../../strategies/registry.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import { type Io, mayColour } from '../process/io.ts'
import { VERSION } from '../process/version.ts'

const SIZE_FRESH_MS = 10_000

/** Values of a running daemon that metrics read on request. */
type Watched = Omit<ReadingsInput, 'tokens' | 'stateBytes' | 'feedUpdated' | 'now'>

export type Observing = Awaited<ReturnType<typeof openObserving>>

type Probes = { health(): Probe; ready(): Probe }

/** A log that masks secrets of the settings, and those added to `scrubber` later. */
export async function openLog(
  settings: ConfigSettings,
  { io, json, scrubber }: { readonly io: Io; readonly json: boolean; readonly scrubber: Scrubber },
): Promise<Log> {
  for (const secret of secretsOf(settings)) scrubber.add(secret)
  const { level, format } = settings.log
  const destination = json ? io.stderr : io.stdout
  const colour = mayColour(io, destination)
  // Lines are written between turns, so that no order waits for them.
  return createLog({ level, format, destination, colour, scrubber, later: setImmediate })
}

/** Log, metrics and notifications of a daemon. `first` receives everything before them. */
export async function openObserving(
  settings: ConfigSettings,
  parts: Omit<NotifyingParts, 'metrics' | 'account'> & { readonly first?: Observer },
) {
  const { log, clock, first } = parts
  const channels = receiversOf(settings.notify).map(({ name }) => name)
  const metrics = createMetrics({ version: VERSION, channels })
  const account = createAccountWatch()
  const notifying = await openNotifying(settings, { ...parts, metrics, account })
  const outputs = createObserver({ log, metrics })
  return {
    log,
    notifying,
    account,
    /** Of messages. */
    timezone: settings.notify.timezone,
    observe(event: RuntimeEvent): void {
      first?.observe(event)
      account.observe(event)
      outputs.observe(event)
      notifying.observe(event)
    },
    /** Called for records once they are on disk. */
    recorded(entry: Recorded): void {
      first?.recorded(entry)
      outputs.recorded(entry)
      notifying.recorded(entry)
    },
    /** Initializes the counters of strategies to 0. */
    registerStrategies: (strategies: readonly Strategy[]): void =>
      metrics.registerStrategies(strategies),
    /** Adds metrics that depend on the state and the running daemon. */
    watchState(watched: Watched) {
      const { feedUpdated } = metrics
      const { now } = clock
      const tokens = [...settings.tokens.values(), ETHER]
      const stateBytes = watchSize(settings.stateDir, now)
      metrics.add(...stateReadings({ ...watched, tokens, stateBytes, feedUpdated, now }))
    },
    /** Serves metrics, probes, and the optional page with its commands. */
    serve(
      probes: Probes,
      parts: Pick<HttpServerOptions, 'site' | 'control' | 'tokens'>,
    ): Promise<HttpServer> {
      const { host, port, hosts } = settings.http
      return createHttpServer({ host, port, hosts, metrics, ...probes, ...parts })
    },
    manage(probes: Probes, { env, pid }: Pick<Io, 'env' | 'pid'>): ServiceManager {
      const warn = (message: string): void => log.warn(message, { event: 'service-manager' })
      return createServiceManager({ ...probes, env, pid, warn })
    },
  }
}

/** Bytes of the state directory by part, slightly stale: a read starts the next measurement. */
function watchSize(dir: string, now: () => number): () => Iterable<readonly [string, number]> {
  let size: StateSize | undefined
  let measuredAtMs = Number.NEGATIVE_INFINITY
  const measure = (): void => {
    if (Math.abs(now() - measuredAtMs) < SIZE_FRESH_MS) return
    measuredAtMs = now()
    const unread = (): undefined => undefined
    void stateSize(dir)
      .catch(unread)
      .then((found) => {
        size = found
      })
  }
  measure()
  return () => {
    measure()
    return Object.entries(size ?? {})
  }
}

/** Tokens, and URLs that may contain tokens. */
export function secretsOf(settings: ConfigSettings): readonly string[] {
  const { chains, gasless, aggregator, control, notify } = settings
  const rpc = [...chains.values()].flatMap(({ rpcUrls }) => rpcUrls)
  const services = [gasless.baseUrl ?? [], aggregator?.rpcUrl ?? []].flat()
  const { telegram } = control
  const roots = telegram === undefined ? [] : [telegram.apiRoot]
  const tokens = telegram === undefined ? [] : tokenSecrets(telegram.token)
  const addresses = [...rpc, ...services, ...roots].flatMap(addressSecrets)
  return [...tokens, ...addresses, ...notifySecrets(notify)]
}

const FLUSH_MS = 3_000

type Readable = Pick<Journal, 'records' | 'state'>

export type NotifyingParts = {
  readonly account: AccountWatch
  readonly log: Log
  readonly scrubber: Scrubber
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'notifications' | 'notificationsWaiting'>
  /** True while this process holds the state directory. */
  readonly mayWrite: () => boolean
  /** Why the daemon is unhealthy; empty while its loop turns. */
  readonly ailments: () => readonly string[]
  readonly drift: ReadDrift
}

/**
 * Notifications and the dead man's switch. With receivers in the config, opens the outbox and sends its waiting messages.
 */
async function openNotifying(settings: ConfigSettings, parts: NotifyingParts) {
  const { log, clock, account } = parts
  const { heartbeat, digest: digestSettings, timezone } = settings.notify
  const { stateDir } = settings
  const receivers = receiversOf(settings.notify)
  const notifier =
    receivers.length === 0 ? undefined : await openNotifier(settings, receivers, parts)
  const digest =
    notifier &&
    digestSettings &&
    createDigest({
      ...{ account, settings: digestSettings, timezone, notifier, clock, log, drift: parts.drift },
    })
  const { ailments } = parts
  const ping =
    heartbeat && (await createPing({ settings: heartbeat, stateDir, ailments, clock, log }))
  let failed: Promise<void> | undefined
  return {
    observe: (event: RuntimeEvent) => notifier?.observe(event),
    recorded: (entry: Recorded) => notifier?.recorded(entry),
    /** Called once the journal is open. Notifies of its records, starting with unsent ones of an earlier process. */
    notifyFrom(journal: Readable, lastSeq: number) {
      void notifier?.begin(lastSeq, (seq) => recordsAfter(journal, seq))
    },
    /** Called before trading starts: starts digests and the heartbeat. */
    begin(daemon: DaemonView, journal: Readable) {
      digest?.begin(daemon, journal)
      ping?.begin()
    },
    /** Called if the process ends because of a fault. */
    crashed(fault: { readonly message: string; readonly wasRunning: boolean }) {
      notifier?.crashed(fault)
      failed = ping?.failed(fault.message)
    },
    async close() {
      digest?.close()
      const done = new AbortController()
      const late = clock.sleep(FLUSH_MS, done.signal)
      await Promise.all([notifier?.finish(clock.now() + FLUSH_MS), Promise.race([failed, late])])
      done.abort()
      await ping?.close()
    },
  }
}

async function openNotifier(
  settings: ConfigSettings,
  receivers: readonly Receiver[],
  { log, scrubber, clock, metrics, mayWrite }: NotifyingParts,
): Promise<Notifier> {
  const { notifications, notificationsWaiting } = metrics
  return createNotifier({
    channels: await Promise.all(receivers.map((receiver) => receiver.open({ clock }))),
    file: await openOutboxFile(settings.stateDir, { log, mayWrite }),
    context: contextOf(settings),
    mode: settings.mode,
    clock,
    log,
    scrubber,
    jitter: Math.random,
    onResult: (channel, result) => notifications.inc({ channel, result }),
    onWaiting: (channel, waiting) => notificationsWaiting.set({ channel }, waiting),
  })
}

function contextOf({ notify, chains, gasless, aggregator }: ConfigSettings): TextContext {
  const chainOf = (name: string) => chains.get(name) ?? { name, explorer: undefined }
  return {
    timezone: notify.timezone,
    swapChain: chainOf(gasless.chain),
    callChain: aggregator && chainOf(aggregator.chain),
  }
}
