import type { ModuleReply, ModuleStrategy, ModuleView } from './domain/module.ts'
import type { GasLimits } from './domain/money/gas.ts'
import type { FeedReading, PriceFeed } from './domain/money/price.ts'
import type { Pair, Token } from './domain/money/token.ts'
import type { Address, Hex } from './domain/money/units.ts'
import type { AnsweredDomain, DelegationDraft } from './domain/order/call.ts'
import type { CodeAnswers } from './domain/order/contract.ts'
import type { IntentId } from './domain/order/intent.ts'
import type { Quote, QuoteRequest, Reply, ServiceOrder, TokenInfo } from './domain/order/quote.ts'
import type { BarReason } from './domain/order/reason.ts'
import type { CronRecurrence } from './domain/schedule/schedule.ts'
import type { GasTankMethods } from './domain/settings.ts'
import type { JournalEvent, JournalRecord } from './journal/events/registry.ts'
import type { GaslessRoute, RuntimeEvent } from './journal/runtime-event.ts'
import type { DaemonState } from './journal/state/daemon-state.ts'

/** All effects of the core. Times are epoch milliseconds unless a name says otherwise. */
export type Ports = {
  readonly clock: Clock
  readonly random: Random
  readonly gasless: Gasless
  readonly chain: Chain
  readonly signer: Signer
  readonly journal: Journal
  readonly guard: Guard
  readonly haltFile: HaltFile
  readonly modules: Modules
  /** Of the gasless service. */
  readonly queue: PairQueue<GaslessRoute>
  readonly observe: (event: RuntimeEvent) => void
}

export type Clock = {
  now(): number
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. Long sleeps are allowed. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Resolves at `atMs`, on abort, or early (within a second of a clock step): the caller must check the time. */
  wake(atMs: number, signal: AbortSignal): Promise<void>
  /** `wake` also resolves at these times, which replace earlier ones. A hint only: the calendar decides what is due. */
  schedule(crons: readonly CronRecurrence[]): void
  /** Whether `wake` resolves at a schedule's times, so that it needs no timer. */
  wakesAt(cron: CronRecurrence): boolean
}

/** Jitter only; nothing that money depends on. */
type Random = { jitter(): number }

/** The gasless swap service. One HTTP request each, no retries: the core retries. Never rejects. */
export type Gasless = {
  tokens(): Promise<Reply<readonly TokenInfo[]>>
  quote(request: QuoteRequest): Promise<Reply<Quote>>
  submit(order: {
    readonly quoteId: string
    readonly signature: Hex
    readonly clientOrderId: string
  }): Promise<Reply<ServiceOrder>>
  order(orderId: string): Promise<Reply<ServiceOrder>>
  /** Service clock minus local clock, by the latest Date header; undefined before the first reply. */
  clockOffsetMs(): number | undefined
}

export type ChainFault =
  /** The node is silent, lagging or broken: nothing is known. */
  | { readonly tag: 'unavailable'; readonly message: string }
  /** The node refused the transaction or the call would revert. */
  | { readonly tag: 'refused'; readonly message: string }
  /** The sender cannot pay for gas and value. */
  | { readonly tag: 'insufficientFunds'; readonly message: string }

export type ChainReply<Value> = Reply<Value, ChainFault>

/** The answer of a quorum. `disagreed`: there is none, so nothing is known. */
export type AgreedReply<Value> = Reply<
  Value,
  ChainFault | { readonly tag: 'disagreed'; readonly message: string }
>

export type SeenBlock = { readonly blockNumber: bigint; readonly blockTimeSeconds: number }

/** A block requested by its number. */
export type BlockSnapshot = {
  readonly hash: Hex
  readonly timeSeconds: number
  readonly depth: number
}

/** Nodes whose newest block is later than this (Unix seconds) are rejected. */
export type FinalQuery = { readonly latestSeconds: number }

export type CodeQuery = {
  readonly contracts: readonly Address[]
  readonly at: 'newest' | 'final'
}

export type FinalCount = SeenBlock & {
  readonly transactionCount: number
  /** Time of the newest block, Unix seconds. */
  readonly headSeconds: number
}

