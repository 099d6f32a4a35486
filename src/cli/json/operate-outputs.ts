import * as z from 'zod'
import { OUTCOMES } from '../../domain/order/intent.ts'
import { SKIP_REASONS } from '../../domain/order/reason.ts'
import * as s from '../../system/json-shapes.ts'
import { quoteFields } from './inspect-outputs.ts'
import { deadlineAt, done, failed, inFlight, orderState, outcome } from './shapes.ts'

export const run = done({ message: s.text('human-readable result') })
export type RunData = z.output<typeof run>

const changed = s.list(
  'strategies whose status changed, and `everything` for the halt; empty if nothing changed',
  s.text(),
)

const halted = {
  stateDir: s.text('path of the state directory'),
  file: s.nullable(
    "path of the file HALT; null if it could not be written, so that only the daemon's journal can hold the halt",
    s.text(),
  ),
  isAnswered: s.flag('whether a daemon confirmed the halt; the file needs no confirmation'),
  pid: s.nullable('PID of the process that holds the state directory; null if none', s.count()),
  inFlight: inFlight.describe('open orders; empty if no daemon answered'),
}

const daemons = s.list('every state directory to halt, longest-running daemon first', {
  ...halted,
  isHalted: s.flag('whether the halt is in force'),
})

export const halt = done({
  changed: changed.describe('always `everything`'),
  ...halted,
  daemons: daemons.describe(`${daemons.description}; the fields above are those of the first`),
})
export type HaltData = z.output<typeof halt>

export const haltFailed = failed({ daemons })
export type HaltFailedData = z.output<typeof haltFailed>

export const pause = done({ changed, inFlight })
export type PauseData = z.output<typeof pause>

export const approve = done({
  approved: s.list('approved names; empty if none was given', s.text()),
  details: s.list('reason that each was waiting; for a contract, its old and new code', s.text()),
  waiting: s.list('pending approvals, oldest first', {
    kind: s.oneOf('type of approval', ['strategy', 'contract']),
    name: s.text('name that `approve` takes'),
    at: s.time('start of the wait'),
    detail: s.text('human-readable reason'),
  }),
})
export type ApproveData = z.output<typeof approve>

export const trigger = done({
  slot: s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it'),
  slotSeconds: s.count('epoch seconds, as in the name of the slot'),
  at: s.time('time of the slot'),
  intents: s.list('opened orders, STRATEGY:EPOCH_SECONDS:LEG; empty if none', s.text()),
  skipped: s.nullable('reason for opening no order; null if there is none', {
    reason: s.oneOf('reason; see docs/outcomes.md', SKIP_REASONS),
    detail: s.text('human-readable detail; empty if there is none'),
  }),
})
export type TriggerData = z.output<typeof trigger>

export const order = outcome({
  slot: s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it'),
  outcome: s.oneOf('outcome of the order', OUTCOMES),
  reason: s.text('reason; see docs/outcomes.md'),
  detail: s.nullable('human-readable detail; null if there is none', s.text()),
  sold: s.nullable('amount sold; null if nothing was', s.amount()),
  bought: s.nullable('amount bought; null if nothing was', s.amount()),
  vsFeedBps: s.nullable('advantage over the feeds; null without a fill', s.number()),
  txHash: s.nullable('transaction; null without a fill, and on paper', s.hash()),
  quote: s.object('quote of the preview; the order has a later one', quoteFields),
})
export type OrderData = z.output<typeof order>

export const reload = done({
  changes: s.list('changed strategies', {
    strategy: s.text('name of the strategy'),
    text: s.text('human-readable change'),
  }),
  limits: s.list("human-readable changes of the config's limits", s.text()),
})
export type ReloadData = z.output<typeof reload>

export const notifyTest = outcome({
  receivers: s.list('tested receivers', {
    channel: s.text('kind and position of the receiver, such as `telegram-1`'),
    ok: s.flag('whether it accepted the message'),
    fault: s.nullable('error; null if it accepted the message', s.text()),
    remedy: s.nullable('how to fix it; null if there is nothing to do', s.text()),
  }),
})
export type NotifyTestData = z.output<typeof notifyTest>

