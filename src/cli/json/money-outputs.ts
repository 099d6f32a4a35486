import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'
import { cap, done } from './shapes.ts'

const both = {
  fifo: s.amount('amount by first in, first out'),
  average: s.amount('amount by average cost'),
}

const traded = z.strictObject({
  fills: s.count('number of fills'),
  sold: s.amount('total sold'),
  bought: s.amount('total bought'),
  averagePrice: s.nullable('sold per whole unit bought; null if none was bought', s.decimal()),
  vsFeedBps: s.nullable('average advantage over the feeds; null without a price', s.number()),
  fee: s.amount('fees stated by the service, included in `sold`'),
})

const figures = {
  fills: s.count('filled swaps'),
  calls: s.count('executed calls'),
  unproven: s.object('orders booked as spent without proof of what they bought', {
    orders: s.count('number of orders'),
    amounts: s.list('booked amounts, by token', s.amount()),
  }),
  trades: s.list('trades, by pair of tokens', traded),
  charged: s.amount('charges for calls, and the cost of direct calls'),
  callsWithoutCharge: s.count('calls with an unknown charge'),
  carried: s.amount('ether sent with calls'),
  gas: s.amount("gas of the wallets' own transactions"),
  realised: s.nullable('realised profit; null without a value token', both),
}

export const report = done({
  paper: s.flag('whether this is a dry-run: orders booked at their quotes, and nothing moved'),
  sinceAt: s.nullable('start of the period; null for the beginning of the journal', s.time()),
  untilAt: s.time('end of the period, which is now'),
  timezone: s.text('time zone of days, weeks and months'),
  valueToken: s.nullable('token of values, costs and profits; null without a price feed', s.text()),
  total: s.object('totals of the period', figures),
  groups: s.list('totals of each group; empty without `--by` or with `--by token`', {
    ...figures,
    key: s.text('day, week, month or strategy'),
  }),
  profit: s.nullable(
    'profit since the beginning of the journal, whatever `--since` says; null without a value token',
    {
      cost: s.object('cost of the holdings', both),
      realised: s.object('profit of sales', both),
      unrealised: s.nullable('profit of the holdings; null if one has no current price', both),
      proceedsOfUnknownCost: s.amount('proceeds of tokens that were not bought here, by FIFO'),
      held: s.list('bought tokens that are not sold yet', {
        amount: s.amount('amount held'),
        cost: s.object('cost of the amount, without its part of unknown cost', both),
        ofUnknownCost: s.object('part that was paid with tokens that were not bought here', both),
        paidWith: s.list('these tokens', s.text()),
        value: s.nullable('current value; null without a current price', s.amount()),
      }),
    },
  ),
  portfolio: s.object('holdings of the wallet', {
    unknown: s.nullable('why the current holdings are unknown; null if they were read', s.text()),
    total: s.nullable('total value; null if a part is unknown', s.amount()),
    holdings: s.list('current holdings', {
      amount: s.nullable('amount; null if it could not be read', s.amount()),
      token: s.text('symbol'),
      value: s.nullable('value; null without a current price', s.amount()),
    }),
    past: s.list('values recorded by the daemon, oldest first', {
      at: s.time('time of the reading'),
      value: s.nullable('total value; null if a part was unknown', s.amount()),
    }),
  }),
  caps: s.list('current use of every cap', cap),
})
export type ReportOutput = z.output<typeof report>
export type ReportData = Omit<ReportOutput, 'ok' | 'problems'>
export type FiguresData = ReportData['total']
export type TradedData = FiguresData['trades'][number]
export type BothData = ProfitData['cost']
export type ProfitData = NonNullable<ReportData['profit']>
export type PortfolioData = ReportData['portfolio']

const slotEnd = z.strictObject({ outcome: s.text('outcome'), reason: s.text('reason') })

export const drift = done({
  fromAt: s.time('start of the compared period'),
  untilAt: s.time('end of the compared period: the last record'),
  model: s.object('assumptions of the backtest', {
    source: s.oneOf('`journal`: medians of the fills before the period', ['journal', 'default']),
    spreadBps: s.number('spread against the feed'),
    feeBps: s.number('fee of the service'),
    fillSeconds: s.number('time from the signature to the fill'),
  }),
  strategies: s.list('enabled strategies with slots in the period', {
    strategy: s.text('name of the strategy'),
    slots: s.count('compared slots'),
    same: s.count('slots with the expected outcome'),
    byHand: s.count('slots opened by hand, which are not compared'),
    otherTerms: s.count('orders of an earlier version of the file'),
    pairs: s.list('fills of slots that were filled live and in the backtest', {
      fills: s.count('number of fills'),
      sold: s.amount('amount sold'),
      bought: s.amount('amount bought'),
      expected: s.amount('amount that the backtest bought for the same amount'),
      vsBacktestBps: s.nullable(
        'advantage of `bought` over `expected`; null if none was',
        s.number(),
      ),
    }),
    differences: s.list('slots with another outcome, most frequent first', {
      live: slotEnd.describe('what happened'),
      expected: slotEnd.describe('what the backtest did'),
      slots: s.count('number of slots'),
      lastSlot: s.text('STRATEGY:EPOCH_SECONDS of the last one'),
    }),
  }),
})
export type DriftOutput = z.output<typeof drift>
export type DriftData = Omit<DriftOutput, 'ok' | 'problems'>

export const entry = z.strictObject({
  at: s.time('time of the proof'),
  type: s.oneOf(
    '`gas`: own transaction; `unproven`: booked as spent without proof of what it bought',
    ['trade', 'call', 'gas', 'unproven'],
  ),
  paper: s.flag('whether a dry-run booked it and nothing moved'),
  strategy: s.nullable('name of the strategy; null if it belongs to none', s.text()),
  intentId: s.nullable('STRATEGY:EPOCH_SECONDS:LEG; null if it belongs to no order', s.text()),
  sold: s.nullable('amount sold, or wrapped or unwrapped into `bought`; null if none', s.amount()),
  bought: s.nullable('amount bought; null if none or unknown', s.amount()),
  cost: s.nullable('charges and gas in ether, besides `sold`; null if none or unknown', s.amount()),
  fee: s.nullable('fee of a trade, included in its price; null if unknown or no trade', s.amount()),
  vsFeedBps: s.nullable('advantage over the feeds; null if no feed gave a price', s.number()),
  what: s.nullable('call, or purpose of an own transaction; null otherwise', s.text()),
  txHash: s.nullable('transaction; null on paper or if unknown', s.hash()),
})
export type EntryData = z.output<typeof entry>
