import type { Fact } from '../book/fact.ts'
import type { IntentId } from '../intent.ts'
import type { Token } from '../token.ts'
import { postingOf, type Trade } from './entry.ts'
import { Positions } from './positions.ts'

type Pending = { readonly trade: Trade; isFinal: boolean }

/**
 * Positions by the average, kept up while facts are told: as many figures as there are tokens, and the trades that a
 * reorganisation may still take back.
 */
export class RunningPositions {
  readonly #settled: Positions
  readonly #pending: Pending[] = []
  #now: Positions | undefined

  constructor(valueToken: Token) {
    this.#settled = new Positions('average', valueToken)
  }

  /** Whether it changed what is held. */
  post(fact: Fact, atMs: number): boolean {
    if (fact.type === 'fills-final') {
      for (const { intentId } of fact.orders) this.#settle(intentId)
      this.#drain()
      return false
    }
    const posting = postingOf(fact, atMs)
    if (posting?.tag === 'undone') return this.#takeBack(posting.intentId)
    if (posting?.tag !== 'entry' || posting.entry.type !== 'trade') return false
    const isFinal =
      fact.type === 'paper-filled' || (fact.type === 'filled' && fact.isFinal === true)
    this.#pending.push({ trade: posting.entry, isFinal })
    this.#now = undefined
    this.#drain()
    return true
  }

  get positions(): Positions {
    if (this.#now === undefined) {
      this.#now = this.#settled.copy()
      for (const { trade } of this.#pending) this.#now.take(trade)
    }
    return this.#now
  }

  #settle(intentId: IntentId): void {
    for (const each of this.#pending) if (each.trade.intentId === intentId) each.isFinal = true
  }

  #takeBack(intentId: IntentId): boolean {
    const at = this.#pending.findLastIndex(({ trade }) => trade.intentId === intentId)
    if (at === -1) return false
    this.#pending.splice(at, 1)
    this.#now = undefined
    return true
  }

  /** In their order: a later one that is final waits for an earlier one that is not. */
  #drain(): void {
    let done = 0
    for (const { trade, isFinal } of this.#pending) {
      if (!isFinal) break
      this.#settled.take(trade)
      done += 1
    }
    this.#pending.splice(0, done)
  }
}
