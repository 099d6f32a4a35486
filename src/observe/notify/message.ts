import * as z from 'zod'
import type { NotifyEvent, Severity } from '../../domain/notify.ts'
import { durationText } from '../../domain/text/duration.ts'
import type { Details, Notice } from '../../journal/wording/notice.ts'
import { sentence, type Text, type TextContext } from '../../journal/wording/text.ts'
import { localTime } from '../../journal/wording/time.ts'

export const messageSchema = z.object({
  /** Equal in every attempt and after every restart, so that a receiver can drop duplicates. */
  id: z.string(),
  event: z.custom<NotifyEvent | 'test'>((event) => typeof event === 'string'),
  severity: z.enum(['info', 'warning', 'alarm'] satisfies readonly Severity[]),
  /** Time of the event, not of sending. */
  atMs: z.number(),
  /** The same in the operator's time zone, with the zone. */
  when: z.string(),
  strategy: z.string().optional(),
  intentId: z.string().optional(),
  subject: z.string(),
  lines: z.array(z.string()).readonly(),
  link: z.string().optional(),
  /** For programs: the log's message, and its details. */
  text: z.string(),
  details: z.custom<Details>((details) => typeof details === 'object' && details !== null),
})

/** A message in the outbox and for a channel: plain JSON without secrets. */
export type Message = Readonly<z.output<typeof messageSchema>>

/** The time comes last. */
export function plainText({ subject, lines, link, when }: Message): string {
  return [subject, ...lines, ...(link === undefined ? [] : [link]), when].join('\n')
}

export type Crash = { readonly message: string; readonly wasRunning: boolean }

export function crashedText({ message, wasRunning }: Crash): Text {
  return {
    subject: wasRunning
      ? 'The daemon has stopped because of a fault'
      : 'The daemon could not start',
    lines: [
      ...sentence(message),
      'Nothing is traded until it runs again. What was signed before may still execute.',
      'The log says more; `tranched status` shows what is open.',
    ],
  }
}

/** `was` describes the recovered state. */
export function recoveredText(
  { was, sinceMs, atMs }: { readonly was: string; readonly sinceMs: number; readonly atMs: number },
  { timezone }: TextContext,
): Text {
  return {
    subject: was,
    lines: [`It lasted ${durationText(atMs - sinceMs)}, since ${localTime(sinceMs, timezone)}.`],
  }
}

export function testText(receiver: string): Text {
  return {
    subject: 'A test message of tranched',
    lines: [
      `It was sent to ${receiver}. Alarms will arrive here like this.`,
      'No action is needed.',
    ],
  }
}

export const conditionSchema = z.object({
  topic: z.string(),
  event: z.custom<NotifyEvent>((event) => typeof event === 'string'),
  strategy: z.string().optional(),
  sinceMs: z.number(),
  /** Time of the last message about it. */
  toldMs: z.number(),
  /** Subject of the message at its end. */
  over: z.string().optional(),
})

/** A lasting condition that was reported. */
export type Condition = Readonly<z.output<typeof conditionSchema>>

/** Default minimum time before a lasting condition is reported again. */
const AGAIN_MS = 6 * 3_600_000
/** A condition last reported this long ago is forgotten. */
const FORGOTTEN_MS = 30 * 86_400_000
const CONDITIONS_MAX = 500

/** Whether to report a lasting condition now. A clock that was set back suppresses it for no longer than the correction. */
export function admit(
  notice: Notice,
  before: Condition | undefined,
  atMs: number,
): { readonly isDue: boolean; readonly condition?: Condition } {
  const { lasting, event, strategy } = notice
  if (lasting === undefined) return { isDue: true }
  const { topic, over, begins = false, sinceMs = atMs, againMs = AGAIN_MS } = lasting
  if (before !== undefined && !begins && Math.abs(atMs - before.toldMs) < againMs)
    return { isDue: false }
  const since = before === undefined || begins ? sinceMs : before.sinceMs
  return { isDue: true, condition: { topic, event, strategy, over, sinceMs: since, toldMs: atMs } }
}

export function endedTopics(topics: Iterable<string>, over: string): readonly string[] {
  return [...topics].filter((topic) => topic === over || topic.startsWith(`${over} `))
}

/** Topics to drop to make room for one: stale ones, else those reported longest ago. */
export function forgettable(
  conditions: ReadonlyMap<string, Condition>,
  atMs: number,
): readonly string[] {
  const stale = [...conditions.values()].filter(({ toldMs }) => atMs - toldMs > FORGOTTEN_MS)
  if (conditions.size - stale.length < CONDITIONS_MAX) return stale.map(({ topic }) => topic)
  const oldest = [...conditions.values()].sort((a, b) => a.toldMs - b.toldMs)
  return oldest.slice(0, conditions.size - CONDITIONS_MAX + 1).map(({ topic }) => topic)
}
