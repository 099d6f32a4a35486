import {
  createHttpServer,
  type HttpServer,
  type Probe,
  type Site,
} from '../../adapters/control/http-server.ts'
import {
  createServiceManager,
  type ServiceManager,
} from '../../adapters/control/service-manager.ts'
import { type StateSize, stateSize } from '../../adapters/state/state-size.ts'
import { createLog, type Log } from '../../adapters/tell/log.ts'
import { type ReadingsInput, stateReadings } from '../../adapters/tell/metrics/readings.ts'
import { createMetrics } from '../../adapters/tell/metrics.ts'
import { createObserver } from '../../adapters/tell/observe.ts'
import { createScrubber, type Scrubber } from '../../adapters/tell/scrubber.ts'
import { receiversOf } from '../../domain/notify.ts'
import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import { assetsOf, type Strategy } from '../../domain/strategy.ts'
import { ETHER } from '../../domain/token.ts'
import { type Io, mayColour } from '../io.ts'
import { VERSION } from '../version.ts'
import {
  addressSecret,
  type Notifying,
  type NotifyingParts,
  notifySecrets,
  openNotifying,
  secretsOfToken,
} from './notifying.ts'

const SIZE_FRESH_MS = 10_000

/** What is read of a running daemon whenever its metrics are asked for. */
export type Watched = Omit<ReadingsInput, 'tokens' | 'stateBytes' | 'feedUpdated' | 'now'>

/** Where a daemon tells what happens. */
export type Telling = {
  readonly log: Log
  /** Facts come with the record that tells them. */
  readonly observe: (event: Observation, record?: RecordPlace) => void
  /** Starts the counters of strategies at 0. */
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  /** Serves what only the state and the running daemon know, from now on. */
  readonly watchState: (watched: Watched) => void
  /** Serves the metrics and the probes, and the page where there is one. */
  serve(probes: Probes, site: Site | undefined): Promise<HttpServer>
  /** Tells systemd, where it runs the daemon. */
  manage(probes: Probes, io: Pick<Io, 'env' | 'pid'>): ServiceManager
  /** Messages to people. */
  readonly notifying: Omit<Notifying, 'observe'>
}

type Probes = { health(): Probe; ready(): Probe }

/** A log that hides what may be secret in the settings, and what `scrubber` is told later. */
export async function openLog(
  settings: Settings,
  { io, json, scrubber }: { readonly io: Io; readonly json: boolean; readonly scrubber: Scrubber },
): Promise<Log> {
  for (const secret of await secretsOf(settings)) scrubber.add(secret)
  const { level, format } = settings.log
  const destination = json ? io.stderr : io.stdout
  const colour = mayColour(io, destination)
  return createLog({ level, format, destination, colour, scrubber })
}

/** Log, metrics and messages of a daemon. `saw` hears of everything first. */
export async function openTelling(
  settings: Settings,
  parts: Omit<NotifyingParts, 'metrics'> & {
    readonly saw: (event: Observation, record?: RecordPlace) => void
  },
): Promise<Telling> {
  const { log, clock, saw } = parts
  const channels = receiversOf(settings.notify).map(({ name }) => name)
  const metrics = createMetrics({ version: VERSION, channels })
  const notifying = await openNotifying(settings, { ...parts, metrics })
  const tell = createObserver({ log, metrics })
  return {
    log,
    notifying,
    observe(event, record) {
      saw(event, record)
      tell(event)
      notifying.observe(event, record)
    },
    registerStrategies: (strategies) =>
      metrics.registerStrategies(
        strategies.map((strategy) => ({
          ...{ name: strategy.name, kind: strategy.kind },
          trades: assetsOf(strategy).map(({ token }) => token.symbol),
        })),
      ),
    watchState(watched) {
      const { feedUpdated } = metrics
      const { now } = clock
      const tokens = [...settings.tokens.values(), ETHER]
      const stateBytes = watchSize(settings.stateDir, now)
      metrics.add(...stateReadings({ ...watched, tokens, stateBytes, feedUpdated, now }))
    },
    serve(probes, site) {
      const { host, port, hosts } = settings.http
      return createHttpServer({ host, port, hosts, metrics, ...probes, site })
    },
    manage(probes, { env, pid }) {
      const warn = (message: string): void => log.warn(message, { event: 'service-manager' })
      return createServiceManager({ ...probes, env, pid, warn })
    },
  }
}

/** Bytes of the state directory as they were a little before, looked at again for whoever asks next. */
function watchSize(dir: string, now: () => number): () => Iterable<readonly [string, number]> {
  let size: StateSize | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const look = (): void => {
    if (Math.abs(now() - lookedAtMs) < SIZE_FRESH_MS) return
    lookedAtMs = now()
    stateSize(dir).then(
      (found) => {
        size = found
      },
      // A figure that could not be read is none.
      () => {
        size = undefined
      },
    )
  }
  look()
  return () => {
    look()
    return Object.entries(size ?? {})
  }
}

/** Hides secrets in what it is given; knows none yet. */
export function openScrubber(): Scrubber {
  return createScrubber()
}

/** Tokens, and addresses that may carry tokens of their own. */
export async function secretsOf(settings: Settings): Promise<readonly string[]> {
  const { chains, gasless, aggregator, control, notify } = settings
  const rpc = [...chains.values()].flatMap(({ rpcUrls }) => rpcUrls)
  const services = [gasless.baseUrl, aggregator?.rpcUrl ?? []].flat()
  const { telegram } = control
  const roots = telegram === undefined ? [] : [telegram.apiRoot]
  const tokens = telegram === undefined ? [] : await secretsOfToken(telegram.token)
  const addresses = [...rpc, ...services, ...roots].flatMap(addressSecret)
  return [...tokens, ...addresses, ...(await notifySecrets(notify))]
}
