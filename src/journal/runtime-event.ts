import type { Holding } from '../domain/money/holding.ts'
import type { Pair, Token } from '../domain/money/token.ts'
import type { Address, BaseUnits, Hex } from '../domain/money/units.ts'
import type { ServiceConflict } from '../domain/order/conflict.ts'
import type { IntentId } from '../domain/order/intent.ts'
import type { ServiceFault } from '../domain/order/quote.ts'
import type { FailureReason, SkipReason } from '../domain/order/reason.ts'
import type { RemoteLink, RemoteOutcome } from '../domain/remote.ts'
import type { Mode } from '../domain/settings.ts'
import type { AccountStatus } from './ledger/account-status.ts'
import type { TransactionPurpose } from './records.ts'
import type { Pause } from './state/daemon-state.ts'
import { instantText } from './wording/log-values.ts'

/** Separately paced routes of the gasless service. */
const GASLESS_ROUTES = ['tokens', 'quote', 'submit', 'poll'] as const
export type GaslessRoute = (typeof GASLESS_ROUTES)[number]

/** Separately paced routes of the aggregation service: its methods without their prefix. */
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

/** Cause of a retry: a fault tag from a service or node. */
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

/** Whether a request's status means that the service did not answer; any refusal is an answer. */
export function isNoAnswer(status: string): boolean {
  return NO_ANSWER.test(status)
}

/** Statuses of requests without any answer, in words. */
const SILENT: Readonly<Record<string, string>> = {
  network: 'connection failed',
  unreachable: 'connection failed',
  timeout: 'no answer in time',
}

/** What came of a last request that `isNoAnswer`, after its service's name. */
export function lastAnswerText(status: string): string {
  const silent = SILENT[status]
  return silent === undefined ? `answered last: ${status}` : `did not answer (${silent})`
}

/** What an unsigned order waits for, after its name: `waits, until … at most: …`. */
export function waitsText(
  event: Pick<RuntimeEvents['order-waits'], 'reason' | 'detail' | 'startBeforeMs'>,
): string {
  const until = instantText(Math.floor(event.startBeforeMs / 1_000))
  return `waits, until ${until} at most: ${event.reason}, ${event.detail}`
}

