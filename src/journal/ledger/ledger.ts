import type { Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { isDirect } from '../../venues/call/call-projection.ts'
import { postingOf, type Recorded } from '../events/registry.ts'
import type { Entry } from './entry.ts'

/** The transaction whose fee is the charge of a direct call; empty for other entries. */
function chargedIn(each: Entry): readonly (Hex | undefined)[] {
  const isFee = each.type === 'call' && isDirect(each.venue)
  return isFee && each.charged !== undefined && each.txHash !== undefined ? [each.txHash] : []
}

/**
 * Ledger entries in order, without removed ones: by a reorganisation, or by proof of an order that an operator's decision
 * had booked.
 */
export class Ledger {
  readonly #entries: (Entry | undefined)[] = []
  /** Index of the entry of each intent's order. */
  readonly #places = new Map<IntentId, number>()

  post(recorded: Recorded): void {
    const posting = postingOf(recorded)
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
    const listed = new Set(entries.flatMap(chargedIn))
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
    const place = this.#places.get(intentId)
    if (place === undefined) return
    this.#entries[place] = undefined
    this.#places.delete(intentId)
  }
}
