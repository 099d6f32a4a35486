import type { Sheet } from './frame.ts'
import { LOST, OUTCOME_COLORS, YES_IS_BAD } from './outcomes.ts'
import { bars, GOOD_AT_0, layers, lines, NEUTRAL, stat, table } from './panels.ts'
import { increaseInAll, increaseOf, of, quantileOf } from './selector.ts'

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
      about: 'Daemons that Prometheus can scrape, of those that are chosen.',
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
        'Whether any of them signs nothing new. `tranched status` says why, `tranched resume` ends it.',
      expr: `max(${of('tranched_halted')})`,
      unit: 'none',
      labels: YES_IS_BAD,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Alerts',
      about:
        'Alerts of tranched that fire. docs/alerts.md has a section for each. 0 where the rules are not loaded, too.',
      expr: 'count(ALERTS{alertname=~"Tranched.+", alertstate="firing", instance=~"$instance"}) or vector(0)',
      unit: 'none',
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Fills',
      about: 'Fills proven on chain, in the time that is shown.',
      expr: `sum(${increaseInAll('tranched_fills_total')})`,
      unit: 'none',
      decimals: 0,
      steps: NEUTRAL,
    }),
    stat({
      title: 'Slots without a fill',
      about:
        'Slots that failed, expired, were refused or missed, in the time that is shown. Skipped ones do not count.',
      expr: `sum(${increaseInAll('tranched_slots_total', LOST)})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Value held',
      about:
        'Value of all that the wallets that trade hold, in the token that most price feeds are quoted in.',
      expr: `sum(${of('tranched_portfolio_value')})`,
      unit: 'short',
      course: true,
    }),
  ],
  sections: [
    {
      title: 'Slots and orders',
      panels: [
        bars({
          title: 'Slots by outcome',
          about: 'Every slot ends in exactly one of these.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (outcome) (${increaseOf('tranched_slots_total')})`,
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
            { expr: `sum by (venue) (${increaseOf('tranched_fills_total')})`, legend: '{{venue}}' },
          ],
        }),
        lines({
          title: 'From opening to proof',
          about:
            'How long orders took until the chain proved them: half of them at most this long, and 95 of 100.',
          unit: 's',
          min: 0,
          queries: [
            {
              expr: quantileOf(0.5, 'tranched_order_duration_seconds', {
                by: ['venue'],
                over: '1h',
              }),
              legend: '{{venue}}, half',
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
          about: 'The ten that happened most. docs/alerts.md says what to do about each.',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (reason) (${increaseOf('tranched_failures_total')}))`,
              legend: 'failed: {{reason}}',
            },
            {
              expr: `topk(10, sum by (reason) (${increaseOf('tranched_refusals_total')}))`,
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
              expr: `topk(10, sum by (reason) (${increaseOf('tranched_skips_total')}))`,
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
  return table({
    title: 'Strategies',
    about: 'One row for each. A click on a name leads to its own dashboard.',
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
        expr: by(increaseInAll('tranched_fills_total')),
        unit: 'none',
        decimals: 0,
      },
      {
        name: 'Skipped',
        expr: by(increaseInAll('tranched_slots_total', 'outcome="skipped"')),
        unit: 'none',
        decimals: 0,
      },
      {
        name: 'Without a fill',
        expr: by(increaseInAll('tranched_slots_total', LOST)),
        unit: 'none',
        decimals: 0,
        steps: GOOD_AT_0,
      },
      { name: 'Waits', expr: by(of('tranched_slot_waiting')), unit: 'bool_yes_no' },
      {
        name: 'Paused',
        expr: by(of('tranched_paused')),
        unit: 'bool_yes_no',
        steps: GOOD_AT_0,
      },
      { name: 'Held', expr: by(of('tranched_held')), unit: 'bool_yes_no', steps: GOOD_AT_0 },
    ],
  })
}