/** Data at the depth of `finality`, from a quorum of `agree` nodes (rule T6). */
export type FinalChain = {
  /**
   * Blocks by number, in one batched request per node. Numbers without a block, or with conflicting answers, are absent.
   * `final` is the newest final block, `lag` its distance from the newest block, as `depth` requires.
   */
  blocks(query: FinalQuery & { readonly numbers: readonly bigint[] }): Promise<
    AgreedReply<{
      readonly final: bigint
      readonly head: SeenBlock
      readonly lag: number
      readonly blocks: ReadonlyMap<bigint, BlockSnapshot>
    }>
  >
  /** Number of transactions sent by an account at the newest final block, and the newest block's time. */
  finalCount(query: FinalQuery & { readonly account: Address }): Promise<AgreedReply<FinalCount>>
  /**
   * What used an account's transaction nonce at a final block: one of these hashes, or another transaction if the block
   * contains none of them. Undefined while unused. Receipts may come late, so a missing one proves nothing.
   */
  nonceOutcome(
    query: FinalQuery & {
      readonly from: Address
      readonly nonce: number
      readonly hashes: readonly Hex[]
    },
  ): Promise<AgreedReply<NonceOutcome | undefined>>
}

/** Contract code from a quorum of `agree` nodes. */
export type CodeChain = {
  /**
   * Contract code at the newest or the newest final block. Queries nodes until a quorum agrees on each contract, or all
   * have answered. Contracts that no node could read are absent.
   */
  code(query: FinalQuery & CodeQuery): Promise<ChainReply<ReadonlyMap<Address, CodeAnswers>>>
}

/** A mined transaction's outcome. */
export type Receipt = {
  readonly hash: Hex
  readonly success: boolean
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** Cost in wei, including an L2's data fee; undefined if not reported. */
  readonly fee?: bigint | undefined
}

/** The transaction that used a nonce: one of those requested, or another. */
export type NonceOutcome = Receipt | 'lost'

export type ViewQuery = {
  readonly owner: Address
  /** Balances and Permit2 allowances are read for each. */
  readonly tokens: readonly Token[]
  readonly feeds: readonly PriceFeed[]
  readonly permitNonce?: bigint
}

/** One block's answers. Tokens and feeds whose read reverted are absent: unread is not zero (rule T8). */
export type ChainView = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  readonly nativeBalance: bigint
  readonly ownerHasCode: boolean
  readonly balances: ReadonlyMap<Address, bigint>
  readonly allowances: ReadonlyMap<Address, bigint>
  readonly readings: ReadonlyMap<Pair, FeedReading>
  readonly permitNonceUsed: boolean | undefined
}

export type Transfer = {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
  readonly logIndex: number
}

export type TransactionTrace = {
  readonly hash: Hex
  readonly success: boolean
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly transfers: readonly Transfer[]
  /** Lower-case calldata, which distinguishes orders of equal amounts. Undefined if not read. */
  readonly input: Hex | undefined
}

export type PermitView = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  readonly nonceUsed: boolean
  readonly ownerHasCode: boolean
  /** The requested transaction; undefined while the node has no receipt for it. */
  readonly transaction: TransactionTrace | undefined
}

export type TransactionDraft = {
  readonly chainId: number
  readonly from: Address
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
  readonly nonce: number
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** State that a delegated account's transactions depend on, at one block. */
export type AccountView = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  readonly baseFeePerGas: bigint
  /** Wei. */
  readonly balance: bigint
  /** The account's own transaction nonce at the latest block. */
  readonly transactionCount: number
  /** `0x`, an EIP-7702 delegation, or anything else. */
  readonly code: Hex
  /** Undefined if the code does not answer `nestedNonce()`. */
  readonly nestedNonce: bigint | undefined
  /** Undefined if the code does not answer `eip712Domain()`. */
  readonly domain: AnsweredDomain | undefined
  /**
   * The GasTank's figures in wei by both interface generations; undefined if unsupported. Not necessarily the remaining
   * balance: in one generation charges never leave the contract.
   */
  readonly gasTank: Readonly<Record<GasTankMethods, bigint | undefined>>
}

export type MinedPlace = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** Possible outcomes of a permit with a used nonce. */
export type Outgoing = {
  /** Transactions that moved the token out of the owner's wallet, oldest first. */
  readonly traces: readonly TransactionTrace[]
  /** Where the owner invalidated the nonce. */
  readonly cancelled: MinedPlace | undefined
}

/** A mined token transfer out of a wallet. */
export type Payment = Pick<Transfer, 'token' | 'amount' | 'logIndex'> & {
  readonly txHash: Hex
  readonly blockNumber: bigint
}

