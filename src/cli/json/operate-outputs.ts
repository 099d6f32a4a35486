import * as z from 'zod'
import { OUTCOMES } from '../../domain/order/intent.ts'
import { SKIP_REASONS } from '../../domain/order/reason.ts'
import * as s from '../../system/json-shapes.ts'
import { done, failed, inFlight, ORDER_STATES, outcome } from './shapes.ts'

export const run = done({ message: s.text('how it ended') })
export type RunData = z.output<typeof run>

const changed = s.list(
  'strategies that are not what they were before, and `everything`; empty where it was so already',
  s.text(),
)

const halted = {
  stateDir: s.text('path'),
  file: s.nullable(
    'the file HALT; null where it could not be written and the daemon has it in its journal',
    s.text(),
  ),
  isAnswered: s.flag('whether a daemon confirmed it; it holds either way'),
  pid: s.nullable('process that holds the state directory; null where none does', s.count()),
  inFlight,
}

const daemons = s.list(
  'every state directory that was to be halted, of the daemon that has run longest first; the fields above are those of the first',
  { ...halted, isHalted: s.flag('whether it holds') },
)

export const halt = done({ changed, ...halted, daemons })
export type HaltData = z.output<typeof halt>

export const haltFailed = failed({ daemons })
export type HaltFailedData = z.output<typeof haltFailed>

export const pause = done({ changed, inFlight })
export type PauseData = z.output<typeof pause>

export const approve = done({
  approved: s.list('names that were approved; empty where none was given', s.text()),
  details: s.list(
    'what each of them waited for, in words; of a contract its old and its new code',
    s.text(),
  ),
  waiting: s.list('what waits for your approval, oldest first', {
    kind: s.oneOf('what the name is of', ['strategy', 'contract']),
    name: s.text('as `approve` takes it'),
    at: s.time('since when it waits'),
    detail: s.text('why, in words'),
  }),
})
export type ApproveData = z.output<typeof approve>

export const trigger = done({
  slot: s.text('STRATEGY:EPOCH_SECONDS, as `why` takes it'),
  slotSeconds: s.count('epoch seconds, as the name of the slot has them'),
  at: s.time('the time of the slot'),
  intents: s.list(
    'orders that it wants, STRATEGY:EPOCH_SECONDS:LEG; empty where it wants none',
    s.text(),
  ),
  skipped: s.nullable('why it wants none; null where it wants some', {
    reason: s.oneOf('docs/outcomes.md explains them', SKIP_REASONS),
    detail: s.text('in words; empty where there are none'),
  }),
})
export type TriggerData = z.output<typeof trigger>

export const reload = done({
  changes: s.list('strategies that are not what they were', {
    strategy: s.text('name of the strategy'),
    text: s.text('what changed, in words'),
  }),
  limits: s.list("what changed of the config's limits, in sentences", s.text()),
})
export type ReloadData = z.output<typeof reload>

export const notifyTest = outcome({
  receivers: s.list('who was sent a message', {
    channel: s.text('kind and place, such as `telegram-1`'),
    ok: s.flag('whether it took the message'),
    fault: s.nullable('why not; null where it did', s.text()),
    remedy: s.nullable('what to do; null where there is nothing to do', s.text()),
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
    block: s.bigWhole('its number'),
    at: s.time('its own time'),
    nonceUsed: s.nullable('null where it does not show that', s.flag()),
  })

/** Evidence on an order that may be live. */
const evidence = {
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  strategy: s.text('name of the strategy'),
  slotAt: s.time('when its slot was due'),
  does: s.text('in words'),
  state: s.oneOf('docs/outcomes.md explains them', ORDER_STATES),
  attempt: s.count('which try'),
  openedAt: s.time('when it was decided'),
  signed: s.object('what may execute', {
    kind: s.oneOf('what was signed', ['permit', 'call', 'trusted call']),
    most: s.amount('that it may take'),
    spender: s.nullable('who may take it; null for a call', s.address()),
    recipient: s.address('who gets what is bought, or is called'),
    nonce: s.nullable('null where none guards it', s.bigWhole()),
    deadlineAt: s.nullable('null where it has none', s.time()),
  }),
  service: s.object('what the service said, by the journal', {
    orderId: s.nullable("the service's name for it; null before it gave one", s.text()),
    ended: s.nullable('how it ended by the service; null where it does not say so', {
      status: s.text("the service's own word"),
      message: s.text('what it said'),
    }),
  }),
  chain: s.object('what the chain says', {
    head: block('the newest block; null where it was not read'),
    final: block('the newest final block; null where it was not read'),
    isDeadlinePast: s.nullable(
      'at the final block; null where that is unknown, or there is no deadline',
      s.flag(),
    ),
    says: s.text('what follows from it, in words'),
  }),
  transactions: s.list('those that may be it', {
    txHash: s.hash('of a transaction that was found'),
    block: s.bigWhole('its number'),
    success: s.flag('false: it was reverted'),
    shows: s.oneOf('what it says of the order', SHOWS),
  }),
  searchFault: s.nullable('why the search for them is not complete; null where it is', s.text()),
  named: s.nullable(
    'what the transaction shows that was named; null where none was, or it could not be read',
    z.enum([...SHOWS, 'absent']),
  ),
  counted: s.amount('what caps count for it until its outcome is known'),
  answers: s.list('what may be said of it', {
    as: s.oneOf('what may be said with `--as`', ['dead', 'executed TX', 'executed unknown']),
    isPossible: s.flag('whether it is taken now'),
    reason: s.nullable('why not; null where it is', z.enum(REFUSALS)),
    detail: s.text('what is booked by it, or why it is not taken'),
  }),
}

export const settleShown = done(evidence)
export type SettleShownData = z.output<typeof settleShown>

export const settleClosed = outcome({
  message: s.text('how it ended'),
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  outcome: s.oneOf('docs/outcomes.md explains them', OUTCOMES),
  reason: s.text('a word of docs/outcomes.md, or the outcome again'),
})
export type SettleClosedData = z.output<typeof settleClosed>

export const settleSettled = done({
  message: s.text('what became of it'),
  by: s.oneOf('what ended it: the chain, or the word that was given', ['proof', 'word']),
  as: s.oneOf('the word', ['dead', 'executed']),
  txHash: s.nullable('the transaction that was named; null where none was', s.hash()),
  evidence: s.object('what was known of it before', evidence),
})
export type SettleSettledData = z.output<typeof settleSettled>

export const settleRefused = failed({
  reason: s.oneOf('why it is not taken; `no-answer` where no daemon answered', [
    ...REFUSALS,
    'no-answer',
  ]),
})
export type SettleRefusedData = z.output<typeof settleRefused>
