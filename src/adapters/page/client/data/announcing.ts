import { plain } from '../../../page-parts/words/outcomes.ts'
import type { FillRow, Overview } from '../../model.ts'
import { fillText } from '../words/phrases.ts'
import type { LinkState } from './link.ts'

/** What a screen reader is told by itself: what somebody would call across the room, never what passes each second. */

const FILLS_MS_APART = 15_000

/** A halt, its end, readiness and its loss. Undefined where nothing of that changed. */
export function overviewNews(before: Overview, now: Overview): string | undefined {
  if (now.halted !== null && before.halted === null)
    return `Halted: ${plain(now.halted.cause)}. ${now.halted.detail}`
  if (now.halted === null && before.halted !== null) return 'No longer halted.'
  if (now.ready.ok !== before.ready.ok)
    return now.ready.ok ? 'Ready again.' : `Not ready: ${now.ready.reasons.join(', ')}.`
  if (now.counts.overdue > before.counts.overdue)
    return `${now.counts.overdue} orders have outlived their deadline.`
  return undefined
}

export function linkNews(before: LinkState, now: LinkState): string | undefined {
  if (before.tag === now.tag) return undefined
  if (now.tag === 'lost') return 'The connection to the daemon is lost.'
  return before.tag === 'lost' ? 'Connected to the daemon again.' : undefined
}

/** Collects fills, and says at most once in fifteen seconds what came. */
export class FillNews {
  #waiting = 0
  #last: FillRow | undefined
  #saidAtMs = Number.NEGATIVE_INFINITY

  /** @returns what to say now, if anything. */
  add(fills: readonly FillRow[], nowMs: number): string | undefined {
    this.#waiting += fills.length
    this.#last = fills[0] ?? this.#last
    if (this.#last === undefined || this.#waiting === 0) return undefined
    if (nowMs - this.#saidAtMs < FILLS_MS_APART) return undefined
    const { strategy } = this.#last
    const text = `${strategy} ${fillText(this.#last)}.`
    const said = this.#waiting === 1 ? text : `${this.#waiting} fills. The last: ${text}`
    this.#waiting = 0
    this.#saidAtMs = nowMs
    return said
  }
}
