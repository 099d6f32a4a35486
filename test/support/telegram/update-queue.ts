import type { Update } from '@grammyjs/types'

/** What waits at Telegram for a bot. `garbage` is for what Telegram itself would never send. */
export type QueuedUpdate = Update | { readonly update_id: number; readonly garbage?: unknown }

export type PollParams = {
  readonly offset: number
  readonly limit: number
  readonly allowed: readonly string[] | undefined
}

const LIMIT_MAX = 100
/** So far ahead of the newest update an offset is taken for the next one; further ahead it means nothing. */
const AHEAD_MAX = 10

/**
 * The updates of one bot, by the rules of Telegram's own server: an offset confirms all that is below it, one that is below
 * zero counts from the end, and one from the future begins at the oldest that is there.
 */
export class UpdateQueue {
  #waiting: QueuedUpdate[] = []
  #nextId: number
  #allowed: readonly string[] | undefined

  constructor(firstId: number) {
    this.#nextId = firstId
  }

  get size(): number {
    return this.#waiting.length
  }

  /** Numbers go on from here: Telegram begins anew after a week without updates, also below. */
  restartAt(id: number): void {
    this.#nextId = id
  }

  /** Queues what the bot wants to hear of; a kind that it does not name is lost. Gives its number. */
  add(update: object): number {
    const id = this.#nextId
    const [kind = ''] = Object.keys(update)
    if (this.#allowed !== undefined && !this.#allowed.includes(kind)) return id
    this.#nextId += 1
    this.#waiting.push({ update_id: id, ...update })
    return id
  }

  /** Queues it as it is, number and all. */
  addRaw(update: unknown): void {
    this.#waiting.push(update as QueuedUpdate)
  }

  /** What a poll gives. Confirms. */
  take({ offset, limit, allowed }: PollParams): readonly QueuedUpdate[] {
    if (allowed !== undefined) this.#allowed = allowed
    const from = offset < 0 ? this.#nextId + offset : offset
    if (from <= this.#nextId - 1 + AHEAD_MAX)
      this.#waiting = this.#waiting.filter((update) => !(numberOf(update) < from))
    return this.#waiting.slice(0, Math.min(Math.max(limit, 1), LIMIT_MAX))
  }
}

/** Garbage has none, and is never confirmed. */
function numberOf(update: unknown): number {
  const { update_id: id } = (update ?? {}) as { update_id?: unknown }
  return typeof id === 'number' ? id : Number.POSITIVE_INFINITY
}
