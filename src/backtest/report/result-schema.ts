import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'

/** Result of a backtest, as the command prints it. */

const wealth = z.strictObject({
  value: s.nullable('value of all holdings; null if one has no price', s.amount()),
  holdings: s.list('all holdings', s.amount()),
})

const drawdown = z.strictObject({
  percent: s.number('deepest fall below an earlier peak, over the samples'),
  fromAt: s.nullable('time of the peak; null if the value never fell', s.time()),
  deepestAt: s.nullable('time of the lowest value; null if the value never fell', s.time()),
  recoveredAt: s.nullable('time of the recovery; null if the peak was not reached again', s.time()),
  seconds: s.count('time from the peak to the recovery, or to the end'),
})

const costs = z.strictObject({
  total: s.amount('sum of all costs'),
  spread: s.amount("spread against the feed's price"),
  fee: s.amount('fees of the service'),
  impact: s.amount('price impact of the orders'),
  gas: s.amount('gas of wraps and unwraps, at the last price of ETH'),
  calls: s.amount('charges for calls, at the last price of ETH'),
})

const curve = z.strictObject({
  name: s.text('name of the curve'),
  points: s.list('one point for each of `atSeconds`; null if unknown', s.number().nullable()),
})

const sweep = z.strictObject({
  axes: s.list('varied fields', {
    key: s.text('field as given'),
    values: s.list('values as given, in order', s.text()),
  }),
  metric: s.oneOf('figure that ranks the points', ['returnPercent', 'drawdownPercent']),
  points: s.list('all combinations; the last axis varies fastest', {
    values: s.list('one value per axis', s.text()),
    returnPercent: s.nullable('gain of the value; null if unknown', s.number()),
    drawdownPercent: s.nullable('deepest fall from a peak; null if unknown', s.number()),
    fills: s.count('filled orders'),
  }),
  best: s.nullable('index of the best point; null if none has the figure', s.count()),
  isLonely: s.flag('whether the neighbours of the best point are far worse'),
  walkForward: s.nullable('walk-forward test; null without `--walk-forward`', {
    folds: s.list('folds in order of time', {
      searchFromAt: s.time('start of the searched part'),
      searchUntilAt: s.time('end of the searched part'),
      tryFromAt: s.time('start of the part after it'),
      tryUntilAt: s.time('end of the part after it'),
      values: s.list('best values of the searched part; empty if there are none', s.text()),
      searchReturnPercent: s.nullable('gain in the searched part; null if unknown', s.number()),
      tryReturnPercent: s.nullable('gain in the part after it; null if unknown', s.number()),
    }),
    unseenReturnPercent: s.nullable('all `tryReturnPercent` chained; null if unknown', s.number()),
  }),
})

const trades = z.strictObject({
  sold: s.amount('total sold'),
  bought: s.amount('total bought'),
  fills: s.count('filled orders'),
  averagePrice: s.nullable('sold per bought, in whole tokens; null if none bought', s.decimal()),
  periodPrice: s.nullable("mean of the feeds' price in samples; null if unknown", s.decimal()),
})

const strategy = z.strictObject({
  name: s.text('name of the strategy'),
  kind: s.text('kind of the strategy'),
  slots: s.count('all slots in the period'),
  filled: s.count('slots with all orders filled'),
  skipped: s.count('slots that a rule skipped'),
  failed: s.count('slots that failed, were refused or expired'),
  missed: s.count('slots that were not handled'),
  open: s.count('slots with open orders at the end'),
  outcomes: s.list('outcomes, most frequent first', {
    outcome: s.text('outcome as in `history`'),
    reason: s.text('reason; see docs/outcomes.md'),
    count: s.count('number of slots'),
  }),
  trades: s.list('trades, by pair of tokens', trades),
  calls: s.count('executed calls'),
  stopped: s.nullable('why it was paused or halted; null if it was not', s.text()),
})

