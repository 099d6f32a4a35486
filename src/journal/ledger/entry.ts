import type { Token } from '../../domain/money/token.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import type { TransactionPurpose } from '../records.ts'

type OfIntent = { readonly atMs: number; readonly strategy: string; readonly intentId: IntentId }

type OfOrder = OfIntent & {
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
  /** How much more was received than at the feeds' price when it was signed; undefined where they gave none. */
  readonly vsFeedBps: number | undefined
  /** The part of what was paid that the service takes, as it said; undefined where it did not. */
  readonly fee: bigint | undefined
  /** Undefined on paper. */
  readonly txHash: Hex | undefined
}

/** A contract call that was executed. Amounts in wei. */
export type CallEntry = OfOrder & {
  readonly type: 'call'
  readonly venue: 'aggregated' | 'direct'
  readonly label: string
  readonly value: bigint
  /** What it was charged, blob gas included; undefined if unknown. */
  readonly charged: bigint | undefined
  readonly blob: bigint
  readonly txHash: Hex | undefined
}

/** What a wrap or unwrap turned into the same amount of the other, in wei. It is worth the same, so nothing is gained by it. */
export type Exchanged = { readonly sell: Token; readonly buy: Token; readonly amount: bigint }

/** What the chain took for a transaction of our own, in wei. */
export type GasEntry = {
  readonly type: 'gas'
  readonly atMs: number
  /** Undefined for what no order needs, such as a deposit. */
  readonly intentId: IntentId | undefined
  readonly strategy: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined if no node reported it. */
  readonly fee: bigint | undefined
  readonly exchanged?: Exchanged | undefined
  readonly txHash: Hex | undefined
}

/** Counted against caps by an operator's word, or because its authorization was used for an unknown purpose. */
export type UnprovenEntry = OfIntent & {
  readonly type: 'unproven'
  readonly token: Token
  readonly booked: bigint
}

export type FillEntry = Trade | CallEntry

/** One line of the ledger: what moved, or was charged for moving it. */
export type Entry = Trade | CallEntry | GasEntry | UnprovenEntry

/** What an event does to the ledger: nothing, where it is undefined. */
export type Posting =
  | {
      readonly tag: 'entry'
      readonly entry: Entry
      /** No reorganisation can take it back. */
      readonly isFinal?: boolean
    }
  /** No reorganisation takes the orders of these intents back any more. */
  | { readonly tag: 'final'; readonly intentIds: readonly IntentId[] }
  /** A reorganisation took the order of an intent back. */
  | { readonly tag: 'undone'; readonly intentId: IntentId }
  /** The same of a transaction of our own. */
  | { readonly tag: 'unmined'; readonly txHash: Hex }
  | undefined
