import type { CallRecord, DelegationDraft } from '../call.ts'
import type { ContractCode, TrustedContract } from '../contract.ts'
import type { Intent, IntentId, Outcome } from '../intent.ts'
import type { PermitRecord } from '../permit.ts'
import type { FailureReason, RefusalReason, SkipReason } from '../reason.ts'
import type { Mode } from '../settings.ts'
import type { TwapStrategy } from '../strategy.ts'
import type { Token } from '../token.ts'
import type { Address, BaseUnits, Hex, Ratio } from '../units.ts'
import type { Word } from '../word.ts'
import type { StrategyMemory } from './memory.ts'

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
  /** As of a fill. */
  readonly blockHash?: Hex | undefined
  readonly via: 'aggregated' | 'direct'
  readonly costs: CallCosts
}

/** What a call cost, in wei. Undefined where nobody can tell, or could when it was recorded. */
export type CallCosts = {
  /** In the service's own words; where it gives none, what the funds fell by. Sent directly: what the chain took. */
  readonly charged: bigint | undefined
  /** What it would have cost alone at the same block, by the gas that was simulated. */
  readonly direct: bigint | undefined
  /** What the service says that sharing saved. */
  readonly saved?: bigint | undefined
  /** Of the charge, the part for blob gas. */
  readonly blob?: bigint | undefined
  /** What the account's available funds fell by meanwhile: the check of what the service says. */
  readonly fall?: bigint | undefined
}

/** Who stopped trading: a person, a limit that tripped, or evidence of lost state or another writer (rule T4). */
export type PauseCause = 'operator' | 'failure-streak' | 'drawdown' | 'evidence'

/** Everything that a decision could depend on, as it was when it was made. Amounts in base units. */
export type DecisionInputs = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  /** By asset: the token's symbol, or ETH. Free of what other orders were promised. */
  readonly available: Readonly<Record<string, bigint>>
  /** By `SELL/BUY` of each pair: sell base units per buy base unit, or why there was no price. */
  readonly prices: Readonly<Record<string, PriceInput>>
  /** What the strategy remembered before. */
  readonly memory: StrategyMemory
  /** What the strategy that `entryOf` names held of its purchases; older records have none. */
  readonly entry?: EntryInput | undefined
}