export type Chain = FinalChain &
  CodeChain & {
    /** The node's chain, and the time of its newest block. */
    identity(): Promise<ChainReply<{ chainId: number; genesisHash: Hex; blockTimeSeconds: number }>>
    /** One batched request. */
    view(query: ViewQuery): Promise<ChainReply<ChainView>>
    /**
     * Nonce bit, head, whether the owner has code and, if requested, a transaction's receipt, in one batched request. The
     * receipt is confirmed by a quorum.
     */
    permit(query: {
      readonly owner: Address
      readonly nonce: bigint
      readonly txHash?: Hex
    }): Promise<ChainReply<PermitView>>
    /** Whether a nonce is used at the newest final block. */
    finalPermit(
      query: FinalQuery & { readonly owner: Address; readonly nonce: bigint },
    ): Promise<AgreedReply<SeenBlock & { readonly nonceUsed: boolean }>>
    /**
     * Transfers out of the owner since a block, and whether the owner invalidated a nonce. Ignores zero transfers, which
     * anyone can emit. Complete or `unavailable`. A missing transfer may still have happened, because nodes have state
     * before logs.
     */
    outgoing(query: {
      readonly owner: Address
      readonly token: Address
      readonly nonce: bigint
      readonly fromBlock: bigint
      /** Nodes that have not reached this block are skipped. */
      readonly atLeastBlock: bigint
      /** Unix seconds; later transfers do not count. */
      readonly untilSeconds: number
    }): Promise<ChainReply<Outgoing>>
    /**
     * A wallet's payments in these tokens within an inclusive block range, without zero transfers and burns. One node of
     * the quorum suffices. Searches the newest blocks first; `fromBlock` is how far it got, because a long range may take
     * too many requests.
     */
    payments(query: {
      readonly owner: Address
      readonly tokens: readonly Address[]
      readonly fromBlock: bigint
      readonly toBlock: bigint
    }): Promise<ChainReply<{ readonly payments: readonly Payment[]; readonly fromBlock: bigint }>>
    /**
     * A call's nonce (latest block), gas with margin within all chains' limits, and fees: the median of several nodes, the
     * lower of two. `baseFeePerGas` is the minimum of the next block. `raisedFeePerGas` is the maximum for a replacement if
     * a node reports a higher base fee and the account can pay it. The required balance is bounded by `limits`.
     */
    draft(call: {
      readonly from: Address
      readonly to: Address
      readonly data: Hex
      readonly value: bigint
      readonly limits?: Pick<GasLimits, 'maxFeePerGas'>
    }): Promise<
      ChainReply<
        TransactionDraft & { readonly baseFeePerGas: bigint; readonly raisedFeePerGas?: bigint }
      >
    >
    /** Sends raw bytes. A node that already has them counts as success. */
    broadcast(raw: Hex): Promise<ChainReply<Hex>>
    /** First known receipt among the hashes, and the account's nonce at the latest block. */
    transaction(query: { readonly from: Address; readonly hashes: readonly Hex[] }): Promise<
      ChainReply<{
        readonly receipt: Receipt | undefined
        readonly latestNonce: number
      }>
    >
  }

/** The aggregation service's chain, with the reads that calls need. */
export type CallChain = FinalChain &
  CodeChain &
  Pick<Chain, 'identity' | 'draft' | 'broadcast' | 'transaction'> & {
    /** An account's code and `nestedNonce` at the newest final block; no nonce if its code does not answer. */
    finalAccount(
      query: FinalQuery & { readonly account: Address },
    ): Promise<AgreedReply<SeenBlock & Pick<AccountView, 'code' | 'nestedNonce'>>>
    /** One batched request. */
    account(query: {
      readonly account: Address
      readonly gasTank: Address
    }): Promise<ChainReply<AccountView>>
    /** Simulates a call; `refused` has the revert reason. Returns the estimated gas. */
    simulate(call: {
      readonly from: Address
      readonly to: Address
      readonly data: Hex
      readonly value: bigint
    }): Promise<ChainReply<{ readonly gasUsed: bigint }>>
    /** A mined transaction with input and logs; undefined while the node has no receipt. */
    trace(hash: Hex): Promise<ChainReply<CallTrace | undefined>>
    /**
     * Transactions through a contract with `mark` in their input, from a block up to a time (Unix seconds), oldest first,
     * from the first block range that has any. Found by the contract's events; if it emits none, or for a thorough search,
     * in whole blocks with any receiver. Reverted ones may be missing. `unavailable` instead of an incomplete result. A
     * thorough search without matches is confirmed by `agree` nodes.
     */
    callsWith(query: {
      readonly contract: Address
      readonly mark: Hex
      readonly fromBlock: bigint
      /** Nodes that have not reached this block are skipped. */
      readonly atLeastBlock: bigint
      readonly untilSeconds: number
      readonly isThorough: boolean
    }): Promise<ChainReply<readonly CallTrace[]>>
  }

