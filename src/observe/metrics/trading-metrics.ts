import { OUTCOMES } from '../../domain/order/intent.ts'
import { FAILURE_REASONS, REFUSAL_REASONS, type SkipReason } from '../../domain/order/reason.ts'
import { byVenue, ROUTES, type VenueName } from '../../venues/projections.ts'
import { createClosedCounter, type Make, SECONDS_TO_HOURS } from './family.ts'

const BPS = [-500, -200, -100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200]

/** Skip reasons whose first occurrence triggers alerts; the others start with their first skip. */
const ALARMING: readonly SkipReason[] = [
  'insufficient-balance',
  'balance-unreadable',
  'price-stale',
  'price-missing',
  'price-invalid',
  'sequencer-down',
  'module-failed',
]

const OUTCOME_SERIES = OUTCOMES.map((outcome) => ({ outcome }))
const REFUSAL_SERIES = REFUSAL_REASONS.map((reason) => ({ reason }))
const SKIP_SERIES = ALARMING.map((reason) => ({ reason }))
const FAILURE_SERIES = byVenue((_, venue) => FAILURE_REASONS.map((reason) => ({ venue, reason })))

/** `trades`: symbols of the tokens that it sells or buys. */
export type Named = {
  readonly name: string
  readonly venue: VenueName
  readonly trades?: readonly string[]
}

/** Series start at 0, so that `increase()` sees the first event: some seventy thousand for a thousand strategies. */
export function outcomeCounters() {
  const slots = createClosedCounter({
    name: 'tranched_slots_total',
    help: 'Schedule slots by recorded outcome.',
    labelNames: ['strategy', 'outcome'],
  })
  const skips = createClosedCounter({
    name: 'tranched_skips_total',
    help: 'Skipped slots by reason.',
    labelNames: ['strategy', 'reason'],
  })
  const failures = createClosedCounter({
    name: 'tranched_failures_total',
    help: 'Intents that were decided and allowed but ended without a fill.',
    labelNames: ['strategy', 'venue', 'reason'],
  })
  const refusals = createClosedCounter({
    name: 'tranched_refusals_total',
    help: 'Quotes that were not signed because the operator files do not allow them.',
    labelNames: ['strategy', 'reason'],
  })
  return {
    counters: { slots, skips, failures, refusals },
    start({ name, venue }: Named): void {
      slots.start(name, OUTCOME_SERIES)
      skips.start(name, SKIP_SERIES)
      failures.start(name, FAILURE_SERIES[venue])
      refusals.start(name, REFUSAL_SERIES)
    },
  }
}

export function tradingMetrics(make: Make) {
  const fees = make.counter({
    name: 'tranched_fees_total',
    help: 'Cost of execution, in whole tokens: charges of the aggregation service, blob gas, gas of own transactions.',
    labelNames: ['venue', 'token', 'what'],
  })
  for (const [venue, { costs }] of Object.entries(ROUTES))
    for (const what of costs) fees.inc({ venue, token: 'ETH', what }, 0)
  return {
    fees,
    fills: make.counter({
      name: 'tranched_fills_total',
      help: 'Fills proven on chain.',
      labelNames: ['strategy', 'venue'],
    }),
    volume: make.counter({
      name: 'tranched_volume_total',
      help: 'Sold and bought by proven fills, in whole tokens.',
      labelNames: ['strategy', 'token', 'side'],
    }),
    againstFeed: make.histogram({
      name: 'tranched_execution_vs_feed_bps',
      help: 'Price of a fill relative to the feeds at its signature, in basis points; below 0 is worse.',
      labelNames: ['strategy'],
      buckets: BPS,
    }),
    slotWaiting: make.gauge({
      name: 'tranched_slot_waiting',
      help: '1 while a due slot waits; the log says why.',
      labelNames: ['strategy'],
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
      help: 'Time at which the last fill was proven, in epoch seconds.',
      labelNames: ['strategy'],
    }),
    unsold: make.gauge({
      name: 'tranched_unsold',
      help: 'Unsold amount of a finished TWAP schedule, in whole tokens; absent until one has finished.',
      labelNames: ['strategy', 'token'],
    }),
    nextSlot: make.gauge({
      name: 'tranched_next_slot_timestamp_seconds',
      help: 'When the next slot is due, in epoch seconds; absent when none is.',
      labelNames: ['strategy'],
    }),
  }
}
