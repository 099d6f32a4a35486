import type { GasOffer } from '../domain/money/gas.ts'
import type { Token } from '../domain/money/token.ts'
import type { Address, BaseUnits, Hex } from '../domain/money/units.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { FailureReason, RefusalReason, SkipReason } from '../domain/order/reason.ts'
import type { StrategyMemory } from '../domain/strategy-memory.ts'

/** Proof of a filled order, and the moved amounts in base units. */
export type Fill = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  /** Hash of its block; undefined if the fill was final at once. */
  readonly blockHash?: Hex | undefined
  readonly paid: BaseUnits
  readonly received: BaseUnits
  /** `<txHash>:<log index>` of the counted transfers, so that no transfer proves two orders. */
  readonly transfers: readonly string[]
}

/** Proof of an executed call, and its costs in wei. */
export type Execution = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly blockHash?: Hex | undefined
  readonly via: 'aggregated' | 'direct'
  readonly costs: CallCosts
}

/** Costs of a call in wei; undefined if unknown, now or when recorded. */
export type CallCosts = {
  /** The service's reported charge, or else the fall of the funds. For a direct call, the fee on chain. */
  readonly charged: bigint | undefined
  /** Estimated cost alone in the same block, from its simulated gas. */
  readonly direct: bigint | undefined
  readonly saved?: bigint | undefined
  /** The blob gas part of the charge. */
  readonly blob?: bigint | undefined
  /** Fall of the account's available funds meanwhile: a check of the service's figure. */
  readonly fall?: bigint | undefined
}

/** Cause of a stop: a person, a limit that tripped, or evidence of lost state or another writer (rule T4). */
export type PauseCause = 'operator' | 'failure-streak' | 'drawdown' | 'evidence'

/** All inputs of a decision, as they were at that time. Amounts in base units. */
export type DecisionInputs = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  /** By asset: the token's symbol, or ETH. Excludes amounts promised to other orders. */
  readonly available: Readonly<Record<string, bigint>>
  /** By `SELL/BUY` of each pair: sell base units per buy base unit, or why there was no price. */
  readonly prices: Readonly<Record<string, PriceInput>>
  /** The strategy's memory before the decision. */
  readonly memory: StrategyMemory
  /** Purchases held by the strategy that `entryOf` names; undefined in older records. */
  readonly entry?: EntryInput | undefined
}

/** Base units of `bought`, and their cost in base units of `paidIn`. */
type EntryInput = {
  readonly of: string
  readonly bought: Token
  readonly amount: bigint
  readonly paidIn: Token
  readonly cost: bigint
}

export type PriceInput =
  | {
      readonly num: bigint
      readonly den: bigint
      readonly updatedAtSeconds: number
      readonly feeds: readonly string[]
    }
  | { readonly refused: string }

/** `call` is the direct fallback; `deposit` fills the GasTank. */
export type TransactionPurpose = 'approve' | 'wrap' | 'unwrap' | 'call' | 'deposit'

/**
 * Our own wallet transaction, recorded before signing. Signing is deterministic, so it can be sent again. The data of a
 * direct call holds no signature.
 */
export type TransactionRecord = GasOffer & {
  /** `<intentId>:<purpose>`, `<intentId>:<attempt>:call`, or `<purpose>:<contract>:<nonce>` if it may be made again. */
  readonly id: string
  readonly purpose: TransactionPurpose
  readonly intentId: IntentId | undefined
  readonly chainId: number
  readonly from: Address
  readonly nonce: number
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
  /** Only in older records, which were written after the signature; see `TransactionSigned`. */
  readonly hash?: Hex | undefined
  /** It only uses up the nonce of a transaction that may not be signed again. */
  readonly isCancelling?: boolean | undefined
  /** A deposit requested by a person, so that top-up limits do not apply. */
  readonly isAsked?: boolean | undefined
  /** For a deposit: the account's balance at the service before it, in wei. */
  readonly availableBefore?: bigint | undefined
}

export type CloseReason = 'filled' | 'missed' | SkipReason | RefusalReason | FailureReason
