import type { NotifyEvent } from '../../domain/notify.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Observed } from '../tell/observers.ts'
import {
  codeSentence,
  disbelievedSentence,
  executedSentence,
  failedSentence,
  filledSentence,
  fundsUnknownSentence,
  gasTankLowSentence,
  holdSentence,
  paperSentence,
  pauseSentence,
  programSentence,
  refusedSentence,
  reopenedSentence,
  type Sentence,
  slotSentence,
  topUpBarredSentence,
  topUpCappedSentence,
} from '../tell/sentences.ts'
import {
  archiveText,
  codeNotice,
  filesRefusedText,
  holdText,
  missedText,
  pauseText,
  remoteLinkText,
  skippedForFundsText,
  startedText,
  stateText,
  stillHaltedText,
  stoppedText,
} from './texts/daemon.ts'
import {
  fundsUnknownText,
  gasTankLowText,
  topUpBarredText,
  topUpCappedText,
} from './texts/funds.ts'
import {
  disbelievedText,
  executedText,
  failedText,
  filledText,
  isForWantOfFunds,
  paperText,
  refusedText,
  reopenedText,
  unsoldText,
} from './texts/orders.ts'
import type { Text, TextContext } from './texts/text.ts'

/** Something that is worth a message. */
export type Notice = {
  readonly event: NotifyEvent
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  /** What the log says; undefined where it says nothing, and programs are sent what people are. */
  readonly sentence?: Sentence | undefined
  readonly text: Text
  readonly lasting?: Lasting | undefined
}

/** It goes on for a while: told once, and again after hours if it still does. */
export type Lasting = {
  /** Words, the widest first: what ends `gastank operator` ends `gastank operator low` too. */
  readonly topic: string
  /** What is said when it is over; nothing where that is told otherwise. */
  readonly over?: string | undefined
  /** It begins now, whatever was told before. */
  readonly begins?: boolean | undefined
  /** When it may be told again, where that is sooner than after hours. */
  readonly againMs?: number | undefined
  /** Since when, where it is told of later than it was seen first. */
  readonly sinceMs?: number | undefined
}

type Noticers = {
  readonly [Type in Observation['type']]:
    | ((event: Observed<Type>, context: TextContext) => readonly Notice[])
    | undefined
}

/** Facts that nobody is sent, each for a reason: another one tells them, or they are for those who look. */
const SILENT = undefined

