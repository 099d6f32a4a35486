import {
  createHttpServer,
  type HttpServer,
  type Probe,
  type Site,
} from '../../adapters/control/http-server.ts'
import { type StateSize, stateSize } from '../../adapters/state/state-size.ts'
import { createLog, type Log } from '../../adapters/tell/log.ts'
import { type ReadingsInput, stateReadings } from '../../adapters/tell/metrics/readings.ts'
import { createMetrics } from '../../adapters/tell/metrics.ts'
import { createObserver } from '../../adapters/tell/observe.ts'
import { createScrubber, type Scrubber } from '../../adapters/tell/scrubber.ts'
import { createWebhooks } from '../../adapters/tell/webhooks.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import { assetsOf, type Strategy } from '../../domain/strategy.ts'
import { ETHER } from '../../domain/token.ts'
import type { Clock } from '../../ports.ts'
import type { Io } from '../io.ts'
import { VERSION } from '../version.ts'

const WEBHOOK_FLUSH_MS = 3_000
const SIZE_FRESH_MS = 10_000

/** What is read of a running daemon whenever its metrics are asked for. */
export type Watched = Omit<ReadingsInput, 'tokens' | 'stateBytes' | 'feedUpdated' | 'now'>

/** Where a daemon tells what happens. */
export type Telling = {
  readonly log: Log
  readonly observe: (event: Observation) => void
  /** Starts the counters of strategies at 0. */
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  /** Serves what only the state and the running daemon know, from now on. */
  readonly watchState: (watched: Watched) => void
  /** Serves the metrics and the probes, and the page where there is one. */
  serve(probes: { health(): Probe; ready(): Probe }, site: Site | undefined): Promise<HttpServer>
  /** Sends what is still to be sent, for a few seconds. */
  flush(): Promise<void>
}

/** A log that hides what may be secret in the settings, and what `scrubber` is told later. */
export async function openLog(
  settings: Settings,
  { io, json, scrubber }: { readonly io: Io; readonly json: boolean; readonly scrubber: Scrubber },
): Promise<Log> {
  for (const secret of await secretsOf(settings)) scrubber.add(secret)
  const { level, format } = settings.log
  return createLog({ level, format, destination: json ? io.stderr : io.stdout, scrubber })
}

/** Log, metrics and webhooks of a daemon. `saw` hears of everything first. */
export function openTelling(
  settings: Settings,
  parts: {
    readonly log: Log
    readonly scrubber: Scrubber
    readonly clock: Clock
    readonly saw: (event: Observation) => void
  },
): Telling {
  const { log, scrubber, clock, saw } = parts
  const metrics = createMetrics({ version: VERSION })
  const webhooks = createWebhooks({ webhooks: settings.notify.webhooks, clock, log, scrubber })
  const tell = createObserver({ log, metrics, notify: webhooks.notify })
  return {
    log,
    observe(event) {
      saw(event)
      tell(event)
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
    flush: () => webhooks.flush(clock.now() + WEBHOOK_FLUSH_MS),
  }
}

/** Bytes of the state directory as they were a little before, looked at again for whoever asks next. */
function watchSize(dir: string, now: () => number): () => Iterable<readonly [string, number]> {
  let size: StateSize | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const look = (): void => {
    if (Math.abs(now() - lookedAtMs) < SIZE_FRESH_MS) return
    lookedAtMs = now()
    void stateSize(dir).then((found) => {
      size = found
    })
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
async function secretsOf(settings: Settings): Promise<readonly string[]> {
  const rpc = [...settings.chains.values()].flatMap(({ rpcUrls }) => rpcUrls)
  const hooks = settings.notify.webhooks.map(({ url }) => url)
  const services = [settings.gasless.baseUrl, settings.aggregator?.rpcUrl ?? []].flat()
  const { telegram } = settings.control
  const roots = telegram === undefined ? [] : [telegram.apiRoot]
  const tokens = telegram === undefined ? [] : await secretsOfToken(telegram.token)
  return [...tokens, ...[...rpc, ...hooks, ...services, ...roots].filter(carriesSecret)]
}

/** The client of the bot is loaded only where there is one. */
async function secretsOfToken(token: string): Promise<readonly string[]> {
  const { tokenSecrets } = await import('../../adapters/telegram/bot-api.ts')
  return tokenSecrets(token)
}

/** A bare origin is no secret; a path, a query or credentials may be. */
function carriesSecret(url: string): boolean {
  const { pathname, search, username } = new URL(url)
  return pathname.length > 1 || search !== '' || username !== ''
}
