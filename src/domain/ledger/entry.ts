import type { Fact } from '../book/fact.ts'
import type { TransactionPurpose } from '../book/journal.ts'
import type { IntentId } from '../intent.ts'
import type { Token } from '../token.ts'
import type { Hex } from '../units.ts'

type OfOrder = {
  readonly atMs: number
  readonly strategy: string
  readonly intentId: IntentId
  /** Dry-run booked it at its quote: nothing moved. */
  readonly paper: boolean
}

/** Tokens that changed hands. Amounts in base units. */
export type Trade = OfOrder & {
  readonly type: 'trade'
  readonly sell: Token
  readonly buy: Token
  readonly paid: bigint
  readonly received: bigint
  /** How much more was received than by the feeds at its signature; undefined where they gave no price. */
  readonly vsFeedBps: number | undefined
  /** Of what was paid, what the service said that it takes; undefined where it did not say. */
  readonly fee: bigint | undefined
  /** Undefined on paper. */
  readonly txHash: Hex | undefined
}

/** A contract call that was executed. Amounts in wei. */
export type CallEntry = OfOrder & {
  readonly type: 'call'
  readonly venue: 'aggregated' | 'direct'
  readonly label: string
  /** What it carried. */
  readonly value: bigint
  /** What it was charged, blob gas included; undefined where nobody can tell. */
  readonly charged: bigint | undefined
  readonly blob: bigint
  readonly txHash: Hex | undefined
}

/** What the chain took for a transaction of our own, in wei. */
export type GasEntry = {
  readonly type: 'gas'
  readonly atMs: number
  /** Undefined for what no order needs, such as a deposit. */
  readonly intentId: IntentId | undefined
  readonly strategy: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined where no node told it. */
  readonly fee: bigint | undefined
  /** Of a wrap or unwrap: as much of the one as of the other, in wei. It is worth the same, so nothing is gained by it. */
  readonly exchanged?: { readonly sell: Token; readonly buy: Token; readonly amount: bigint }
  readonly txHash: Hex | undefined
}

/** Counted against caps on an operator's word, or as its authorization was used for nobody knows what: it bought nothing known. */
export type UnprovenEntry = {
  readonly type: 'unproven'
  readonly atMs: number
  readonly strategy: string
  readonly intentId: IntentId
  readonly token: Token
  readonly booked: bigint
}

/** One line of the account's books: what moved, or was taken for moving it. */
export type Entry = Trade | CallEntry | GasEntry | UnprovenEntry

/** What a fact does to the books: an entry, one that a reorganisation took back, or nothing. */
export type Posting =
  | { readonly tag: 'entry'; readonly entry: Entry }
  | { readonly tag: 'undone'; readonly intentId: IntentId }
  /** Of a transaction of our own. */
  | { readonly tag: 'unmined'; readonly txHash: Hex }
  | undefined

/** Reads a fact as a posting. */
export function postingOf(fact: Fact, atMs: number): Posting {
  switch (fact.type) {
    case 'filled': {
      const { strategy, intentId, sell, buy, paid, received, vsFeedBps, fee, txHash } = fact
      const moved = { sell, buy, paid, received, vsFeedBps, fee, txHash }
      return entry({ type: 'trade', atMs, strategy, intentId, paper: false, ...moved })
    }
    case 'paper-filled':
      return paperPosting(fact, atMs)
    case 'executed': {
      const { strategy, intentId, venue, label, value, txHash } = fact
      const { charged, blob = 0n } = fact.costs
      const order = { atMs, strategy, intentId, paper: false }
      return entry({ type: 'call', ...order, venue, label, value, charged, blob, txHash })
    }
    case 'fill-reopened':
      return { tag: 'undone', intentId: fact.intentId }
    case 'transaction': {
      const { fee, intentId, purpose, hash: txHash, exchanged, status } = fact
      if (status === 'reopened' && txHash !== undefined) return { tag: 'unmined', txHash }
      if (fee === undefined && exchanged === undefined) return undefined
      const strategy = intentId?.split(':')[0]
      const paid = { type: 'gas', atMs, intentId, strategy, purpose, fee, txHash } as const
      return entry(exchanged === undefined ? paid : { ...paid, exchanged })
    }
    case 'order-settled': {
      const { strategy, intentId, token, booked } = fact
      if (booked === 0n) return undefined
      return entry({ type: 'unproven', atMs, strategy, intentId, token, booked })
    }
    case 'authorization-dead': {
      const { strategy, intentId, lost } = fact
      if (lost === undefined || lost.amount === 0n) return undefined
      const { token, amount: booked } = lost
      return entry({ type: 'unproven', atMs, strategy, intentId, token, booked })
    }
    default:
      return undefined
  }
}

function paperPosting(fact: Extract<Fact, { type: 'paper-filled' }>, atMs: number): Posting {
  const { strategy, intentId, swap, moved, value = 0n } = fact
  const order = { atMs, strategy, intentId, paper: true, txHash: undefined }
  if (swap !== undefined) {
    const { sell, buy, paid, received, vsFeedBps, fee } = swap
    const traded = { sell, buy, paid, received, vsFeedBps, fee }
    return entry({ type: 'trade', ...order, ...traded })
  }
  const label = 'call' in moved ? moved.call : ''
  const costs = { value, charged: undefined, blob: 0n }
  return entry({ type: 'call', ...order, venue: 'aggregated', label, ...costs })
}

function entry(posted: Entry): Posting {
  return { tag: 'entry', entry: posted }
}

/** The transaction whose fee is the charge of a call; none for any other entry. */
function chargedIn(each: Entry): readonly (Hex | undefined)[] {
  const isDirect = each.type === 'call' && each.venue === 'direct'
  return isDirect && each.charged !== undefined && each.txHash !== undefined ? [each.txHash] : []
}

/** Entries in their order, without those that were taken back: by a reorganisation, or by proof of what a word had booked. */
export class Ledger {
  readonly #entries: (Entry | undefined)[] = []
  /** Where the order of an intent stands. */
  readonly #places = new Map<IntentId, number>()

  post(fact: Fact, atMs: number): void {
    const posting = postingOf(fact, atMs)
    if (posting === undefined) return
    if (posting.tag !== 'entry') {
      this.#undo(posting)
      return
    }
    const { entry: posted } = posting
    if (posted.type !== 'gas') {
      this.#takeBack(posted.intentId)
      this.#places.set(posted.intentId, this.#entries.length)
    }
    this.#entries.push(posted)
  }

  /** What a direct call was charged is the fee of its transaction, which is not told twice. One that came too late costs by itself. */
  get entries(): readonly Entry[] {
    const entries = this.#entries.filter((each) => each !== undefined)
    const told = new Set(entries.flatMap(chargedIn))
    return entries.filter((each) => each.type !== 'gas' || !told.has(each.txHash))
  }

  #undo(posting: Exclude<Posting, { tag: 'entry' } | undefined>): void {
    if (posting.tag === 'undone') this.#takeBack(posting.intentId)
    else this.#takeGasBack(posting.txHash)
  }

  /** Seldom, and of one of the last: a place for each would be kept for nothing. */
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
