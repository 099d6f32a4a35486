import type { Fact } from './book/fact.ts'
import type { TransactionPurpose } from './book/journal.ts'
import type { Pause } from './book/state.ts'
import type { Disbelief } from './disbelief.ts'
import type { Holding } from './holding.ts'
import type { IntentId } from './intent.ts'
import type { Standing } from './ledger/standing.ts'
import type { ServiceFault } from './quote.ts'
import type { FailureReason, SkipReason } from './reason.ts'
import type { RemoteLink, RemoteOutcome } from './remote.ts'
import type { Pair, Token } from './token.ts'
import type { Address, BaseUnits, Hex } from './units.ts'

/** Routes of the gasless service that are paced apart. */
export type GaslessRoute = 'tokens' | 'quote' | 'submit' | 'poll'

/** Routes of the aggregation service that are paced apart: its methods without their prefix. */
export type AggregatorRoute =
  | 'sendRawTransaction'
  | 'sendBundle'
  | 'getTransactionReceipt'
  | 'getBatchedTransactionReceipt'
  | 'accountInfo'
  | 'transactionStatus'

export type Route = GaslessRoute | AggregatorRoute

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

/** What is told to the log, the metrics and the webhooks: facts of the journal, and what happens beside them. */
export type Observation = Fact | Occurrence

const NO_ANSWER = /^(5\d\d|5xx|timeout|network|unreachable|malformed|unusable|unavailable|other)$/

/** Whether the status of a request is no answer of the service itself; a refusal, whatever its words, is one. */
export function isNoAnswer(status: string): boolean {
  return NO_ANSWER.test(status)
}

/** Which record of the journal a fact was told by. */
export type RecordPlace = { readonly seq: number; readonly atMs: number }