const REFUSALS = [
  'not-open',
  'nothing-signed',
  'moved-on',
  'chain-unknown',
  'nonce-used',
  'nonce-unused',
  'still-live',
  'not-final',
  'no-such-transaction',
] as const

const SHOWS = ['proof', 'mention', 'cancel', 'nothing'] as const

const block = (what: string) =>
  s.nullable(what, {
    block: s.bigWhole('block number'),
    at: s.time('block time'),
    nonceUsed: s.nullable('whether the nonce is used; null if unknown', s.flag()),
  })

/** Evidence on an order that may be live. */
const evidence = {
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  strategy: s.text('name of the strategy'),
  slotAt: s.time('due time of the slot'),
  does: s.text('human-readable description'),
  state: orderState,
  attempt: s.count('number of the current attempt, from 1'),
  openedAt: s.time('time of the decision'),
  signed: s.object('authorization that may execute', {
    kind: s.oneOf('kind of the authorization', ['permit', 'call', 'trusted call']),
    most: s.amount('maximum amount that it may take'),
    spender: s.nullable('address that may take it; null for a call', s.address()),
    recipient: s.address('address that gets the bought tokens, or is called'),
    nonce: s.nullable('nonce; null if none guards it', s.bigWhole()),
    deadlineAt: deadlineAt.describe('deadline; null if it has none'),
  }),
  service: s.object('answers of the service, from the journal', {
    orderId: s.nullable('order id given by the service; null before that', s.text()),
    ended: s.nullable('end reported by the service; null if it reported none', {
      status: s.text('status in the words of the service'),
      message: s.text('message of the service'),
    }),
  }),
  chain: s.object('evidence on the chain', {
    head: block('newest block; null if not read'),
    final: block('newest final block; null if not read'),
    isDeadlinePast: s.nullable(
      'whether the deadline is past at the final block; null if unknown, or without a deadline',
      s.flag(),
    ),
    says: s.text('human-readable conclusion'),
  }),
  transactions: s.list('transactions that may have executed the order', {
    txHash: s.hash('transaction hash'),
    block: s.bigWhole('block number'),
    success: s.flag('false if it reverted'),
    shows: s.oneOf('evidence about the order', SHOWS),
  }),
  searchFault: s.nullable('why `transactions` may be incomplete; null if it is complete', s.text()),
  named: s.nullable(
    'evidence of the named transaction; null if none was named or it could not be read',
    z.enum([...SHOWS, 'absent']),
  ),
  counted: s.amount('amount that counts against caps until the outcome is known'),
  answers: s.list('declarations that `--as` takes', {
    as: s.oneOf('value of `--as`', ['dead', 'executed TX', 'executed unknown']),
    isPossible: s.flag('whether it is accepted now'),
    reason: s.nullable('why it is not accepted; null if it is', z.enum(REFUSALS)),
    detail: s.text('what it books, or why it is not accepted'),
  }),
}

export const settleShown = done(evidence)
export type SettleShownData = z.output<typeof settleShown>

export const settleClosed = outcome({
  message: s.text('human-readable outcome'),
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  outcome: s.oneOf('outcome; see docs/outcomes.md', OUTCOMES),
  reason: s.text('reason in docs/outcomes.md, or the outcome again'),
})
export type SettleClosedData = z.output<typeof settleClosed>

export const settleSettled = done({
  message: s.text('human-readable result'),
  by: s.oneOf('`proof`: the chain proves it; `word`: your declaration', ['proof', 'word']),
  as: s.oneOf('declared outcome', ['dead', 'executed']),
  txHash: s.nullable('named transaction; null if none was named', s.hash()),
  evidence: s.object('evidence before the declaration', evidence),
})
export type SettleSettledData = z.output<typeof settleSettled>

export const settleRefused = failed({
  reason: s.oneOf(
    'why the declaration is refused; `no-answer`: no daemon answered, or no wallet could be read',
    [...REFUSALS, 'no-answer'],
  ),
})
export type SettleRefusedData = z.output<typeof settleRefused>
