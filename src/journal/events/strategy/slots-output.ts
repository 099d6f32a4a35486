import type { Outcome } from '../../../domain/order/intent.ts'
import { reasonText } from '../../../domain/order/reason.ts'
import { durationText } from '../../../domain/text/duration.ts'
import type { LogLevel } from '../../../observe/log.ts'
import type { Metrics } from '../../../observe/metrics.ts'
import { inputMessages, intentMessages, reasonMessages } from '../../wording/decision-text.ts'
import { instantText, seconds } from '../../wording/log-values.ts'
import { HALT_TOPIC, lackOfFunds, type Notification, notification } from '../../wording/notice.ts'
import { sentence, sentenceOf, type TextContext } from '../../wording/text.ts'
import { localTime } from '../../wording/time.ts'
import { line, type Outputs } from '../output.ts'
import { type SlotClosed, type SlotEnd, type SlotsMissed, slotEndOf } from './slots.ts'

/** The outcome of a slot, or of a run of missed slots. */
const END = {
  level: (event: Ended) => LEVELS[endOf(event).outcome] ?? 'warn',
  name: 'slot-closed',
  /** A run of missed slots is logged with the time of its last slot. */
  line(event: Ended) {
    const { strategy, slotSeconds, lastSeconds, outcome, reason, detail, count } = endOf(event)
    const why = reason === outcome ? '' : ` (${reason})`
    const first = instantText(slotSeconds)
    const which =
      count === 1 ? first : `${count ?? 'many'} slots from ${first} to ${instantText(lastSeconds)}`
    const counted = count ?? 1
    return line(
      `${outcome} ${strategy} ${which}${why}${detail === undefined ? '' : `: ${detail}`}`,
      { slotSeconds: lastSeconds, outcome, reason, detail, count: counted },
      { slotSeconds: lastSeconds, reason, count: counted },
    )
  },
  measure({ slots, skips, slotWaiting }: Metrics, event: Ended) {
    const { strategy, outcome, reason, count = 1 } = endOf(event)
    slots.inc({ strategy, outcome }, count)
    if (outcome === 'skipped') skips.inc({ strategy, reason }, count)
    slotWaiting.set({ strategy }, 0)
  },
  notify: (event: Ended, _: object, texts: TextContext) => endNotification(endOf(event), texts),
  title(event: Ended) {
    const { outcome, reason, count } = endOf(event)
    return `${count === 1 ? '' : `${count ?? 'many'} slots `}${outcome}${reason === outcome ? '' : `: ${reason}`}`
  },
}

export const SLOT_OUTPUTS = {
  'slot-opened': {
    level: 'info',
    line({ strategy, slotSeconds, intents: { length: intents } }, _, atMs) {
      const many = intents === 1 ? '1 intent' : `${intents} intents`
      return line(`opened ${strategy} ${instantText(slotSeconds)}: ${many}`, {
        slotSeconds,
        latenessMs: atMs - slotSeconds * 1_000,
        intents,
      })
    },
    measure({ slotLateness, slotWaiting }, { strategy, slotSeconds, decidedAtMs }, _, atMs) {
      slotLateness.observe(seconds((decidedAtMs ?? atMs) - slotSeconds * 1_000))
      slotWaiting.set({ strategy }, 0)
    },
    notify: null,
    title({ intents: { length: intents }, slotSeconds, manual }, _, atMs) {
      if (manual !== undefined) return `ordered by hand: ${manual.order}`
      const lateness = latenessText(atMs - slotSeconds * 1_000)
      return `opened ${lateness}, ${intents === 1 ? '1 order' : `${intents} orders`}`
    },
    messages: ({ intents, inputs }, { tokens }) => [
      ...intents.flatMap(intentMessages),
      ...inputMessages(inputs, tokens),
    ],
  },

  'slot-closed': {
    ...END,
    messages: (event, { tokens }) => [
      ...reasonMessages(event),
      ...inputMessages(event.inputs, tokens),
    ],
  },

  'slots-missed': {
    ...END,
    messages: ({ detail = WHY_MISSED }) => [
      sentenceOf(detail),
      'What to do: keep the daemon running and its nodes reachable; schedule.missed sets which slots it runs later.',
    ],
  },
} satisfies Partial<Outputs>

/** Of records without a detail, by older versions. */
const WHY_MISSED =
  'the daemon did not run, was too slow or could not read its chain, and the strategy file does not run missed slots later'

type Ended = SlotClosed | SlotsMissed

function endOf(event: Ended): SlotEnd {
  return slotEndOf(event) as SlotEnd
}

/** Outcomes that the order reports itself, or that need no attention; others are warnings. */
const LEVELS: Partial<Record<Outcome, LogLevel>> = { filled: 'debug', skipped: 'info' }

function endNotification(end: SlotEnd, texts: TextContext): Notification | undefined {
  const { strategy, outcome, reason, detail = '' } = end
  if (outcome === 'missed') return missedNotification(end, texts)
  if (reason === 'halted') {
    const lines = [
      `A slot of ${strategy} was skipped for it.`,
      ...sentence(detail),
      '`tranched status` shows why; `tranched resume` lifts the halt.',
    ]
    return notification('halted', 'Trading is still halted', lines, { topic: HALT_TOPIC })
  }
  if (outcome !== 'skipped' || reason !== 'insufficient-balance') return undefined
  const lines = [
    ...sentence(detail),
    'Once the wallet has enough, the next slot trades again.',
    `\`tranched plan ${strategy}\` shows the amount it needs.`,
  ]
  const subject = `${strategy} skipped a slot: ${reasonText(reason)}`
  return notification('low-funds', subject, lines, lackOfFunds(strategy))
}

function missedNotification(end: SlotEnd, { timezone }: TextContext): Notification {
  const { strategy, slotSeconds, lastSeconds, count, detail = WHY_MISSED } = end
  const first = localTime(slotSeconds * 1_000, timezone)
  const last = localTime(lastSeconds * 1_000, timezone)
  const which = count === 1 ? 'a slot' : `${count ?? 'many'} slots`
  return notification('missed', `${strategy} missed ${which}`, [
    count === 1 ? `It was due ${first}.` : `They were due from ${first} to ${last}.`,
    ...sentence(detail),
    `\`tranched history --strategy ${strategy}\` shows its earlier slots.`,
  ])
}

function latenessText(ms: number): string {
  return Math.abs(ms) < 1_000
    ? 'in time'
    : `${durationText(Math.abs(ms))} ${ms < 0 ? 'early' : 'late'}`
}
