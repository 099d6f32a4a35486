import {
  hearsOf,
  type NotifyEvent,
  type Receiver,
  severityOf,
  wordFor,
} from '../../domain/notify.ts'
import type { Mode } from '../../domain/settings.ts'
import type { Scrubber } from '../tell/scrubber.ts'
import type { Channel } from './channels/channel.ts'
import { admit, endedTopics } from './conditions.ts'
import type { Message } from './message.ts'
import type { Notice } from './notices.ts'
import type { Outbox } from './outbox.ts'
import type { OutboxPeriod } from './outbox-file.ts'
import { recoveredText } from './texts/daemon.ts'
import type { Text, TextContext } from './texts/text.ts'
import { localTimeInZone } from './texts/time.ts'

/** Somebody who is told, and the way there. */
export type Target = { readonly receiver: Receiver; readonly channel: Channel }

/** Where a notice comes from, for its name: the same after every restart, where it comes from a record. */
export type Place = { readonly atMs: number; readonly name: string }

/** A digest of one period. */
export type Summary = {
  readonly period: OutboxPeriod
  readonly untilSeconds: number
  /** For a receiver that hears of these strategies alone; of all where undefined. */
  readonly textFor: (strategies: readonly string[] | undefined) => Text
}

export type DispatchOptions = {
  readonly targets: readonly Target[]
  readonly outbox: Outbox
  readonly context: TextContext
  readonly mode: Mode
  readonly scrubber: Pick<Scrubber, 'value'>
}

/** Makes messages of notices, and puts them into the outbox for those who hear of them. */
export type Dispatch = {
  /** What one observation is worth telling. */
  tell(notices: readonly Notice[], place: Place): void
  /** Something that may have been told is over, and whatever begins with its words. */
  over(topic: string, place: Place): void
  sumUp(summary: Summary, atMs: number): void
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { targets, outbox, context, mode, scrubber } = options

  function messageOf({ event, strategy, intentId, sentence, text }: Notice, place: Place): Message {
    const { subject, lines, link } = text
    const title = mode === 'live' ? subject : `[${mode}] ${subject}`
    const clean = scrubber.value({
      id: place.name,
      event,
      severity: severityOf(event),
      atMs: place.atMs,
      when: localTimeInZone(place.atMs, context.timezone),
      strategy,
      intentId,
      subject: title,
      lines,
      text: sentence?.text ?? [title, ...lines].join('\n'),
      details: sentence?.details ?? {},
    }) as Message
    // An explorer's address is the operator's own, and would be cut as if it held a token.
    return link === undefined ? clean : { ...clean, link }
  }

  function keysOf(hearing: readonly Target[]): readonly string[] {
    return hearing.map(({ channel }) => channel.key)
  }

  function endOf(topic: string, { atMs, name }: Place): void {
    const condition = outbox.conditions.get(topic)
    outbox.forget(topic)
    if (condition?.over === undefined) return
    const { event, strategy, sinceMs, over: was } = condition
    const text = recoveredText({ was, sinceMs, atMs }, context)
    const notice: Notice = { event: 'recovered', strategy, text }
    const to = targets.filter((each) => hears(each, notice) && hears(each, { event, strategy }))
    outbox.put(messageOf(notice, { atMs, name: `${name}-over-${topic}` }), keysOf(to))
  }

  return {
    tell(notices, { atMs, name }) {
      // Nobody is told of one observation twice, but programs, to whom each event is one of its own.
      const told = new Set<string>()
      for (const [index, notice] of notices.entries()) {
        const before = notice.lasting && outbox.conditions.get(notice.lasting.topic)
        const { isTold, condition } = admit(notice, before, atMs)
        if (!isTold) continue
        const to = targets.filter(
          (each) =>
            hears(each, notice) &&
            (each.receiver.kind === 'webhook' || !told.has(each.channel.key)),
        )
        for (const key of keysOf(to)) told.add(key)
        const place = { atMs, name: index === 0 ? name : `${name}-${index}` }
        outbox.put(messageOf(notice, place), keysOf(to))
        if (condition !== undefined) outbox.remember(condition, atMs)
      }
    },
    over(topic, place) {
      for (const ended of endedTopics(outbox.conditions.keys(), topic)) endOf(ended, place)
    },
    sumUp({ period, untilSeconds, textFor }, atMs) {
      const hearing = targets.filter(({ receiver }) => receiver.routing.on.includes('digest'))
      const views = new Set(hearing.map(viewOf))
      for (const view of views) {
        const notice: Notice = {
          event: 'digest',
          text: textFor(view === EVERYTHING ? undefined : view.split(' ')),
        }
        const name = `${period}-${untilSeconds}${view === EVERYTHING ? '' : `-${view}`}`
        const to = hearing.filter((each) => viewOf(each) === view)
        outbox.put(messageOf(notice, { atMs, name }), keysOf(to))
      }
      outbox.sumUp(period, untilSeconds)
    },
  }
}

const EVERYTHING = ''

/** The strategies that a receiver hears of, as text. */
function viewOf({ receiver }: Target): string {
  return receiver.routing.strategies?.join(' ') ?? EVERYTHING
}

function hears(
  { receiver: { routing } }: Target,
  { event, strategy }: { readonly event: NotifyEvent; readonly strategy?: string | undefined },
): boolean {
  if (wordFor(event, routing.on) === undefined) return false
  return strategy === undefined || hearsOf(routing, strategy)
}
