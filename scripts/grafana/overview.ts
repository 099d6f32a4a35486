import type { Sheet } from './frame.ts'
import { LOST, OUTCOME_COLORS, YES_IS_BAD } from './outcomes.ts'
import { bars, GOOD_AT_0, layers, lines, MONEY_UNIT, NEUTRAL, stat, table } from './panels.ts'
import { countInAll, countOf, moneyOf, of, quantileOf } from './selector.ts'

const STRATEGY_PAGE = {
  title: 'this strategy',
  url: `/d/tranched-strategy?var-strategy=\${__value.raw}&var-instance=\${__data.fields.Daemon}&\${datasource:queryparam}&\${__url_time_range}`,
}

/** Overall health, and links to details. */
export const OVERVIEW: Sheet = {
  uid: 'tranched-overview',
  title: 'tranched / Overview',
  about: 'Overall health, and links to details.',
  first: [
    stat({
      title: 'Daemons that answer',
      about: 'Selected daemons that Prometheus can scrape.',
      expr: `sum(${of('up')})`,
      unit: 'none',
      steps: [
        [null, 'red'],
        [1, 'green'],
      ],
    }),
    stat({
      title: 'Halted',
      about:
        'Whether any daemon is halted. `tranched status` shows why, `tranched resume` ends it.',
      expr: `max(${of('tranched_halted')})`,
      unit: 'none',
      labels: YES_IS_BAD,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Alerts',
      about:
        'Firing alerts of tranched; docs/alerts.md explains each. Also 0 if the rules are not loaded.',
      expr: 'count(ALERTS{alertname=~"Tranched.+", alertstate="firing", instance=~"$instance"}) or vector(0)',
      unit: 'none',
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Fills',
      about: 'Fills proven on chain, in the selected time.',
      expr: `sum(${countInAll('tranched_fills_total')}) or vector(0)`,
      unit: 'none',
      decimals: 0,
      steps: NEUTRAL,
    }),
    stat({
      title: 'Slots without a fill',
      about:
        'Failed, expired, refused and missed slots, in the selected time. Skipped slots do not count.',
      expr: `sum(${countInAll('tranched_slots_total', LOST)})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Value held',
      about: 'Value of all trading wallets, in the quote token of most price feeds.',
      expr: moneyOf(of('tranched_portfolio_value')),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      course: true,
    }),
  ],
  sections: [
    {
      title: 'Slots and orders',
      panels: [
        bars({
          title: 'Slots by outcome',
          about: 'Every slot has exactly one outcome.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (outcome) (${countOf('tranched_slots_total')})`,
              legend: '{{outcome}}',
            },
          ],
          colors: OUTCOME_COLORS,
        }),
        bars({
          title: 'Fills by venue',
          about:
            'gasless: swaps. aggregated: calls in a batch. direct: calls that were sent without the service.',
          unit: 'short',
          queries: [
            { expr: `sum by (venue) (${countOf('tranched_fills_total')})`, legend: '{{venue}}' },
          ],
        }),
        lines({
          title: 'From opening to proof',
          about: 'Time until the chain proved an order: median and 95th percentile.',
          unit: 's',
          min: 0,
          queries: [
            {
              expr: quantileOf(0.5, 'tranched_order_duration_seconds', {
                by: ['venue'],
                over: '1h',
              }),
              legend: '{{venue}}, median',
            },
            {
              expr: quantileOf(0.95, 'tranched_order_duration_seconds', {
                by: ['venue'],
                over: '1h',
              }),
              legend: '{{venue}}, 95 %',
            },
          ],
        }),
        layers({
          title: 'Open orders by state',
          about:
            'planned: nothing signed. exposed: signed, outcome unknown. accepted: the service has it. lapsing: over, and not dead by the chain yet. filled: proven, something is left to do.',
          unit: 'short',
          queries: [
            { expr: `sum by (state) (${of('tranched_open_intents')})`, legend: '{{state}}' },
          ],
        }),
        bars({
          title: 'Failures and refusals by reason',
          about: 'The ten most frequent reasons; docs/alerts.md has a remedy for each.',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_failures_total')})) or vector(0)`,
              legend: 'failed: {{reason}}',
            },
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_refusals_total')})) or vector(0)`,
              legend: 'refused: {{reason}}',
            },
          ],
        }),
        bars({
          title: 'Skipped slots by reason',
          about: "Why slots were not acted on: mostly the strategy's own choice, or its limits.",
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_skips_total')})) or vector(0)`,
              legend: '{{reason}}',
            },
          ],
        }),
      ],
    },
    { title: 'Strategies', panels: [strategies()] },
  ],
}

function strategies() {
  const by = (expr: string): string => `sum by (instance, strategy) (${expr})`
  // Absent until the first of its kind.
  const from0 = (expr: string): string => `${by(expr)} or 0 * ${by(of('tranched_unfilled_total'))}`
  return table({
    title: 'Strategies',
    about: 'One row per strategy. Click a name for its dashboard.',
    rows: { instance: 'Daemon', strategy: 'Strategy' },
    sortedBy: 'Without a fill',
    links: { Strategy: STRATEGY_PAGE },
    columns: [
      {
        name: 'Next slot',
        expr: `${by(of('tranched_next_slot_timestamp_seconds'))} * 1000`,
        unit: 'dateTimeFromNow',
      },
      {
        name: 'Last fill',
        expr: `${by(of('tranched_last_fill_timestamp_seconds'))} * 1000`,
        unit: 'dateTimeFromNow',
      },
      {
        name: 'Fills',
        expr: from0(countInAll('tranched_fills_total')),
        unit: 'none',
        decimals: 0,
      },
      {
        name: 'Skipped',
        expr: by(countInAll('tranched_slots_total', 'outcome="skipped"')),
        unit: 'none',
        decimals: 0,
      },
      {
        name: 'Without a fill',
        expr: by(countInAll('tranched_slots_total', LOST)),
        unit: 'none',
        decimals: 0,
        steps: GOOD_AT_0,
      },
      { name: 'Waiting', expr: from0(of('tranched_slot_waiting')), unit: 'bool_yes_no' },
      {
        name: 'Paused',
        expr: from0(of('tranched_paused')),
        unit: 'bool_yes_no',
        steps: GOOD_AT_0,
      },
      { name: 'Held', expr: from0(of('tranched_held')), unit: 'bool_yes_no', steps: GOOD_AT_0 },
    ],
  })
}
