import type { Holding } from '../domain/money/holding.ts'
import type { Pair, Token } from '../domain/money/token.ts'
import type { Address, BaseUnits, Hex } from '../domain/money/units.ts'
import type { ServiceConflict } from '../domain/order/conflict.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { ServiceFault } from '../domain/order/quote.ts'
import type { FailureReason, SkipReason } from '../domain/order/reason.ts'
import type { RemoteLink, RemoteOutcome } from '../domain/remote.ts'
import type { AccountStatus } from './ledger/account-status.ts'
import type { TransactionPurpose } from './records.ts'
import type { Pause } from './state/daemon-state.ts'

/** Routes of the gasless service that are paced separately. */
const GASLESS_ROUTES = ['tokens', 'quote', 'submit', 'poll'] as const
export type GaslessRoute = (typeof GASLESS_ROUTES)[number]

/** Routes of the aggregation service that are paced separately: its methods without their prefix. */
const AGGREGATOR_ROUTES = [
  'sendRawTransaction',
  'sendBundle',
  'getTransactionReceipt',
  'getBatchedTransactionReceipt',
  'accountInfo',
  'transactionStatus',
] as const
export type AggregatorRoute = (typeof AGGREGATOR_ROUTES)[number]

export const PACED_ROUTES = [...GASLESS_ROUTES, ...AGGREGATOR_ROUTES] as const
export type Route = (typeof PACED_ROUTES)[number]

/** Why a request is made again: the tags of the faults that the services and nodes answer with. */
export type RetryCause =
  | ServiceFault['tag']
  | 'accountNotFound'
  | 'insufficientBalance'
  | 'transactionNotFound'
  | 'unauthenticated'
  | 'rejected'
  | 'refused'
  | 'insufficientFunds'

type Subject = { readonly strategy: string; readonly intentId: IntentId }

const NO_ANSWER = /^(5\d\d|5xx|timeout|network|unreachable|malformed|unusable|unavailable|other)$/

/** Whether the status of a request means that the service itself did not answer; any refusal is an answer. */
export function isNoAnswer(status: string): boolean {
  return NO_ANSWER.test(status)
}

