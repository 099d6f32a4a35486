import * as z from 'zod'
import { REFUSAL_REASONS } from '../../domain/reason.ts'
import {
  address,
  amount,
  bigWhole,
  count,
  decimal,
  done,
  flag,
  list,
  text,
  time,
} from './shapes.ts'

/** Outputs of the commands that look ahead. */

const strategyPlan = z.strictObject({
  name: text().describe('name of the strategy'),
  enabled: flag().describe('whether it trades'),
  does: text().describe('in words'),
  schedule: text().describe('in the words of its file'),
  timezone: text().describe("the schedule's own"),
  next: list(
    z.strictObject({
      slotSeconds: count().describe('epoch seconds, as the name of the slot has them'),
      at: time().describe('when it is due'),
      inSeconds: count().describe('from now'),
    }),
  ).describe('slots ahead, as many as `--slots` says; empty where none is ever due'),
  now: z
    .strictObject({
      does: text().describe('in words'),
      sells: list(amount()).describe(
        'the most that each of its orders would sell; empty where it has none',
      ),
    })
    .describe('what a slot would do if it came now'),
  mostPerDay: list(
    z.strictObject({
      amount: decimal().nullable().describe('null where nothing bounds it'),
      token: text().describe('what is sold'),
      boundBy: text().describe('key of the file that bounds it, or `nothing`'),
    }),
  ).describe('the most that it may spend in a day'),
  warnings: list(text()).describe(
    'what looks like a mistake by the prices of now, and what keeps it from doing what its file says',
  ),
  notes: list(text()).describe('what is worth to know'),
})

export const plan = done({
  market: z
    .strictObject({
      known: flag().describe('whether the chain could be read'),
      why: text().nullable().describe('why it could not; null where it could'),
      owner: address().nullable().describe('wallet that trades; null where it could not be read'),
      blockNumber: bigWhole().nullable().describe('null where it could not be read'),
      blockAt: time().nullable().describe("the block's own time; null where it could not be read"),
    })
    .describe('what prices and balances rest on'),
  strategies: list(strategyPlan).describe('all, or the one that was named'),
  totals: list(
    z.strictObject({
      of: list(text()).describe('strategies that are enabled'),
      token: text().describe('what is sold'),
      perDay: amount().nullable().describe('the most of a day; null where nothing bounds it'),
      cap: amount().nullable().describe("the config's `limits.perDay`; null where it sets none"),
      held: amount().nullable().describe('in the wallet; null where it is not known'),
      lastsSeconds: count()
        .nullable()
        .describe(
          'how long what is held lasts at the worst; null where it lasts for good, or nobody can tell',
        ),
    }),
  ).describe('of all that are enabled together, by token'),
})
export type PlanData = z.output<typeof plan>

export const quote = done({
  sells: amount().describe('what would be paid'),
  buys: amount().describe('what the service promises'),
  guaranteed: amount()
    .nullable()
    .describe('the least that would be signed for; null where nothing is'),
  fee: amount().describe('as the service names it: part of what is sold'),
  price: decimal().describe('of what is sold for one whole of what is bought'),
  feedPrice: decimal().nullable().describe('the same by the feeds; null where none gives it'),
  feeds: list(text()).describe('BASE/QUOTE of the feeds that gave it'),
  feedAgeSeconds: z.int().nullable().describe('of the oldest of them; null without one'),
  worseThanFeedBps: z
    .number()
    .nullable()
    .describe('negative for a quote that is better; null without a feed'),
  expiresInMs: z.int().describe('negative where it has expired'),
  refusal: z
    .enum(REFUSAL_REASONS)
    .nullable()
    .describe('why the firewall would not sign it; null where it would'),
  verdict: text().describe('the same in words'),
})
export type QuoteData = z.output<typeof quote>
