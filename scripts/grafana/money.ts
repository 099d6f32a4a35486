import type { Sheet } from './frame.ts'
import { FULLNESS } from './outcomes.ts'
import {
  AMOUNT_UNIT,
  BPS_UNIT,
  bars,
  ETHER_UNIT,
  layers,
  lines,
  MONEY_UNIT,
  stat,
  TIMES_UNIT,
  table,
} from './panels.ts'
import {
  countInAll,
  countOf,
  increaseInAll,
  increaseOf,
  moneyOf,
  of,
  quantileOf,
} from './selector.ts'

const meanAgainstFeed = `sum(${increaseInAll('tranched_execution_vs_feed_bps_sum')}) / sum(${increaseInAll('tranched_execution_vs_feed_bps_count')})`

/** Movements, prices, costs and holdings. */
export const MONEY: Sheet = {
  uid: 'tranched-money',
  title: 'tranched / Money',
  about: 'Movements, prices, costs and holdings.',
  first: [
    stat({
      title: 'Value held',
      about: 'Value of all trading wallets, in the quote token of most price feeds.',
      expr: moneyOf(of('tranched_portfolio_value')),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      course: true,
      span: 6,
    }),
    stat({
      title: 'Change of the value',
      about: 'Change of the value held over the selected time, including deposits and withdrawals.',
      expr: moneyOf(`delta(${of('tranched_portfolio_value')}[$__range])`),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      steps: [
        [null, 'red'],
        [0, 'green'],
      ],
      span: 6,
    }),
    stat({
      title: 'Realised profit',
      about:
        'Proceeds of sales minus their average cost, since the first order in the journal, before fees.',
      expr: moneyOf(of('tranched_profit', 'kind="realised"')),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      steps: [
        [null, 'red'],
        [0, 'green'],
      ],
      span: 6,
    }),
    stat({
      title: 'Unrealised profit',
      about: 'Current value of held purchases minus their average cost, before fees.',
      expr: moneyOf(of('tranched_profit', 'kind="unrealised"')),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      steps: [
        [null, 'red'],
        [0, 'green'],
      ],
      span: 6,
    }),
    stat({
      title: 'Cost of holdings',
      about: 'Average cost of the tokens that orders bought and the wallet still holds.',
      expr: moneyOf(of('tranched_cost_basis')),
      legend: '{{value_token}}',
      ...MONEY_UNIT,
      course: true,
      span: 6,
    }),
    stat({
      title: 'Price against the feeds',
      about:
        "Mean over all fills of the time that is shown, in basis points: how much more they brought than the feeds' price when they were signed. Below 0 is worse.",
      expr: meanAgainstFeed,
      ...BPS_UNIT,
      span: 6,
    }),
    stat({
      title: 'Fees',
      about: 'Charges, blob gas and gas of own transactions, in ether, in the selected time.',
      expr: `sum(${increaseInAll('tranched_fees_total', 'token="ETH"')})`,
      ...ETHER_UNIT,
      decimals: 6,
      span: 6,
    }),
  ],
  sections: [
    {
      title: 'Trading',
      panels: [
        bars({
          title: 'Sold',
          about: 'By proven fills, in whole tokens.',
          ...AMOUNT_UNIT,
          queries: [
            {
              expr: `sum by (token) (${countOf('tranched_volume_total', 'side="sell"')})`,
              legend: '{{token}} sold',
            },
          ],
        }),
        bars({
          title: 'Bought',
          about: 'By proven fills, in whole tokens.',
          ...AMOUNT_UNIT,
          queries: [
            {
              expr: `sum by (token) (${countOf('tranched_volume_total', 'side="buy"')})`,
              legend: '{{token}} bought',
            },
          ],
        }),
        lines({
          title: 'Price against the feeds',
          about:
            "How much more fills brought than the feeds' price when they were signed: one in ten was worse than the lowest line.",
          ...BPS_UNIT,
          queries: [
            [0.1, 'one in ten worse'],
            [0.5, 'median'],
            [0.9, 'one in ten better'],
          ].map(([quantile, legend]) => ({
            expr: quantileOf(Number(quantile), 'tranched_execution_vs_feed_bps', {
              by: [],
              over: '1h',
            }),
            legend: String(legend),
          })),
        }),
        bars({
          title: 'Fees',
          about:
            'Cost of execution, in ether. charge: of the aggregation service. gas: own transactions. Swaps are gasless; approvals and wraps are not.',
          ...ETHER_UNIT,
          queries: [
            {
              expr: `sum by (venue, what) (${increaseOf('tranched_fees_total', 'token="ETH"')})`,
              legend: '{{venue}} {{what}}',
            },
          ],
        }),
        table({
          title: 'By strategy',
          about: 'For the time range shown.',
          rows: { strategy: 'Strategy' },
          span: 12,
          height: 8,
          sortedBy: 'Fills',
          columns: [
            {
              name: 'Fills',
              expr: `sum by (strategy) (${countInAll('tranched_fills_total')})`,
              unit: 'none',
              decimals: 0,
            },
            {
              name: 'Against the feeds',
              expr: `sum by (strategy) (${increaseInAll('tranched_execution_vs_feed_bps_sum')}) / (sum by (strategy) (${increaseInAll('tranched_execution_vs_feed_bps_count')}) > 0)`,
              ...BPS_UNIT,
              steps: [
                [null, 'red'],
                [-20, 'yellow'],
                [-10, 'green'],
              ],
            },
          ],
        }),
        table({
          title: 'Sold and bought by strategy',
          about: 'For the time range shown, in whole tokens.',
          rows: { strategy: 'Strategy', side: 'Side', token: 'Token' },
          span: 12,
          height: 8,
          columns: [
            {
              name: 'Amount',
              expr: `sum by (strategy, side, token) (${countInAll('tranched_volume_total')})`,
              ...AMOUNT_UNIT,
            },
          ],
        }),
      ],
    },
    {
      title: 'Holdings',
      panels: [
        layers({
          title: 'Value held by token',
          about:
            'In the quote token of most price feeds, without tokens that have no usable price.',
          ...MONEY_UNIT,
          queries: [
            {
              expr: moneyOf(of('tranched_portfolio_value'), 'token'),
              legend: '{{token}}, in {{value_token}}',
            },
          ],
        }),
        lines({
          title: "Use of the account's caps",
          about: 'Used share of each cap of the account.',
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
        table({
          title: 'Wallets',
          about:
            'Balance, and the maximum that the next slots of scheduled sales may need together.',
          rows: { instance: 'Daemon', wallet: 'Wallet', token: 'Token' },
          columns: [
            {
              name: 'Balance',
              expr: `sum by (instance, wallet, token) (${of('tranched_wallet_balance')})`,
              ...AMOUNT_UNIT,
            },
            {
              name: 'Needed next',
              expr: `sum by (instance, wallet, token) (${of('tranched_wallet_needed')})`,
              ...AMOUNT_UNIT,
            },
            {
              name: 'Balance over need',
              expr: `sum by (instance, wallet, token) (${of('tranched_wallet_balance')}) / (sum by (instance, wallet, token) (${of('tranched_wallet_needed')}) > 0)`,
              ...TIMES_UNIT,
              steps: [
                [null, 'red'],
                [1, 'yellow'],
                [3, 'green'],
              ],
            },
          ],
        }),
      ],
    },
  ],
}
