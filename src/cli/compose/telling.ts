import {
  createHttpServer,
  type HttpServer,
  type Probe,
} from '../../adapters/control/http-server.ts'
import { createLog, type Log } from '../../adapters/tell/log.ts'
import { createMetrics } from '../../adapters/tell/metrics.ts'
import { createObserver } from '../../adapters/tell/observe.ts'
import { createScrubber, type Scrubber } from '../../adapters/tell/scrubber.ts'
import { createWebhooks } from '../../adapters/tell/webhooks.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { Clock } from '../../ports.ts'
import type { Io } from '../io.ts'
import { VERSION } from '../version.ts'

const WEBHOOK_FLUSH_MS = 3_000

/** Where a daemon tells what happens. */
export type Telling = {
  readonly log: Log
  readonly observe: (event: Observation) => void
  /** Starts the counters of strategies at 0. */
  readonly registerStrategies: (strategies: readonly Strategy[]) => void
  /** Serves the metrics and the probes. */
  serve(probes: { health(): Probe; ready(): Probe }): Promise<HttpServer>
  /** Sends what is still to be sent, for a few seconds. */
  flush(): Promise<void>
}

/** A log that hides what may be secret in the settings, and what `scrubber` is told later. */
export async function openLog(
  settings: Settings,
  { io, json, scrubber }: { readonly io: Io; readonly json: boolean; readonly scrubber: Scrubber },
): Promise<Log> {
  for (const secret of secretsOf(settings)) scrubber.add(secret)
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
    registerStrategies: metrics.registerStrategies,
    serve: (probes) => createHttpServer({ ...settings.http, metrics, ...probes }),
    flush: () => webhooks.flush(clock.now() + WEBHOOK_FLUSH_MS),
  }
}

/** Hides secrets in what it is given; knows none yet. */
export function openScrubber(): Scrubber {
  return createScrubber()
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
