import * as z from 'zod'
import { NOTIFY_EVENT_NAMES } from '../../domain/notify.ts'
import { OUTCOMES } from '../../domain/order/intent.ts'
import { FAILURE_REASONS, REFUSAL_REASONS, SKIP_REASONS } from '../../domain/order/reason.ts'
import { fillReopened } from '../../journal/events/order/fills.ts'
import { KIND_NAMES } from '../../strategies/registry.ts'
import * as s from '../../system/json-shapes.ts'
import { ROUTE_NAMES } from '../../venues/projections.ts'
import { CHECK_IDS, SECTIONS, VERDICTS } from '../commands/doctor/check.ts'
import { cap, deadlineAt, done, MODES, orderState, outcome, problem } from './shapes.ts'

const CAUSES = ['operator', 'failure-streak', 'drawdown', 'evidence'] as const
const NO_REASONS = ['filled', 'missed'] as const
/** A reason may occur in several sets. */
const END_REASONS = [
  ...new Set([...SKIP_REASONS, ...REFUSAL_REASONS, ...FAILURE_REASONS, ...NO_REASONS]),
]

const slotName = s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it')

export const validate = done({
  mode: s.oneOf('mode of the config', MODES),
  strategies: s.list('all strategy files', {
    name: s.text('name of the strategy'),
    kind: s.oneOf('kind of the strategy', KIND_NAMES),
    enabled: s.flag('whether the strategy trades'),
    file: s.text('path of the file'),
  }),
  receivers: s.list('receivers under `notify`', {
    name: s.text('kind and position of the receiver, such as `telegram-1`'),
    on: s.list('events that it receives', z.enum(NOTIFY_EVENT_NAMES)),
  }),
  warnings: s.list('mistakes that do not prevent a start; same shape as `problems`', problem),
  schedules: s.list('schedules with a possible mistake', {
    strategy: s.text('name of the strategy'),
    message: s.text('human-readable warning'),
  }),
  prices: s.list(
    'prices in strategy files that look wrong against the feeds; empty if no node answered',
    {
      strategy: s.text('name of the strategy'),
      message: s.text('human-readable warning with the bound and the price'),
    },
  ),
})
export type ValidateData = z.output<typeof validate>

export const doctor = outcome({
  checks: s.list('all checks, in display order', {
    id: s.oneOf('name of the check; docs/doctor.md explains each', CHECK_IDS),
    section: s.oneOf('section that shows the check', SECTIONS),
    verdict: s.oneOf('`unknown` if the check did not apply or was inconclusive', VERDICTS),
    says: s.text('human-readable finding'),
    remedy: s.nullable('how to fix it; null if there is nothing to do', s.text()),
  }),
})
export type DoctorData = z.output<typeof doctor>

const pause = (what: string) =>
  s.nullable(what, {
    at: s.time('start time'),
    cause: s.oneOf('who or what caused it', CAUSES),
    detail: s.text('human-readable reason'),
  })

const openIntent = z.strictObject({
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG, as `settle` takes it'),
  state: orderState,
  attempt: s.count('number of the current attempt, from 1'),
  orderId: s.nullable('order id given by the service; null before that', s.text()),
  deadlineAt,
  openedAt: s.time('time of the decision'),
  waits: s.nullable(
    'what it waits for before it is signed; null if nothing, or if no daemon says',
    s.text(),
  ),
  settled: s.nullable('manual resolution that will close it; null if there is none', {
    as: s.oneOf('declared outcome', ['dead', 'executed']),
    txHash: s.nullable('declared transaction; null if none was named', s.hash()),
  }),
})

const strategyStatus = z.strictObject({
  name: s.text('name of the strategy'),
  enabled: s.nullable('whether it trades; null if its file cannot be read', s.flag()),
  does: s.nullable('human-readable description; null if its file cannot be read', s.text()),
  fills: s.count('fills so far'),
  paused: pause('pause of the strategy; null if it is not paused'),
  held: s.nullable('pending approval; null if there is none', {
    at: s.time('start of the wait'),
    detail: s.text('human-readable reason, with the bound and the price'),
  }),
  failureStreak: s.count('consecutive slots that ended failed, refused or expired'),
  spent: s.list('total spending by token; only tokens in the config', s.amount()),
  day: s.list('spending in the last 24 hours, by token', {
    used: s.amount('amount spent, plus what open orders may still take'),
    cap: s.nullable("strategy's `limits.perDay`; null if not set", s.amount()),
  }),
  openSlots: s.count('slots with open orders'),
  unsold: s.nullable('unsold amount of a finished twap; null otherwise', s.amount()),
  entry: s.nullable('entry of a threshold with `entryOf`; null otherwise', {
    of: s.text('strategy that buys'),
    held: s.amount('amount that it bought and that is not sold yet'),
    cost: s.amount('cost of `held`, at the average purchase price'),
  }),
  lastFillAt: s.nullable('time of the last fill; null before the first', s.time()),
  lastSlot: s.nullable('last slot that ended, in recent journal files; null if there is none', {
    at: s.time('due time'),
    outcome: s.oneOf('outcome; see docs/outcomes.md', OUTCOMES),
    reason: s.nullable('reason; null if the outcome says it all', z.enum(END_REASONS)),
    detail: s.nullable('human-readable detail; null if there is none', s.text()),
  }),
  finished: s.flag('true for a twap whose slices are all over'),
  nextSlotAt: s.nullable(
    'due time of the next slot, past if it waits; null if there is none',
    s.time(),
  ),
})

