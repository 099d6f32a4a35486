import type { CallCosts, CloseReason, PauseCause, TransactionPurpose } from './book/journal.ts'
import type { Pause } from './book/state.ts'
import type { IntentId, Outcome } from './intent.ts'
import type { FailureReason, RefusalReason } from './reason.ts'
import type { Token } from './token.ts'
import type { Address, BaseUnits, Hex } from './units.ts'

/** Routes of the gasless service that are paced apart. */
export type Route = 'tokens' | 'quote' | 'submit' | 'poll'

type Subject = { readonly strategy: string; readonly intentId: IntentId }

/** What is told to the log, the metrics and the webhooks. Closed: one case, one place that renders it. */
export type Observation =
  | {
      readonly type: 'daemon-started'
      readonly mode: string
      readonly owner: Address
      readonly strategies: number
      readonly openIntents: number
      readonly halted: Pause | undefined
    }
  | {
      /** Of one strategy, or of everything where none is named: a halt. */
      readonly type: 'pause'
      readonly strategy: string | undefined
      readonly paused: boolean
      readonly cause: PauseCause
      readonly detail: string
    }
  | { readonly type: 'daemon-stopping'; readonly cause: string; readonly openIntents: number }
  | { readonly type: 'daemon-stopped'; readonly openIntents: number }
  | {
      readonly type: 'strategy-scheduled'
      readonly strategy: string
      readonly nextSlotSeconds: number | undefined
      readonly lastFillAtMs: number | undefined
      readonly paused: boolean
    }
  | {
      readonly type: 'slot-opened'
      readonly strategy: string
      readonly slotSeconds: number
      readonly latenessMs: number
      readonly intents: number
    }
  | {
      readonly type: 'slot-closed'
      readonly strategy: string
      readonly slotSeconds: number
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail?: string
      /** More than one only for a run of missed slots. */
      readonly count: number
    }
  | (Subject & {
      readonly type: 'quote-verified'
      readonly sellAmount: BaseUnits
      readonly minAmountOut: BaseUnits
      readonly deadlineSeconds: number
    })
  | (Subject & {
      readonly type: 'refused'
      readonly reason: RefusalReason
      readonly detail: string
    })
  | (Subject & {
      readonly type: 'order-accepted'
      readonly attempt: number
      readonly orderId: string
    })
  | (Subject & {
      readonly type: 'order-ended'
      readonly attempt: number
      readonly status: 'rejected' | 'failed' | 'expired'
      readonly message: string
    })
  | (Subject & {
      readonly type: 'order-unknown'
      readonly attempt: number
      readonly message: string
    })
  | (Subject & {
      readonly type: 'filled'
      readonly venue: 'gasless' | 'aggregated' | 'direct'
      readonly sell: Token
      readonly buy: Token
      readonly paid: BaseUnits
      readonly received: BaseUnits
      readonly txHash: Hex
      readonly durationMs: number
    })
  | (Subject & {
      /** Dry-run: booked at its quote, nothing was signed. */
      readonly type: 'paper-filled'
      readonly venue: 'gasless' | 'aggregated'
      /** What moved on paper, in words. */
      readonly what: string
      readonly durationMs: number
    })
  | (Subject & {
      readonly type: 'executed'
      readonly venue: 'aggregated' | 'direct'
      readonly label: string
      readonly txHash: Hex
      readonly costs: CallCosts
      readonly durationMs: number
    })
  | (Subject & { readonly type: 'proof-failed'; readonly detail: string })
  | (Subject & {
      readonly type: 'authorization-dead'
      readonly attempt: number
      readonly how: 'expired' | 'cancelled'
    })
  | (Subject & {
      readonly type: 'failed'
      readonly venue: 'gasless' | 'aggregated' | 'direct'
      readonly reason: FailureReason
      readonly detail: string
    })
  | {
      readonly type: 'transaction'
      readonly intentId: IntentId | undefined
      readonly purpose: TransactionPurpose
      readonly status: 'sent' | 'replaced' | 'mined' | 'reverted' | 'lost'
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
  | { readonly type: 'rate-limit'; readonly route: Route; readonly remaining: number }
  | { readonly type: 'journal-appended'; readonly records: number; readonly durationMs: number }
  | {
      readonly type: 'wallet-balance'
      readonly wallet: string
      /** Token symbol, or ETH for the native balance. */
      readonly token: string
      readonly amount: bigint
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
      readonly isLow: boolean
    }
  | { readonly type: 'gas-tank-low'; readonly account: string; readonly available: bigint }
  | { readonly type: 'top-up-capped'; readonly account: string }
  | { readonly type: 'chain-trouble'; readonly doing: string; readonly message: string }
  | { readonly type: 'clock-trouble'; readonly detail: string }
