import type { Address, BaseUnits, Hex } from '../../domain/money/units.ts'
import type { CallRecord, DelegationDraft } from '../../domain/order/call.ts'
import type { ContractCode, TrustedContract } from '../../domain/order/contract.ts'
import type { CallIntent, Outcome, SwapIntent } from '../../domain/order/intent.ts'
import type { Verdict } from '../../domain/order/manual-resolution.ts'
import type { OrderState } from '../../domain/order/order.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { Mode } from '../../domain/settings.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import type { ExposureTotals } from '../projections/exposures.ts'
import type { CloseReason, Execution, Fill, PauseCause, TransactionRecord } from '../records.ts'
import type { OpenIntents } from './open-intents.ts'

type OpenBase = {
  state: OrderState
  /** Number of the current or next attempt, from 1. */
  attempt: number
  /** The service's id of the order: an order id, or a transaction hash. */
  orderId: string | undefined
  ended:
    | { readonly status: 'rejected' | 'failed' | 'expired'; readonly message: string }
    | undefined
  /** How the last attempt's authorization died. */
  died: 'expired' | 'cancelled' | undefined
  /** A reorganisation removed the fill of this closed order: nothing more is signed for it. */
  reopened: boolean
  /** Open when an operator accepted a loss. Lost records may have signed for it, so nothing more is signed for it. */
  isInLoss?: boolean
  /** An operator's manual resolution: nothing more is signed for it. Undefined in older snapshots, too. */
  settled: Verdict | undefined
  openedAtMs: number
}

export type OpenSwap = OpenBase & {
  readonly venue: 'gasless'
  readonly intent: SwapIntent
  permit: PermitRecord | undefined
  /** A proven fill, or a fill booked in a dry-run. */
  fill: Pick<Fill, 'paid' | 'received'> | undefined
  /** Amount that the fill took from another strategy's purchases. Undefined in older snapshots. */
  taken?: Purchase | undefined
}

export type OpenCall = OpenBase & {
  readonly venue: 'aggregated'
  readonly intent: CallIntent
  call: CallRecord | undefined
  /** Hash of the transaction that carries it to the service; undefined until that is signed. */
  envelopeHash: Hex | undefined
  execution: Execution | undefined
  /** Transaction that executed it before a reorganisation, most likely mined again. Undefined in older snapshots. */
  executedIn?: Hex | undefined
}

/** A strategy's purchases of a token with another, less later sales. Base units. */
export type Purchase = {
  readonly amount: bigint
  /** Cost of `amount`, by the average. */
  readonly cost: bigint
}

export type OpenIntent = OpenSwap | OpenCall

/** A slot with open intents. */
export type OpenSlot = {
  readonly slotSeconds: number
  readonly memoryOnFill: StrategyMemory | undefined
  ended: { readonly outcome: Outcome; readonly reason: CloseReason } | undefined
  /** Whether one of its intents ended without a known execution. */
  isPartial?: boolean | undefined
}

/** Since when and why no slots open. */
export type Pause = { readonly atMs: number; readonly cause: PauseCause; readonly detail: string }

/** Why a strategy waits for an operator's approval, and for which terms of its file. */
export type Hold = { readonly atMs: number; readonly terms: string; readonly detail: string }

export type StrategyRecord = {
  scheduleKey: string
  /** When a schedule without a start was first seen. Kept while the strategy is disabled. */
  anchor: { readonly scheduleKey: string; readonly fromSeconds: number }
  /** Last slot accounted for: opened, closed or missed. */
  lastSlotSeconds: number
  openSlots: OpenSlot[]
  memory: StrategyMemory
  paused: Pause | undefined
  /**
   * Terms of its file under which it last decided, or may trade after a hold; `UNJUDGED` before the first decision,
   * undefined in older records.
   */
  terms?: string | undefined
  held?: Hold | undefined
  /** When the last pause ended; limits that paused the strategy count from then. */
  resumedAtMs: number | undefined
  failureStreak: number
  /** The TWAP schedule whose end and unsold amount were reported; undefined before, and in older snapshots. */
  endedProgram?: string | undefined
  fills: number
  lastOrderAtMs: number | undefined
  lastFillAtMs: number | undefined
  /** Sell base units spent since the start, by token: proven fills, and permits used without proof. */
  readonly spent: Map<Address, BaseUnits>
}

/** A transaction without an outcome, with every hash signed for its nonce. */
export type OpenTransaction = {
  readonly record: TransactionRecord
  readonly hashes: readonly Hex[]
  /** The hashes that only use up the nonce. */
  readonly cancelling: readonly Hex[]
  /** A block held it before a reorganisation: its bytes are public, and resending them only restores it. */
  readonly isReopened?: boolean | undefined
}

