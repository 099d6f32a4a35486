import { hearsOf, type NotifyEvent, severityOf, subscriptionFor } from '../../domain/notify.ts'
import type { Mode } from '../../domain/settings.ts'
import type { Notice } from '../../journal/wording/notice.ts'
import type { Text, TextContext } from '../../journal/wording/text.ts'
import { localTimeInZone } from '../../journal/wording/time.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import type { Channel } from './channels/channel.ts'
import { admit, endedTopics, type Message, recoveredText } from './message.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxPeriod } from './outbox-file.ts'

/** Origin of a notice, which names its message. For a record, it is the same after every restart. */
export type Origin = { readonly atMs: number; readonly name: string }

export type Summary = {
  readonly period: OutboxPeriod
  readonly untilSeconds: number
  /** Text for a receiver of these strategies; undefined for all. */
  readonly textFor: (strategies: readonly string[] | undefined) => Text
}

export type DispatchOptions = {
  readonly channels: readonly Channel[]
  readonly outbox: Outbox
  readonly context: TextContext
  readonly mode: Mode
  readonly scrubber: Pick<Scrubber, 'value'>
}

/** Turns notices into messages, and puts them into the outbox for their subscribers. */
export function createDispatch(options: DispatchOptions) {
  const { channels, outbox, context, mode, scrubber } = options

  function messageOf(
    { event, strategy, intentId, sentence, text }: Notice,
    origin: Origin,
  ): Message {
    const { subject, lines, link } = text
    const title = mode === 'live' ? subject : `[${mode}] ${subject}`
    const clean = scrubber.value({
      id: origin.name,
      event,
      severity: severityOf(event),
      atMs: origin.atMs,
      when: localTimeInZone(origin.atMs, context.timezone),
      strategy,
      intentId,
      subject: title,
      lines,
      text: sentence?.text ?? [title, ...lines].join('\n'),
      details: sentence?.details ?? {},
    }) as Message
    // The explorer's address is the operator's own; scrubbing would cut it like a token.
    return link === undefined ? clean : { ...clean, link }
  }

  function endOf(topic: string, { atMs, name }: Origin): void {
    const condition = outbox.conditions.get(topic)
    outbox.forget(topic)
    if (condition?.over === undefined) return
    const { event, strategy, sinceMs, over: was } = condition
    const text = recoveredText({ was, sinceMs, atMs }, context)
    const notice: Notice = { event: 'recovered', strategy, text }
    const to = channels.filter(
      (each) => subscribes(each, notice) && subscribes(each, { event, strategy }),
    )
    outbox.put(messageOf(notice, { atMs, name: `${name}-over-${topic}` }), keysOf(to))
  }

  return {
    /** A person gets one message per observation; a program gets each of its events. */
    notify(notices: readonly Notice[], { atMs, name }: Origin): void {
      const notified = new Set<string>()
      for (const [index, notice] of notices.entries()) {
        const before = notice.lasting && outbox.conditions.get(notice.lasting.topic)
        const { isDue, condition } = admit(notice, before, atMs)
        if (!isDue) continue
        const to = channels.filter(
          (each) => subscribes(each, notice) && (each.isProgram || !notified.has(each.key)),
        )
        for (const key of keysOf(to)) notified.add(key)
        const origin = { atMs, name: index === 0 ? name : `${name}-${index}` }
        outbox.put(messageOf(notice, origin), keysOf(to))
        if (condition !== undefined) outbox.remember(condition, atMs)
      }
    },
    /** Ends the conditions of a topic and of every topic that begins with its words. */
    end(topic: string, origin: Origin): void {
      for (const ended of endedTopics(outbox.conditions.keys(), topic)) endOf(ended, origin)
    },
    summarise({ period, untilSeconds, textFor }: Summary, atMs: number): void {
      const subscribers = channels.filter(({ routing }) => routing.on.includes('digest'))
      const audiences = new Set(subscribers.map(audienceOf))
      for (const audience of audiences) {
        const notice: Notice = {
          event: 'digest',
          text: textFor(audience === EVERYTHING ? undefined : audience.split(' ')),
        }
        const name = `${period}-${untilSeconds}${audience === EVERYTHING ? '' : `-${audience}`}`
        const to = subscribers.filter((each) => audienceOf(each) === audience)
        outbox.put(messageOf(notice, { atMs, name }), keysOf(to))
      }
      outbox.endPeriod(period, untilSeconds)
    },
  }
}

function keysOf(channels: readonly Channel[]): readonly string[] {
  return channels.map(({ key }) => key)
}

const EVERYTHING = ''

function audienceOf({ routing }: Channel): string {
  return routing.strategies?.join(' ') ?? EVERYTHING
}

function subscribes(
  { routing }: Channel,
  { event, strategy }: { readonly event: NotifyEvent; readonly strategy?: string | undefined },
): boolean {
  if (subscriptionFor(event, routing.on) === undefined) return false
  return strategy === undefined || hearsOf(routing.strategies, strategy)
}