export type CallTrace = {
  readonly hash: Hex
  readonly success: boolean
  readonly from: Address
  readonly to: Address | undefined
  readonly blockNumber: bigint
  readonly blockHash: Hex
  readonly gasUsed: bigint
  readonly effectiveGasPrice: bigint
  /** Blob gas cost in wei; 0 without blobs. */
  readonly blobCost: bigint
  readonly input: Hex
}

/** Why the aggregation service has no usable answer. The last two leave the request's effect open. */
export type AggregatorFault =
  | { readonly tag: 'accountNotFound'; readonly message: string }
  | { readonly tag: 'insufficientBalance'; readonly message: string }
  | { readonly tag: 'transactionNotFound'; readonly message: string }
  | { readonly tag: 'unauthenticated'; readonly message: string }
  /** Any other JSON-RPC error. */
  | { readonly tag: 'rejected'; readonly message: string }
  | { readonly tag: 'rateLimited'; readonly message: string }
  | { readonly tag: 'unavailable'; readonly message: string }
  /** Not sent: the request needs a login, and the signer refuses one now. */
  | { readonly tag: 'unsigned'; readonly message: string }

export type AggregatorReply<Value> = Reply<Value, AggregatorFault>

/** Wei in the GasTank by the service's count. Available is balance less outstanding charge. */
export type GasTankAccount = { readonly balance: bigint; readonly outstandingCharge: bigint }

/** The transaction aggregation service. One JSON-RPC request each, no retries. Never rejects. */
export type Aggregator = {
  /** Resolves with the transaction's hash, which must be stored. Resending the same bytes is harmless. */
  sendRawTransaction(raw: Hex): Promise<AggregatorReply<Hex>>
  /** The same, as a bundle of exactly this transaction for a block. */
  sendBundle(raw: Hex, blockNumber: bigint): Promise<AggregatorReply<Hex>>
  /** The on-chain transaction of the call; undefined while pending. A hint, to be verified on chain. */
  receipt(hash: Hex): Promise<AggregatorReply<{ readonly transactionHash: Hex } | undefined>>
  /** The same by the hash of the on-chain batch. */
  batchedReceipt(hash: Hex): Promise<AggregatorReply<{ readonly transactionHash: Hex } | undefined>>
  /** The wallet's own account, authenticated by a signature. */
  accountInfo(): Promise<AggregatorReply<GasTankAccount>>
  /** All fields of the service; for messages only. */
  transactionStatus(hash: Hex): Promise<AggregatorReply<Readonly<Record<string, unknown>>>>
}

export type SignedTransaction = { readonly raw: Hex; readonly hash: Hex }

/** The only holder of the private key. Signs any input, so only the signer has it. Deterministic. */
export type Key = {
  readonly address: Address
  signDigest(digest: Hex): Hex
  signTransaction(draft: TransactionDraft): SignedTransaction
  /**
   * A type-4 transaction to the zero address with the owner's authorization (EIP-7702, the service's setup rule 3). Throws
   * for chain id 0, which would be valid on every chain (rule A4).
   */
  signDelegation(draft: DelegationDraft): SignedTransaction
}

/** A signature, or why the signer refuses. */
export type Signature<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      readonly reason: BarReason
      readonly detail: string
    }

/**
 * The only way to a signature (rule T1). Callers name a durable record; the signer reads it from the journal and checks it
 * each time against the current operator files, caps, kill switch and time. Deterministic.
 */
export type Signer = {
  readonly address: Address
  /** The recorded permit of an intent. */
  permit(id: IntentId): Signature<Hex>
  /** Signed calldata of an intent's recorded call, for the service or the direct fallback. */
  onCall(id: IntentId, route: 'service' | 'direct'): Signature<Hex>
  /** The transaction that carries that call to the aggregation service. */
  envelope(id: IntentId): Signature<SignedTransaction>
  /** A recorded wallet transaction, by id. */
  transaction(id: string): Signature<SignedTransaction>
  /** The last recorded EIP-7702 delegation of the wallet's account. */
  delegation(): Signature<SignedTransaction>
  /** The only aggregation service request with a login: its account's funds. Refused during a halt. */
  login(requestId: number): Signature<Login>
}

