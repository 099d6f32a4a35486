import type { Address, BaseUnits, Hex } from '../../domain/money/units.ts'
import type { CallRecord, DelegationDraft } from '../../domain/order/call.ts'
import type { ContractCode, TrustedContract } from '../../domain/order/contract.ts'
import type { CallIntent, IntentId, Outcome, SwapIntent } from '../../domain/order/intent.ts'
import type { Verdict } from '../../domain/order/manual-resolution.ts'
import type { OrderState } from '../../domain/order/order.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { Mode } from '../../domain/settings.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import type { ExposureTotals } from '../projections/exposures.ts'
import type { CloseReason, Execution, Fill, PauseCause, TransactionRecord } from '../records.ts'

type OpenBase = {
  state: OrderState
  /** Number of the current or next attempt, from 1. */
  attempt: number
  /** The service's name for the order: an order id, or a transaction hash. */
  orderId: string | undefined
  ended:
    | { readonly status: 'rejected' | 'failed' | 'expired'; readonly message: string }
    | undefined
  /** How the last attempt's authorization died. */
  died: 'expired' | 'cancelled' | undefined
  /** It was closed as filled, and a reorganisation took the fill away: nothing is signed for it again. */
  reopened: boolean
  /** It was open when an operator accepted a loss. Lost records may have signed more for it, so nothing is signed for it again. */
  isInLoss?: boolean
  /** An operator said what became of it: nothing is signed for it again. Undefined in older snapshots, too. */
  settled: Verdict | undefined
  openedAtMs: number
}

export type OpenSwap = OpenBase & {
  readonly venue: 'gasless'
  readonly intent: SwapIntent
  permit: PermitRecord | undefined
  /** A proven fill, or in dry-run what was booked. */
  fill: Pick<Fill, 'paid' | 'received'> | undefined
  /** What the fill took of another strategy's purchases. Undefined in older snapshots. */
  taken?: Purchase | undefined
}

export type OpenCall = OpenBase & {
  readonly venue: 'aggregated'
  readonly intent: CallIntent
  call: CallRecord | undefined
  /** Of the transaction that gives it to the service; undefined before that is signed. */
  envelopeHash: Hex | undefined
  execution: Execution | undefined
  /** The transaction that executed it before a reorganisation; most likely it is mined again. Undefined in older snapshots. */
  executedIn?: Hex | undefined
}

/** What a strategy has bought of a token with another, less what was sold for it since. Base units. */
export type Purchase = {
  readonly amount: bigint
  /** What was paid for it, on average. */
  readonly cost: bigint
}

export type OpenIntent = OpenSwap | OpenCall

/** A slot with intents that are not closed yet. */
export type OpenSlot = {
  readonly slotSeconds: number
  readonly memoryOnFill: StrategyMemory | undefined
  ended: { readonly outcome: Outcome; readonly reason: CloseReason } | undefined
  /** Whether one of its intents ended without a known execution. */
  isPartial?: boolean | undefined
}

/** Since when, and why, something opens no slots. */
export type Pause = { readonly atMs: number; readonly cause: PauseCause; readonly detail: string }

/** Why a strategy waits for an operator's approval, and for which terms of its file. */
export type Hold = { readonly atMs: number; readonly terms: string; readonly detail: string }

export type StrategyRecord = {
  scheduleKey: string
  /** When a schedule that begins when first seen was first seen. Kept while the strategy is switched off. */
  anchor: { readonly scheduleKey: string; readonly fromSeconds: number }
  /** Last slot that is accounted for: opened, closed or missed. */
  lastSlotSeconds: number
  openSlots: OpenSlot[]
  memory: StrategyMemory
  paused: Pause | undefined
  /** Terms of its file by which it last decided or may trade; `UNJUDGED` before the first decision, undefined in older records. */
  terms?: string | undefined
  held?: Hold | undefined
  /** When a pause last ended; limits that paused it count from there. */
  resumedAtMs: number | undefined
  failureStreak: number
  /** The TWAP schedule whose end and unsold amount were reported; undefined before, and in older snapshots. */
  endedProgram?: string | undefined
  fills: number
  lastOrderAtMs: number | undefined
  lastFillAtMs: number | undefined
  /** Sell base units spent since the beginning, by token: proven fills, and permits used without a proof. */
  readonly spent: Map<Address, BaseUnits>
}

/** A transaction whose outcome is unknown, with every hash that was sent under its nonce. */
export type OpenTransaction = {
  readonly record: TransactionRecord
  readonly hashes: readonly Hex[]
  /** Those of them that only use up the nonce. */
  readonly cancelling: readonly Hex[]
  /** A block held it before a reorganisation: its bytes are public, and sending them again only restores what was. */
  readonly isReopened?: boolean | undefined
}

