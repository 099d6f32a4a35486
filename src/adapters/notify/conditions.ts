import type { NotifyEvent } from '../../domain/notify.ts'
import type { Notice } from './notices.ts'

/** Something that lasts, as it was told. */
export type Condition = {
  readonly topic: string
  readonly event: NotifyEvent
  readonly strategy?: string | undefined
  readonly sinceMs: number
  readonly toldMs: number
  /** What is said when it is over. */
  readonly over?: string | undefined
}

/** What lasts is told again after this long at the earliest. */
const AGAIN_MS = 6 * 3_600_000
/** What was told this long ago is nobody's any more. */
const FORGOTTEN_MS = 30 * 86_400_000
const CONDITIONS_MAX = 500

/** What is told of a notice: at once, or nothing because it was told lately. */
export type Admission = {
  readonly isTold: boolean
  /** What is to be remembered; undefined where nothing changes. */
  readonly condition?: Condition
}

/**
 * Whether something that lasts is told now. A clock that was set back does not silence it for longer than it was set back by.
 */
export function admit(notice: Notice, before: Condition | undefined, atMs: number): Admission {
  const { lasting, event, strategy } = notice
  if (lasting === undefined) return { isTold: true }
  const { topic, over, begins = false, sinceMs = atMs, againMs = AGAIN_MS } = lasting
  if (before !== undefined && !begins && Math.abs(atMs - before.toldMs) < againMs)
    return { isTold: false }
  const since = before === undefined || begins ? sinceMs : before.sinceMs
  return {
    isTold: true,
    condition: { topic, event, strategy, over, sinceMs: since, toldMs: atMs },
  }
}

/** Those that are over where a topic is. */
export function endedTopics(topics: Iterable<string>, over: string): readonly string[] {
  const ended: string[] = []
  for (const topic of topics) {
    if (topic === over || topic.startsWith(`${over} `)) ended.push(topic)
  }
  return ended
}

/** Topics to be forgotten so that one more has room: what is old, and else what was told longest ago. */
export function forgettable(
  conditions: ReadonlyMap<string, Condition>,
  atMs: number,
): readonly string[] {
  const stale = [...conditions.values()].filter(({ toldMs }) => atMs - toldMs > FORGOTTEN_MS)
  if (conditions.size - stale.length < CONDITIONS_MAX) return stale.map(({ topic }) => topic)
  const oldest = [...conditions.values()].sort((a, b) => a.toldMs - b.toldMs)
  return oldest.slice(0, conditions.size - CONDITIONS_MAX + 1).map(({ topic }) => topic)
}

export function readCondition(value: unknown): Condition | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { topic, event, strategy, sinceMs, toldMs, over } = value as Readonly<
    Record<string, unknown>
  >
  const isSound =
    [topic, event].every((each) => typeof each === 'string') &&
    [strategy, over].every((each) => each === undefined || typeof each === 'string') &&
    [sinceMs, toldMs].every((each) => typeof each === 'number')
  return isSound ? (value as Condition) : undefined
}
