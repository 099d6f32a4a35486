import type { GasOffer } from '../domain/money/gas.ts'
import type { Token } from '../domain/money/token.ts'
import type { Address, BaseUnits, Hex } from '../domain/money/units.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { FailureReason, RefusalReason, SkipReason } from '../domain/order/reason.ts'
import type { StrategyMemory } from '../domain/strategy-memory.ts'

/** Where an order was proven filled, and what moved. Amounts in base units. */
export type Fill = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  /** Of the block that held it; undefined where it counted as final at once. */
  readonly blockHash?: Hex | undefined
  readonly paid: BaseUnits
  readonly received: BaseUnits
  /** `<txHash>:<log index>` of the transfers counted, so that no transfer proves two orders. */
  readonly transfers: readonly string[]
}

/** Where a call was proven executed, and what the gas came to, in wei. */
export type Execution = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly blockHash?: Hex | undefined
  readonly via: 'aggregated' | 'direct'
  readonly costs: CallCosts
}

/** Cost of a call, in wei. Undefined if unknown now, or when it was recorded. */
export type CallCosts = {
  /** As the service reports it, or else what the funds fell by. Sent directly: what the chain took. */
  readonly charged: bigint | undefined
  /** What it would have cost alone in the same block, by its simulated gas. */
  readonly direct: bigint | undefined
  readonly saved?: bigint | undefined
  /** Of the charge, the part for blob gas. */
  readonly blob?: bigint | undefined
  /** What the account's available funds fell by meanwhile: a check of the service's figure. */
  readonly fall?: bigint | undefined
}

/** Who stopped trading: a person, a limit that tripped, or evidence of lost state or another writer (rule T4). */
export type PauseCause = 'operator' | 'failure-streak' | 'drawdown' | 'evidence'

/** Everything that a decision could depend on, as it was when it was made. Amounts in base units. */
export type DecisionInputs = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  /** By asset: the token's symbol, or ETH. Without what is promised to other orders. */
  readonly available: Readonly<Record<string, bigint>>
  /** By `SELL/BUY` of each pair: sell base units per buy base unit, or why there was no price. */
  readonly prices: Readonly<Record<string, PriceInput>>
  /** What the strategy remembered before. */
  readonly memory: StrategyMemory
  /** What the strategy that `entryOf` names held of its purchases; older records have none. */
  readonly entry?: EntryInput | undefined
}

/** Base units of `bought`, and what they cost in those of `paidIn`. */
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
 * A transaction of our own wallet, recorded before it is signed. Signing is deterministic, so it can be sent again. The data of a
 * direct call holds no signature.
 */
export type TransactionRecord = GasOffer & {
  /** `<intentId>:<purpose>`, or `<purpose>:<contract>:<nonce>` for what may be made again. */
  readonly id: string
  readonly purpose: TransactionPurpose
  readonly intentId: IntentId | undefined
  readonly chainId: number
  readonly from: Address
  readonly nonce: number
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
  /** Only in records of older versions, which were made after the signature; see `TransactionSigned`. */
  readonly hash?: Hex | undefined
  /** It only uses up the nonce of something that may not be signed again. */
  readonly isCancelling?: boolean | undefined
  /** Of a deposit: whether a person asked for it, so that the limits of top-ups do not apply. */
  readonly isAsked?: boolean | undefined
  /** Of a deposit: what the service had for the account before it, in wei. */
  readonly availableBefore?: bigint | undefined
}

export type CloseReason = 'filled' | 'missed' | SkipReason | RefusalReason | FailureReason
