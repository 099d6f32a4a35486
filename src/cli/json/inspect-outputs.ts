import * as z from 'zod'
import { NOTIFY_EVENT_NAMES } from '../../domain/notify.ts'
import { OUTCOMES } from '../../domain/order/intent.ts'
import { FAILURE_REASONS, REFUSAL_REASONS, SKIP_REASONS } from '../../domain/order/reason.ts'
import { fillReopened } from '../../journal/events/order/fills.ts'
import { KIND_NAMES } from '../../strategies/registry.ts'
import * as s from '../../system/json-shapes.ts'
import { ROUTE_NAMES } from '../../venues/projections.ts'
import { CHECK_IDS, SECTIONS } from '../commands/doctor/check.ts'
import { cap, done, MODES, ORDER_STATES, outcome, problem } from './shapes.ts'

const CAUSES = ['operator', 'failure-streak', 'drawdown', 'evidence'] as const
/** The same word may stand in several sets. */
const END_REASONS = [
  ...new Set([
    ...SKIP_REASONS,
    ...REFUSAL_REASONS,
    ...FAILURE_REASONS,
    'filled',
    'missed',
  ] as const),
]

const slotName = s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it')

export const validate = done({
  mode: s.oneOf('of the config', MODES),
  strategies: s.list('every strategy file', {
    name: s.text('name of the strategy'),
    kind: s.oneOf('what it does', KIND_NAMES),
    enabled: s.flag('whether it trades'),
    file: s.text('its file'),
  }),
  receivers: s.list('receivers under `notify` and their events', {
    name: s.text('kind and place of a receiver, such as `telegram-1`'),
    on: s.list('events that it hears of', z.enum(NOTIFY_EVENT_NAMES)),
  }),
  warnings: s.list('what is worth a look and stops nothing; shaped as `problems`', problem),
  schedules: s.list('schedules that are worth a look', {
    strategy: s.text('name of the strategy'),
    message: s.text('what its schedule may not mean'),
  }),
  prices: s.list(
    'prices of strategy files that look like a mistake by the feeds of now; empty where no node answered',
    {
      strategy: s.text('name of the strategy'),
      message: s.text('the bound and the price'),
    },
  ),
})
export type ValidateData = z.output<typeof validate>

export const doctor = outcome({
  checks: s.list('all that was asked, in the order in which it is shown', {
    id: s.oneOf('what was asked; docs/doctor.md explains each', CHECK_IDS),
    section: s.oneOf('under which it is shown', SECTIONS),
    verdict: s.oneOf('`unknown` where nothing was asked, or the answer says nothing', [
      'fine',
      'warning',
      'fault',
      'unknown',
    ]),
    says: s.text('what was found, in words'),
    remedy: s.nullable('what to do; null where there is nothing to do', s.text()),
  }),
})
export type DoctorData = z.output<typeof doctor>

const pause = (what: string) =>
  s.nullable(what, {
    at: s.time('since when'),
    cause: s.oneOf('who or what did it', CAUSES),
    detail: s.text('in words'),
  })

const openIntent = z.strictObject({
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG, as `settle` takes it'),
  state: s.oneOf('docs/outcomes.md explains them', ORDER_STATES),
  attempt: s.count('tries so far'),
  orderId: s.nullable("the service's name for it; null before it gave one", s.text()),
  deadlineAt: s.nullable(
    'until when what is signed may execute; null where nothing is signed, or it has no deadline',
    s.time(),
  ),
  openedAt: s.time('when it was decided'),
  settled: s.nullable("the operator's word by which it closes; null without one", {
    as: s.oneOf('what became of it', ['dead', 'executed']),
    txHash: s.nullable('in which transaction; null where that was not said', s.hash()),
  }),
})

const strategyStatus = z.strictObject({
  name: s.text('name of the strategy'),
  enabled: s.nullable('null where its file cannot be read', s.flag()),
  does: s.nullable('in words; null where its file cannot be read', s.text()),
  fills: s.count('fills so far'),
  paused: pause('null where it is not paused'),
  held: s.nullable('what waits for your approval; null where nothing does', {
    at: s.time('since when'),
    detail: s.text('why, with the bound and the price'),
  }),
  failureStreak: s.count('slots in a row that ended failed, refused or expired'),
  spent: s.list('in total, by token; of tokens that the config names', s.amount()),
  day: s.list('spending of the last 24 hours, by token', {
    used: s.amount('over the last 24 hours, with what orders in flight may still take'),
    cap: s.nullable("the strategy's `limits.perDay`; null where it sets none", s.amount()),
  }),
  openSlots: s.count('slots with orders that are not over'),
  unsold: s.nullable('what a twap that is over has not sold; null for any other', s.amount()),
  entry: s.nullable(
    'what a threshold with `entryOf` measures its levels from; null for any other',
    {
      of: s.text('name of the strategy that buys'),
      held: s.amount('what it has bought and not sold'),
      cost: s.amount('what that was bought with, on average'),
    },
  ),
  lastFillAt: s.nullable('null before its first fill', s.time()),
  lastSlot: s.nullable('the last that ended; null before the first', {
    at: s.time('when it was due'),
    outcome: s.oneOf('docs/outcomes.md explains them', OUTCOMES),
    reason: s.nullable('null where the outcome says it all', z.enum(END_REASONS)),
    detail: s.nullable('in words; null where there are none', s.text()),
  }),
  nextSlotAt: s.nullable('null where none is due', s.time()),
})

