import type { Severity } from '../../domain/notify.ts'
import type { Clock } from '../../ports.ts'
import type { Log } from '../tell/log.ts'
import { type Condition, forgettable } from './conditions.ts'
import type { Message } from './message.ts'
import type { OutboxFile, OutboxLine, OutboxPeriod } from './outbox-file.ts'

/** Messages that may wait, for all receivers together. */
const MESSAGES_MAX = 2_000
const BYTES_MAX = 2 * 1024 * 1024
/** What is put in within this time is written together. */
const COMMIT_AFTER_MS = 50
/** How soon what a disk has not taken is tried again; the file may leave the disk alone for longer. */
const RETRY_AFTER_MS = 1_000
/** Changes that may wait for a disk that hangs: what is more is written with the whole, once it takes something again. */
const LINES_MAX = 20_000
/** Records without a message after which their number is written all the same. */
const TAKEN_UNWRITTEN_MAX = 1_000

/** A message that waits for one receiver. */
export type Waiting = {
  readonly message: Message
  /** Tries that the receiver answered, and did not take it. */
  refusals: number
}

type Held = {
  readonly message: Message
  readonly bytes: number
  readonly receivers: Set<string>
}

export type OutboxOptions = {
  readonly file: OutboxFile
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
  /** Receivers that there are; what waits for others is dropped. */
  readonly receivers: readonly string[]
  /** Hears that messages wait for a receiver, or do no longer. */
  readonly onChange: (receiver: string) => void
  /** Hears of a message that went because there was no room, and of how many of them there were. */
  readonly onDropped: (receiver: string, total: number) => void
  /** Default 2,000 and 2 MiB. */
  readonly messagesMax?: number | undefined
  readonly bytesMax?: number | undefined
}

/**
 * What is still to be sent, and what was told. In memory it is changed at once; a file follows beside, and what is in neither is in
 * the journal still: `taken` says how far that was read. Nothing here throws or waits for a disk.
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
  /** Not written yet: they are sent from then on, or when a disk has taken nothing. */
  #unready: Held[] = []
  #committing: Promise<void> | undefined
  #isScheduled = false
  /** The disk has not taken the last changes: what has arrived since would be sent again by the next start. */
  #isBehind = false
  #isRetrying = false
  readonly #closed = new AbortController()

  constructor(options: OutboxOptions) {
    this.#options = options
    this.conditions = this.#conditions
    for (const receiver of options.receivers) this.#queues.set(receiver, new Map())
    for (const line of options.file.lines) this.#restore(line)
    for (const held of this.#held.values()) this.#queue(held)
  }

  /** The last record of the journal whose messages are in here; undefined before the first was. */
  get taken(): number | undefined {
    return this.#taken
  }

  /** Up to when summaries were sent, epoch seconds. */
  summedUp(period: OutboxPeriod): number | undefined {
    return this.#periods.get(period)
  }

  /** What waits for a receiver and may be sent, oldest first. */
  queue(receiver: string): Iterable<Waiting> {
    return this.#queues.get(receiver)?.values() ?? []
  }

  waiting(receiver: string): number {
    return this.#queues.get(receiver)?.size ?? 0
  }

  /** Takes a message in, once: one that is here already stays as it is. */
  put(message: Message, receivers: readonly string[]): void {
    if (receivers.length === 0 || this.#held.has(message.id)) return
    const held = this.#hold(message, receivers)
    this.#unready.push(held)
    this.#note({ put: message, to: receivers })
    this.#makeRoom()
  }

  /** Every message of the journal's records up to this one was put in. */
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

  sumUp(period: OutboxPeriod, untilSeconds: number): void {
    this.#periods.set(period, untilSeconds)
    this.#note({ period, untilSeconds })
  }

  /** It has arrived, or never will. */
  end(receiver: string, id: string): void {
    const held = this.#held.get(id)
    if (held === undefined || !held.receivers.has(receiver)) return
    this.#unlink(held, receiver)
    this.#note({ end: id, of: receiver })
    this.#options.onChange(receiver)
  }

  /** Writes what was put in until now. Never rejects. */
  async commit(last?: 'last'): Promise<void> {
    await this.#committing
    this.#committing ??= this.#write(last).finally(() => {
      this.#committing = undefined
    })
    await this.#committing
  }

  async close(): Promise<void> {
    this.#closed.abort()
    // One that is under way may be no last one, and another that waited for it no first.
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

  /** From now on it may be sent. */
  #queue({ message, receivers }: Held): void {
    for (const receiver of receivers)
      this.#queues.get(receiver)?.set(message.id, { message, refusals: 0 })
  }

  /** What matters least goes first, and of that the oldest. */
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

  #schedule(): void {
    if (this.#isScheduled || this.#closed.signal.aborted) return
    this.#isScheduled = true
    const { clock } = this.#options
    void clock.sleep(COMMIT_AFTER_MS, this.#closed.signal).then(() => {
      this.#isScheduled = false
      return this.commit()
    })
  }

  /** What comes meanwhile does not wait for it. */
  #retry(): void {
    if (this.#isRetrying || this.#closed.signal.aborted) return
    this.#isRetrying = true
    const { clock } = this.#options
    void clock.sleep(RETRY_AFTER_MS, this.#closed.signal).then(() => {
      this.#isRetrying = false
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
      if (!isWritten) this.#retry()
    }
    // A disk that takes nothing does not keep anybody from hearing of it.
    for (const held of made) {
      this.#queue(held)
      for (const receiver of held.receivers) this.#options.onChange(receiver)
    }
  }

  /** Everything that is true now, for a file that is written anew. */
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