/** Base units of `bought`, and what they cost in those of `paidIn`. */
export type EntryInput = {
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
export type TransactionRecord = {
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
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** Only in records of older versions, which were made after the signature; see `transaction-signed`. */
  readonly hash?: Hex | undefined
  /** It does nothing but use up the nonce of what may not be signed again. */
  readonly isCancelling?: boolean | undefined
  /** Of a deposit: whether a person asked for it, and the limits of top-ups do not hold. */
  readonly isAsked?: boolean | undefined
  /** Of a deposit: what the service had for the account before it, in wei. */
  readonly availableBefore?: bigint | undefined
}

/** Everything the daemon knows, as facts in order. State is a fold of these (`fold.ts`). */
export type JournalEvent =
  | {
      readonly type: 'bound'
      readonly mode: Mode
      readonly chainId: number
      readonly genesisHash: Hex
      readonly owner: Address
    }
  | {
      /** The state directory is told from every other from here on. */
      readonly type: 'state-named'
      readonly stateId: string
    }
  | {
      /** The wallet has an anchor outside the state directory, which names this state. */
      readonly type: 'anchored'
      readonly wallet: Address
      readonly chainId: number
    }
  | {
      /** An operator's word: what was known before is forgotten. */
      readonly type: 'begun-anew'
      readonly detail: string
    }
  | {
      /** An operator's word: records that the wallet's anchor vouches for are gone, and it goes on without them. */
      readonly type: 'loss-accepted'
      readonly detail: string
    }
  | {
      /** The chain shows this of a wallet; what it shows beyond that from now on is explained by later records, or is evidence. */
      readonly type: 'wallet-compared'
      readonly chainId: number
      readonly wallet: Address
      /** What was paid before this block is nobody's question any more. */
      readonly sinceBlock: bigint
      readonly blockNumber: bigint
      /** The wallet's own transactions so far. */
      readonly transactionCount: number
      /** Undefined where its code does not say. */
      readonly nestedNonce: bigint | undefined
    }
  | {
      /** An operator changes the code behind an account: what is signed for that uses nonces of it, up to this one. */
      readonly type: 'delegation-signed'
      readonly chainId: number
      readonly account: Address
      readonly delegate: Address
      readonly lastNonce: number
      /** The rest of what is signed. Older records have none, and nothing is signed by them. */
      readonly draft?: Omit<DelegationDraft, 'chainId' | 'delegate'> | undefined
    }
  | {
      /** What the service charged the account's deposit for a delegation, in wei; of an account's own transaction there is none. */
      readonly type: 'delegation-charged'
      readonly chainId: number
      readonly account: Address
      readonly charged: bigint
    }
  | {
      /** The slots of a strategy count from here on. Written when its schedule is first seen or changes. */
      readonly type: 'strategy-scheduled'
      readonly strategy: string
      readonly scheduleKey: string
      readonly fromSeconds: number
      /** The journal did not know it before; older records do not say. */
      readonly isFirst?: boolean | undefined
    }
  | {
      readonly type: 'slot-opened'
      readonly strategy: string
      readonly slotSeconds: number
      readonly intents: readonly Intent[]
      readonly inputs?: DecisionInputs | undefined
      /** The time by which it was decided; older records have none. */
      readonly decidedAtMs?: number | undefined
      /** Terms of the strategy's file, where this decision is the first by them. */
      readonly terms?: string | undefined
      /** Replaces what the strategy remembers, at once. */
      readonly memory?: StrategyMemory | undefined
      /** Replaces what it remembers if the slot ends filled. */
      readonly memoryOnFill?: StrategyMemory | undefined
    }
  | {
      readonly type: 'slot-closed'
      readonly strategy: string
      readonly slotSeconds: number
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail?: string | undefined
      readonly inputs?: DecisionInputs | undefined
      /** As of one that was opened, where it was skipped at once. */
      readonly decidedAtMs?: number | undefined
      readonly terms?: string | undefined
      readonly memory?: StrategyMemory | undefined
    }
  | {
      /** The strategy opens no slot until it is resumed. */
      readonly type: 'strategy-paused'
      readonly strategy: string
      readonly cause: PauseCause
      readonly detail: string
    }
  | {
      readonly type: 'strategy-resumed'
      readonly strategy: string
      /** By whom, where it was not said at the machine; older records have none. */
      readonly detail?: string | undefined
    }
  | {
      /** An operator has to approve what the strategy would do: it opens no slot until then. */
      readonly type: 'strategy-held'
      readonly strategy: string
      /** Digest of the file's terms that are held. Other terms are judged anew. */
      readonly terms: string
      readonly detail: string
    }
  | {
      readonly type: 'hold-lifted'
      readonly strategy: string
      /** The terms that may trade from now on: where its file is gone, those of before the hold. */
      readonly terms: string
      /** An operator approved them, or the file changed. */
      readonly cause: 'operator' | 'file'
      readonly detail: string
    }
  | {
      /** Nothing is signed by any strategy until it is lifted. */
      readonly type: 'halted'
      readonly cause: PauseCause
      readonly detail: string
    }
  | {
      readonly type: 'halt-lifted'
      /** As of a pause that ends. */
      readonly detail?: string | undefined
    }
  | {
      /** A run of slots that passed unattended, each with outcome `missed`. Both ends are inclusive. */
      readonly type: 'slots-missed'
      readonly strategy: string
      readonly firstSeconds: number
      readonly lastSeconds: number
      /** Undefined when the run is too long to count. */
      readonly count: number | undefined
    }
  | {
      /** No slice of a program is left, nothing of it is in flight, and its total is not sold. */
      readonly type: 'program-ended'
      readonly strategy: string
      /** The last slot that is accounted for. */
      readonly slotSeconds: number
      /** Names it: another total, token, count or start is another program. */
      readonly program: string
      readonly token: Token
      readonly total: BaseUnits
      readonly unsold: bigint
      readonly rule: TwapStrategy['unsold']
    }
  | { readonly type: 'permit-recorded'; readonly intentId: IntentId; readonly permit: PermitRecord }
  | { readonly type: 'call-recorded'; readonly intentId: IntentId; readonly call: CallRecord }
  | {
      /** The transaction that gives a call to the service is signed, and may have been given to it from here on. */
      readonly type: 'call-signed'
      readonly intentId: IntentId
      readonly attempt: number
      readonly hash: Hex
    }
  | {
      /** Written only by the process that recorded the permit and knows that it was never signed. */
      readonly type: 'authorization-withdrawn'
      readonly intentId: IntentId
      readonly attempt: number
      readonly reason: CloseReason
    }
  | {
      readonly type: 'order-accepted'
      readonly intentId: IntentId
      readonly attempt: number
      readonly orderId: string
    }
  | {
      readonly type: 'order-ended'
      readonly intentId: IntentId
      readonly attempt: number
      readonly status: 'rejected' | 'failed' | 'expired'
      readonly message: string
    }
  | {
      readonly type: 'fill-proven'
      readonly intentId: IntentId
      readonly attempt: number
      readonly fill: Fill
      /** Time of a block by which it had executed, Unix seconds: caps count from it at the earliest. Older records have none. */
      readonly executedBySeconds?: number | undefined
    }
  | {
      /** Dry-run: nothing was signed, the order is booked at what the verified quote promised. */
      readonly type: 'paper-filled'
      readonly intentId: IntentId
      readonly attempt: number
      readonly paid: BaseUnits
      readonly received: BaseUnits
      /** As in a permit's record. */
      readonly feed?: Ratio | undefined
      readonly fee?: BaseUnits | undefined
    }
  | {
      readonly type: 'call-proven'
      readonly intentId: IntentId
      readonly attempt: number
      readonly execution: Execution
      /** Time of the newest block when it was proven, which this machine's clock cannot change; older records have none. */
      readonly blockTimeSeconds?: number | undefined
      /** As in `fill-proven`. */
      readonly executedBySeconds?: number | undefined
    }
  | {
      /** The blocks that proved these orders lie as deep as the operator asks for: no reorganisation takes them back. */
      readonly type: 'fills-final'
      /** Client order ids. */
      readonly orders: readonly string[]
      /** The newest final block. */
      readonly blockNumber: bigint
    }
  | {
      /** The block that proved a closed order is not in the chain any more: its authorization may execute, or never have. */
      readonly type: 'fill-reopened'
      readonly intentId: IntentId
      readonly attempt: number
      /** The block that is there now. */
      readonly blockNumber: bigint
      readonly blockHash: Hex | undefined
    }
  | {
      readonly type: 'authorization-dead'
      readonly intentId: IntentId
      readonly attempt: number
      readonly how: 'expired' | 'cancelled'
      readonly blockNumber: bigint
      readonly blockTimeSeconds: number
      /** What took the tokens without filling the order, as in a fill. */
      readonly transfers?: readonly string[] | undefined
    }
  | ({
      /** An operator's word on what nothing else ended. Nothing is signed for its intent again. */
      readonly type: 'order-settled'
      readonly intentId: IntentId
      readonly attempt: number
      /** What the chain said at that moment, in words. */
      readonly evidence: string
      /** The newest block at that moment; undefined where the chain could not be asked. */
      readonly blockNumber: bigint | undefined
      readonly blockTimeSeconds: number | undefined
    } & Word)
  | {
      readonly type: 'intent-closed'
      readonly intentId: IntentId
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail?: string | undefined
    }
  | { readonly type: 'transaction-recorded'; readonly transaction: TransactionRecord }
  /** It was signed, and may have been sent from here on. */
  | { readonly type: 'transaction-signed'; readonly id: string; readonly hash: Hex }
  | {
      readonly type: 'transaction-ended'
      readonly id: string
      /** `withdrawn`: it was recorded and never signed. */
      readonly status: 'mined' | 'reverted' | 'lost' | 'withdrawn'
      readonly hash: Hex | undefined
      readonly blockNumber: bigint | undefined
      /** Of its block, where a reorganisation may still take it away; what ended at a final block has none. */
      readonly blockHash?: Hex | undefined
      /** Wei that the chain took for it, where the node said. */
      readonly fee?: bigint | undefined
    }
  | {
      /** A reorganisation took a mined transaction out of its block: it is open again, with every hash that it had. */
      readonly type: 'transaction-reopened'
      readonly id: string
      readonly blockNumber: bigint
      /** Of the block that stands there now; undefined where there is none. */
      readonly blockHash: Hex | undefined
    }
  | {
      /** No reorganisation takes these mined transactions away any more. */
      readonly type: 'transactions-final'
      readonly ids: readonly string[]
      readonly blockNumber: bigint
    }
  | {
      /** The service was seen to have a deposit in its own figure, and with it whatever the account deposited before. */
      readonly type: 'deposit-indexed'
      /** Of its transaction. */
      readonly id: string
    }
  | (TrustedContract & {
      /**
       * The code of a contract that signatures depend on, at a final block: as it was first seen; another than before; or what an
       * operator has accepted of that (rule T13).
       */
      readonly type: 'contract-code'
      readonly code: ContractCode
      readonly status: 'seen' | 'changed' | 'accepted'
    })

export type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>

/** The name of what a record lets be signed, under which `Journal.isOnDisk` knows it; undefined for other records. */
export function recordName(event: JournalEvent): string | undefined {
  switch (event.type) {
    case 'permit-recorded':
      return event.permit.clientOrderId
    case 'call-recorded':
      return event.call.clientOrderId
    case 'transaction-recorded':
      return event.transaction.id
    case 'delegation-signed':
      return delegationName(event)
    default:
      return undefined
  }
}

/** The name of the record of an account's delegation. */
export function delegationName(of: {
  readonly chainId: number
  readonly account: Address
}): string {
  return `delegation:${of.chainId}:${of.account}`
}

export type CloseReason = 'filled' | 'missed' | SkipReason | RefusalReason | FailureReason

/** One line of the journal. `hash` covers `prev` and the record's text, so that no line can change unseen. */
export type JournalRecord = {
  readonly seq: number
  readonly atMs: number
  readonly event: JournalEvent
  readonly prev: Hex
  readonly hash: Hex
}
