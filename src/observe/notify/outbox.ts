import type { Severity } from '../../domain/notify.ts'
import type { Clock } from '../../ports.ts'
import { type Condition, forgettable, type Message } from './message.ts'
import type { OutboxFile, OutboxLine, OutboxPeriod } from './outbox-file.ts'

const MESSAGES_MAX = 2_000
const BYTES_MAX = 2 * 1024 * 1024
/** Changes within this time are written together. */
const COMMIT_AFTER_MS = 50
/** Retry after a failed write; the file itself may wait longer. */
const RETRY_AFTER_MS = 1_000
/** Changes kept while a disk hangs. Beyond this, the next write rewrites the whole file. */
const LINES_MAX = 20_000
/** Number of records without a message after which the position is written anyway. */
const TAKEN_UNWRITTEN_MAX = 1_000

export type Waiting = {
  readonly message: Message
  /** Attempts that the receiver answered without accepting the message. */
  refusals: number
}

type Held = {
  readonly message: Message
  readonly bytes: number
  readonly receivers: Set<string>
}

type OutboxOptions = {
  readonly file: OutboxFile
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** Messages for other receivers are dropped. */
  readonly receivers: readonly string[]
  readonly onChange: (receiver: string) => void
  /** Called when a message is dropped for lack of room, with the total so far. */
  readonly onDropped: (receiver: string, total: number) => void
}

export type Outbox = ReturnType<typeof createOutbox>

/**
 * Messages to send, and reported conditions. Memory changes at once and a file follows. The journal has everything after
 * `taken`, the last record handled. Nothing here throws or waits for a disk.
 */