/** Our own transaction, mined but not final. */
export type UnfinalTransaction = {
  /** The transaction before its end: open again if its block goes. */
  readonly open: OpenTransaction
  readonly hash: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** Gas cost of one nonce of a wallet in wei; the maximum while unknown. */
type GasCharge = {
  readonly chainId: number
  readonly atMs: number
  readonly wei: bigint
  readonly isOpen: boolean
}

/** A GasTank deposit, in wei. */
export type Deposit = {
  readonly atMs: number
  readonly amount: bigint
  /** The account's balance at the service before; undefined if not recorded. */
  readonly availableBefore: bigint | undefined
  /** Owner and chain; undefined if not recorded. */
  readonly account: Address | undefined
  readonly chainId: number | undefined
  /** Undefined before it is mined, and if not recorded. */
  readonly minedAtMs: number | undefined
  /** Whether the service's balance was seen to include it. That balance falls again as calls are charged. */
  readonly isIndexed: boolean | undefined
}

/** A used `nestedNonce`, and our call that used it. */
type UsedNonce = { readonly nonce: bigint; readonly clientOrderId: string }

/**
 * A wallet's activity on its chain that the journal accounts for: as of the last comparison, plus everything signed since.
 * Further activity is evidence of lost state or another writer (rule T4).
 */
export type WalletSnapshot = {
  /** Payments before this block are not checked: the wallet was unknown then, or an operator accepted them. */
  readonly sinceBlock: bigint
  /** The wallet's payments up to this block were compared with the journal. */
  readonly blockNumber: bigint
  /** Transactions with this nonce or a later one are unaccounted for. */
  readonly transactionCount: number
  /** The same for calls; undefined if the account's code did not report it, or changed since. */
  readonly nestedNonce: bigint | undefined
}

/** Highest used nonce of an account's own transactions, and when it was journaled. */
type MinedNonce = { readonly nonce: number; readonly atMs: number }

/** A contract that signatures depend on, and its permitted code (rule T13). */
export type KnownContract = TrustedContract & {
  readonly code: ContractCode
  /** Its different code since, at a final block. Nothing is signed with it until an operator accepts the code. */
  readonly changed: { readonly code: ContractCode; readonly atMs: number } | undefined
}

/** A fill or execution that a reorganisation may still remove. */
export type UnfinalFill = {
  /** The order right after its proof: open again if its block goes. */
  readonly open: OpenIntent
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** The booked amount, and the transfers that the order claims. */
  readonly paid: BaseUnits
  readonly claims: readonly string[]
}

/** The mode, chain and wallet of a state directory. */
export type Binding = {
  readonly mode: Mode
  readonly chainId: number
  readonly genesisHash: Hex
  readonly owner: Address
}

/** The current state, reduced from the journal. Only `reduce` of `events/registry.ts` changes it. */
export type DaemonState = ExposureTotals & {
  bound: Binding | undefined
  /** Id of this state; undefined without an anchor. */
  stateId: string | undefined
  /** Wallets with an anchor of this state, and the anchor's chain. */
  readonly anchored: Map<Address, number>
  halted: Pause | undefined
  /** Consecutive slots of any strategy that ended failed, refused or expired. */
  failureStreak: number
  lastOrderAtMs: number | undefined
  readonly spent: Map<Address, BaseUnits>
  /** Dry-run: changes of the wallet's balances by booked orders, by token. */
  readonly paper: Map<Address, bigint>
  /** Unsold purchases of each strategy, by strategy and tokens (`purchaseOf`). */
  readonly purchases: Map<string, Purchase>
  readonly strategies: Map<string, StrategyRecord>
  readonly intents: OpenIntents<OpenIntent>
  readonly transactions: Map<string, OpenTransaction>
  /** Outcomes of ended transactions of open intents or unfinal calls, by transaction id. */
  readonly endedTransactions: Map<string, 'mined' | 'reverted' | 'lost'>
  /** Hashes of every direct transaction signed for an open or unfinal call, by `<intentId>:<attempt>`. */
  readonly directCalls: Map<string, readonly Hex[]>
  /** GasTank deposits by transaction id, made or pending. Oldest first; indexed ones are bounded. */
  readonly deposits: Map<string, Deposit>
  /** Wei that the service charged for each strategy's last calls, newest last; bounded. */
  readonly charges: Map<string, readonly bigint[]>
  readonly delegationCharges: Map<string, bigint>
  /** Last recorded delegation that has all its signed fields. */
  delegation: (DelegationDraft & { readonly account: Address }) | undefined
  /** Each account's last call that is proven to have used its nonce, by chain and account. */
  readonly usedNonces: Map<string, UsedNonce>
  /** Permits of orders that an operator says executed in an unknown transaction, by client order id; kept for some days. */
  readonly spokenFor: Map<string, PermitRecord>
  readonly sights: Map<string, WalletSnapshot>
  /** By chain and account, for each account that ended its own transaction. */
  readonly minedNonces: Map<string, MinedNonce>
  readonly unfinalTransactions: Map<string, UnfinalTransaction>
  /** Gas of the last day by chain, account and nonce; oldest first. */
  readonly gasCharges: Map<string, GasCharge>
  /**
   * Transfers that already prove an order, and transactions that an operator says did, each with its time of execution or
   * deadline, epoch ms; oldest first. Kept until the wallet was compared with its chain, and for some hours
   * (`forgetClaims`).
   */
  readonly claimedTransfers: Map<string, number>
  readonly contracts: Map<string, KnownContract>
  readonly unfinal: Map<string, UnfinalFill>
}
