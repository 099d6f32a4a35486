import type { Token } from '../../domain/money/token.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { postingOf, type Recorded } from '../events/registry.ts'
import type { Trade } from './entry.ts'
import { Positions } from './positions.ts'

type Pending = { readonly trade: Trade; isFinal: boolean }

/**
 * Positions by average cost, updated record by record. Keeps one figure per token, and the trades that a reorganisation may
 * still remove.
 */
export class RunningPositions {
  readonly #settled: Positions
  readonly #pending: Pending[] = []
  #now: Positions | undefined

  constructor(valueToken: Token) {
    this.#settled = new Positions('average', valueToken)
  }

  /** Returns whether the holdings changed. */
  post(recorded: Recorded): boolean {
    const posting = postingOf(recorded)
    switch (posting?.tag) {
      case 'final':
        for (const intentId of posting.intentIds) this.#settle(intentId)
        this.#drain()
        return false
      case 'undone':
        return this.#takeBack(posting.intentId)
      case 'entry':
        return posting.entry.type === 'trade' && this.#add(posting.entry, posting.isFinal)
      default:
        return false
    }
  }

  get positions(): Positions {
    if (this.#now === undefined) {
      this.#now = this.#settled.copy()
      for (const { trade } of this.#pending) this.#now.take(trade)
    }
    return this.#now
  }

  #add(trade: Trade, isFinal = false): boolean {
    this.#pending.push({ trade, isFinal })
    this.#now = undefined
    this.#drain()
    return true
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

  /** Applies trades in order: a final trade waits for an earlier one that is not final. */
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
