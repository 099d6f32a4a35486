import type { RuntimeEvent } from '../journal/runtime-event.ts'
import type { Notification, Sentence } from '../journal/wording/notice.ts'
import type { TextContext } from '../journal/wording/text.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export type Observers = {
  readonly log: Log
  readonly metrics: Metrics
}

export type Memory = ReturnType<typeof createMemory>

type Observed<Type extends RuntimeEvent['type']> = Extract<RuntimeEvent, { type: Type }>

type Observe<Event> = (event: Event, to: Observers, memory: Memory) => void

/** People are notified only if `notify` is set. */
export type Handler<Event> = {
  readonly observe?: Observe<Event>
  /** A warning for the log and for webhooks. */
  readonly sentence?: (event: Event) => Sentence
  /** The incident to warn about at most once a minute; without it, every event is a warning. */
  readonly incident?: (event: Event) => string
  readonly notify?: (event: Event, texts: TextContext) => Notification | undefined
  /** Topics of lasting notifications that it ends, including every topic that begins with one of these. */
  readonly ends?: (event: Event) => readonly string[]
}

/** A new type of runtime event does not compile without an entry. */
export type Handlers = {
  readonly [Type in RuntimeEvent['type']]: Handler<Observed<Type>> | Observe<Observed<Type>>
}

const REPEAT_AFTER_MS = 60_000
const INCIDENTS_MAX = 100

/** State across events: closed label sets, and recently logged incidents. */
export function createMemory() {
  const loggedAt = new Map<string, number>()
  return {
    labels: { route: closedLabels(), status: closedLabels(), cause: closedLabels() },
    /** False if logged in the last minute, or within `repeatAfterMs`: a node that is down causes no line per tick. */
    isNews(incident: string, repeatAfterMs = REPEAT_AFTER_MS): boolean {
      const nowMs = performance.now()
      const lastMs = loggedAt.get(incident)
      if (lastMs !== undefined && nowMs - lastMs < repeatAfterMs) return false
      if (loggedAt.size >= INCIDENTS_MAX) loggedAt.clear()
      loggedAt.set(incident, nowMs)
      return true
    },
  }
}

const LABEL_VALUES_MAX = 64
const LABEL_VALUE = /^[\w-]{1,40}$/
const LOOKS_LIKE_ID = /0x|\d{6}|[0-9a-f]{16}/i

/** Closes the values of one label: up to 64 different words pass; ids, addresses and further words become `other`. */
export function closedLabels(): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= LABEL_VALUES_MAX || !LABEL_VALUE.test(value) || LOOKS_LIKE_ID.test(value))
      return 'other'
    seen.add(value)
    return value
  }
}
