import type { Update } from '@grammyjs/types'

/** Updates that wait at Telegram for a bot. `garbage` is for updates that Telegram itself would never send. */
export type QueuedUpdate = Update | { readonly update_id: number; readonly garbage?: unknown }

export type PollParams = {
  readonly offset: number
  readonly limit: number
  readonly allowed: readonly string[] | undefined
}

const LIMIT_MAX = 100
/** An offset this far ahead of the newest update counts as the next one; an offset further ahead means nothing. */
const AHEAD_MAX = 10

/**
 * The updates of one bot, by the rules of Telegram's own server: an offset confirms all updates below it, a negative
 * offset counts from the end, and one from the future begins at the oldest update.
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

  /** Numbering continues from here: Telegram starts anew after a week without updates, possibly lower. */
  restartAt(id: number): void {
    this.#nextId = id
  }

  /** Queues an update that the bot subscribed to; other kinds are lost. Returns its number. */
  add(update: object): number {
    const id = this.#nextId
    const [kind = ''] = Object.keys(update)
    if (this.#allowed !== undefined && !this.#allowed.includes(kind)) return id
    this.#nextId += 1
    this.#waiting.push({ update_id: id, ...update })
    return id
  }

  /** Queues it unchanged, number included. */
  addRaw(update: unknown): void {
    this.#waiting.push(update as QueuedUpdate)
  }

  /** Result of a poll. Confirms. */
  take({ offset, limit, allowed }: PollParams): readonly QueuedUpdate[] {
    if (allowed !== undefined) this.#allowed = allowed
    const from = offset < 0 ? this.#nextId + offset : offset
    if (from <= this.#nextId - 1 + AHEAD_MAX)
      this.#waiting = this.#waiting.filter((update) => !(numberOf(update) < from))
    return this.#waiting.slice(0, Math.min(Math.max(limit, 1), LIMIT_MAX))
  }
}

/** Garbage has no number and is never confirmed. */
function numberOf(update: unknown): number {
  const { update_id: id } = (update ?? {}) as { update_id?: unknown }
  return typeof id === 'number' ? id : Number.POSITIVE_INFINITY
}
