import type { ContractCode } from '../contract.ts'
import type { IntentId, Outcome } from '../intent.ts'
import type { FailureReason, RefusalReason } from '../reason.ts'
import type { Mode } from '../settings.ts'
import type { Token } from '../token.ts'
import type { Address, BaseUnits, Hex } from '../units.ts'
import type { Word } from '../word.ts'
import type { CallCosts, CloseReason, EventOf, PauseCause, TransactionPurpose } from './journal.ts'
import type { Moved } from './orders.ts'
import type { VenueName } from './venues.ts'

export type OrderFact = { readonly strategy: string; readonly intentId: IntentId }

/** What a journal record says to people and programs. Log, metrics, webhooks, `history` and `why` are readings of these. */
export type Fact =
  | {
      readonly type: 'bound'
      readonly mode: Mode
      readonly chainId: number
      readonly owner: Address
    }
  | {
      readonly type: 'strategy-scheduled'
      readonly strategy: string
      readonly fromSeconds: number
    }
  | { readonly type: 'state-named'; readonly stateId: string }
  | { readonly type: 'anchored'; readonly wallet: Address; readonly chainId: number }
  | {
      readonly type: 'wallet-compared'
      readonly wallet: Address
      readonly chainId: number
      readonly blockNumber: bigint
    }
  | {
      readonly type: 'delegation-signed'
      readonly account: Address
      readonly delegate: Address
    }
  | {
      readonly type: 'delegation-charged'
      readonly account: Address
      /** Wei. */
      readonly charged: bigint
    }
  | {
      /** An operator's word about what is known. */
      readonly type: 'begun-anew' | 'loss-accepted'
      readonly detail: string
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
      /** Of a run of missed slots the last one. */
      readonly lastSeconds: number
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail?: string | undefined
      /** More than one only for a run of missed slots; undefined for one that is too long to count. */
      readonly count: number | undefined
    }
  | {
      /** Of the total of a program of slices, base units; `rule` says what was to become of what slices did not sell. */
      readonly type: 'program-ended'
      readonly strategy: string
      readonly slotSeconds: number
      readonly token: Token
      readonly total: BaseUnits
      readonly unsold: bigint
      readonly rule: EventOf<'program-ended'>['rule']
    }
  | {
      /** Of one strategy, or of everything where none is named: a halt. */
      readonly type: 'pause'
      readonly strategy: string | undefined
      readonly paused: boolean
      readonly cause: PauseCause
      readonly detail: string
    }
  | {
      /** A strategy waits for an operator's approval, or does not any more. */
      readonly type: 'hold'
      readonly strategy: string
      readonly held: boolean
      readonly detail: string
    }
  | (OrderFact & {
      /** From now on a signature may exist. */
      readonly type: 'authorization-recorded'
      readonly attempt: number
      readonly deadlineSeconds: number | undefined
    })
  | (OrderFact & {
      /** It was never signed. */
      readonly type: 'authorization-withdrawn'
      readonly attempt: number
      readonly reason: CloseReason
    })
  | (OrderFact & {
      readonly type: 'authorization-dead'
      readonly attempt: number
      readonly how: 'expired' | 'cancelled'
      /** Cancelled: all that it allowed, which counts as spent although nobody can tell for what. Base units. */
      readonly lost?: { readonly token: Token; readonly amount: bigint } | undefined
    })
  | (OrderFact & {
      /** An operator's word, and what is booked by it. */
      readonly type: 'order-settled'
      readonly attempt: number
      readonly word: Word
      readonly evidence: string
      readonly token: Token
      /** Counted as spent, in base units: all that was allowed, or nothing. */
      readonly booked: bigint
    })
  | (OrderFact & {
      readonly type: 'call-signed'
      readonly attempt: number
      /** Of the transaction that gives the call to the service. */
      readonly hash: Hex
    })
  | (OrderFact & {
      readonly type: 'order-accepted'
      readonly attempt: number
      readonly orderId: string
    })
  | (OrderFact & {
      readonly type: 'order-ended'
      readonly attempt: number
      readonly status: 'rejected' | 'failed' | 'expired'
      readonly message: string
    })
  | (OrderFact & {
      readonly type: 'filled'
      readonly venue: 'gasless'
      readonly sell: Token
      readonly buy: Token
      readonly paid: BaseUnits
      readonly received: BaseUnits
      /** How much better than by the feeds when it was signed, in basis points; undefined where they gave no price. */
      readonly vsFeedBps: number | undefined
      /** What the service said that it takes, in sell base units: part of what was paid. Undefined where it did not say. */
      readonly fee?: BaseUnits | undefined
      readonly txHash: Hex
      /** No reorganisation can take it back: its chain is final at once. */
      readonly isFinal?: boolean
      readonly durationMs: number
    })
  | (OrderFact & {
      /** Dry-run: booked at its quote, nothing was signed. */
      readonly type: 'paper-filled'
      readonly venue: VenueName
      readonly moved: Moved
      /** Of a call: wei that it would have carried. */
      readonly value?: BaseUnits | undefined
      /** Of a swap. */
      readonly swap:
        | {
            readonly sell: Token
            readonly buy: Token
            readonly paid: BaseUnits
            readonly received: BaseUnits
            readonly vsFeedBps: number | undefined
            readonly fee?: BaseUnits | undefined
          }
        | undefined
      readonly durationMs: number
    })
  | (OrderFact & {
      readonly type: 'executed'
      readonly venue: 'aggregated' | 'direct'
      readonly label: string
      /** Wei that it carried. */
      readonly value: BaseUnits
      readonly txHash: Hex
      readonly costs: CallCosts
      readonly durationMs: number
    })
  | {
      /** No reorganisation takes these orders back. */
      readonly type: 'fills-final'
      readonly orders: readonly OrderFact[]
      readonly blockNumber: bigint
    }
  | (OrderFact & {
      /** A reorganisation took away the block that proved it. */
      readonly type: 'fill-reopened'
      readonly attempt: number
      readonly venue: VenueName
      readonly blockNumber: bigint
      readonly moved: Moved
    })
  | (OrderFact & {
      /** The firewall would not sign. */
      readonly type: 'refused'
      readonly reason: RefusalReason
      readonly detail: string
    })
  | (OrderFact & {
      readonly type: 'failed'
      readonly venue: VenueName
      readonly reason: FailureReason
      readonly detail: string
    })
  | (OrderFact & { readonly type: 'intent-closed'; readonly outcome: Outcome })
  | {
      readonly type: 'transaction'
      readonly intentId: IntentId | undefined
      readonly purpose: TransactionPurpose
      readonly status:
        | 'recorded'
        | 'replaced'
        | 'signed'
        | 'mined'
        | 'reverted'
        | 'lost'
        | 'withdrawn'
        /** A reorganisation took it out of its block. */
        | 'reopened'
      /** Undefined as long as nothing is signed. */
      readonly hash: Hex | undefined
      /** Wei that the chain took for it; undefined before it is in a block, and where nobody said. */
      readonly fee?: bigint | undefined
      /** Of a wrap or unwrap that was mined: as much of the one as of the other. */
      readonly exchanged?: { readonly sell: Token; readonly buy: Token; readonly amount: bigint }
    }
  | { readonly type: 'transactions-final'; readonly blockNumber: bigint }
  | {
      /** The service can use it. Wei. */
      readonly type: 'deposit-indexed'
      readonly amount: bigint
    }
  | (EventOf<'contract-code'> & {
      /** What it had before; undefined where it was first seen. */
      readonly before: ContractCode | undefined
    })
