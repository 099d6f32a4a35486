import type { NotifyEvent } from '../../domain/notify.ts'
import type { Text } from './text.ts'

/** Values for programs. Amounts are decimal text. */
export type Details = Readonly<Record<string, string | number>>

/** A log line for programs: exact amounts in the details, short ones in the text. */
export type Sentence = { readonly text: string; readonly details: Details }

/** An event worth a message. */
export type Notice = {
  readonly event: NotifyEvent
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  /** Undefined if programs get the text for people. */
  readonly sentence?: Sentence | undefined
  readonly text: Text
  readonly lasting?: Lasting | undefined
}

/** A notice without its strategy and order. */
export type Notification = Pick<Notice, 'event' | 'text' | 'lasting'>

export function notification(
  event: NotifyEvent,
  subject: string,
  lines: readonly string[],
  lasting?: Lasting,
): Notification {
  return { event, text: { subject, lines }, lasting }
}

/** A lasting condition: notified once, and again after hours while it lasts. */
type Lasting = {
  /** Words, most general first: ending `gastank operator` also ends `gastank operator low`. */
  readonly topic: string
  /** Message at its end; undefined if another event reports that. */
  readonly over?: string | undefined
  /** It begins now, whatever was sent before. */
  readonly begins?: boolean | undefined
  /** Earliest repetition, if sooner than after hours. */
  readonly againMs?: number | undefined
  /** Start, if earlier than the first report. */
  readonly sinceMs?: number | undefined
}

export const HALT_TOPIC = 'halt'
export const TOP_UP_TOPIC = 'top-up'

/** A strategy lacks funds until one of its orders is executed. */
export function lackOfFunds(strategy: string): Lasting {
  return { topic: `funds ${strategy}`, over: `${strategy} had enough again` }
}

/** Covers all conflicts with a service's reports on an order. */
export function conflictTopic(intentId: string): string {
  return `disbelieved ${intentId}`
}
