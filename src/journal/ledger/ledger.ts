import type { Token } from '../../domain/money/token.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { isDirect } from '../../venues/call/call-projection.ts'
import type { Entry, Posting } from './entry.ts'
import type { CostBases } from './figures.ts'
import { type PendingTrade, PendingTrades } from './pending-trades.ts'
import { Positions, type PositionsImage } from './positions.ts'

/** The transaction whose fee is the charge of a direct call; empty for other entries. */
function chargedIn(each: Entry): readonly Hex[] {
  const isFee = each.type === 'call' && isDirect(each.venue)
  return isFee && each.charged !== undefined && each.txHash !== undefined ? [each.txHash] : []
}

/** A ledger up to a record, for a later one that lists only newer entries. In plain values. */
export type LedgerImage = {
  readonly valueToken: Token
  readonly fifo: PositionsImage
  readonly average: PositionsImage
  readonly pending: readonly PendingTrade[]
  /** Transactions whose fee is the charge of a call. */
  readonly charged: readonly (readonly [IntentId, Hex])[]
}

/** What entries before a record leave to later figures: cost bases, unfinal trades, and charges to be listed once. */
export class LedgerBase {
  readonly #valueToken: Token
  readonly #costBases: CostBases
  readonly #pending: PendingTrades
  readonly #charged: Map<IntentId, Hex>

  constructor(valueToken: Token, image?: LedgerImage) {
    const settled = (method: 'fifo' | 'average'): Positions =>
      image === undefined
        ? new Positions(method, valueToken)
        : Positions.restored(method, valueToken, image[method])
    const costBases = { fifo: settled('fifo'), average: settled('average') }
    this.#valueToken = valueToken
    this.#costBases = costBases
    this.#charged = new Map(image?.charged)
    this.#pending = new PendingTrades((trade) => {
      costBases.fifo.take(trade)
      costBases.average.take(trade)
    }, image?.pending)
  }

  post(posting: Posting): void {
    if (posting?.tag === 'entry' && posting.entry.type !== 'gas') {
      // It replaces the order's entry, as in the ledger.
      const { entry } = posting
      this.post({ tag: 'undone', intentId: entry.intentId })
      for (const hash of chargedIn(entry)) this.#charged.set(entry.intentId, hash)
    }
    if (posting?.tag === 'undone') this.#charged.delete(posting.intentId)
    this.#pending.post(posting)
  }

  image(): LedgerImage {
    const { fifo, average } = this.#costBases
    return {
      valueToken: this.#valueToken,
      fifo: fifo.image(),
      average: average.image(),
      pending: this.#pending.trades,
      charged: [...this.#charged],
    }
  }
}

/**
 * Ledger entries in order, without removed ones: by a reorganisation, or by proof of an order that an operator's decision
 * had booked.
 */
export class Ledger {
  readonly #entries: (Entry | undefined)[] = []
  /** Index of the entry of each intent's order. */
  readonly #places = new Map<IntentId, number>()
  readonly #charged: Map<IntentId, Hex>
  /** Of trades before the listed ones. */
  readonly costBases: CostBases | undefined

  /** With an image, lists only its unfinal trades and later entries. */
  constructor(image?: LedgerImage) {
    const { valueToken, charged, pending = [] } = image ?? {}
    this.#charged = new Map(charged)
    this.costBases = image &&
      valueToken && {
        fifo: Positions.restored('fifo', valueToken, image.fifo),
        average: Positions.restored('average', valueToken, image.average),
      }
    for (const { trade } of pending) this.#add(trade)
  }

  post(posting: Posting): void {
    if (posting?.tag === 'entry') this.#add(posting.entry)
    else if (posting?.tag === 'undone') this.#takeBack(posting.intentId)
    else if (posting?.tag === 'unmined') this.#takeGasBack(posting.txHash)
  }

  /**
   * A direct call's charge is its transaction's fee, so the fee is listed once. A direct transaction that came too late is a
   * cost by itself.
   */
  get entries(): readonly Entry[] {
    const entries = this.#entries.filter((each) => each !== undefined)
    const listed = new Set<Hex | undefined>([
      ...this.#charged.values(),
      ...entries.flatMap(chargedIn),
    ])
    return entries.filter((each) => each.type !== 'gas' || !listed.has(each.txHash))
  }

  #add(posted: Entry): void {
    if (posted.type !== 'gas') {
      this.#takeBack(posted.intentId)
      this.#places.set(posted.intentId, this.#entries.length)
    }
    this.#entries.push(posted)
  }

  /** Rare, and always near the end: an index is not worth its memory. */
  #takeGasBack(txHash: Hex): void {
    const place = this.#entries.findLastIndex(
      (each) => each?.type === 'gas' && each.txHash === txHash,
    )
    if (place >= 0) this.#entries[place] = undefined
  }

  #takeBack(intentId: IntentId): void {
    this.#charged.delete(intentId)
    const place = this.#places.get(intentId)
    if (place === undefined) return
    this.#entries[place] = undefined
    this.#places.delete(intentId)
  }
}
