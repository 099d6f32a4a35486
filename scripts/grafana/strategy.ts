import type { Sheet } from './frame.ts'
import { FULLNESS, LOST, OUTCOME_COLORS, YES_IS_BAD } from './outcomes.ts'
import { AMOUNT_UNIT, BPS_UNIT, bars, GOOD_AT_0, lines, stat } from './panels.ts'
import { countInAll, countOf, increaseInAll, of, quantileOf } from './selector.ts'

const ONE = 'strategy="$strategy"'

/** One strategy: schedule, outcomes, prices and limits. */
export const STRATEGY: Sheet = {
  uid: 'tranched-strategy',
  title: 'tranched / Strategy',
  about: 'One strategy: schedule, outcomes, prices and limits.',
  byStrategy: true,
  first: [
    stat({
      title: 'Next slot',
      about: 'Time of the next slot. A past time means that it is due and waits.',
      expr: `min(${of('tranched_next_slot_timestamp_seconds', ONE)}) * 1000`,
      unit: 'dateTimeFromNow',
    }),
    stat({
      title: 'Last fill',
      about: 'Time at which the last fill was proven.',
      expr: `max(${of('tranched_last_fill_timestamp_seconds', ONE)}) * 1000`,
      unit: 'dateTimeFromNow',
    }),
    stat({
      title: 'Fills',
      about: 'Fills proven on chain, in the selected time.',
      expr: `sum(${countInAll('tranched_fills_total', ONE)}) or vector(0)`,
      unit: 'none',
      decimals: 0,
    }),
    stat({
      title: 'Slots without a fill',
      about: 'Failed, expired, refused and missed slots, in the selected time.',
      expr: `sum(${countInAll('tranched_slots_total', ONE, LOST)})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Paused',
      about: 'Whether it is paused: it opens no slots until it is resumed.',
      expr: `max(${of('tranched_paused', ONE)}) or vector(0)`,
      unit: 'none',
      labels: YES_IS_BAD,
      steps: GOOD_AT_0,
    }),
    stat({
      title: 'Waiting',
      about: 'Whether a due slot waits; the log has the reason.',
      expr: `max(${of('tranched_slot_waiting', ONE)}) or vector(0)`,
      unit: 'none',
      labels: { 0: { text: 'no', color: 'green' }, 1: { text: 'yes', color: 'yellow' } },
    }),
  ],
  sections: [
    {
      title: 'Slots',
      panels: [
        bars({
          title: 'Slots by outcome',
          about: 'Every slot has exactly one outcome.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (outcome) (${countOf('tranched_slots_total', ONE)})`,
              legend: '{{outcome}}',
            },
          ],
          colors: OUTCOME_COLORS,
        }),
        bars({
          title: 'Skipped slots by reason',
          about: 'Reasons for skipped slots.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (reason) (${countOf('tranched_skips_total', ONE)}) or vector(0)`,
              legend: '{{reason}}',
            },
          ],
        }),
        bars({
          title: 'Failures and refusals by reason',
          about: 'Reasons for orders without a fill; docs/alerts.md has a remedy for each.',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_failures_total', ONE)})) or vector(0)`,
              legend: 'failed: {{reason}}',
            },
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_refusals_total', ONE)})) or vector(0)`,
              legend: 'refused: {{reason}}',
            },
          ],
        }),
        lines({
          title: 'Unsold rest of a finished TWAP',
          about: 'Unsold amount of a finished TWAP. `tranched trigger` sells the rest.',
          ...AMOUNT_UNIT,
          min: 0,
          queries: [
            {
              expr: `sum by (token) (${of('tranched_unsold', ONE)}) or vector(0)`,
              legend: '{{token}} unsold',
            },
          ],
        }),
      ],
    },
    {
      title: 'Money',
      panels: [
        bars({
          title: 'Sold and bought',
          about: 'By proven fills, in whole tokens. Calls move no tokens that the daemon counts.',
          ...AMOUNT_UNIT,
          queries: [
            {
              expr: `sum by (token, side) (${countOf('tranched_volume_total', ONE)})`,
              legend: '{{token}}, {{side}}',
            },
          ],
        }),
        lines({
          title: 'Price against the feeds',
          about:
            "How much more a fill brought than the feeds' price when it was signed. Below 0 is worse; costs of the service are in it. The mean is over as long a time before each point as is shown.",
          ...BPS_UNIT,
          queries: [
            {
              expr: `sum(${increaseInAll('tranched_execution_vs_feed_bps_sum', ONE)}) / (sum(${increaseInAll('tranched_execution_vs_feed_bps_count', ONE)}) > 0)`,
              legend: 'mean',
            },
            {
              expr: quantileOf(0.5, 'tranched_execution_vs_feed_bps', {
                by: [],
                where: [ONE],
                over: '1h',
              }),
              legend: 'median of the last hour',
            },
          ],
        }),
        lines({
          title: 'Use of its caps',
          about:
            'Used share of each cap. Orders that do not fit are skipped until the cap frees; a total never frees.',
          unit: 'percentunit',
          min: 0,
          steps: FULLNESS,
          queries: [
            {
              expr: `${of('tranched_spent', ONE)} / (${of('tranched_cap', ONE)} > 0)`,
              legend: '{{token}} per {{window}}',
            },
          ],
        }),
        lines({
          title: 'Caps of the account',
          about: 'Used share of the caps that all strategies share.',
          unit: 'percentunit',
          min: 0,
          steps: FULLNESS,
          queries: [
            {
              expr: `${of('tranched_spent', 'strategy="_account"')} / (${of('tranched_cap', 'strategy="_account"')} > 0)`,
              legend: '{{token}} per {{window}}',
            },
          ],
        }),
      ],
    },
  ],
}
