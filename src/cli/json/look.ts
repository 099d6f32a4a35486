import * as z from 'zod'
import { NOTIFY_EVENT_NAMES } from '../../domain/notify.ts'
import { FAILURE_REASONS, REFUSAL_REASONS, SKIP_REASONS } from '../../domain/reason.ts'
import { CHECK_IDS, SECTIONS } from '../commands/doctor/check.ts'
import {
  address,
  amount,
  cap,
  count,
  done,
  flag,
  hash,
  judged,
  list,
  MODES,
  ORDER_STATES,
  OUTCOMES,
  problem,
  text,
  time,
  VENUES,
} from './shapes.ts'

/** Outputs of the commands that only look; `plan` and `quote` have a file of their own. */

const KINDS = ['dca', 'rebalance', 'threshold', 'twap', 'call', 'custom'] as const
const CAUSES = ['operator', 'failure-streak', 'drawdown', 'evidence'] as const
/** The same word may stand in more than one of the sets. */
const END_REASONS = [
  ...new Set([
    ...SKIP_REASONS,
    ...REFUSAL_REASONS,
    ...FAILURE_REASONS,
    'filled',
    'missed',
  ] as const),
]

const slotName = () => text().describe('STRATEGY:EPOCH_SECONDS, as `why` takes it')

export const validate = done({
  mode: z.enum(MODES).describe('of the config'),
  strategies: list(
    z.strictObject({
      name: text().describe('name of the strategy'),
      kind: z.enum(KINDS).describe('what it does'),
      enabled: flag().describe('whether it trades'),
      file: text().describe('its file'),
    }),
  ).describe('every strategy file'),
  receivers: list(
    z.strictObject({
      name: text().describe('kind and place of a receiver, such as `telegram-1`'),
      on: list(z.enum(NOTIFY_EVENT_NAMES)).describe('events that it hears of'),
    }),
  ).describe('who is told of what, under `notify`'),
  warnings: list(problem).describe('what is worth a look and stops nothing; shaped as `problems`'),
  schedules: list(
    z.strictObject({
      strategy: text().describe('name of the strategy'),
      message: text().describe('what its schedule may not mean'),
    }),
  ).describe('schedules that are worth a look'),
  prices: list(
    z.strictObject({
      strategy: text().describe('name of the strategy'),
      message: text().describe('the bound and the price'),
    }),
  ).describe(
    'prices of strategy files that look like a mistake by the feeds of now; empty where no node answered',
  ),
})
export type ValidateData = z.output<typeof validate>

export const doctor = judged({
  checks: list(
    z.strictObject({
      id: z.enum(CHECK_IDS).describe('what was asked; docs/doctor.md explains each'),
      section: z.enum(SECTIONS).describe('under which it is shown'),
      verdict: z
        .enum(['fine', 'warning', 'fault', 'unknown'])
        .describe('`unknown` where nobody could tell, or nothing was asked'),
      says: text().describe('what was found, in words'),
      remedy: text().nullable().describe('what to do; null where there is nothing to do'),
    }),
  ).describe('all that was asked, in the order in which it is shown'),
})
export type DoctorData = z.output<typeof doctor>

const pause = (what: string) =>
  z
    .strictObject({
      at: time().describe('since when'),
      cause: z.enum(CAUSES).describe('who or what did it'),
      detail: text().describe('in words'),
    })
    .nullable()
    .describe(what)

const openIntent = z.strictObject({
  intentId: text().describe('STRATEGY:EPOCH_SECONDS:LEG, as `settle` takes it'),
  state: z.enum(ORDER_STATES).describe('docs/outcomes.md explains them'),
  attempt: count().describe('tries so far'),
  orderId: text().nullable().describe("the service's name for it; null before it gave one"),
  deadlineAt: time()
    .nullable()
    .describe(
      'until when what is signed may execute; null where nothing is signed, or it has no deadline',
    ),
  openedAt: time().describe('when it was decided'),
  settled: z
    .strictObject({
      as: z.enum(['dead', 'executed']).describe('what became of it'),
      txHash: hash().nullable().describe('in which transaction; null where that was not said'),
    })
    .nullable()
    .describe("the operator's word by which it closes; null without one"),
})

const standing = z.strictObject({
  name: text().describe('name of the strategy'),
  enabled: flag().nullable().describe('null where its file cannot be read'),
  does: text().nullable().describe('in words; null where its file cannot be read'),
  fills: count().describe('fills so far'),
  paused: pause('null where it is not paused'),
  held: z
    .strictObject({
      at: time().describe('since when'),
      detail: text().describe('why, with the bound and the price'),
    })
    .nullable()
    .describe('what waits for your approval; null where nothing does'),
  failureStreak: count().describe('slots in a row that ended failed, refused or expired'),
  spent: list(amount()).describe('in total, by token; of tokens that the config names'),
  day: list(
    z.strictObject({
      used: amount().describe('over the last 24 hours, with what orders in flight may still take'),
      cap: amount().nullable().describe("the strategy's `limits.perDay`; null where it sets none"),
    }),
  ).describe('spending of the last 24 hours, by token'),
  openSlots: count().describe('slots with orders that are not over'),
  unsold: amount().nullable().describe('what a twap that is over has not sold; null for any other'),
  entry: z
    .strictObject({
      of: text().describe('name of the strategy that buys'),
      held: amount().describe('what it has bought and nobody has sold'),
      cost: amount().describe('what that was bought with, on average'),
    })
    .nullable()
    .describe('what a threshold with `entryOf` measures its levels from; null for any other'),
  lastFillAt: time().nullable().describe('null before its first fill'),
  lastSlot: z
    .strictObject({
      at: time().describe('when it was due'),
      outcome: z.enum(OUTCOMES).describe('docs/outcomes.md explains them'),
      reason: z.enum(END_REASONS).nullable().describe('null where the outcome says it all'),
      detail: text().nullable().describe('in words; null where there are none'),
    })
    .nullable()
    .describe('the last that ended; null before the first'),
  nextSlotAt: time().nullable().describe('null where none is due'),
})