export const status = done({
  mode: s.nullable('null where neither config nor state says it', z.enum(MODES)),
  stateDir: s.text('path'),
  running: s.nullable('who holds the state directory; null where no process does', {
    pid: s.count('process id'),
    startedAt: s.time('when it took the state directory'),
  }),
  answers: s.nullable('whether the daemon answers; null where none runs', s.flag()),
  staleFiles: s.nullable(
    'files that the daemon refused when it read them again; null where there are none',
    {
      files: s.count('how many'),
      refusedAt: s.time('since when older ones are in force'),
      detail: s.text('why they were refused'),
    },
  ),
  wallet: s.nullable('address that trades; null before the state is bound to one', s.text()),
  halted: pause('null where the journal has no halt'),
  haltFile: s.nullable('what the file HALT says; null where there is none', s.text()),
  changedContracts: s.list(
    'contracts with other code than they had: nothing that depends on them is signed',
    {
      name: s.text('as `approve` takes it'),
      at: s.time('when the change was recorded'),
      detail: s.text('the address, its old and its new code'),
    },
  ),
  openIntents: s.list('orders that are not over', openIntent),
  strategies: s.list('of the files; of the state where they cannot be read', strategyStatus),
})
export type StatusData = z.output<typeof status>

const fill = z.strictObject({
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  paid: s.nullable('null for a call', s.amount()),
  received: s.nullable('null for a call', s.amount()),
  call: s.nullable('what was called; null for a swap', s.text()),
  via: s.oneOf('`paper` where dry-run booked it and nothing was signed', [...ROUTE_NAMES, 'paper']),
  txHash: s.nullable('null on paper, and where it is not known', s.hash()),
})
export type SlotFill = z.output<typeof fill>

const slot = z.strictObject({
  slot: slotName,
  strategy: s.text('name of the strategy'),
  slotSeconds: s.count('epoch seconds, as the name of the slot has them'),
  at: s.time('when it was due'),
  outcome: s.oneOf('docs/outcomes.md explains them; `open` before the slot has one', [
    ...OUTCOMES,
    'open',
  ]),
  reason: s.nullable(
    'null where the outcome says it all',
    z.enum([...END_REASONS, fillReopened.type]),
  ),
  detail: s.nullable('in words; null where there are none', s.text()),
  attempts: s.count('authorizations that were made for it'),
  count: s.nullable(
    'more than one for a run of missed slots; null when too many to count',
    s.count(),
  ),
  fills: s.list('without those that a reorganisation took away', fill),
  unsold: s.nullable('after the last slot of a twap: what it has not sold', s.amount()),
})
export type SlotData = z.output<typeof slot>

export const ps = done({
  daemons: s.list(
    'that run, and whose state this user may read; the one that has run longest first',
    {
      stateDir: s.text('path'),
      config: s.nullable('path; null of a daemon of an older version', s.text()),
      mode: s.nullable('null where it is not known yet', z.enum(MODES)),
      pid: s.count('its process'),
      startedAt: s.time('since when it runs'),
      wallet: s.nullable('that trades; null before the state has one', s.address()),
      halted: s.nullable('why it is halted; null where it is not', s.text()),
      paused: s.list('strategies that are paused', s.text()),
      held: s.list('strategies that wait for your approval', s.text()),
      fault: s.nullable('why its state cannot be read; null where it can', s.text()),
    },
  ),
})
export type PsData = z.output<typeof ps>

export const history = done({ slots: s.list('oldest first', slot) })
export type HistoryData = z.output<typeof history>

export const why = done({
  slot: slotName,
  at: s.time('when it was due'),
  story: s.list('what became of it, oldest first', {
    at: s.time('when it happened'),
    title: s.text('what happened'),
    sentences: s.list('the same at length', s.text()),
  }),
  caps: s.list('how full the caps are by now that bind it', cap),
  records: s.nullable(
    'null without `--raw`',
    s.listOf({
      seq: s.count('place in the journal'),
      at: s.time('when it was written'),
      event: z
        .record(s.text(), z.unknown())
        .describe(
          "the journal's own event, as it is: amounts in base units as text, times as epoch numbers",
        ),
    }),
  ),
})
export type WhyData = z.output<typeof why>
