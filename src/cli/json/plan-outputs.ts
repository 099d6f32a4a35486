import * as z from 'zod'
import { REFUSAL_REASONS } from '../../domain/order/reason.ts'
import * as s from '../../system/json-shapes.ts'
import { done } from './shapes.ts'

const strategyPlan = z.strictObject({
  name: s.text('name of the strategy'),
  enabled: s.flag('whether it trades'),
  does: s.text('in words'),
  schedule: s.text('in the words of its file'),
  timezone: s.text("the schedule's own"),
  next: s.list('slots ahead, as many as `--slots` says; empty where none is ever due', {
    slotSeconds: s.count('epoch seconds, as the name of the slot has them'),
    at: s.time('when it is due'),
    inSeconds: s.count('from now'),
  }),
  now: s.object('what a slot would do if it came now', {
    does: s.text('in words'),
    sells: s.list(
      'the most that each of its orders would sell; empty where it has none',
      s.amount(),
    ),
  }),
  mostPerDay: s.list('the most that it may spend in a day', {
    amount: s.nullable('null where nothing bounds it', s.decimal()),
    token: s.text('what is sold'),
    boundBy: s.text('key of the file that bounds it, or `nothing`'),
  }),
  warnings: s.list(
    'what looks like a mistake by the prices of now, and what keeps it from doing what its file says',
    s.text(),
  ),
  notes: s.list('what is worth to know', s.text()),
})

export const plan = done({
  market: s.object('what prices and balances rest on', {
    known: s.flag('whether the chain could be read'),
    why: s.nullable('why it could not; null where it could', s.text()),
    owner: s.nullable('wallet that trades; null where it could not be read', s.address()),
    blockNumber: s.nullable('null where it could not be read', s.bigWhole()),
    blockAt: s.nullable("the block's own time; null where it could not be read", s.time()),
  }),
  strategies: s.list('all, or the one that was named', strategyPlan),
  totals: s.list('of all that are enabled together, by token', {
    of: s.list('strategies that are enabled', s.text()),
    token: s.text('what is sold'),
    perDay: s.nullable('the most of a day; null where nothing bounds it', s.amount()),
    cap: s.nullable("the config's `limits.perDay`; null where it sets none", s.amount()),
    held: s.nullable('in the wallet; null where it is not known', s.amount()),
    lastsSeconds: s.nullable(
      'how long what is held lasts at the worst; null where it lasts for good, or the end cannot be computed',
      s.count(),
    ),
  }),
})
export type PlanData = z.output<typeof plan>

export const quote = done({
  sells: s.amount('what would be paid'),
  buys: s.amount('what the service promises'),
  guaranteed: s.nullable('the least that would be signed for; null where nothing is', s.amount()),
  fee: s.amount('as the service names it: part of what is sold'),
  price: s.decimal('of what is sold for one whole of what is bought'),
  feedPrice: s.nullable('the same by the feeds; null where none gives it', s.decimal()),
  feeds: s.list('BASE/QUOTE of the feeds that gave it', s.text()),
  feedAgeSeconds: s.nullable('of the oldest of them; null without one', z.int()),
  worseThanFeedBps: s.nullable(
    'negative for a quote that is better; null without a feed',
    s.number(),
  ),
  expiresInMs: z.int().describe('negative where it has expired'),
  refusal: s.nullable(
    'why the firewall would not sign it; null where it would',
    z.enum(REFUSAL_REASONS),
  ),
  verdict: s.text('the same in words'),
})
export type QuoteData = z.output<typeof quote>