/** What each observation is told of to people. A new one is a compile error until it has its entry. */
const NOTICERS: Noticers = {
  filled: (event, context) => [
    order('filled', event, filledSentence(event), filledText(event, context)),
  ],
  executed: (event, context) => [
    order('filled', event, executedSentence(event), executedText(event, context)),
  ],
  'paper-filled': (event) => [order('filled', event, paperSentence(event), paperText(event))],
  failed(event) {
    const failure = order('failed', event, failedSentence(event), failedText(event))
    if (!isForWantOfFunds(event.reason)) return [failure]
    const lasting = wantOfFunds(event.strategy)
    return [failure, { ...failure, event: 'low-funds', lasting }]
  },
  refused: (event) => [order('refused', event, refusedSentence(event), refusedText(event))],
  'fill-reopened': (event) => [
    order('reorganised', event, reopenedSentence(event), reopenedText(event)),
  ],
  disbelieved(event) {
    if (!event.moneyWaits) return []
    const { service, what, strategy, intentId } = event
    const topic = `disbelieved ${intentId ?? 'service'} ${service} ${what}`
    const told = { sentence: disbelievedSentence(event), text: disbelievedText(event) }
    return [{ event: 'disbelieved', strategy, intentId, ...told, lasting: { topic } }]
  },
  'program-ended': (event) =>
    event.rule === 'spread'
      ? [
          {
            ...{ event: 'unsold', strategy: event.strategy },
            ...{ sentence: programSentence(event), text: unsoldText(event) },
          },
        ]
      : [],
  pause(event) {
    const { strategy, paused } = event
    const told = { strategy, sentence: pauseSentence(event), text: pauseText(event) }
    if (!paused) return [{ event: 'resumed', ...told }]
    if (strategy !== undefined) return [{ event: 'paused', ...told }]
    return [{ event: 'halted', ...told, lasting: { topic: HALT, begins: true } }]
  },
  hold(event) {
    const { strategy, held } = event
    const told = { strategy, sentence: holdSentence(event), text: holdText(event) }
    return [{ event: held ? 'approval' : 'resumed', ...told }]
  },
  'contract-code'(event) {
    const { status } = event
    if (status === 'seen') return []
    const told = { sentence: codeSentence(event), text: codeNotice(event) }
    return [{ event: status === 'changed' ? 'approval' : 'resumed', ...told }]
  },
  'slot-closed'(event, context) {
    const { strategy, outcome, reason } = event
    const told = { strategy, sentence: slotSentence(event) }
    if (outcome === 'missed')
      return [{ event: 'missed', ...told, text: missedText(event, context) }]
    if (reason === 'halted')
      return [{ event: 'halted', ...told, text: stillHaltedText(event), lasting: { topic: HALT } }]
    if (outcome !== 'skipped' || reason !== 'insufficient-balance') return []
    const text = skippedForFundsText(event)
    return [{ event: 'low-funds', ...told, text, lasting: wantOfFunds(strategy) }]
  },
  'gas-tank-low': (event) => [
    {
      event: 'low-funds',
      ...{ sentence: gasTankLowSentence(event), text: gasTankLowText(event) },
      lasting: { topic: `gastank ${event.account} low`, over: 'The GasTank has enough again' },
    },
  ],
  'gas-tank-unknown': (event) =>
    event.isLogin
      ? [
          {
            event: 'low-funds',
            ...{ sentence: fundsUnknownSentence(event), text: fundsUnknownText(event) },
            lasting: {
              topic: `gastank ${event.account} login`,
              over: 'The aggregation service accepts our login again',
            },
          },
        ]
      : [],
  'top-up-capped': (event) => [
    {
      event: 'low-funds',
      ...{ sentence: topUpCappedSentence(event), text: topUpCappedText(event) },
      lasting: { topic: 'top-up capped', over: TOPPED_UP },
    },
  ],
  'top-up-barred': (event) => [
    {
      event: 'low-funds',
      ...{ sentence: topUpBarredSentence(event), text: topUpBarredText(event) },
      lasting: { topic: 'top-up barred', over: TOPPED_UP },
    },
  ],
  'files-stale': (event) =>
    event.files > 0
      ? [
          {
            event: 'files-refused',
            text: filesRefusedText(event),
            lasting: { topic: 'files', over: 'All files are in force again' },
          },
        ]
      : [],
  'begun-anew': (event) => [{ event: 'state', text: stateText(event) }],
  'loss-accepted': (event) => [{ event: 'state', text: stateText(event) }],
  'archive-trouble': (event) => [
    {
      event: 'trouble',
      text: archiveText(event),
      lasting: { topic: 'archive', over: 'The archive of the journal takes files again' },
    },
  ],
  'remote-link': (event) =>
    event.link === 'conflict' || event.link === 'refused'
      ? [
          {
            event: 'trouble',
            text: remoteLinkText(event),
            lasting: { topic: 'remote', over: 'The daemon listens on Telegram again' },
          },
        ]
      : [],
  'daemon-started': (event) => [{ event: 'started', text: startedText(event) }],
  'daemon-stopped': (event) => [{ event: 'stopped', text: stoppedText(event) }],
  // The slot that closes by it is told of.
  'order-settled': SILENT,
  'intent-closed': SILENT,
  'proof-failed': SILENT,
  // What lasts of these is trouble: see trouble.ts.
  request: SILENT,
  'chain-trouble': SILENT,
  'nodes-disagree': SILENT,
  'clock-trouble': SILENT,
  // Steps, figures and what is asked for.
  bound: SILENT,
  'state-named': SILENT,
  anchored: SILENT,
  'wallet-compared': SILENT,
  'delegation-signed': SILENT,
  'delegation-charged': SILENT,
  'strategy-scheduled': SILENT,
  'slot-opened': SILENT,
  'slot-waiting': SILENT,
  'next-slot': SILENT,
  implausible: SILENT,
  unsold: SILENT,
  'quote-verified': SILENT,
  'authorization-recorded': SILENT,
  'authorization-withdrawn': SILENT,
  'authorization-dead': SILENT,
  'call-signed': SILENT,
  'order-accepted': SILENT,
  'order-ended': SILENT,
  'order-waits': SILENT,
  'order-waited': SILENT,
  'order-unknown': SILENT,
  'fills-final': SILENT,
  transaction: SILENT,
  'transactions-final': SILENT,
  'transaction-sent': SILENT,
  'deposit-indexed': SILENT,
  // What it is obeyed in is told by its record.
  'remote-message': SILENT,
  'remote-unsent': SILENT,
  'daemon-stopping': SILENT,
  retry: SILENT,
  'queue-wait': SILENT,
  'queue-depth': SILENT,
  'rate-limit': SILENT,
  'journal-appended': SILENT,
  'journal-archived': SILENT,
  'feed-read': SILENT,
  portfolio: SILENT,
  profit: SILENT,
  'wallet-needed': SILENT,
  'clock-offset': SILENT,
  'wallet-balance': SILENT,
  'open-orders': SILENT,
  'gas-tank': SILENT,
  'service-note': SILENT,
  finality: SILENT,
}

/** One for all: what is observed is mostly told to nobody. */
const NONE: readonly never[] = []
const HALT = 'halt'
const TOPPED_UP = 'The GasTank was topped up'

function wantOfFunds(strategy: string): Lasting {
  return { topic: `funds ${strategy}`, over: `${strategy} had enough again` }
}

/** What is told of an order goes by its strategy and its name. */
function order(
  event: NotifyEvent,
  { strategy, intentId }: { readonly strategy: string; readonly intentId: string },
  sentence: Sentence,
  text: Text,
): Notice {
  return { event, strategy, intentId, sentence, text }
}

/** What an observation is worth telling people of; mostly nothing. */
export function noticesOf(event: Observation, context: TextContext): readonly Notice[] {
  const notice = NOTICERS[event.type] as
    | ((event: Observation, context: TextContext) => readonly Notice[])
    | undefined
  return notice?.(event, context) ?? NONE
}

/** Topics that are over by what an observation says; whatever begins with one is over too. */
export function endedBy(event: Observation): readonly string[] {
  switch (event.type) {
    case 'filled':
    case 'executed':
    case 'paper-filled':
      return [`funds ${event.strategy}`, `disbelieved ${event.intentId}`]
    case 'intent-closed':
    case 'failed':
      return [`disbelieved ${event.intentId}`]
    case 'pause':
      return event.strategy === undefined && !event.paused ? [HALT] : []
    case 'gas-tank':
      return [
        `gastank ${event.account} login`,
        ...(event.isLow ? [] : [`gastank ${event.account}`]),
      ]
    case 'deposit-indexed':
      return ['top-up']
    case 'journal-archived':
      return ['archive']
    case 'remote-link':
      return event.link === 'listening' ? ['remote'] : NONE
    case 'files-stale':
      return event.files === 0 ? ['files'] : []
    // A start reads all files, and takes all or none.
    case 'daemon-started':
      return ['files']
    default:
      return NONE
  }
}
