import type { Severity } from '../../domain/notify.ts'
import type { Clock } from '../../ports.ts'
import type { Log } from '../log.ts'
import type { Message } from './message.ts'
import { type Condition, forgettable } from './message.ts'
import type { OutboxFile, OutboxLine, OutboxPeriod } from './outbox-file.ts'

const MESSAGES_MAX = 2_000
const BYTES_MAX = 2 * 1024 * 1024
/** Changes within this time are written together. */
const COMMIT_AFTER_MS = 50
/** Retry after a failed write; the file may leave the disk alone for longer. */
const RETRY_AFTER_MS = 1_000
/** Changes kept for a disk that hangs: beyond this, the next write rewrites the whole file. */
const LINES_MAX = 20_000
/** Records without a message after which the position is written anyway. */
const TAKEN_UNWRITTEN_MAX = 1_000

export type Waiting = {
  readonly message: Message
  /** Attempts that the receiver answered without taking the message. */
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
  readonly log: Log
  /** What waits for any other receiver is dropped. */
  readonly receivers: readonly string[]
  /** Called when the queue of a receiver changes. */
  readonly onChange: (receiver: string) => void
  /** Called when a message is dropped for lack of room, with the number so far. */
  readonly onDropped: (receiver: string, total: number) => void
  /** Default 2,000 and 2 MiB. */
  readonly messagesMax?: number | undefined
  readonly bytesMax?: number | undefined
}

/**
 * Messages to send, and conditions reported. Memory changes at once and a file follows; what neither holds is still in the journal:
 * `taken` says how far that was read. Nothing here throws or waits for a disk.
 */
export class Outbox {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly #options: OutboxOptions
  readonly #held = new Map<string, Held>()
  readonly #queues = new Map<string, Map<string, Waiting>>()
  readonly #conditions = new Map<string, Condition>()
  readonly #periods = new Map<OutboxPeriod, number>()
  #bytes = 0
  #dropped = 0
  #taken: number | undefined
  #takenWritten: number | undefined
  #lines: OutboxLine[] = []
  /** Not written yet: sent once they are, or when the disk takes nothing. */
  #unready: Held[] = []
  #committing: Promise<void> | undefined
  /** Commits to come, by their delays. */
  readonly #scheduled = new Set<number>()
  /** The disk lacks the last changes: the next start would send delivered messages again. */
  #isBehind = false
  readonly #closed = new AbortController()

