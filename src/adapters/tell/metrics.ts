import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client'
import { DISBELIEVED } from '../../domain/disbelief.ts'
import type { Outcome } from '../../domain/intent.ts'
import type { Route } from '../../domain/observation.ts'
import type { Strategy } from '../../domain/strategy.ts'

/** Default metrics whose names break the exposition's naming rules (a gauge called `_total`). */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]
const EVENT_LOOP_PRECISION_MS = 50

const OUTCOMES: Readonly<Record<Outcome, true>> = {
  filled: true,
  skipped: true,
  refused: true,
  failed: true,
  expired: true,
  missed: true,
}

const ROUTES: Readonly<Record<Route, true>> = {
  tokens: true,
  quote: true,
  submit: true,
  poll: true,
  sendRawTransaction: true,
  sendBundle: true,
  getTransactionReceipt: true,
  getBatchedTransactionReceipt: true,
  accountInfo: true,
  transactionStatus: true,
}

const MS_TO_MINUTES = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const SECONDS_TO_HOURS = [0.05, 0.25, 1, 2, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600]
const DISK = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]

export type Metrics = ReturnType<typeof createMetrics>

/**
 * The process's registry and every metric it serves. Labels come from closed sets: strategy names, wallets and tokens
 * from the operator's files, reasons and outcomes from `domain/`, the rest through `closedLabels`. Amounts are floats
 * here and nowhere else.
 */
export function createMetrics(options: { readonly version: string }) {
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
  const trading = tradingMetrics(make)
  return {
    ...trading,
    ...serviceMetrics(make),
    ...fundsMetrics(make),
    ...stateMetrics(make),

    /**
     * Starts the strategies' counters at 0, so that the first fill or lost slot is already an increase. Failures and
     * refusals by reason begin with their first one: thousands of strategies times every reason would cost more
     * memory than all else together, and `tranched_slots_total{outcome="failed"}` tells the same from 0 on.
     */
    registerStrategies(strategies: readonly Named[]): void {
      for (const { name: strategy, kind } of strategies) {
        trading.fills.inc({ strategy, venue: kind === 'call' ? 'aggregated' : 'gasless' }, 0)
        for (const outcome of Object.keys(OUTCOMES)) trading.slots.inc({ strategy, outcome }, 0)
      }
    },
    contentType: registry.contentType,
    /** The text that `/metrics` serves. */
    render: (): Promise<string> => registry.metrics(),
  }
}

/** What a counter has to know of a strategy. */
type Named = Pick<Strategy, 'name' | 'kind'>

type Make = ReturnType<typeof makerIn>

function makerIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string>(configuration: CounterConfiguration<Label>) =>
      new Counter<Label>({ ...configuration, registers }),
    gauge: <Label extends string>(configuration: GaugeConfiguration<Label>) =>
      new Gauge<Label>({ ...configuration, registers }),
    histogram: <Label extends string>(configuration: HistogramConfiguration<Label>) =>
      new Histogram<Label>({ ...configuration, registers }),
  }
}

/** Slots and what became of them. */
function tradingMetrics(make: Make) {
  return {
    slots: make.counter({
      name: 'tranched_slots_total',
      help: 'Schedule slots by recorded outcome.',
      labelNames: ['strategy', 'outcome'],
    }),
    fills: make.counter({
      name: 'tranched_fills_total',
      help: 'Fills proven on chain.',
      labelNames: ['strategy', 'venue'],
    }),
    failures: make.counter({
      name: 'tranched_failures_total',
      help: 'Intents that were decided and allowed but ended without a fill.',
      labelNames: ['strategy', 'venue', 'reason'],
    }),
    refusals: make.counter({
      name: 'tranched_refusals_total',
      help: 'Quotes that were not signed because the operator files do not allow them.',
      labelNames: ['strategy', 'reason'],
    }),
    slotLateness: make.histogram({
      name: 'tranched_slot_lateness_seconds',
      help: 'Time from the slot to its opening.',
      buckets: SECONDS_TO_HOURS,
    }),
    orderDuration: make.histogram({
      name: 'tranched_order_duration_seconds',
      help: 'Time from opening an intent to proof of its fill.',
      labelNames: ['venue'],
      buckets: SECONDS_TO_HOURS,
    }),
    lastFill: make.gauge({
      name: 'tranched_last_fill_timestamp_seconds',
      help: 'When the last fill was proven, in epoch seconds.',
      labelNames: ['strategy'],
    }),
    unsold: make.gauge({
      name: 'tranched_unsold',
      help: 'What a program of slices that is over has not sold, in whole tokens; absent until one is over.',
      labelNames: ['strategy', 'token'],
    }),
    nextSlot: make.gauge({
      name: 'tranched_next_slot_timestamp_seconds',
      help: 'When the next slot is due, in epoch seconds; absent when none is.',
      labelNames: ['strategy'],
    }),
  }
}