/** Events outside the journal, by type, observed where they happen. Everything on record is a journal event instead. */
type RuntimeEvents = {
  'daemon-started': {
    readonly mode: string
    readonly owner: Address
    readonly strategies: number
    readonly openIntents: number
    readonly halted: Pause | undefined
  }
  'daemon-stopping': { readonly cause: string; readonly openIntents: number }
  'daemon-stopped': { readonly openIntents: number; readonly mode: Mode }
  /** A price in a strategy's file looks like a mistake; this blocks nothing. */
  implausible: { readonly strategy: string; readonly detail: string }
  /** A strategy's calendar and status now. */
  'next-slot': {
    readonly strategy: string
    readonly nextSlotSeconds: number | undefined
    readonly lastFillAtMs: number | undefined
    readonly paused: boolean
    readonly held: boolean
  }
  /** Unsold amount of a TWAP schedule that is over, base units. */
  unsold: {
    readonly strategy: string
    readonly token: string
    readonly amount: bigint
    readonly decimals: number
  }
  /** The slot stays due and is checked again soon. */
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
  /** Nothing is signed yet; the order retries until its latest start. */
  'order-waits': Subject & {
    readonly reason: FailureReason
    readonly detail: string
    readonly startBeforeMs: number
  }
  /** The order stops waiting: it continues, or has ended. */
  'order-waited': Subject & {
    /** The last reason for waiting. */
    readonly reason: FailureReason
    readonly waitedMs: number
  }
  'order-unknown': Subject & { readonly attempt: number; readonly message: string }
  'proof-failed': Subject & { readonly detail: string }
  /** A node accepted the transaction. */
  'transaction-sent': {
    readonly intentId: IntentId | undefined
    readonly purpose: TransactionPurpose
    readonly hash: Hex
  }
  request: {
    readonly service: 'gasless' | 'rpc' | 'aggregator'
    /** Name of a node's chain; undefined outside the daemon. */
    readonly chain?: string | undefined
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
  /** Finished journal files were moved. */
  'journal-archived': { readonly files: number; readonly dir: string }
  'archive-trouble': { readonly dir: string; readonly message: string }
  'journal-appended': { readonly records: number; readonly durationMs: number }
  'wallet-balance': {
    readonly wallet: string
    /** Token symbol, or ETH for the native balance. */
    readonly token: string
    /** Undefined if not read. */
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
    /** The operator's warning threshold. */
    readonly alertBelow: bigint | undefined
    readonly isLow: boolean
  }
  /** The account's funds are unknown: its login is rejected, or the service has not answered for a while. */
  'gas-tank-unknown': {
    readonly account: string
    readonly isLogin: boolean
    readonly message: string
  }
  /** The code of the calling account, as just read. */
  'account-delegation': {
    readonly account: string
    /** Why its calls are refused, with the reason's name; undefined if they are not. */
    readonly refusal: string | undefined
    readonly isUnread: boolean
    readonly isNeeded: boolean
  }
  'gas-tank-low': { readonly account: string; readonly available: bigint }
  'top-up-capped': { readonly account: string }
  /** A top-up is due, but blocked until the cause in the message is gone. */
  'top-up-barred': { readonly account: string; readonly message: string }
  /** A token of the config left the service's list, or is on it again. */
  'token-listing': {
    readonly token: string
    readonly isListed: boolean
    /** Those that trade it. */
    readonly strategies: readonly string[]
  }
  /** A harmless peculiarity of a service or node, reported once. */
  'service-note': { readonly service: 'gasless' | 'aggregator' | 'rpc'; readonly note: string }
  /** Number of the operator's files that were refused on reload; 0 if all are in force. */
  'files-stale': { readonly files: number; readonly detail: string }
  disbelieved: ServiceConflict & {
    readonly strategy?: string | undefined
    readonly intentId?: IntentId | undefined
    readonly detail: string
    /** Whether it has delayed something signed, or due to be signed, for longer than usual. */
    readonly moneyWaits: boolean
  }
  /** Nodes disagree about something that an order's outcome depends on, so the daemon concludes nothing. */
  'nodes-disagree': { readonly doing: string; readonly message: string }
  /** Distance between a chain's newest block and its newest final block. */
  finality: { readonly chain: string; readonly lagBlocks: number }
  /** From the last complete market snapshot; `updatedAtSeconds` is undefined if the feed gave no answer. */
  'feed-read': {
    readonly pair: Pair
    readonly updatedAtSeconds: number | undefined
    readonly maxAgeSeconds: number
  }
  /** The trading wallet's holdings of its strategies' tokens; in a dry-run, including paper fills. */
  portfolio: {
    /** Undefined without a configured feed. */
    readonly valueToken: Token | undefined
    readonly holdings: readonly Holding[]
  }
  /** Costs and profits of the account's orders, by average cost. */
  profit: AccountStatus & {
    /** The last UTC days with trades, oldest first. `againstFeed`: undefined without a price. */
    readonly days: readonly {
      readonly day: string
      readonly fills: number
      readonly realised: bigint
      readonly againstFeed: bigint | undefined
    }[]
  }
  /** Maximum amount of a token for the next slots of all strategies of a wallet; undefined if none needs it. */
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
  /** The daemon's bot received a message. `detail` names sender and result, and quotes nothing from it. */
  'remote-message': {
    readonly outcome: RemoteOutcome
    /** Telegram's number of the sender. */
    readonly user: number | undefined
    readonly detail: string
  }
  'remote-link': { readonly link: RemoteLink; readonly detail: string }
  /** A reply to a person could not be delivered. */
  'remote-unsent': { readonly detail: string }
}

export type RuntimeEvent = {
  [Type in keyof RuntimeEvents]: { readonly type: Type } & RuntimeEvents[Type]
}[keyof RuntimeEvents]