export function createOutbox({ file, clock, receivers, onChange, onDropped }: OutboxOptions) {
  const messages = new Map<string, Held>()
  const queues = new Map(receivers.map((receiver) => [receiver, new Map<string, Waiting>()]))
  const conditions = new Map<string, Condition>()
  const periods = new Map<OutboxPeriod, number>()
  let bytes = 0
  let dropped = 0
  let taken: number | undefined
  let takenWritten: number | undefined
  let lines: OutboxLine[] = []
  /** Not written yet: queued once written, or if the disk fails. */
  let unready: Held[] = []
  let committing: Promise<void> | undefined
  /** Delays of the scheduled commits. */
  const scheduled = new Set<number>()
  /** The disk lacks the last changes: a restart now would send delivered messages again. */
  let isBehind = false
  const closed = new AbortController()

  for (const line of file.lines) restore(line)
  for (const held of messages.values()) queue(held)

  function restore(line: OutboxLine): void {
    if ('put' in line)
      hold(
        line.put,
        line.to.filter((receiver) => queues.has(receiver)),
      )
    else if ('end' in line) unlink(line.of, line.end)
    else if ('condition' in line) conditions.set(line.condition.topic, line.condition)
    else if ('over' in line) conditions.delete(line.over)
    else if ('period' in line) periods.set(line.period, line.untilSeconds)
    else {
      taken = line.taken
      takenWritten = line.taken
    }
  }

  /** Undefined if the message is already here, or has no receiver. */
  function hold(message: Message, to: readonly string[]): Held | undefined {
    if (to.length === 0 || messages.has(message.id)) return undefined
    const held = { message, bytes: JSON.stringify(message).length, receivers: new Set(to) }
    messages.set(message.id, held)
    bytes += held.bytes
    return held
  }

  /** @returns whether the message waited for the receiver */
  function unlink(receiver: string, id: string): boolean {
    const held = messages.get(id)
    if (held?.receivers.delete(receiver) !== true) return false
    queues.get(receiver)?.delete(id)
    if (held.receivers.size === 0 && messages.delete(id)) bytes -= held.bytes
    return true
  }

  function queue({ message, receivers: to }: Held): void {
    for (const receiver of to) queues.get(receiver)?.set(message.id, { message, refusals: 0 })
  }

  /** Drops the least severe first, and of those the oldest. */
  function makeRoom(): void {
    while (messages.size > MESSAGES_MAX || (bytes > BYTES_MAX && messages.size > 1)) {
      const least = leastOf(messages.values())
      if (least === undefined) return
      for (const receiver of [...least.receivers]) {
        end(receiver, least.message.id)
        dropped += 1
        onDropped(receiver, dropped)
      }
    }
  }

  function end(receiver: string, id: string): void {
    if (!unlink(receiver, id)) return
    note({ end: id, of: receiver })
    onChange(receiver)
  }

  function forget(topic: string): void {
    if (conditions.delete(topic)) note({ over: topic })
  }

  function note(line: OutboxLine): void {
    if (lines.length < LINES_MAX) lines.push(line)
    else file.spoil()
    schedule()
  }

  function schedule(afterMs = COMMIT_AFTER_MS): void {
    if (scheduled.has(afterMs) || closed.signal.aborted) return
    scheduled.add(afterMs)
    void clock.sleep(afterMs, closed.signal).then(() => {
      scheduled.delete(afterMs)
      return commit()
    })
  }

  async function commit(last?: 'last'): Promise<void> {
    await committing
    committing ??= write(last).finally(() => {
      committing = undefined
    })
    await committing
  }

  async function write(last?: 'last'): Promise<void> {
    const [changes, made, upTo] = [lines, unready, taken]
    lines = []
    unready = []
    if (upTo !== undefined && upTo !== takenWritten) changes.push({ taken: upTo })
    if (changes.length > 0 || isBehind) {
      isBehind = !(await file.append(changes, clock.now(), image, last))
      // Other commits do not wait for the retry.
      if (isBehind) schedule(RETRY_AFTER_MS)
      else takenWritten = upTo
    }
    // A failing disk delays no message.
    for (const held of made) {
      queue(held)
      for (const receiver of held.receivers) onChange(receiver)
    }
  }

  /** The complete state, for a rewrite. */
  function image(): readonly OutboxLine[] {
    return [
      ...[...messages.values()].map((held) => ({ put: held.message, to: [...held.receivers] })),
      ...[...conditions.values()].map((condition) => ({ condition })),
      ...[...periods].map(([period, untilSeconds]) => ({ period, untilSeconds })),
      ...(taken === undefined ? [] : [{ taken }]),
    ]
  }

  return {
    conditions: conditions as ReadonlyMap<string, Condition>,
    /** The last journal record whose messages are here; undefined before the first. */
    get taken(): number | undefined {
      return taken
    },
    /** Epoch seconds. */
    endOf: (period: OutboxPeriod): number | undefined => periods.get(period),
    /** Oldest first. */
    queue: (receiver: string): Iterable<Waiting> => queues.get(receiver)?.values() ?? [],
    waiting: (receiver: string): number => queues.get(receiver)?.size ?? 0,
    /** Ignores a message that is already here. */
    put(message: Message, to: readonly string[]): void {
      const held = hold(message, to)
      if (held === undefined) return
      unready.push(held)
      note({ put: message, to })
      makeRoom()
    },
    /** All messages of the journal's records up to this one are here. */
    take(seq: number): void {
      taken = seq
      if (lines.length > 0 || seq - (takenWritten ?? seq) >= TAKEN_UNWRITTEN_MAX) schedule()
    },
    remember(condition: Condition, atMs: number): void {
      for (const topic of forgettable(conditions, atMs)) forget(topic)
      conditions.set(condition.topic, condition)
      note({ condition })
    },
    forget,
    endPeriod(period: OutboxPeriod, untilSeconds: number): void {
      periods.set(period, untilSeconds)
      note({ period, untilSeconds })
    },
    end,
    /** Never rejects. */
    commit: () => commit(),
    async close(): Promise<void> {
      closed.abort()
      // A commit in progress may not be the last one, and another may wait for it.
      await commit()
      await commit('last')
      await file.close()
    },
  }
}

const RANK: Readonly<Record<Severity, number>> = { info: 0, warning: 1, alarm: 2 }

function leastOf(all: Iterable<Held>): Held | undefined {
  let least: Held | undefined
  for (const held of all) {
    if (least === undefined || RANK[held.message.severity] < RANK[least.message.severity])
      least = held
    if (RANK[least.message.severity] === 0) break
  }
  return least
}
