import { collectDefaultMetrics, Registry } from 'prom-client'
import { inSlices } from '../system/slices.ts'
import { type Family, makerIn } from './metrics/family.ts'
import { fundsMetrics } from './metrics/funds-metrics.ts'
import { notifyingMetrics, remoteMetrics, serviceMetrics } from './metrics/service-metrics.ts'
import { stateMetrics } from './metrics/state-metrics.ts'
import { strategyMetrics, tradingMetrics } from './metrics/trading-metrics.ts'

/** Default metrics that break the exposition's naming rules (a gauge called `_total`). */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]
const EVENT_LOOP_PRECISION_MS = 50

export type Metrics = ReturnType<typeof createMetrics>

/**
 * The process's registry and every metric it serves. Labels come from closed sets: strategy names, wallets and tokens
 * from the operator's files, reasons and outcomes from `domain/`, the rest through `closedLabels`. Amounts are floats
 * here and nowhere else.
 */
export function createMetrics(options: {
  readonly version: string
  readonly channels?: readonly string[]
}) {
  const registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
  })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const make = makerIn(registry)
  make
    .gauge({
      name: 'tranched_build_info',
      help: 'Always 1; the version is in the label.',
      labelNames: ['version'],
    })
    .set({ version: options.version }, 1)
  const { series, start } = strategyMetrics()
  const families: Family[] = Object.values(series)
  let rendering: Promise<string> | undefined
  return {
    /** Last update of each pair's feed, epoch seconds. */
    feedUpdated: new Map<string, number>(),
    ...tradingMetrics(make),
    ...series,
    ...serviceMetrics(make),
    ...fundsMetrics(make),
    ...stateMetrics(make),
    ...notifyingMetrics(make, options.channels ?? []),
    ...remoteMetrics(make),

    /** Starts the strategies' totals at 0, so that the first event of each counts as an increase. */
    registerStrategies(strategies: readonly { readonly name: string }[]): void {
      for (const { name } of strategies) start(name)
    },
    /** Families are read at each scrape. */
    add(...added: readonly Family[]): void {
      families.push(...added)
    },
    contentType: registry.contentType,
    /** The text of `/metrics`, rendered in slices. Concurrent scrapes share one text. */
    render(): Promise<string> {
      rendering ??= renderAll(registry, families).finally(() => {
        rendering = undefined
      })
      return rendering
    },
  }
}

async function renderAll(registry: Registry, families: readonly Family[]): Promise<string> {
  const parts: string[] = []
  for await (const part of inSlices(partsOf(registry, families))) parts.push(part)
  return parts.join('')
}

async function* partsOf(registry: Registry, families: readonly Family[]): AsyncGenerator<string> {
  for (const { name } of registry.getMetricsAsArray())
    yield `${await registry.getSingleMetricAsString(name)}\n\n`
  for (const family of families) yield* family.text()
}