/** A transaction of our own that is mined, and not final yet. */
export type UnfinalTransaction = {
  /** As it was before it ended: this is open again if its block goes. */
  readonly open: OpenTransaction
  readonly hash: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** What one nonce of a wallet costs for gas; while that is not known, at most. Wei. */
type GasCharge = {
  readonly chainId: number
  readonly atMs: number
  readonly wei: bigint
  readonly isOpen: boolean
}

/** Wei put into the GasTank. */
export type Deposit = {
  readonly atMs: number
  readonly amount: bigint
  /** What the service had for the account before; undefined where it was not recorded. */
  readonly availableBefore: bigint | undefined
  /** Whose it is, and on which chain; undefined where it was not recorded. */
  readonly account: Address | undefined
  readonly chainId: number | undefined
  /** Undefined before it is mined, and where that was not recorded. */
  readonly minedAtMs: number | undefined
  /** Whether the service's own figure was seen to include it; that figure falls again as calls are charged. */
  readonly isIndexed: boolean | undefined
}

/** A `nestedNonce` that is used up, and the call of ours that it was used for. */
type UsedNonce = { readonly nonce: bigint; readonly clientOrderId: string }

/**
 * What a wallet has done on its chain, as far as the journal accounts for it: by what was seen when both were last compared, and by
 * what was signed since. More than that on the chain is evidence of lost state or of another writer (rule T4).
 */
export type WalletSnapshot = {
  /** Payments before this block are not checked: the wallet was not known then, or an operator has accepted them. */
  readonly sinceBlock: bigint
  /** What the wallet paid up to this block was compared with the journal. */
  readonly blockNumber: bigint
  /** Transactions with this nonce or a later one are not accounted for. */
  readonly transactionCount: number
  /** The same for calls; undefined where the account's code did not say, or was changed since. */
  readonly nestedNonce: bigint | undefined
}

/** The highest nonce of an account's own transactions that is used up, and when that was journaled. */
type MinedNonce = { readonly nonce: number; readonly atMs: number }

/** A contract that signatures depend on, with the code that it may have (rule T13). */
export type KnownContract = TrustedContract & {
  readonly code: ContractCode
  /** The code that it has instead since then, at a final block: nothing is signed with it before an operator accepts that. */
  readonly changed: { readonly code: ContractCode; readonly atMs: number } | undefined
}

/** A fill or an execution that a reorganisation may still take back. */
export type UnfinalFill = {
  /** As it was right after the proof: this is open again if its block goes. */
  readonly open: OpenIntent
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** What was booked for it, and the transfers that it claims. */
  readonly paid: BaseUnits
  readonly claims: readonly string[]
}

/** What a state directory belongs to. */
export type Binding = {
  readonly mode: Mode
  readonly chainId: number
  readonly genesisHash: Hex
  readonly owner: Address
}

/** What is true now, reduced from the journal. Changed only by `reduce` of `events/registry.ts`. */
export type DaemonState = ExposureTotals & {
  bound: Binding | undefined
  /** Identity of this state; undefined without an anchor. */
  stateId: string | undefined
  /** Wallets that have an anchor of this state, with the chain that it is for. */
  readonly anchored: Map<Address, number>
  halted: Pause | undefined
  /** Slots in a row, of whatever strategy, that ended failed, refused or expired. */
  failureStreak: number
  lastOrderAtMs: number | undefined
  readonly spent: Map<Address, BaseUnits>
  /** Dry-run: what booked orders have changed the wallet's balances by, by token. */
  readonly paper: Map<Address, bigint>
  /** What each strategy has bought and nothing has sold since, by strategy and tokens (`purchaseOf`). */
  readonly purchases: Map<string, Purchase>
  readonly strategies: Map<string, StrategyRecord>
  readonly intents: Map<IntentId, OpenIntent>
  readonly transactions: Map<string, OpenTransaction>
  /** Outcome of ended transactions of intents that are still open, or calls that are not final, by transaction id. */
  readonly endedTransactions: Map<string, 'mined' | 'reverted' | 'lost'>
  /** Hashes of every direct transaction sent for a call that is open or not final, by `<intentId>:<attempt>`. */
  readonly directCalls: Map<string, readonly Hex[]>
  /** Deposits into the GasTank by transaction id: made, or still under way. Oldest first; those that are indexed are bounded. */
  readonly deposits: Map<string, Deposit>
  /** Wei that the service charged for the last calls of each strategy, newest last; bounded. */
  readonly charges: Map<string, readonly bigint[]>
  readonly delegationCharges: Map<string, bigint>
  /** The last delegation on record that holds everything that is signed for it. */
  delegation: (DelegationDraft & { readonly account: Address }) | undefined
  /** The last call of each account that is proven to have used its nonce, by chain and account. */
  readonly usedNonces: Map<string, UsedNonce>
  /** Permits of orders that an operator says executed in an unknown transaction; kept for some days, by client order id. */
  readonly spokenFor: Map<string, PermitRecord>
  readonly sights: Map<string, WalletSnapshot>
  /** Of each account that ended a transaction of its own, by chain and account. */
  readonly minedNonces: Map<string, MinedNonce>
  readonly unfinalTransactions: Map<string, UnfinalTransaction>
  /** Gas of the last day, by chain, account and nonce; oldest first. */
  readonly gasCharges: Map<string, GasCharge>
  /**
   * Transfers that already prove an order, and transactions that an operator says did, with a deadline, epoch ms; oldest first. Kept
   * until the wallet was compared with its chain, and for some hours (`forgetClaims`).
   */
  readonly claimedTransfers: Map<string, number>
  readonly contracts: Map<string, KnownContract>
  readonly unfinal: Map<string, UnfinalFill>
}
