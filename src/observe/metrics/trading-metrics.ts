import { OUTCOMES } from '../../domain/order/intent.ts'
import { ROUTES } from '../../venues/projections.ts'
import {
  createStrategyHistogram,
  createStrategySeries,
  DETAILED_MAX,
  type Make,
  SECONDS_TO_HOURS,
} from './family.ts'
import { strategyStates } from './state-metrics.ts'

const BPS = [-500, -200, -100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100, 200]

const OUTCOME_SERIES = OUTCOMES.map((outcome) => ({ outcome }))
const NO_LABELS = [{}]

/**
 * Everything with the label `strategy`. Ten thousand strategies must stay scrapable, at some 60 bytes a series. So only
 * `unfilled` begins at 0, and `slots` of the first `DETAILED_MAX` strategies. `increase()` does not see the event that
 * begins a series: the alerts detect it by a series that is younger than its daemon's. See docs/monitoring.md.
 */
export function strategyMetrics() {
  const withZeros = new Set<string>()
  const slots = createStrategySeries({
    type: 'counter',
    name: 'tranched_slots_total',
    help: 'Schedule slots by recorded outcome.',
    labelNames: ['strategy', 'outcome'],
  })
  const unfilled = createStrategySeries({
    type: 'counter',
    name: 'tranched_unfilled_total',
    help: 'Failures and refusals together; their reasons begin with the first of each.',
    labelNames: ['strategy'],
  })
  const series = {
    slots,
    unfilled,
    skips: createStrategySeries({
      type: 'counter',
      name: 'tranched_skips_total',
      help: 'Skipped slots by reason.',
      labelNames: ['strategy', 'reason'],
    }),
    failures: createStrategySeries({
      type: 'counter',
      name: 'tranched_failures_total',
      help: 'Intents that were decided and allowed but ended without a fill.',
      labelNames: ['strategy', 'venue', 'reason'],
    }),
    refusals: createStrategySeries({
      type: 'counter',
      name: 'tranched_refusals_total',
      help: 'Quotes that were not signed because the operator files do not allow them.',
      labelNames: ['strategy', 'reason'],
    }),
    fills: createStrategySeries({
      type: 'counter',
      name: 'tranched_fills_total',
      help: 'Fills proven on chain.',
      labelNames: ['strategy', 'venue'],
    }),
    volume: createStrategySeries({
      type: 'counter',
      name: 'tranched_volume_total',
      help: 'Sold and bought by proven fills, in whole tokens.',
      labelNames: ['strategy', 'token', 'side'],
      detailed: true,
    }),
    againstFeed: createStrategyHistogram({
      name: 'tranched_execution_vs_feed_bps',
      help: 'Price of a fill relative to the feeds at its signature, in basis points; below 0 is worse.',
      buckets: BPS,
    }),
    slotWaiting: createStrategySeries({
      type: 'gauge',
      name: 'tranched_slot_waiting',
      help: '1 while a due slot waits; the log says why. Absent until one has waited.',
      labelNames: ['strategy'],
      beginsAbove0: true,
    }),
    ...strategyStates(),
    lastFill: createStrategySeries({
      type: 'gauge',
      name: 'tranched_last_fill_timestamp_seconds',
      help: 'Time at which the last fill was proven, in epoch seconds.',
      labelNames: ['strategy'],
    }),
    unsold: createStrategySeries({
      type: 'gauge',
      name: 'tranched_unsold',
      help: 'Unsold amount of a finished TWAP schedule, in whole tokens; absent until one has finished.',
      labelNames: ['strategy', 'token'],
    }),
    nextSlot: createStrategySeries({
      type: 'gauge',
      name: 'tranched_next_slot_timestamp_seconds',
      help: 'When the next slot is due, in epoch seconds; absent when none is.',
      labelNames: ['strategy'],
    }),
  }
  return {
    series,
    start(strategy: string): void {
      if (withZeros.size < DETAILED_MAX) withZeros.add(strategy)
      if (withZeros.has(strategy)) slots.start(strategy, OUTCOME_SERIES)
      unfilled.start(strategy, NO_LABELS)
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
    slotLateness: make.histogram({
      name: 'tranched_slot_lateness_seconds',
      help: 'Time from the slot to its decision.',
      buckets: SECONDS_TO_HOURS,
    }),
    orderDuration: make.histogram({
      name: 'tranched_order_duration_seconds',
      help: 'Time from opening an intent to proof of its fill.',
      labelNames: ['venue'],
      buckets: SECONDS_TO_HOURS,
    }),
  }
}
