import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'

/** What a backtest comes to, as the command prints it. */

const wealth = z.strictObject({
  value: s.nullable('null where something held has no price', s.amount()),
  holdings: s.list('all that is held', s.amount()),
})

const drawdown = z.strictObject({
  percent: s.number('deepest fall from the highest value before it, at samples'),
  fromAt: s.nullable('when the value was highest; null where it never fell', s.time()),
  deepestAt: s.nullable('when it was lowest; null where it never fell', s.time()),
  recoveredAt: s.nullable('when it was as high again; null where it was not', s.time()),
  seconds: s.count('from the highest value until it was reached again, or to the end'),
})

const costs = z.strictObject({
  total: s.amount('all of them'),
  spread: s.amount("against the feed's price"),
  fee: s.amount('of the service'),
  impact: s.amount('of the size of orders'),
  gas: s.amount('of wrapping and unwrapping, at the last price of ETH'),
  calls: s.amount('what calls were charged, at the last price of ETH'),
})

const curve = z.strictObject({
  name: s.text('what it is of'),
  points: s.list('one for each of `atSeconds`; null where it is not known', s.number().nullable()),
})

const sweep = z.strictObject({
  axes: s.list('what was varied', {
    key: s.text('as it was given'),
    values: s.list('in their order', s.text()),
  }),
  metric: s.oneOf('what the best is the best by', ['returnPercent', 'drawdownPercent']),
  points: s.list('every combination, the last axis running fastest', {
    values: s.list('one of each axis', s.text()),
    returnPercent: s.nullable('gain of the value', s.number()),
    drawdownPercent: s.nullable('worst', s.number()),
    fills: s.count('orders that were filled'),
  }),
  best: s.nullable('index of the best point; null where none has the figure', s.count()),
  isLonely: s.flag('whether the points beside the best come to far less'),
  walkForward: s.nullable('null unless `--walk-forward` was given', {
    folds: s.list('one after the other', {
      searchFromAt: s.time('begin of the part that was searched'),
      searchUntilAt: s.time('its end'),
      tryFromAt: s.time('begin of the part after it'),
      tryUntilAt: s.time('its end'),
      values: s.list('best where it was searched; empty where none was', s.text()),
      searchReturnPercent: s.nullable('what they gained there', s.number()),
      tryReturnPercent: s.nullable('and in the part after it', s.number()),
    }),
    unseenReturnPercent: s.nullable('all parts after, one after the other', s.number()),
  }),
})

const trades = z.strictObject({
  sold: s.amount('all of it'),
  bought: s.amount('all of it'),
  fills: s.count('orders that were filled'),
  averagePrice: s.nullable('sold per bought, in whole tokens', s.decimal()),
  periodPrice: s.nullable("mean of the feeds' price at samples, the same way", s.decimal()),
})

const strategy = z.strictObject({
  name: s.text('name of the strategy'),
  kind: s.text('of its file'),
  slots: s.count('all in the period'),
  filled: s.count('whose orders were all filled'),
  skipped: s.count('that traded nothing, by a rule'),
  failed: s.count('failed, refused or expired'),
  missed: s.count('that nobody attended'),
  open: s.count('whose orders were under way at the end'),
  outcomes: s.list('most frequent first', {
    outcome: s.text('as in history'),
    reason: s.text('as in docs/outcomes.md'),
    count: s.count('slots'),
  }),
  trades: s.list('by what was sold and bought', trades),
  calls: s.count('calls that were made'),
  stopped: s.nullable('why it opened no more slots; null where it did', s.text()),
})

export const backtestResult = z.strictObject({
  fromAt: s.time('begin of the period'),
  untilAt: s.time('its end'),
  valueToken: s.nullable('what values are in; null where no feed is configured', s.text()),
  prices: s.list('what was played back', {
    pair: s.text('of the feed'),
    source: s.text('where they come from'),
    rounds: s.count('in the period or before it'),
  }),
  model: s.object('what stood in for services and chains', {
    spreadBps: s.number("cost of a swap against the feed's price"),
    feeBps: s.number("the service's, on top"),
    depth: s.nullable('value that moves a price by 1 %; null where none does', s.amount()),
    failurePercent: s.number('orders that come to nothing'),
    quoteSeconds: s.number('from a slot to the signature'),
    fillSeconds: s.number('from there to the fill'),
    validSeconds: s.number('life of a signature'),
    wrapGas: s.amount('of each wrapping or unwrapping'),
    callCharge: s.amount('of each call'),
    gasTank: s.nullable('funds at the beginning; null where they never end', s.amount()),
    seed: s.text('which orders fail follows from it'),
    source: s.oneOf('where the figures come from', ['default', 'options', 'journal']),
  }),
  begin: wealth.describe('at the beginning'),
  end: wealth.describe('at the end'),
  figures: s.nullable('null where nothing can be valued', {
    returnPercent: s.number('gain of the value'),
    yearlyPercent: s.nullable('at that rate; null for less than 30 days', s.number()),
    drawdown: drawdown.describe('worst'),
    turnover: s.amount('value of all that was sold'),
    turnoverPercent: s.nullable('of the value at the beginning', s.number()),
    costs: costs.describe('what trading cost'),
  }),
  against: s.list('what else the same money could have been', {
    name: s.oneOf('see docs/backtest.md', ['holding', 'lump-sum', 'plain-dca']),
    value: s.amount('at the end'),
    returnPercent: s.number('gain of the value'),
    drawdownPercent: s.number('worst'),
  }),
  strategies: s.list('those that were played', strategy),
  sensitivity: s.list('how it moves with the model; empty under `--no-vary`', {
    what: s.text('what was assumed otherwise'),
    value: s.nullable('at the end', s.amount()),
    returnPercent: s.nullable('gain of the value', s.number()),
    drawdownPercent: s.nullable('worst', s.number()),
    fills: s.count('orders that were filled'),
  }),
  series: s.object('curves of at most 1,000 points, for charts', {
    atSeconds: s.list('epoch seconds', s.count()),
    value: s.list('in value tokens', s.number().nullable()),
    drawdownPercent: s.list('below the highest so far', s.number().nullable()),
    against: s.list('by name', curve),
    prices: s.list('by feed', curve),
    holdings: s.list('by token', curve),
    caps: s.list('how full, in percent', curve),
    skips: s.list('slots since the point before, by reason', curve),
  }),
  fills: s.list('oldest first', {
    at: s.time('when it was filled'),
    strategy: s.text('whose'),
    slotSeconds: s.count('of its slot'),
    paid: s.amount('sold'),
    received: s.amount('bought'),
    price: s.decimal('paid per received'),
    marketPrice: s.decimal("the feeds', the same way"),
  }),
  fillsLeftOut: s.count('beyond those'),
  slots: s.list('in order', {
    fromAt: s.time('first of a run that ended alike'),
    untilAt: s.time('last of it'),
    count: s.count('slots'),
    strategy: s.text('whose'),
    outcome: s.text('as in history'),
    reason: s.text('as in docs/outcomes.md'),
    detail: s.nullable('of the first of them', s.text()),
  }),
  slotsLeftOut: s.count('rows beyond those'),
  notes: s.list('what is worth to know of how it was found', s.text()),
  sweep: s.nullable('null unless `--sweep` was given', sweep),
})