/** What happens beside the journal, by type; observed where it happens. What is on record is a journal event instead. */
type RuntimeEvents = {
  'daemon-started': {
    readonly mode: string
    readonly owner: Address
    readonly strategies: number
    readonly openIntents: number
    readonly halted: Pause | undefined
  }
  'daemon-stopping': { readonly cause: string; readonly openIntents: number }
  'daemon-stopped': { readonly openIntents: number }
  /** A strategy's file names a price that looks like a mistake; nothing waits for it. */
  implausible: { readonly strategy: string; readonly detail: string }
  /** What the calendar says of a strategy now. */
  'next-slot': {
    readonly strategy: string
    readonly nextSlotSeconds: number | undefined
    readonly lastFillAtMs: number | undefined
    readonly paused: boolean
    readonly held: boolean
  }
  /** What a TWAP schedule that is over has not sold, base units. */
  unsold: {
    readonly strategy: string
    readonly token: string
    readonly amount: bigint
    readonly decimals: number
  }
  /** The slot stays due, and is looked at again soon. */
  'slot-waiting': {
    readonly strategy: string
    readonly slotSeconds: number
    readonly reason: SkipReason
    readonly detail: string
  }
  'quote-verified': Subject & {
    readonly sellAmount: BaseUnits
    readonly minAmountOut: BaseUnits
    readonly deadlineSeconds: number
  }
  /** Nothing is signed yet: it tries again until it would be too late. */
  'order-waits': Subject & {
    readonly reason: FailureReason
    readonly detail: string
    readonly startBeforeMs: number
  }
  /** It waits no longer: it goes on, or has ended. */
  'order-waited': Subject & {
    /** What it waited for last. */
    readonly reason: FailureReason
    readonly waitedMs: number
  }
  'order-unknown': Subject & { readonly attempt: number; readonly message: string }
  'proof-failed': Subject & { readonly detail: string }
  /** A node accepted it. */
  'transaction-sent': {
    readonly intentId: IntentId | undefined
    readonly purpose: TransactionPurpose
    readonly hash: Hex
  }
  request: {
    readonly service: 'gasless' | 'rpc' | 'aggregator'
    readonly route: string
    readonly status: string
    readonly durationMs: number
  }
  retry: {
    readonly service: 'gasless' | 'rpc' | 'aggregator'
    readonly route: string
    readonly cause: string
  }
  'queue-wait': { readonly route: Route; readonly waitMs: number }
  'queue-depth': { readonly route: Route; readonly depth: number }
  'rate-limit': {
    readonly service: 'gasless' | 'aggregator'
    readonly route: Route
    readonly remaining: number
  }
  /** Finished files of the journal were moved. */
  'journal-archived': { readonly files: number; readonly dir: string }
  'archive-trouble': { readonly dir: string; readonly message: string }
  'journal-appended': { readonly records: number; readonly durationMs: number }
  'wallet-balance': {
    readonly wallet: string
    /** Token symbol, or ETH for the native balance. */
    readonly token: string
    /** Undefined where it was not read. */
    readonly amount: bigint | undefined
    readonly decimals: number
  }
  'open-orders': { readonly openPermits: number; readonly unresolvedIntents: number }
  /** Amounts in wei. */
  'gas-tank': {
    /** Wallet name. */
    readonly account: string
    readonly balance: bigint
    readonly outstanding: bigint
    readonly runwaySeconds: number | undefined
    /** Where the operator wants to be warned. */
    readonly alertBelow: bigint | undefined
    readonly isLow: boolean
  }
  /** The account's funds are unknown: its login is rejected, or the service has been silent for a while. */
  'gas-tank-unknown': {
    readonly account: string
    readonly isLogin: boolean
    readonly message: string
  }
  'gas-tank-low': { readonly account: string; readonly available: bigint }
  'top-up-capped': { readonly account: string }
  /** A top-up is due, but is not made before the cause in the message is gone. */
  'top-up-barred': { readonly account: string; readonly message: string }
  /** A harmless peculiarity of a service or node: reported once. */
  'service-note': { readonly service: 'gasless' | 'aggregator' | 'rpc'; readonly note: string }
  /** How many of the operator's files were refused when they were read again; 0 when all of them are in force. */
  'files-stale': { readonly files: number; readonly detail: string }
  disbelieved: ServiceConflict & {
    readonly strategy?: string | undefined
    readonly intentId?: IntentId | undefined
    readonly detail: string
    /** Whether it has delayed something signed, or to be signed, for longer than usual. */
    readonly moneyWaits: boolean
  }
  /** Nodes disagree about something that an order's outcome depends on: nothing is concluded from it. */
  'nodes-disagree': { readonly doing: string; readonly message: string }
  /** How far the newest final block of a chain lies behind its newest one. */
  finality: { readonly chain: string; readonly lagBlocks: number }
  /** By the last complete reading of the market; undefined where the feed gave no answer. */
  'feed-read': {
    readonly pair: Pair
    readonly updatedAtSeconds: number | undefined
    readonly maxAgeSeconds: number
  }
  /** What the trading wallet holds of the tokens of its strategies; in a dry-run including what was booked on paper. */
  portfolio: {
    /** Undefined where no feed is configured. */
    readonly valueToken: Token | undefined
    readonly holdings: readonly Holding[]
  }
  /** Costs and profits of what the account's orders have bought and sold, by average cost. */
  profit: AccountStatus
  /** The most that the next slots of a wallet's strategies together take of a token; undefined where none does. */
  'wallet-needed': {
    readonly wallet: string
    readonly token: string
    readonly amount: bigint | undefined
    readonly decimals: number
  }
  /** Another clock minus this machine's. A chain's clock is the time of its newest block, which is some seconds old. */
  'clock-offset': {
    /** A chain's name, or the service. */
    readonly source: string
    readonly offsetMs: number
  }
  'chain-trouble': { readonly doing: string; readonly message: string }
  'clock-trouble': { readonly detail: string }
  /** Something was sent to the daemon's bot. `detail` says from whom and with what result, and quotes nothing of it. */
  'remote-message': {
    readonly outcome: RemoteOutcome
    /** The number by which Telegram knows who sent it. */
    readonly user: number | undefined
    readonly detail: string
  }
  'remote-link': { readonly link: RemoteLink; readonly detail: string }
  /** An answer to a person could not be delivered. */
  'remote-unsent': { readonly detail: string }
}

export type RuntimeEvent = {
  [Type in keyof RuntimeEvents]: { readonly type: Type } & RuntimeEvents[Type]
}[keyof RuntimeEvents]