  constructor(options: OutboxOptions) {
    this.#options = options
    this.conditions = this.#conditions
    for (const receiver of options.receivers) this.#queues.set(receiver, new Map())
    for (const line of options.file.lines) this.#restore(line)
    for (const held of this.#held.values()) this.#queue(held)
  }

  /** The last journal record whose messages are in here; undefined before the first. */
  get taken(): number | undefined {
    return this.#taken
  }

  /** Epoch seconds. */
  endOf(period: OutboxPeriod): number | undefined {
    return this.#periods.get(period)
  }

  /** Oldest first. */
  queue(receiver: string): Iterable<Waiting> {
    return this.#queues.get(receiver)?.values() ?? []
  }

  waiting(receiver: string): number {
    return this.#queues.get(receiver)?.size ?? 0
  }

  /** A message that is here already stays as it is. */
  put(message: Message, receivers: readonly string[]): void {
    if (receivers.length === 0 || this.#held.has(message.id)) return
    const held = this.#hold(message, receivers)
    this.#unready.push(held)
    this.#note({ put: message, to: receivers })
    this.#makeRoom()
  }

  /** All messages of the journal's records up to this one are in. */
  take(seq: number): void {
    this.#taken = seq
    if (this.#lines.length > 0 || seq - (this.#takenWritten ?? seq) >= TAKEN_UNWRITTEN_MAX)
      this.#schedule()
  }

  remember(condition: Condition, atMs: number): void {
    for (const topic of forgettable(this.#conditions, atMs)) this.forget(topic)
    this.#conditions.set(condition.topic, condition)
    this.#note({ condition })
  }

  forget(topic: string): void {
    if (this.#conditions.delete(topic)) this.#note({ over: topic })
  }

  endPeriod(period: OutboxPeriod, untilSeconds: number): void {
    this.#periods.set(period, untilSeconds)
    this.#note({ period, untilSeconds })
  }

  end(receiver: string, id: string): void {
    const held = this.#held.get(id)
    if (held === undefined || !held.receivers.has(receiver)) return
    this.#unlink(held, receiver)
    this.#note({ end: id, of: receiver })
    this.#options.onChange(receiver)
  }

  /** Never rejects. */
  async commit(last?: 'last'): Promise<void> {
    await this.#committing
    this.#committing ??= this.#write(last).finally(() => {
      this.#committing = undefined
    })
    await this.#committing
  }

  async close(): Promise<void> {
    this.#closed.abort()
    // A commit under way may not be the last one, and another may wait for it.
    await this.commit()
    await this.commit('last')
    await this.#options.file.close()
  }

  #restore(line: OutboxLine): void {
    if ('put' in line) {
      const known = line.to.filter((receiver) => this.#queues.has(receiver))
      if (known.length > 0 && !this.#held.has(line.put.id)) this.#hold(line.put, known)
    } else if ('end' in line) {
      const held = this.#held.get(line.end)
      if (held !== undefined) this.#unlink(held, line.of)
    } else if ('condition' in line) this.#conditions.set(line.condition.topic, line.condition)
    else if ('over' in line) this.#conditions.delete(line.over)
    else if ('period' in line) this.#periods.set(line.period, line.untilSeconds)
    else {
      this.#taken = line.taken
      this.#takenWritten = line.taken
    }
  }

  #hold(message: Message, receivers: readonly string[]): Held {
    const bytes = JSON.stringify(message).length
    const held: Held = { message, bytes, receivers: new Set(receivers) }
    this.#held.set(message.id, held)
    this.#bytes += bytes
    return held
  }

  #unlink(held: Held, receiver: string): void {
    const { message, receivers, bytes } = held
    receivers.delete(receiver)
    this.#queues.get(receiver)?.delete(message.id)
    if (receivers.size > 0 || !this.#held.delete(message.id)) return
    this.#bytes -= bytes
  }

  #queue({ message, receivers }: Held): void {
    for (const receiver of receivers)
      this.#queues.get(receiver)?.set(message.id, { message, refusals: 0 })
  }

  /** Drops the least severe first, and of those the oldest. */
  #makeRoom(): void {
    const { messagesMax = MESSAGES_MAX, bytesMax = BYTES_MAX } = this.#options
    while (this.#held.size > messagesMax || (this.#bytes > bytesMax && this.#held.size > 1)) {
      const least = leastOf(this.#held.values())
      if (least === undefined) return
      for (const receiver of [...least.receivers]) {
        this.end(receiver, least.message.id)
        this.#dropped += 1
        this.#options.onDropped(receiver, this.#dropped)
      }
    }
  }

  #note(line: OutboxLine): void {
    if (this.#lines.length < LINES_MAX) this.#lines.push(line)
    else this.#options.file.spoil()
    this.#schedule()
  }

  #schedule(afterMs = COMMIT_AFTER_MS): void {
    if (this.#scheduled.has(afterMs) || this.#closed.signal.aborted) return
    this.#scheduled.add(afterMs)
    void this.#options.clock.sleep(afterMs, this.#closed.signal).then(() => {
      this.#scheduled.delete(afterMs)
      return this.commit()
    })
  }

  async #write(last?: 'last'): Promise<void> {
    const lines = this.#lines
    const taken = this.#taken
    const made = this.#unready
    this.#lines = []
    this.#unready = []
    if (taken !== undefined && taken !== this.#takenWritten) lines.push({ taken })
    const { file, clock } = this.#options
    if (lines.length > 0 || this.#isBehind) {
      const isWritten = await file.append(lines, clock.now(), () => this.#image(), last)
      if (isWritten && taken !== undefined) this.#takenWritten = taken
      this.#isBehind = !isWritten
      // Commits meanwhile do not wait for the retry.
      if (!isWritten) this.#schedule(RETRY_AFTER_MS)
    }
    // A disk that takes nothing delays no message.
    for (const held of made) {
      this.#queue(held)
      for (const receiver of held.receivers) this.#options.onChange(receiver)
    }
  }

  /** The whole state, for a rewrite. */
  #image(): readonly OutboxLine[] {
    const puts = [...this.#held.values()].map(({ message, receivers }) => ({
      put: message,
      to: [...receivers],
    }))
    const conditions = [...this.#conditions.values()].map((condition) => ({ condition }))
    const periods = [...this.#periods].map(([period, untilSeconds]) => ({ period, untilSeconds }))
    const taken = this.#taken === undefined ? [] : [{ taken: this.#taken }]
    return [...puts, ...conditions, ...periods, ...taken]
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
