import * as z from 'zod'
import { amount, count, decimal, flag, judged, list, text, time } from './shapes.ts'

/** What a backtest prints. */

const number = () => z.number()
const percent = () => z.number()

const wealth = z.strictObject({
  value: amount().nullable().describe('null where something held has no price'),
  holdings: list(amount()).describe('all that is held'),
})

const drawdown = z.strictObject({
  percent: percent().describe('deepest fall from the highest value before it, at samples'),
  fromAt: time().nullable().describe('when the value was highest; null where it never fell'),
  deepestAt: time().nullable().describe('when it was lowest; null where it never fell'),
  recoveredAt: time().nullable().describe('when it was as high again; null where it was not'),
  seconds: count().describe('from the highest value until it was reached again, or to the end'),
})

const costs = z.strictObject({
  total: amount().describe('all of them'),
  spread: amount().describe("against the feed's price"),
  fee: amount().describe('of the service'),
  impact: amount().describe('of the size of orders'),
  gas: amount().describe('of wrapping and unwrapping, at the last price of ETH'),
  calls: amount().describe('what calls were charged, at the last price of ETH'),
})

const curve = z.strictObject({
  name: text().describe('what it is of'),
  points: list(number().nullable()).describe(
    'one for each of `atSeconds`; null where it is not known',
  ),
})

const sweep = z.strictObject({
  axes: list(
    z.strictObject({
      key: text().describe('as it was given'),
      values: list(text()).describe('in their order'),
    }),
  ).describe('what was varied'),
  metric: z.enum(['returnPercent', 'drawdownPercent']).describe('what the best is the best by'),
  points: list(
    z.strictObject({
      values: list(text()).describe('one of each axis'),
      returnPercent: percent().nullable().describe('gain of the value'),
      drawdownPercent: percent().nullable().describe('worst'),
      fills: count().describe('orders that were filled'),
    }),
  ).describe('every combination, the last axis running fastest'),
  best: count().nullable().describe('index of the best point; null where none has the figure'),
  isLonely: flag().describe('whether the points beside the best come to far less'),
  walkForward: z
    .strictObject({
      folds: list(
        z.strictObject({
          searchFromAt: time().describe('begin of the part that was searched'),
          searchUntilAt: time().describe('its end'),
          tryFromAt: time().describe('begin of the part after it'),
          tryUntilAt: time().describe('its end'),
          values: list(text()).describe('best where it was searched; empty where none was'),
          searchReturnPercent: percent().nullable().describe('what they gained there'),
          tryReturnPercent: percent().nullable().describe('and in the part after it'),
        }),
      ).describe('one after the other'),
      unseenReturnPercent: percent().nullable().describe('all parts after, one after the other'),
    })
    .nullable()
    .describe('null unless `--walk-forward` was given'),
})

const trades = z.strictObject({
  sold: amount().describe('all of it'),
  bought: amount().describe('all of it'),
  fills: count().describe('orders that were filled'),
  averagePrice: decimal().nullable().describe('sold per bought, in whole tokens'),
  periodPrice: decimal().nullable().describe("mean of the feeds' price at samples, the same way"),
})

const strategy = z.strictObject({
  name: text().describe('name of the strategy'),
  kind: text().describe('of its file'),
  slots: count().describe('all in the period'),
  filled: count().describe('whose orders were all filled'),
  skipped: count().describe('that traded nothing, by a rule'),
  failed: count().describe('failed, refused or expired'),
  missed: count().describe('that nobody attended'),
  open: count().describe('whose orders were under way at the end'),
  outcomes: list(
    z.strictObject({
      outcome: text().describe('as in history'),
      reason: text().describe('as in docs/outcomes.md'),
      count: count().describe('slots'),
    }),
  ).describe('most frequent first'),
  trades: list(trades).describe('by what was sold and bought'),
  calls: count().describe('calls that were made'),
  stopped: text().nullable().describe('why it opened no more slots; null where it did'),
})

