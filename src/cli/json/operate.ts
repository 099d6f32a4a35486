import * as z from 'zod'
import { SKIP_REASONS } from '../../domain/reason.ts'
import {
  address,
  amount,
  bigWhole,
  count,
  done,
  failed,
  flag,
  hash,
  inFlight,
  judged,
  list,
  ORDER_STATES,
  OUTCOMES,
  text,
  time,
} from './shapes.ts'

/** Outputs of the commands that run the daemon and steer it. */

export const run = done({ message: text().describe('how it ended') })
export type RunData = z.output<typeof run>

const changed = () =>
  list(text()).describe(
    'strategies that are not what they were before, and `everything`; empty where it was so already',
  )

const halted = {
  stateDir: text().describe('path'),
  file: text()
    .nullable()
    .describe(
      'the file HALT; null where it could not be written and the daemon has it in its journal',
    ),
  isAnswered: flag().describe('whether a daemon confirmed it; it holds either way'),
  pid: count().nullable().describe('process that holds the state directory; null where none does'),
  inFlight: inFlight(),
}

const daemons = () =>
  list(
    z.strictObject({
      ...halted,
      isHalted: flag().describe('whether it holds'),
    }),
  ).describe(
    'every state directory that was to be halted, of the daemon that has run longest first; the fields above are those of the first',
  )

export const halt = done({ changed: changed(), ...halted, daemons: daemons() })
export type HaltData = z.output<typeof halt>

export const haltFailed = failed({ daemons: daemons() })
export type HaltFailedData = z.output<typeof haltFailed>

export const pause = done({ changed: changed(), inFlight: inFlight() })
export type PauseData = z.output<typeof pause>

export const approve = done({
  approved: list(text()).describe('names that were approved; empty where none was given'),
  details: list(text()).describe(
    'what each of them waited for, in words; of a contract its old and its new code',
  ),
  waiting: list(
    z.strictObject({
      kind: z.enum(['strategy', 'contract']).describe('what the name is of'),
      name: text().describe('as `approve` takes it'),
      at: time().describe('since when it waits'),
      detail: text().describe('why, in words'),
    }),
  ).describe('what waits for your approval, oldest first'),
})
export type ApproveData = z.output<typeof approve>

export const trigger = done({
  slot: text().describe('STRATEGY:EPOCH_SECONDS, as `why` takes it'),
  slotSeconds: count().describe('epoch seconds, as the name of the slot has them'),
  at: time().describe('the time of the slot'),
  intents: list(text()).describe(
    'orders that it wants, STRATEGY:EPOCH_SECONDS:LEG; empty where it wants none',
  ),
  skipped: z
    .strictObject({
      reason: z.enum(SKIP_REASONS).describe('docs/outcomes.md explains them'),
      detail: text().describe('in words; empty where there are none'),
    })
    .nullable()
    .describe('why it wants none; null where it wants some'),
})
export type TriggerData = z.output<typeof trigger>

export const reload = done({
  changes: list(
    z.strictObject({
      strategy: text().describe('name of the strategy'),
      text: text().describe('what changed, in words'),
    }),
  ).describe('strategies that are not what they were'),
  limits: list(text()).describe("what changed of the config's limits, in sentences"),
})
export type ReloadData = z.output<typeof reload>

export const notifyTest = judged({
  receivers: list(
    z.strictObject({
      channel: text().describe('kind and place, such as `telegram-1`'),
      ok: flag().describe('whether it took the message'),
      fault: text().nullable().describe('why not; null where it did'),
      remedy: text().nullable().describe('what to do; null where there is nothing to do'),
    }),
  ).describe('who was sent a message'),
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
  z
    .strictObject({
      block: bigWhole().describe('its number'),
      at: time().describe('its own time'),
      nonceUsed: flag().nullable().describe('null where nobody can tell by it'),
    })
    .nullable()
    .describe(what)

/** What is known of an order that may be live. */
const evidence = {
  intentId: text().describe('STRATEGY:EPOCH_SECONDS:LEG'),
  strategy: text().describe('name of the strategy'),
  slotAt: time().describe('when its slot was due'),
  does: text().describe('in words'),
  state: z.enum(ORDER_STATES).describe('docs/outcomes.md explains them'),
  attempt: count().describe('which try'),
  openedAt: time().describe('when it was decided'),
  signed: z
    .strictObject({
      kind: z.enum(['permit', 'call', 'trusted call']).describe('what was signed'),
      most: amount().describe('that it may take'),
      spender: address().nullable().describe('who may take it; null for a call'),
      recipient: address().describe('who gets what is bought, or is called'),
      nonce: bigWhole().nullable().describe('null where none guards it'),
      deadlineAt: time().nullable().describe('null where it has none'),
    })
    .describe('what may execute'),
  service: z
    .strictObject({
      orderId: text().nullable().describe("the service's name for it; null before it gave one"),
      ended: z
        .strictObject({
          status: text().describe("the service's own word"),
          message: text().describe('what it said'),
        })
        .nullable()
        .describe('how it ended by the service; null where it does not say so'),
    })
    .describe('what the service said, by the journal'),
  chain: z
    .strictObject({
      head: block('the newest block; null where it was not read'),
      final: block('the newest final block; null where it was not read'),
      isDeadlinePast: flag()
        .nullable()
        .describe('at the final block; null where nobody can tell, or there is no deadline'),
      says: text().describe('what follows from it, in words'),
    })
    .describe('what the chain says'),
  transactions: list(
    z.strictObject({
      txHash: hash().describe('of a transaction that was found'),
      block: bigWhole().describe('its number'),
      success: flag().describe('false: it was reverted'),
      shows: z.enum(SHOWS).describe('what it says of the order'),
    }),
  ).describe('those that may be it'),
  searchFault: text()
    .nullable()
    .describe('why the search for them is not complete; null where it is'),
  named: z
    .enum([...SHOWS, 'absent'])
    .nullable()
    .describe(
      'what the transaction shows that was named; null where none was, or it could not be read',
    ),
  counted: amount().describe('what caps count for it as long as nobody knows'),
  answers: list(
    z.strictObject({
      as: z
        .enum(['dead', 'executed TX', 'executed unknown'])
        .describe('what may be said with `--as`'),
      isPossible: flag().describe('whether it is taken now'),
      reason: z.enum(REFUSALS).nullable().describe('why not; null where it is'),
      detail: text().describe('what is booked by it, or why it is not taken'),
    }),
  ).describe('what may be said of it'),
}

export const settleShown = done(evidence)
export type SettleShownData = z.output<typeof settleShown>

export const settleClosed = judged({
  message: text().describe('how it ended'),
  intentId: text().describe('STRATEGY:EPOCH_SECONDS:LEG'),
  outcome: z.enum(OUTCOMES).describe('docs/outcomes.md explains them'),
  reason: text().describe('a word of docs/outcomes.md, or the outcome again'),
})
export type SettleClosedData = z.output<typeof settleClosed>

export const settleSettled = done({
  message: text().describe('what became of it'),
  by: z.enum(['proof', 'word']).describe('what ended it: the chain, or the word that was given'),
  as: z.enum(['dead', 'executed']).describe('the word'),
  txHash: hash().nullable().describe('the transaction that was named; null where none was'),
  evidence: z.strictObject(evidence).describe('what was known of it before'),
})
export type SettleSettledData = z.output<typeof settleSettled>

export const settleRefused = failed({
  reason: z
    .enum([...REFUSALS, 'no-answer'])
    .describe('why it is not taken; `no-answer` where nobody could be asked'),
})
export type SettleRefusedData = z.output<typeof settleRefused>
