import type { Sheet } from './frame.ts'
import { bars, ETHER_UNIT, GOOD_AT_0, lines, stat, TIMES_UNIT } from './panels.ts'
import {
  countInAll,
  countOf,
  increaseInAll,
  increaseOf,
  of,
  quantileOf,
  rateOf,
} from './selector.ts'

const CALLS = 'venue=~"aggregated|direct"'

/** The deposit that pays for calls, and the calls. */
export const GAS_TANK: Sheet = {
  uid: 'tranched-gastank',
  title: 'tranched / GasTank and calls',
  about: 'The deposit that pays for contract calls, what they cost, and how they went.',
  first: [
    stat({
      title: 'Available',
      about: 'Deposit less unsettled charges, in ether. Empty if unknown.',
      expr: `sum(${of('tranched_gastank_available_ether')})`,
      ...ETHER_UNIT,
      decimals: 5,
      course: true,
    }),
    stat({
      title: 'Above the threshold',
      about: 'Available deposit over aggregator.gasTank.alertBelow of the config.',
      expr: `min(${of('tranched_gastank_available_ether')} / (${of('tranched_gastank_alert_below_ether')} > 0))`,
      ...TIMES_UNIT,
      steps: [
        [null, 'red'],
        [1, 'yellow'],
        [2, 'green'],
      ],
    }),
    stat({
      title: 'Runs out in',
      about:
        'By the scheduled calls of the strategies, without further deposits. Empty while no call is due, or the cost of a call is unknown.',
      expr: `min(${of('tranched_runway_seconds', 'resource="gastank"')})`,
      unit: 's',
    }),
    stat({
      title: 'Calls',
      about: 'Calls proven on chain, in the selected time.',
      expr: `sum(${countInAll('tranched_fills_total', CALLS)}) or vector(0)`,
      unit: 'none',
      decimals: 0,
    }),
    stat({
      title: 'Cost of a call',
      about: "Charges, blob gas and gas for each call proven, in ether, deposits' gas included.",
      expr: `sum(${increaseInAll('tranched_fees_total', CALLS)}) / (sum(${countInAll('tranched_fills_total', CALLS)}) > 0)`,
      ...ETHER_UNIT,
      decimals: 6,
    }),
    stat({
      title: 'Logins refused',
      about: "How often the service did not accept the wallet's login, in the time that is shown.",
      expr: `sum(${increaseInAll('tranched_disbelieved_total', 'what="login"')})`,
      unit: 'none',
      decimals: 0,
      steps: GOOD_AT_0,
    }),
  ],
  sections: [
    {
      title: 'Funds',
      panels: [
        lines({
          title: 'GasTank',
          about: 'In ether. outstanding: charges that are not settled yet. A gap: unknown.',
          ...ETHER_UNIT,
          min: 0,
          queries: [
            { expr: of('tranched_gastank_available_ether'), legend: '{{account}} available' },
            { expr: of('tranched_gastank_outstanding_ether'), legend: '{{account}} outstanding' },
            { expr: of('tranched_gastank_alert_below_ether'), legend: '{{account}} alert below' },
          ],
        }),
        lines({
          title: 'Ether of the wallets',
          about: 'Pays for deposits, delegations, direct calls and approvals of swaps.',
          ...ETHER_UNIT,
          min: 0,
          queries: [{ expr: of('tranched_wallet_balance', 'token="ETH"'), legend: '{{wallet}}' }],
        }),
      ],
    },
    {
      title: 'Calls',
      panels: [
        bars({
          title: 'Calls by route',
          about:
            'aggregated: in a batch of the service. direct: sent by the account itself, after the service did not.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (venue) (${countOf('tranched_fills_total', CALLS)})`,
              legend: '{{venue}}',
            },
          ],
        }),
        bars({
          title: 'Cost of calls',
          about: 'In ether. charge: of the service. gas: own transactions.',
          ...ETHER_UNIT,
          queries: [
            {
              expr: `sum by (venue, what) (${increaseOf('tranched_fees_total', CALLS)})`,
              legend: '{{venue}} {{what}}',
            },
          ],
        }),
        lines({
          title: 'From opening to proof',
          about: 'Time until the chain proved a call.',
          unit: 's',
          min: 0,
          queries: [0.5, 0.95].map((quantile) => ({
            expr: quantileOf(quantile, 'tranched_order_duration_seconds', {
              by: ['venue'],
              where: [CALLS],
              over: '1h',
            }),
            legend: `{{venue}}, ${quantile * 100} %`,
          })),
        }),
        bars({
          title: 'Calls that failed',
          about: 'The ten most frequent reasons.',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (reason) (${countOf('tranched_failures_total', CALLS)})) or vector(0)`,
              legend: '{{reason}}',
            },
          ],
        }),
        lines({
          title: 'Requests to the aggregation service',
          about: 'By method.',
          unit: 'reqps',
          min: 0,
          queries: [
            {
              expr: `sum by (route) (${rateOf('tranched_requests_total', 'service="aggregator"')})`,
              legend: '{{route}}',
            },
          ],
        }),
        bars({
          title: 'Answers of the aggregation service',
          about:
            'HTTP status or error name. accountNotFound is normal until the first deposit is indexed.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (status) (${increaseOf('tranched_requests_total', 'service="aggregator"')})`,
              legend: '{{status}}',
            },
          ],
        }),
      ],
    },
  ],
}