export const backtestReport = judged({
  fromAt: time().describe('begin of the period'),
  untilAt: time().describe('its end'),
  valueToken: text().nullable().describe('what values are in; null where no feed is configured'),
  prices: list(
    z.strictObject({
      pair: text().describe('of the feed'),
      source: text().describe('where they come from'),
      rounds: count().describe('in the period or before it'),
    }),
  ).describe('what was played back'),
  model: z
    .strictObject({
      spreadBps: number().describe("cost of a swap against the feed's price"),
      feeBps: number().describe("the service's, on top"),
      depth: amount().nullable().describe('value that moves a price by 1 %; null where none does'),
      failurePercent: percent().describe('orders that come to nothing'),
      quoteSeconds: number().describe('from a slot to the signature'),
      fillSeconds: number().describe('from there to the fill'),
      validSeconds: number().describe('life of a signature'),
      wrapGas: amount().describe('of each wrapping or unwrapping'),
      callCharge: amount().describe('of each call'),
      gasTank: amount().nullable().describe('funds at the beginning; null where they never end'),
      seed: text().describe('which orders fail follows from it'),
      source: z.enum(['default', 'options', 'journal']).describe('where the figures come from'),
    })
    .describe('what stood in for services and chains'),
  begin: wealth.describe('at the beginning'),
  end: wealth.describe('at the end'),
  figures: z
    .strictObject({
      returnPercent: percent().describe('gain of the value'),
      yearlyPercent: percent().nullable().describe('at that rate; null for less than 30 days'),
      drawdown: drawdown.describe('worst'),
      turnover: amount().describe('value of all that was sold'),
      turnoverPercent: percent().nullable().describe('of the value at the beginning'),
      costs: costs.describe('what trading cost'),
    })
    .nullable()
    .describe('null where nothing can be valued'),
  against: list(
    z.strictObject({
      name: z.enum(['holding', 'lump-sum', 'plain-dca']).describe('see docs/backtest.md'),
      value: amount().describe('at the end'),
      returnPercent: percent().describe('gain of the value'),
      drawdownPercent: percent().describe('worst'),
    }),
  ).describe('what else the same money could have been'),
  strategies: list(strategy).describe('those that were played'),
  sensitivity: list(
    z.strictObject({
      what: text().describe('what was assumed otherwise'),
      value: amount().nullable().describe('at the end'),
      returnPercent: percent().nullable().describe('gain of the value'),
      drawdownPercent: percent().nullable().describe('worst'),
      fills: count().describe('orders that were filled'),
    }),
  ).describe('how it moves with the model; empty under `--no-vary`'),
  series: z
    .strictObject({
      atSeconds: list(count()).describe('epoch seconds'),
      value: list(number().nullable()).describe('in value tokens'),
      drawdownPercent: list(percent().nullable()).describe('below the highest so far'),
      against: list(curve).describe('by name'),
      prices: list(curve).describe('by feed'),
      holdings: list(curve).describe('by token'),
      caps: list(curve).describe('how full, in percent'),
      skips: list(curve).describe('slots since the point before, by reason'),
    })
    .describe('curves of at most 1,000 points, for charts'),
  fills: list(
    z.strictObject({
      at: time().describe('when it was filled'),
      strategy: text().describe('whose'),
      slotSeconds: count().describe('of its slot'),
      paid: amount().describe('sold'),
      received: amount().describe('bought'),
      price: decimal().describe('paid per received'),
      marketPrice: decimal().describe("the feeds', the same way"),
    }),
  ).describe('oldest first'),
  fillsLeftOut: count().describe('beyond those'),
  slots: list(
    z.strictObject({
      fromAt: time().describe('first of a run that ended alike'),
      untilAt: time().describe('last of it'),
      count: count().describe('slots'),
      strategy: text().describe('whose'),
      outcome: text().describe('as in history'),
      reason: text().describe('as in docs/outcomes.md'),
      detail: text().nullable().describe('of the first of them'),
    }),
  ).describe('in order'),
  slotsLeftOut: count().describe('rows beyond those'),
  notes: list(text()).describe('what is worth to know of how it was found'),
  sweep: sweep.nullable().describe('null unless `--sweep` was given'),
  expected: list(
    z.strictObject({
      text: text().describe('as it was given'),
      holds: flag().describe('whether it does'),
      actual: decimal().nullable().describe('the figure; null where there is none'),
    }),
  ).describe('what `--expect` asked for'),
})
export type BacktestData = z.output<typeof backtestReport>

export const fetchReport = judged({
  message: text().describe('what came of it, in a sentence'),
  feeds: list(
    z.strictObject({
      pair: text().describe('of the feed'),
      file: text().describe('where its prices are'),
      fromAt: time().nullable().describe('first price of the file; null where it has none'),
      untilAt: time().nullable().describe('last price of the file; null where it has none'),
      added: count().describe('rounds that were written'),
      skipped: count().describe('rounds left out, as their answer is no price'),
      removed: count().describe('rounds taken away, as a reorganisation had undone them'),
      end: z
        .enum(['whole', 'stopped', 'unread'])
        .describe('`whole`; or why it is not: a signal, or a chain that could not be read'),
      detail: text().nullable().describe('why the chain could not be read'),
    }),
  ).describe('in the order of the config; those after a signal are left out'),
})
export type FetchData = z.output<typeof fetchReport>

export const replayReport = judged({
  message: text().describe('what came of it, in a sentence'),
  strategies: list(
    z.strictObject({
      strategy: text().describe('its name'),
      slots: count().describe('decisions that were taken again'),
    }),
  ).describe('those that the journal has decisions of'),
  others: count().describe('decisions of files that are gone or say otherwise by now'),
  differences: list(
    z.strictObject({
      slot: text().describe('`strategy:seconds`'),
      was: text().describe('what the journal has'),
      is: text().describe('what is decided now'),
    }),
  ).describe('at most 20 of them'),
  differencesLeftOut: count().describe('beyond those'),
})
export type ReplayData = z.output<typeof replayReport>
