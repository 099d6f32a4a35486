import type { Worth } from '../../domain/money/price.ts'
import type { Token } from '../../domain/money/token.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import type { TransactionPurpose } from '../records.ts'

type OfIntent = { readonly atMs: number; readonly strategy: string; readonly intentId: IntentId }

type OfOrder = OfIntent & {
  /** A dry-run booked it at its quote: nothing moved. */
  readonly paper: boolean
}

/** An exchange of tokens. Amounts in base units. */
export type Trade = OfOrder & {
  readonly type: 'trade'
  readonly sell: Token
  readonly buy: Token
  readonly paid: bigint
  readonly received: bigint
  /** Received amount against the feeds' price at signing; undefined without a feed price. */
  readonly vsFeedBps: number | undefined
  readonly worth?: Worth | undefined
  /** The service's part of the paid amount; undefined if not reported. */
  readonly fee: bigint | undefined
  /** Undefined on paper. */
  readonly txHash: Hex | undefined
}

/** An executed contract call. Amounts in wei. */
export type CallEntry = OfOrder & {
  readonly type: 'call'
  readonly venue: 'aggregated' | 'direct'
  readonly label: string
  readonly value: bigint
  /** Total charge including blob gas; undefined if unknown. */
  readonly charged: bigint | undefined
  readonly blob: bigint
  readonly txHash: Hex | undefined
}

/** A wrap or unwrap: `amount` wei of each token. Both are worth the same, so it realises nothing. */
export type Exchanged = { readonly sell: Token; readonly buy: Token; readonly amount: bigint }

/** Gas paid to the chain for our own transaction, in wei. */
export type GasEntry = {
  readonly type: 'gas'
  readonly atMs: number
  /** Undefined for transactions of no order, such as a deposit. */
  readonly intentId: IntentId | undefined
  readonly strategy: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined if no node reported it. */
  readonly fee: bigint | undefined
  readonly exchanged?: Exchanged | undefined
  readonly txHash: Hex | undefined
}

/** Counted against caps by an operator's decision, or because its authorization was used for an unknown purpose. */
export type UnprovenEntry = OfIntent & {
  readonly type: 'unproven'
  readonly token: Token
  readonly booked: bigint
}

export type FillEntry = Trade | CallEntry

/** One ledger entry: a movement, or a charge for it. */
export type Entry = Trade | CallEntry | GasEntry | UnprovenEntry

/** An event's change to the ledger; undefined for none. */
export type Posting =
  | {
      readonly tag: 'entry'
      readonly entry: Entry
      /** No reorganisation can take it back. */
      readonly isFinal?: boolean
    }
  /** These intents' orders are final: no reorganisation can remove them. */
  | { readonly tag: 'final'; readonly intentIds: readonly IntentId[] }
  /** A reorganisation removed an intent's order. */
  | { readonly tag: 'undone'; readonly intentId: IntentId }
  /** A reorganisation removed our own transaction. */
  | { readonly tag: 'unmined'; readonly txHash: Hex }
  | undefined

/** The posting with one object for each token in `known`, which grows: a ledger has many trades of few tokens. */
export function sharingTokens(
  posting: NonNullable<Posting>,
  known: Map<string, Token>,
): NonNullable<Posting> {
  if (posting.tag !== 'entry' || posting.entry.type !== 'trade') return posting
  const { entry } = posting
  const shared = (token: Token): Token => {
    const key = Object.values(token).join(' ')
    const same = known.get(key) ?? token
    known.set(key, same)
    return same
  }
  return { ...posting, entry: { ...entry, sell: shared(entry.sell), buy: shared(entry.buy) } }
}