/** A request to the aggregation service, and the signature header for exactly these bytes. */
export type Login = { readonly requestId: number; readonly body: string; readonly header: string }

export type Journal = {
  /** Live reducer state. Read-only. */
  readonly state: DaemonState
  /**
   * Applies the events to `state` at once, all or none, and resolves when they are durable. Throws InvariantError
   * synchronously for an event that the state does not allow. Rejects if the disk fails, and then accepts nothing more.
   * Without events, resolves when all earlier appends are durable.
   */
  append(...events: readonly JournalEvent[]): Promise<void>
  /**
   * The same for events that no signature depends on, without waiting: they reach the disk with the next append, or within
   * some milliseconds. Throws if the journal accepts nothing more.
   */
  note(...events: readonly JournalEvent[]): void
  /** Whether the newest record of that name is durable, or none was appended; see `recordName` of `journal/events/registry.ts`. */
  isOnDisk(name: string): boolean
  /**
   * Records, oldest first, without archived ones. With `from`, includes archived ones and skips earlier files, except the
   * last of them, where most open orders began.
   */
  records(from?: RecordsFrom): AsyncIterable<JournalRecord>
}

/** Start of a read: a record's number, or a time, epoch ms. */
export type RecordsFrom = { readonly seq?: number; readonly atMs?: number }

/** Blocks signatures independently of the journal. */
export type Guard = {
  /** Why nothing may be signed now; undefined if allowed. Called before each signature, so it must be cheap. */
  blocked(): string | undefined
}

/** An operator's halt file in the state directory, which needs no daemon. While it exists, the guard blocks signatures. */
export type HaltFile = {
  /** Its text, if it certainly exists. */
  status(): string | undefined
  /** Removes it durably. Throws if that is uncertain; it then still counts as present. */
  lift(): void
}

/** The operator's custom modules, which run outside the daemon. */
export type Modules = {
  /** Runs a strategy's module for one slot. Never rejects, and answers within MODULE_ANSWER_MS. The answer is untrusted. */
  decide(strategy: ModuleStrategy, view: ModuleView): Promise<ModuleReply>
  /**
   * The same for consecutive slots: replies to the first views, at least one, in one exchange. It ends with the first reply
   * that is no skip. Each view is given the memory of the replies before it.
   */
  decideAhead?(
    strategy: ModuleStrategy,
    views: readonly ModuleView[],
  ): Promise<readonly ModuleReply[]>
  /** Version of a strategy's module including all imports, also after it ended. Undefined if it was not started. */
  versionOf(strategy: ModuleStrategy): string | undefined
}

/** Rate-limited requests to a service, by route. A started task always runs to its end. */
export type Queue<Route extends string> = {
  run<Result>(route: Route, task: Task<Result>): Promise<Result>
  /** Like `run`, but a task that has not started when `end` aborts never does, and undefined is returned at once. */
  runUnless<Result>(end: AbortSignal, route: Route, task: Task<Result>): Promise<Result | undefined>
}

export type Task<Result> = (turn: Turn) => Promise<Result>

export type Turn = {
  /** Nothing is sent in this turn: it counts against no limit, and the next task may use it. */
  giveBack(): undefined
}

/** A queue that also orders request pairs whose first answer must still be fresh for the second request. */
export type PairQueue<Route extends string> = Queue<Route> & {
  /** A pair's ticket. It takes no turn until it waits. */
  ticket(pair: {
    readonly first: Route
    readonly second: Route
    /** The lowest goes first; ties in creation order. */
    readonly rank: number
    /** Called about once a second while the ticket waits: false ends the wait. */
    readonly mayWait: () => boolean
  }): Ticket
}

export type Ticket = {
  /**
   * Resolves with true once a turn of the second route is at most `nearMs` ahead, as far as limits and earlier pairs allow;
   * false if `end` aborted or it may not wait longer.
   */
  near(end: AbortSignal, nearMs: number): Promise<boolean>
  /** Runs in the first route's next turn; undefined if it never did, like `runUnless`. */
  first<Result>(end: AbortSignal, task: Task<Result>): Promise<Result | undefined>
  /** The same for the second route. After giving the turn back, it may be called again. */
  second<Result>(end: AbortSignal, task: Task<Result>): Promise<Result | undefined>
  /** Lets others pass. It may wait again and keeps its place. */
  leave(): void
}