/** What is no fact of the journal, told where it happens. */
type Occurrence =
  | {
      readonly type: 'daemon-started'
      readonly mode: string
      readonly owner: Address
      readonly strategies: number
      readonly openIntents: number
      readonly halted: Pause | undefined
    }
  | { readonly type: 'daemon-stopping'; readonly cause: string; readonly openIntents: number }
  | { readonly type: 'daemon-stopped'; readonly openIntents: number }
  | {
      /** A strategy's file names a price that looks like a mistake; nothing waits for it. */
      readonly type: 'implausible'
      readonly strategy: string
      readonly detail: string
    }
  | {
      /** What the calendar says of a strategy now. */
      readonly type: 'next-slot'
      readonly strategy: string
      readonly nextSlotSeconds: number | undefined
      readonly lastFillAtMs: number | undefined
      readonly paused: boolean
      readonly held: boolean
    }
  | {
      /** What a program of slices that is over has not sold by now, base units. */
      readonly type: 'unsold'
      readonly strategy: string
      readonly token: string
      readonly amount: bigint
      readonly decimals: number
    }
  | {
      /** It stays owed, and is looked at again soon. */
      readonly type: 'slot-waiting'
      readonly strategy: string
      readonly slotSeconds: number
      readonly reason: SkipReason
      readonly detail: string
    }
  | (Subject & {
      readonly type: 'quote-verified'
      readonly sellAmount: BaseUnits
      readonly minAmountOut: BaseUnits
      readonly deadlineSeconds: number
    })
  | (Subject & {
      /** Nothing is signed: it tries again until it would be too late. */
      readonly type: 'order-waits'
      readonly reason: FailureReason
      readonly detail: string
      readonly startBeforeMs: number
    })
  | (Subject & {
      /** It waits no longer, whether it goes on or has ended. */
      readonly type: 'order-waited'
      /** What it waited for last. */
      readonly reason: FailureReason
      readonly waitedMs: number
    })
  | (Subject & {
      readonly type: 'order-unknown'
      readonly attempt: number
      readonly message: string
    })
  | (Subject & { readonly type: 'proof-failed'; readonly detail: string })
  | {
      /** The node took it. */
      readonly type: 'transaction-sent'
      readonly intentId: IntentId | undefined
      readonly purpose: TransactionPurpose
      readonly hash: Hex
    }
  | {
      readonly type: 'request'
      readonly service: 'gasless' | 'rpc' | 'aggregator'
      readonly route: string
      readonly status: string
      readonly durationMs: number
    }
  | {
      readonly type: 'retry'
      readonly service: 'gasless' | 'rpc' | 'aggregator'
      readonly route: string
      readonly cause: string
    }
  | { readonly type: 'queue-wait'; readonly route: Route; readonly waitMs: number }
  | { readonly type: 'queue-depth'; readonly route: Route; readonly depth: number }
  | {
      readonly type: 'rate-limit'
      readonly service: 'gasless' | 'aggregator'
      readonly route: Route
      readonly remaining: number
    }
  | {
      /** Finished files of the journal were moved. */
      readonly type: 'journal-archived'
      readonly files: number
      readonly dir: string
    }
  | { readonly type: 'archive-trouble'; readonly dir: string; readonly message: string }
  | { readonly type: 'journal-appended'; readonly records: number; readonly durationMs: number }
  | {
      readonly type: 'wallet-balance'
      readonly wallet: string
      /** Token symbol, or ETH for the native balance. */
      readonly token: string
      /** Undefined where it was not read. */
      readonly amount: bigint | undefined
      readonly decimals: number
    }
  | {
      readonly type: 'open-orders'
      readonly openPermits: number
      readonly unresolvedIntents: number
    }
  | {
      readonly type: 'gas-tank'
      /** Wallet name. Amounts in wei. */
      readonly account: string
      readonly balance: bigint
      readonly outstanding: bigint
      readonly runwaySeconds: number | undefined
      /** Where the operator wants to be warned. */
      readonly alertBelow: bigint | undefined
      readonly isLow: boolean
    }
  | {
      /** Nobody knows what the account has: its login is not accepted, or the service has been silent for a while. */
      readonly type: 'gas-tank-unknown'
      readonly account: string
      readonly isLogin: boolean
      readonly message: string
    }
  | { readonly type: 'gas-tank-low'; readonly account: string; readonly available: bigint }
  | { readonly type: 'top-up-capped'; readonly account: string }
  | {
      /** A top-up is due and is not made before what the message says has changed. */
      readonly type: 'top-up-barred'
      readonly account: string
      readonly message: string
    }
  | {
      /** A service or node does something in its own way that changes nothing for us: told once. */
      readonly type: 'service-note'
      readonly service: 'gasless' | 'aggregator' | 'rpc'
      readonly note: string
    }
  | {
      /** How many of the operator's files were refused when they were read again; 0 when all of them are in force. */
      readonly type: 'files-stale'
      readonly files: number
      readonly detail: string
    }
  | (Disbelief & {
      readonly type: 'disbelieved'
      readonly strategy?: string | undefined
      readonly intentId?: IntentId | undefined
      readonly detail: string
      /** Whether what was signed, or could be, hangs on it for longer than is usual. */
      readonly moneyWaits: boolean
    })
  | {
      /** Nodes say different things of what an order's fate depends on: nothing is concluded from it. */
      readonly type: 'nodes-disagree'
      readonly doing: string
      readonly message: string
    }
  | {
      /** How far the newest final block of a chain lies behind its newest one. */
      readonly type: 'finality'
      readonly chain: string
      readonly lagBlocks: number
    }
  | {
      /** As the last whole look at the market found it; undefined where the feed gave no answer. */
      readonly type: 'feed-read'
      readonly pair: Pair
      readonly updatedAtSeconds: number | undefined
      readonly maxAgeSeconds: number
    }
  | {
      /** What the wallet that trades holds of what its strategies trade; in dry-run with what was booked on paper. */
      readonly type: 'portfolio'
      /** Undefined where no feed is configured. */
      readonly valueToken: Token | undefined
      readonly holdings: readonly Holding[]
    }
  /** How the account stands, by the average, of what its orders have bought and sold. */
  | ({ readonly type: 'profit' } & Standing)
  | {
      /** What the next slots of a wallet's strategies take of a token at the most, together; undefined where none does. */
      readonly type: 'wallet-needed'
      readonly wallet: string
      readonly token: string
      readonly amount: bigint | undefined
      readonly decimals: number
    }
  | {
      /** Another clock less this machine's. A chain's is the time of its newest block, which is some seconds old. */
      readonly type: 'clock-offset'
      /** A chain's name, or the service. */
      readonly source: string
      readonly offsetMs: number
    }
  | { readonly type: 'chain-trouble'; readonly doing: string; readonly message: string }
  | { readonly type: 'clock-trouble'; readonly detail: string }
  | {
      /** Something was sent to the daemon's bot. `detail` says from whom and what came of it, and repeats nothing of it. */
      readonly type: 'remote-message'
      readonly outcome: RemoteOutcome
      /** The number by which Telegram knows who sent it. */
      readonly user: number | undefined
      readonly detail: string
    }
  | { readonly type: 'remote-link'; readonly link: RemoteLink; readonly detail: string }
  | {
      /** An answer to a person did not get there. */
      readonly type: 'remote-unsent'
      readonly detail: string
    }