export const status = done({
  mode: s.nullable('mode; null if neither config nor state gives it', z.enum(MODES)),
  stateDir: s.text('path of the state directory'),
  running: s.nullable('process that holds the state directory; null if there is none', {
    pid: s.count('PID'),
    startedAt: s.time('time at which it took the state directory'),
  }),
  answers: s.nullable('whether the daemon answers; null if none runs', s.flag()),
  ready: s.nullable('whether it is ready, as `/readyz` says; null without its answer', {
    ok: s.flag('whether services and nodes answer, and accounts are known'),
    reasons: s.list('what is down or unknown, for people', s.text()),
  }),
  staleFiles: s.nullable('changed files that the daemon refused; null if there are none', {
    files: s.count('number of files'),
    refusedAt: s.time('time of the refusal; older versions apply since'),
    detail: s.text('human-readable reason'),
  }),
  wallet: s.nullable('trading wallet; null before the state is bound to one', s.text()),
  halted: pause('halt in the journal; null if there is none'),
  haltFile: s.nullable('path and text of the file HALT; null if there is none', s.text()),
  changedContracts: s.list('contracts with changed code; nothing that depends on them is signed', {
    name: s.text('name that `approve` takes'),
    at: s.time('time of the record'),
    detail: s.text('address, old code and new code'),
  }),
  openIntents: s.list('open orders', openIntent),
  strategies: s.list(
    'strategies of the files; also those in the state if a file cannot be read',
    strategyStatus,
  ),
})
export type StatusData = z.output<typeof status>

const VIA = [...ROUTE_NAMES, 'paper'] as const

const fill = z.strictObject({
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  paid: s.nullable('amount sold; null for a call', s.amount()),
  received: s.nullable('amount bought; null for a call', s.amount()),
  call: s.nullable('called function; null for a swap', s.text()),
  via: s.oneOf('route; `paper`: booked by a dry-run, nothing was signed', VIA),
  txHash: s.nullable('transaction; null on paper or if unknown', s.hash()),
})
export type SlotFill = z.output<typeof fill>

const slot = z.strictObject({
  slot: slotName,
  strategy: s.text('name of the strategy'),
  slotSeconds: s.count('epoch seconds, as in the name of the slot'),
  at: s.time('due time'),
  outcome: s.oneOf('outcome, or `open` before it; see docs/outcomes.md', [...OUTCOMES, 'open']),
  reason: s.nullable(
    'reason; null if the outcome says it all',
    z.enum([...END_REASONS, fillReopened.type]),
  ),
  detail: s.nullable('human-readable detail; null if there is none', s.text()),
  attempts: s.count('authorizations made for the slot'),
  count: s.nullable(
    'number of slots: above 1 for a run of missed slots; null if too many to count',
    s.count(),
  ),
  fills: s.list('fills that no reorganisation removed', fill),
  unsold: s.nullable('unsold amount, at the last slot of a twap; null otherwise', s.amount()),
})
export type SlotData = z.output<typeof slot>

export const ps = done({
  daemons: s.list('running daemons whose state this user may read, longest-running first', {
    stateDir: s.text('path of the state directory'),
    config: s.nullable('path of the config; null for a daemon of an older version', s.text()),
    mode: s.nullable('mode; null if not known yet', z.enum(MODES)),
    pid: s.count('PID'),
    startedAt: s.time('time at which it took the state directory'),
    wallet: s.nullable('trading wallet; null before the state is bound to one', s.address()),
    halted: s.nullable('reason for the halt; null if not halted', s.text()),
    paused: s.list('paused strategies', s.text()),
    held: s.list('strategies that wait for your approval', s.text()),
    fault: s.nullable('why the state cannot be read; null if it can', s.text()),
  }),
})
export type PsData = z.output<typeof ps>

export const history = done({ slots: s.list('slots, oldest first', slot) })
export type HistoryData = z.output<typeof history>

export const why = done({
  slot: slotName,
  at: s.time('due time'),
  story: s.list('events, oldest first', {
    at: s.time('time of the event'),
    title: s.text('human-readable event'),
    sentences: s.list('human-readable details', s.text()),
  }),
  waits: s.list('what its unsigned orders wait for, by the running daemon', s.text()),
  caps: s.list('current use of the caps that bind it', cap),
  records: s.nullable(
    'journal records; null without `--raw`',
    s.listOf({
      seq: s.count('position in the journal'),
      at: s.time('time of writing'),
      event: z
        .record(s.text(), z.unknown())
        .describe('event as stored: amounts in base units as text, times as epoch numbers'),
    }),
  ),
})
export type WhyData = z.output<typeof why>

const SOURCES = ['journal', 'quote', 'none'] as const

const costs = s.object('expected costs', {
  source: s.oneOf('basis of the averages; `none` if nothing is known', SOURCES),
  orders: s.count('fills and calls of the last 30 days; 0 without any'),
  ordersPerMonth: s.nullable(
    'most orders in 30 days from the next slot, by schedule and caps; for a price rule those of the last 30; null if unknown',
    s.count(),
  ),
  ordersBoundBy: s.nullable('cap that leaves fewer orders than slots; null without one', s.text()),
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
