import type { IntentId } from '../../domain/order/intent.ts'
import type { Posting, Trade } from './entry.ts'

/** `isFinal`: no reorganisation can remove it, but an earlier one is not final. */
export type PendingTrade = { readonly trade: Trade; readonly isFinal: boolean }

/** Trades that a reorganisation may still remove, in order. Passes each on once it and all earlier ones are final. */
export class PendingTrades {
  readonly #settle: (trade: Trade) => void
  #trades: readonly PendingTrade[]

  constructor(settle: (trade: Trade) => void, trades: readonly PendingTrade[] = []) {
    this.#settle = settle
    this.#trades = trades
  }

  get trades(): readonly PendingTrade[] {
    return this.#trades
  }

  /** Returns whether a trade was added or removed. */
  post(posting: Posting): boolean {
    switch (posting?.tag) {
      case 'final':
        this.#finalise(new Set(posting.intentIds))
        return false
      case 'undone':
        return this.#takeBack(posting.intentId)
      case 'entry': {
        const { entry: trade, isFinal = false } = posting
        if (trade.type !== 'trade') return false
        this.#trades = [...this.#trades, { trade, isFinal }]
        this.#drain()
        return true
      }
      default:
        return false
    }
  }

  #finalise(intentIds: ReadonlySet<IntentId>): void {
    this.#trades = this.#trades.map(({ trade, isFinal }) => {
      return { trade, isFinal: isFinal || intentIds.has(trade.intentId) }
    })
    this.#drain()
  }

  #takeBack(intentId: IntentId): boolean {
    const at = this.#trades.findLastIndex(({ trade }) => trade.intentId === intentId)
    if (at === -1) return false
    this.#trades = this.#trades.toSpliced(at, 1)
    return true
  }

  #drain(): void {
    const open = this.#trades.findIndex(({ isFinal }) => !isFinal)
    const done = open === -1 ? this.#trades.length : open
    for (const { trade } of this.#trades.slice(0, done)) this.#settle(trade)
    this.#trades = this.#trades.slice(done)
  }
}
