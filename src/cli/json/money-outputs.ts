import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { cap, done } from './shapes.ts'

const both = {
  fifo: s.amount('by first in, first out'),
  average: s.amount('by the average'),
}

const traded = z.strictObject({
  fills: s.count('how many'),
  sold: s.amount('what was paid'),
  bought: s.amount('what was received'),
  averagePrice: s.nullable(
    'of what is sold for one whole of what is bought; null where nothing was received',
    s.decimal(),
  ),
  vsFeedBps: s.nullable(
    'better than the feeds, weighed by what was paid; null where no feed gave a price',
    s.number(),
  ),
  fee: s.amount('as the service named it: part of what was sold'),
})

const figures = {
  fills: s.count('swaps that were filled'),
  calls: s.count('calls that were executed'),
  unproven: s.object('orders that count as spent although nothing proves what they bought', {
    orders: s.count('how many'),
    amounts: s.list('what is booked for them, by token', s.amount()),
  }),
  trades: s.list('by pair of tokens', traded),
  charged: s.amount('what the aggregation service charged for calls'),
  callsWithoutCharge: s.count('calls of which the charge is not known'),
  carried: s.amount('ether that calls carried'),
  gas: s.amount('of own transactions'),
  realised: s.nullable('profit of what was sold; null without a value token', both),
}

export const report = done({
  paper: s.flag('dry-run: orders were booked at their quotes, and nothing moved'),
  sinceAt: s.nullable('null: from the beginning', s.time()),
  untilAt: s.time('now'),
  timezone: s.text('whose days, weeks and months'),
  valueToken: s.nullable(
    'values, costs and profits are in it; null where the config has no price feed',
    s.text(),
  ),
  total: s.object('of all of it', figures),
  groups: s.list('empty without `--by`', {
    ...figures,
    key: s.text('day, week, month or strategy'),
  }),
  profit: s.nullable(
    'since the beginning of the journal, whatever `--since` says; null without a value token',
    {
      cost: s.object('of what is held', both),
      realised: s.object('of what was sold', both),
      unrealised: s.nullable('null where something of what is held has no price now', both),
      proceedsOfUnknownCost: s.amount('of what was sold and never bought here'),
      held: s.list('what is left of what was bought', {
        amount: s.amount('what is held'),
        cost: s.object('what it cost', both),
        value: s.nullable('what it is worth; null where it has no price now', s.amount()),
      }),
    },
  ),
  portfolio: s.object('what the wallet holds', {
    unknown: s.nullable('why nothing is known of now; null where it was read', s.text()),
    total: s.nullable('null where a part of it is not known', s.amount()),
    holdings: s.list('what the wallet holds now', {
      amount: s.nullable('null where it could not be read', s.amount()),
      token: s.text('symbol'),
      value: s.nullable('null where it has no price now', s.amount()),
    }),
    past: s.list('over time, as the daemon noted it; oldest first', {
      at: s.time('when it was read'),
      value: s.nullable('null where a part of it was not known', s.amount()),
    }),
  }),
  caps: s.list('how full every cap is', cap),
})
export type ReportOutput = z.output<typeof report>
export type ReportData = Omit<ReportOutput, 'ok' | 'problems'>
export type FiguresData = ReportData['total']
export type TradedData = FiguresData['trades'][number]
export type BothData = ProfitData['cost']
export type ProfitData = NonNullable<ReportData['profit']>
export type PortfolioData = ReportData['portfolio']

export const entry = z.strictObject({
  at: s.time('when it was proven'),
  type: s.oneOf(
    '`gas` of an own transaction; `unproven`: booked as spent, and nothing proves what it bought',
    ['trade', 'call', 'gas', 'unproven'],
  ),
  paper: s.flag('dry-run booked it: nothing moved'),
  strategy: s.nullable('null for what belongs to none', s.text()),
  intentId: s.nullable('STRATEGY:EPOCH_SECONDS:LEG; null for what belongs to none', s.text()),
  sold: s.nullable(
    'null where nothing was; of a wrap or unwrap what was turned into `bought`',
    s.amount(),
  ),
  bought: s.nullable('null where nothing was, or it is not known', s.amount()),
  cost: s.nullable(
    'besides: charges and gas in ether; null where there are none, or they are not known',
    s.amount(),
  ),
  fee: s.nullable('of a trade, part of its price; null for any other', s.amount()),
  vsFeedBps: s.nullable('better than the feeds; null where no feed gave a price', s.number()),
  what: s.nullable('call or purpose; null for a trade', s.text()),
  txHash: s.nullable('null on paper, and where it is not known', s.hash()),
})
/** A ledger entry for other programs. */
export type EntryData = z.output<typeof entry>
