import * as z from 'zod'
import { amount, cap, count, decimal, done, flag, hash, list, text, time } from './shapes.ts'

/** Outputs of the commands that tell what became of the money. */

const both = () =>
  z.strictObject({
    fifo: amount().describe('by first in, first out'),
    average: amount().describe('by the average'),
  })

const traded = z.strictObject({
  fills: count().describe('how many'),
  sold: amount().describe('what was paid'),
  bought: amount().describe('what was received'),
  averagePrice: decimal()
    .nullable()
    .describe('of what is sold for one whole of what is bought; null where nothing was received'),
  vsFeedBps: z
    .number()
    .nullable()
    .describe('better than the feeds, weighed by what was paid; null where no feed gave a price'),
  fee: amount().describe('as the service named it: part of what was sold'),
})

const figures = {
  fills: count().describe('swaps that were filled'),
  calls: count().describe('calls that were executed'),
  unproven: z
    .strictObject({
      orders: count().describe('how many'),
      amounts: list(amount()).describe('what is booked for them, by token'),
    })
    .describe('orders that count as spent although nothing proves what they bought'),
  trades: list(traded).describe('by pair of tokens'),
  charged: amount().describe('what the aggregation service charged for calls'),
  callsWithoutCharge: count().describe('calls of which the charge is not known'),
  carried: amount().describe('ether that calls carried'),
  gas: amount().describe('of own transactions'),
  realised: both().nullable().describe('profit of what was sold; null without a value token'),
}

export const report = done({
  paper: flag().describe('dry-run: orders were booked at their quotes, and nothing moved'),
  sinceAt: time().nullable().describe('null: from the beginning'),
  untilAt: time().describe('now'),
  timezone: text().describe('whose days, weeks and months'),
  valueToken: text()
    .nullable()
    .describe('values, costs and profits are in it; null where the config has no price feed'),
  total: z.strictObject(figures).describe('of all of it'),
  groups: list(
    z.strictObject({ ...figures, key: text().describe('day, week, month or strategy') }),
  ).describe('empty without `--by`'),
  profit: z
    .strictObject({
      cost: both().describe('of what is held'),
      realised: both().describe('of what was sold'),
      unrealised: both()
        .nullable()
        .describe('null where something of what is held has no price now'),
      proceedsOfUnknownCost: amount().describe('of what was sold and never bought here'),
      held: list(
        z.strictObject({
          amount: amount().describe('what is held'),
          cost: both().describe('what it cost'),
          value: amount().nullable().describe('what it is worth; null where it has no price now'),
        }),
      ).describe('what is left of what was bought'),
    })
    .nullable()
    .describe(
      'since the beginning of the journal, whatever `--since` says; null without a value token',
    ),
  portfolio: z
    .strictObject({
      unknown: text().nullable().describe('why nothing is known of now; null where it was read'),
      total: amount().nullable().describe('null where a part of it is not known'),
      holdings: list(
        z.strictObject({
          amount: amount().nullable().describe('null where it could not be read'),
          token: text().describe('symbol'),
          value: amount().nullable().describe('null where it has no price now'),
        }),
      ).describe('what the wallet holds now'),
      past: list(
        z.strictObject({
          at: time().describe('when it was looked at'),
          value: amount().nullable().describe('null where a part of it was not known'),
        }),
      ).describe('over time, as the daemon noted it; oldest first'),
    })
    .describe('what the wallet holds'),
  caps: list(cap()).describe('how full every cap is'),
})
export type ReportOutput = z.output<typeof report>
/** Without what stands around the data of every command. */
export type ReportData = Omit<ReportOutput, 'ok' | 'problems'>
export type FiguresData = ReportData['total']
export type TradedData = FiguresData['trades'][number]
export type BothData = z.output<ReturnType<typeof both>>
export type ProfitData = NonNullable<ReportData['profit']>
export type PortfolioData = ReportData['portfolio']

export const entry = z.strictObject({
  at: time().describe('when it was proven'),
  type: z
    .enum(['trade', 'call', 'gas', 'unproven'])
    .describe(
      '`gas` of an own transaction; `unproven`: booked as spent, and nothing proves what it bought',
    ),
  paper: flag().describe('dry-run booked it: nothing moved'),
  strategy: text().nullable().describe('null for what belongs to none'),
  intentId: text().nullable().describe('STRATEGY:EPOCH_SECONDS:LEG; null for what belongs to none'),
  sold: amount()
    .nullable()
    .describe('null where nothing was; of a wrap or unwrap what was turned into `bought`'),
  bought: amount().nullable().describe('null where nothing was, or it is not known'),
  cost: amount()
    .nullable()
    .describe(
      'besides: charges and gas in ether; null where there are none, or they are not known',
    ),
  fee: amount().nullable().describe('of a trade, part of its price; null for any other'),
  vsFeedBps: z
    .number()
    .nullable()
    .describe('better than the feeds; null where no feed gave a price'),
  what: text().nullable().describe('call or purpose; null for a trade'),
  txHash: hash().nullable().describe('null on paper, and where it is not known'),
})
/** An entry of the books as other programs are told it. */
export type EntryData = z.output<typeof entry>