/** Requests to services and nodes, and the queues before them. */
function serviceMetrics(make: Make) {
  const queueDepth = make.gauge({
    name: 'tranched_queue_depth',
    help: 'Requests to a service that wait for their turn.',
    labelNames: ['route'],
  })
  // A queue that nobody ever waited in reports nothing: its depth is 0, not unknown.
  for (const route of Object.keys(ROUTES)) queueDepth.set({ route }, 0)
  const disbelieved = make.counter({
    name: 'tranched_disbelieved_total',
    help: 'Answers that nothing else bears out, that are missing, or that the chain took back.',
    labelNames: ['service', 'what'],
  })
  for (const [service, kinds] of Object.entries(DISBELIEVED))
    for (const what of kinds) disbelieved.inc({ service, what }, 0)
  return {
    queueDepth,
    disbelieved,
    queueWait: make.histogram({
      name: 'tranched_queue_wait_seconds',
      help: 'Time that a request to a service waited for its turn.',
      labelNames: ['route'],
      buckets: MS_TO_MINUTES,
    }),
    requests: make.counter({
      name: 'tranched_requests_total',
      help: 'Requests sent, by HTTP status or kind of failure.',
      labelNames: ['service', 'route', 'status'],
    }),
    requestDuration: make.histogram({
      name: 'tranched_request_duration_seconds',
      help: 'Time from sending a request to its whole answer.',
      labelNames: ['service', 'route'],
      buckets: MS_TO_MINUTES,
    }),
    finalityLag: make.gauge({
      name: 'tranched_finality_lag_blocks',
      help: 'Blocks between the newest block and the newest final one, at the last look.',
      labelNames: ['chain'],
    }),
    retries: make.counter({
      name: 'tranched_retries_total',
      help: 'Requests sent again, by cause.',
      labelNames: ['service', 'route', 'cause'],
    }),
    rateLimitRemaining: make.gauge({
      name: 'tranched_ratelimit_remaining',
      help: 'Requests left in the current window, as last told by the service.',
      labelNames: ['service', 'route'],
    }),
  }
}

/** What the wallets and the GasTank hold. */
function fundsMetrics(make: Make) {
  return {
    walletBalance: make.gauge({
      name: 'tranched_wallet_balance',
      help: 'Balance at the last tick, in whole tokens.',
      labelNames: ['wallet', 'token'],
    }),
    gasTankBalance: make.gauge({
      name: 'tranched_gastank_balance_ether',
      help: 'Deposit in the GasTank, as the service counts it.',
      labelNames: ['account'],
    }),
    gasTankOutstanding: make.gauge({
      name: 'tranched_gastank_outstanding_ether',
      help: 'Charges that are not settled yet.',
      labelNames: ['account'],
    }),
    gasTankAvailable: make.gauge({
      name: 'tranched_gastank_available_ether',
      help: 'Deposit less outstanding charges.',
      labelNames: ['account'],
    }),
    runway: make.gauge({
      name: 'tranched_runway_seconds',
      help: 'Time until a resource runs out at the pace of the last day; absent while unknown.',
      labelNames: ['resource'],
    }),
  }
}

/** What is open or stopped, and the journal that says so. */
function stateMetrics(make: Make) {
  return {
    halted: make.gauge({
      name: 'tranched_halted',
      help: '1 while nothing new is signed, until it is resumed.',
    }),
    paused: make.gauge({
      name: 'tranched_paused',
      help: '1 while the strategy opens no slots, until it is resumed.',
      labelNames: ['strategy'],
    }),
    strategiesStale: make.gauge({
      name: 'tranched_strategies_stale',
      help: 'Files that were refused when they were read again; the old ones hold.',
    }),
    openPermits: make.gauge({
      name: 'tranched_open_permits',
      help: 'Signed permits that are neither used nor proven dead.',
    }),
    unresolvedIntents: make.gauge({
      name: 'tranched_unresolved_intents',
      help: 'Intents without a recorded outcome.',
    }),
    journalAppendDuration: make.histogram({
      name: 'tranched_journal_append_duration_seconds',
      help: 'Time until a group of journal records was on disk.',
      buckets: DISK,
    }),
    journalRecords: make.counter({
      name: 'tranched_journal_records_total',
      help: 'Journal records written by this process.',
    }),
  }
}

const LABEL_VALUES_MAX = 64
const LABEL_VALUE = /^[\w-]{1,40}$/
const LOOKS_LIKE_ID = /0x|\d{6}|[0-9a-f]{16}/i

/**
 * Keeps a label's set of values closed where its type is text: words pass, up to 64 different ones; ids, addresses and
 * whatever comes after them become `other`. Make one for each label.
 */
export function closedLabels(): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= LABEL_VALUES_MAX || !LABEL_VALUE.test(value) || LOOKS_LIKE_ID.test(value))
      return 'other'
    seen.add(value)
    return value
  }
}
