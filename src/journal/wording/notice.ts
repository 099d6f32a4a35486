import type { NotifyEvent } from '../../domain/notify.ts'
import type { Text } from './text.ts'

/** Values for programs. Amounts are decimal text. */
export type Details = Readonly<Record<string, string | number>>

/** A log line in the form that programs are sent: exact amounts in the details, short ones in the text. */
export type Sentence = { readonly text: string; readonly details: Details }

/** Something that is worth a message. */
export type Notice = {
  readonly event: NotifyEvent
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  /** Undefined where programs are sent the text for people. */
  readonly sentence?: Sentence | undefined
  readonly text: Text
  readonly lasting?: Lasting | undefined
}

/** A notice without the strategy and the order that it is about. */
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
  /** Words, the widest first: what ends `gastank operator` ends `gastank operator low` too. */
  readonly topic: string
  /** Message at its end; undefined if another event reports that. */
  readonly over?: string | undefined
  /** It begins now, regardless of earlier messages. */
  readonly begins?: boolean | undefined
  /** Earliest repetition, if sooner than after hours. */
  readonly againMs?: number | undefined
  /** Start, if it is reported later than first seen. */
  readonly sinceMs?: number | undefined
}

export const HALT_TOPIC = 'halt'
export const TOP_UP_TOPIC = 'top-up'

/** A strategy lacks funds until an order of it is executed. */
export function lackOfFunds(strategy: string): Lasting {
  return { topic: `funds ${strategy}`, over: `${strategy} had enough again` }
}

/** Covers all conflicts with what a service says of an order. */
export function conflictTopic(intentId: string): string {
  return `disbelieved ${intentId}`
}