export const status = done({
  mode: z.enum(MODES).nullable().describe('null where neither config nor state says it'),
  stateDir: text().describe('path'),
  running: z
    .strictObject({
      pid: count().describe('process id'),
      startedAt: time().describe('when it took the state directory'),
    })
    .nullable()
    .describe('who holds the state directory; null where nobody does'),
  answers: flag().nullable().describe('whether the daemon answers; null where none runs'),
  staleFiles: z
    .strictObject({
      files: count().describe('how many'),
      refusedAt: time().describe('since when older ones are in force'),
      detail: text().describe('why they were refused'),
    })
    .nullable()
    .describe('files that the daemon refused when it read them again; null where there are none'),
  wallet: text().nullable().describe('address that trades; null before the state is bound to one'),
  halted: pause('null where the journal has no halt'),
  haltFile: text().nullable().describe('what the file HALT says; null where there is none'),
  changedContracts: list(
    z.strictObject({
      name: text().describe('as `approve` takes it'),
      at: time().describe('when the change was recorded'),
      detail: text().describe('the address, its old and its new code'),
    }),
  ).describe('contracts with other code than they had: nothing that depends on them is signed'),
  openIntents: list(openIntent).describe('orders that are not over'),
  strategies: list(standing).describe('of the files; of the state where they cannot be read'),
})
export type StatusData = z.output<typeof status>

const fill = z.strictObject({
  intentId: text().describe('STRATEGY:EPOCH_SECONDS:LEG'),
  paid: amount().nullable().describe('null for a call'),
  received: amount().nullable().describe('null for a call'),
  call: text().nullable().describe('what was called; null for a swap'),
  via: z
    .enum([...VENUES, 'paper'])
    .describe('`paper` where dry-run booked it and nothing was signed'),
  txHash: hash().nullable().describe('null on paper, and where it is not known'),
})
export type SlotFill = z.output<typeof fill>

const slot = z.strictObject({
  slot: slotName(),
  strategy: text().describe('name of the strategy'),
  slotSeconds: count().describe('epoch seconds, as the name of the slot has them'),
  at: time().describe('when it was due'),
  outcome: z
    .enum([...OUTCOMES, 'open'])
    .describe('docs/outcomes.md explains them; `open` before the slot has one'),
  reason: z
    .enum([...END_REASONS, 'fill-reopened'])
    .nullable()
    .describe('null where the outcome says it all'),
  detail: text().nullable().describe('in words; null where there are none'),
  attempts: count().describe('authorizations that were made for it'),
  count: count()
    .nullable()
    .describe('more than one for a run of missed slots; null when too many to count'),
  fills: list(fill).describe('without those that a reorganisation took away'),
  unsold: amount().nullable().describe('after the last slot of a twap: what it has not sold'),
})
export type SlotData = z.output<typeof slot>

export const ps = done({
  daemons: list(
    z.strictObject({
      stateDir: text().describe('path'),
      config: text().nullable().describe('path; null of a daemon of an older version'),
      mode: z.enum(MODES).nullable().describe('null where it is not known yet'),
      pid: count().describe('its process'),
      startedAt: time().describe('since when it runs'),
      wallet: address().nullable().describe('that trades; null before the state has one'),
      halted: text().nullable().describe('why it is halted; null where it is not'),
      paused: list(text()).describe('strategies that are paused'),
      held: list(text()).describe('strategies that wait for your approval'),
      fault: text().nullable().describe('why its state cannot be read; null where it can'),
    }),
  ).describe('that run, and whose state this user may read; the one that has run longest first'),
})
export type PsData = z.output<typeof ps>

export const history = done({ slots: list(slot).describe('oldest first') })
export type HistoryData = z.output<typeof history>

export const why = done({
  slot: slotName(),
  at: time().describe('when it was due'),
  story: list(
    z.strictObject({
      at: time().describe('when it happened'),
      title: text().describe('what happened'),
      sentences: list(text()).describe('the same at length'),
    }),
  ).describe('what became of it, oldest first'),
  caps: list(cap()).describe('how full the caps are by now that bind it'),
  records: list(
    z.strictObject({
      seq: count().describe('place in the journal'),
      at: time().describe('when it was written'),
      event: z
        .record(text(), z.unknown())
        .describe(
          "the journal's own event, as it is: amounts in base units as text, times as epoch numbers",
        ),
    }),
  )
    .nullable()
    .describe('null without `--raw`'),
})
export type WhyData = z.output<typeof why>
