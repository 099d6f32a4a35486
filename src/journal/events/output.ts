import type { Token } from '../../domain/money/token.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { LogFields, LogLevel } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Details, Notice, Notification } from '../wording/notice.ts'
import type { TextContext } from '../wording/text.ts'
import type { ContextOf, EventOf, EventType } from './registry.ts'

export type Line = {
  readonly text: string
  /** Fields after `event`, `strategy` and `intentId`. */
  readonly fields: LogFields
  /** Details for programs. If present, notifications also carry the line's text. */
  readonly details?: Details
}

export function line(text: string, fields: LogFields = {}, details?: Details): Line {
  return { text, fields, ...(details === undefined ? {} : { details }) }
}

/** Data that the messages of a slot's timeline refer to. */
export type TimelineContext = {
  /** Tokens of amounts, by symbol and by address. */
  readonly tokens: ReadonlyMap<string, Token>
  /** Each intent's last recorded permit. */
  readonly permits: ReadonlyMap<string, PermitRecord>
}

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
  /** Topics of lasting notifications that it ends, including every topic that begins with one of these. */
  readonly ends?: (event: Event) => readonly string[]
  /** Notification used if the record that the context needs is missing. */
  readonly brief?: (
    event: Event,
  ) => { readonly event: Notice['event']; readonly what: string } | undefined
  readonly title: (event: Event, context: Context, atMs: number) => string
  /** The heading if records that the context needs are missing. Default: the event's type in words. */
  readonly bareTitle?: (event: Event) => string
  readonly messages?: (event: Event, timeline: TimelineContext) => readonly string[]
}

export type Outputs = {
  readonly [Type in EventType]: Output<EventOf<Type>, ContextOf<Type>>
}
