import * as z from 'zod'
import { REFUSAL_REASONS } from '../../domain/order/reason.ts'
import * as s from '../../system/json-shapes.ts'
import { done } from './shapes.ts'

const SOURCES = ['journal', 'quote', 'none'] as const

const costs = s.object('expected costs', {
  source: s.oneOf('basis of the averages; `none` if nothing is known', SOURCES),
  orders: s.count('fills and calls of the last 30 days; 0 without any'),
  ordersPerMonth: s.nullable(
    'most orders in the next 30 days by the schedule; for a price rule those of the last 30; null if unknown',
    s.count(),
  ),
  items: s.list('costs, by kind and token', {
    what: s.oneOf(
      '`execution`: against the feeds, fee included; `fee`: the part the service states',
      ['execution', 'fee', 'charge', 'gas'],
    ),
    perOrder: s.amount('average cost of an order; negative if better than the feeds'),
    perMonth: s.nullable('cost of `ordersPerMonth` orders; null if unknown', s.amount()),
    worseThanFeedBps: s.nullable('`execution` against the feeds; null for the others', s.number()),
  }),
  note: s.nullable('human-readable remark, or why nothing is known; null for none', s.text()),
})
export type CostsData = z.output<typeof costs>

const strategyPlan = z.strictObject({
  name: s.text('name of the strategy'),
  enabled: s.flag('whether it trades'),
  does: s.text('human-readable description'),
  schedule: s.text('human-readable schedule'),
  timezone: s.text('time zone of the schedule'),
  next: s.list('next slots, at most `--slots`; empty if none is ever due', {
    slotSeconds: s.count('epoch seconds, as in the name of the slot'),
    at: s.time('due time'),
    inSeconds: s.count('seconds from now'),
  }),
  now: s.object('decision if a slot were due now', {
    does: s.text('human-readable decision'),
    sells: s.list('maximum that each order would sell; empty without an order', s.amount()),
  }),
  finished: s.flag('true for a twap whose slices are all over'),
  mostPerDay: s.list('maximum spending in a day, by token', {
    amount: s.nullable('maximum; null if nothing bounds it', s.decimal()),
    token: s.text('token sold'),
    boundBy: s.text('human-readable bound, such as `limits.perDay`; `nothing` if there is none'),
  }),
  warnings: s.list(
    'likely mistakes at current prices, and caps that keep the strategy from doing what its file says',
    s.text(),
  ),
  notes: s.list('human-readable remarks', s.text()),
  costs: s.nullable('null without `--costs`, and for a disabled strategy', costs),
})

export const plan = done({
  market: s.object('source of prices and balances', {
    known: s.flag('whether the chain could be read'),
    why: s.nullable('why the chain could not be read; null if it could', s.text()),
    owner: s.nullable('trading wallet; null if not read', s.address()),
    blockNumber: s.nullable('block number; null if not read', s.bigWhole()),
    blockAt: s.nullable('block time; null if not read', s.time()),
  }),
  strategies: s.list('all strategies, or the named one', strategyPlan),
  totals: s.list('totals of all enabled strategies, by token', {
    of: s.list('enabled strategies', s.text()),
    token: s.text('token sold'),
    perDay: s.nullable('maximum in a day; null if nothing bounds it', s.amount()),
    cap: s.nullable("config's `limits.perDay`; null if not set", s.amount()),
    held: s.nullable('wallet balance; null if unknown', s.amount()),
    lastsSeconds: s.nullable(
      'seconds that `held` lasts in the worst case; null if it never ends, or the end cannot be computed',
      s.count(),
    ),
  }),
})
export type PlanData = z.output<typeof plan>

export const quoteFields = {
  sells: s.amount('amount to sell'),
  buys: s.amount('amount that the service offers'),
  guaranteed: s.nullable('minimum amount bought; null if the quote has none', s.amount()),
  fee: s.amount('fee stated by the service, included in `sells`'),
  price: s.decimal('amount sold for one whole unit bought'),
  feedPrice: s.nullable('same price by the feeds; null if they give none', s.decimal()),
  feeds: s.list('BASE/QUOTE of the feeds used', s.text()),
  feedAgeSeconds: s.nullable('age of the oldest feed; null without a feed price', z.int()),
  worseThanFeedBps: s.nullable(
    'deviation from the feed price, positive if worse; null without a feed price',
    s.number(),
  ),
  expiresInMs: z.int().describe('time until the quote expires; negative if it has'),
  refusal: s.nullable(
    'reason why the firewall would not sign it; null if it would',
    z.enum(REFUSAL_REASONS),
  ),
  verdict: s.text('human-readable verdict of the firewall'),
}

export const quote = done(quoteFields)
export type QuoteData = z.output<typeof quote>
