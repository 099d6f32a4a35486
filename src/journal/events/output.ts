import type { Token } from '../../domain/money/token.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { LogFields, LogLevel } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Details, Notice, Notification } from '../wording/notice.ts'
import type { TextContext } from '../wording/text.ts'
import type { ContextOf, EventOf, EventType } from './registry.ts'

export type Line = {
  readonly text: string
  /** Follow `event`, `strategy` and `intentId`. */
  readonly fields: LogFields
  /** For programs: with them a notification carries the text of the line as well. */
  readonly details?: Details
}

export function line(text: string, fields: LogFields = {}, details?: Details): Line {
  return { text, fields, ...(details === undefined ? {} : { details }) }
}

/** What the sentences of a slot's timeline refer to. */
export type TimelineContext = {
  /** Tokens that amounts are in, by symbol and by address. */
  readonly tokens: ReadonlyMap<string, Token>
  /** The last permit on record of each intent. */
  readonly permits: ReadonlyMap<string, PermitRecord>
}

/** How one type of journal event is shown. */
export type Output<Event, Context> = {
  readonly level: LogLevel | ((event: Event, context: Context) => LogLevel)
  /** `event` in the fields of the log line. Default: the event's type. */
  readonly name?: string | ((event: Event) => string)
  readonly line: (event: Event, context: Context, atMs: number) => Line
  readonly measure?: (metrics: Metrics, event: Event, context: Context, atMs: number) => void
  /** Null: no notification. */
  readonly notify:
    | ((
        event: Event,
        context: Context,
        texts: TextContext,
      ) => Notification | readonly Notification[] | undefined)
    | null
  /** Topics of notifications that it ends, and with them all topics that begin with one of these. */
  readonly ends?: (event: Event) => readonly string[]
  /** The notification where the record that the context needs is missing. */
  readonly brief?: (
    event: Event,
  ) => { readonly event: Notice['event']; readonly what: string } | undefined
  /** Heading in a timeline. */
  readonly title: (event: Event, context: Context, atMs: number) => string
  /** Below the heading. */
  readonly messages?: (event: Event, timeline: TimelineContext) => readonly string[]
}

export type Outputs = {
  readonly [Type in EventType]: Output<EventOf<Type>, ContextOf<Type>>
}