export const backtestResult = z.strictObject({
  fromAt: s.time('start of the period'),
  untilAt: s.time('end of the period'),
  valueToken: s.nullable('token of all values; null without a configured feed', s.text()),
  prices: s.list('price series', {
    pair: s.text('BASE/QUOTE of the feed'),
    source: s.text('source of the prices'),
    rounds: s.count('rounds up to the end of the period'),
  }),
  model: s.object('model of services and chains', {
    spreadBps: s.number("cost of a swap against the feed's price"),
    feeBps: s.number('fee of the service on top'),
    depth: s.nullable('order value that moves a price by 1 %; null if none does', s.amount()),
    failurePercent: s.number('share of orders that fail'),
    quoteSeconds: s.number('time from the slot to the signature'),
    fillSeconds: s.number('time from the signature to the fill'),
    validSeconds: s.number('validity of a signature'),
    wrapGas: s.amount('gas of each wrap or unwrap'),
    callCharge: s.amount('charge for each call'),
    gasTank: s.nullable('deposit at the start; null if unlimited', s.amount()),
    seed: s.text('seed that determines which orders fail'),
    source: s.oneOf('source of these figures', ['default', 'options', 'journal']),
  }),
  begin: wealth.describe('holdings at the start'),
  end: wealth.describe('holdings at the end'),
  figures: s.nullable('figures of the whole period; null if nothing can be valued', {
    returnPercent: s.number('gain of the value'),
    yearlyPercent: s.nullable('same rate per year; null for less than 30 days', s.number()),
    drawdown: drawdown.describe('worst drawdown'),
    turnover: s.amount('value of everything sold'),
    turnoverPercent: s.nullable('share of the value at the start; null if that is 0', s.number()),
    costs: costs.describe('cost of trading'),
  }),
  against: s.list('other uses of the same money', {
    name: s.oneOf('alternative; see docs/backtest.md', ['holding', 'lump-sum', 'plain-dca']),
    value: s.amount('value at the end'),
    returnPercent: s.number('gain of the value'),
    drawdownPercent: s.number('deepest fall from a peak'),
  }),
  strategies: s.list('strategies in the backtest', strategy),
  sensitivity: s.list('results under changed models; empty with `--no-vary`', {
    what: s.text('change of the model'),
    value: s.nullable('value at the end; null if unknown', s.amount()),
    returnPercent: s.nullable('gain of the value; null if unknown', s.number()),
    drawdownPercent: s.nullable('deepest fall from a peak; null if unknown', s.number()),
    fills: s.count('filled orders'),
  }),
  series: s.object('curves of at most 1,000 points, for charts', {
    atSeconds: s.list('times in epoch seconds', s.count()),
    value: s.list('value in whole value tokens', s.number().nullable()),
    drawdownPercent: s.list('fall from the highest value so far', s.number().nullable()),
    against: s.list('other uses of the same money, by name', curve),
    prices: s.list('prices by feed', curve),
    holdings: s.list('holdings by token', curve),
    caps: s.list('use of the caps, in percent', curve),
    skips: s.list('slots skipped since the point before, by reason', curve),
  }),
  fills: s.list('fills, oldest first', {
    at: s.time('time of the fill'),
    strategy: s.text('name of the strategy'),
    slotSeconds: s.count('epoch seconds of the slot'),
    paid: s.amount('amount sold'),
    received: s.amount('amount bought'),
    price: s.decimal('sold per bought, in whole tokens'),
    marketPrice: s.decimal('same price by the feeds'),
  }),
  fillsLeftOut: s.count('further fills'),
  slots: s.list('runs of slots with the same outcome, in order', {
    fromAt: s.time('time of the first slot'),
    untilAt: s.time('time of the last slot'),
    count: s.count('number of slots'),
    strategy: s.text('name of the strategy'),
    outcome: s.text('outcome as in `history`'),
    reason: s.text('reason; see docs/outcomes.md'),
    detail: s.nullable('detail of the first slot; null if there is none', s.text()),
  }),
  slotsLeftOut: s.count('further runs'),
  notes: s.list('human-readable remarks on the method', s.text()),
  sweep: s.nullable('results of `--sweep`; null without it', sweep),
})
