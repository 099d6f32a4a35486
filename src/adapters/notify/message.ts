import type { NotifyEvent, Severity } from '../../domain/notify.ts'
import type { Details } from '../tell/sentences.ts'

/** One message as it waits in the outbox and goes to a channel: plain JSON without secrets. */
export type Message = {
  /** Equal in every try and after every restart, so that a receiver can drop repeats. */
  readonly id: string
  readonly event: NotifyEvent | 'test'
  readonly severity: Severity
  /** When it happened, not when it is sent. */
  readonly atMs: number
  /** The same on the operator's clock, with the zone. */
  readonly when: string
  readonly strategy?: string | undefined
  readonly intentId?: string | undefined
  /** For people, see `texts/text.ts`. */
  readonly subject: string
  readonly lines: readonly string[]
  readonly link?: string | undefined
  /** For programs: the sentence of the log, and its parts. */
  readonly text: string
  readonly details: Details
}

const SEVERITIES: readonly unknown[] = ['info', 'warning', 'alarm'] satisfies readonly Severity[]

/** A message as it was written; undefined for anything else. */
export function readMessage(value: unknown): Message | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const {
    id,
    event,
    severity,
    atMs,
    when,
    strategy,
    intentId,
    subject,
    lines,
    link,
    text,
    details,
  } = value as Readonly<Record<string, unknown>>
  const isSound =
    [id, event, when, subject, text].every((each) => typeof each === 'string') &&
    [strategy, intentId, link].every((each) => each === undefined || typeof each === 'string') &&
    SEVERITIES.includes(severity) &&
    typeof atMs === 'number' &&
    Array.isArray(lines) &&
    lines.every((line) => typeof line === 'string') &&
    typeof details === 'object' &&
    details !== null
  return isSound ? (value as Message) : undefined
}

/** The whole message as plain text, its time last. */
export function plainText({ subject, lines, link, when }: Message): string {
  return [subject, ...lines, ...(link === undefined ? [] : [link]), when].join('\n')
}
