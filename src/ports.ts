import type { JournalEvent, JournalRecord } from './domain/book/journal.ts'
import type { DaemonState } from './domain/book/state.ts'
import type { AnsweredDomain, DelegationDraft } from './domain/call.ts'
import type { CodeSight } from './domain/contract.ts'
import type { GasLimits } from './domain/gas.ts'
import type { IntentId } from './domain/intent.ts'
import type { ModuleReply, ModuleView } from './domain/module.ts'
import type { GaslessRoute, Observation } from './domain/observation.ts'
import type { FeedReading, PriceFeed } from './domain/price.ts'
import type { Quote, QuoteRequest, Reply, ServiceOrder, TokenInfo } from './domain/quote.ts'
import type { BarReason } from './domain/reason.ts'
import type { GasTankMethods } from './domain/settings.ts'
import type { CustomStrategy } from './domain/strategy.ts'
import type { Pair, Token } from './domain/token.ts'
import type { Address, Hex } from './domain/units.ts'

/** Every effect the core can have, on one page. Times are epoch milliseconds unless a name says otherwise. */
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
  readonly observe: (event: Observation) => void
}

export type Clock = {
  now(): number
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. Long sleeps are allowed. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Resolves at `atMs`, or when the signal is aborted. May resolve early, and does within a second of a step of the wall clock: the
   * caller looks at the time again.
   */
  wake(atMs: number, signal: AbortSignal): Promise<void>
  /**
   * Cron texts at whose times `wake` resolves as well, instead of those given before. A help and no promise: what is
   * owed is the calendar's to say.
   */
  schedule(texts: readonly CronText[]): void
}

export type CronText = {
  readonly cron: string
  /** IANA time zone, e.g. `Europe/Berlin`. */
  readonly timezone: string
}

/** Jitter only; nothing that money depends on. */
export type Random = { jitter(): number }

/** The gasless swap service. One HTTP request each, no retries: those are the core's. Never rejects. */
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
  /** Node silent, behind or broken: nothing is known. */
  | { readonly tag: 'unavailable'; readonly message: string }
  /** The node refused the transaction or the call would revert. */
  | { readonly tag: 'refused'; readonly message: string }
  /** The sender cannot pay for gas and value. */
  | { readonly tag: 'insufficientFunds'; readonly message: string }

export type ChainReply<Value> = Reply<Value, ChainFault>

/** What `agree` nodes say alike. `disagreed` when they do not: then nothing is known. */
export type AgreedReply<Value> = Reply<
  Value,
  ChainFault | { readonly tag: 'disagreed'; readonly message: string }
>

/** Where a block stands in the chain. */
export type Sight = { readonly blockNumber: bigint; readonly blockTimeSeconds: number }

/** A block that was asked for by its number. */
export type BlockSight = {
  readonly hash: Hex
  readonly timeSeconds: number
  readonly depth: number
}

/** Which nodes may be asked what is final: one whose newest block is later than this (Unix seconds) is not believed. */
export type FinalQuery = { readonly latestSeconds: number }

export type CodeQuery = {
  readonly contracts: readonly Address[]
  readonly at: 'newest' | 'final'
}

export type FinalCount = Sight & {
  readonly transactionCount: number
  /** Time of the newest block, Unix seconds. */
  readonly headSeconds: number
}

/** Facts at the depth that `finality` asks for, by as many nodes as `agree` says (rule T6). */
export type FinalChain = {
  /**
   * What blocks are there by these numbers, in one batched request a node. A number that no block has yet, or of which
   * nodes say different things, is absent. `final` is the newest final block, `lag` how many blocks it lies below the
   * newest, as `depth` says of each.
   */
  blocks(query: FinalQuery & { readonly numbers: readonly bigint[] }): Promise<
    AgreedReply<{
      readonly final: bigint
      readonly head: Sight
      readonly lag: number
      readonly blocks: ReadonlyMap<bigint, BlockSight>
    }>
  >
  /** How many transactions an account has sent, at the newest final block; and of when the newest block is. */
  finalCount(query: FinalQuery & { readonly account: Address }): Promise<AgreedReply<FinalCount>>
  /**
   * What used up an account's transaction nonce, at a final block: one of these hashes, or something else, where the block in
   * which that happened holds none of them. Undefined while it is not used there. Receipts may come late, and the lack of
   * one says nothing.
   */
  nonceFate(
    query: FinalQuery & {
      readonly from: Address
      readonly nonce: number
      readonly hashes: readonly Hex[]
    },
  ): Promise<AgreedReply<NonceFate | undefined>>
}

/** Code of contracts, by as many nodes as `agree` says. */
export type CodeChain = {
  /**
   * What runs at contracts, at the newest block or at the newest final one. Nodes are asked until as many as have to agree say the
   * same of each, or all have been: a contract that none could read is absent.
   */
  code(query: FinalQuery & CodeQuery): Promise<ChainReply<ReadonlyMap<Address, CodeSight>>>
}

/** A transaction's outcome in the block that holds it. */
export type Receipt = {
  readonly hash: Hex
  readonly success: boolean
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** Wei that the chain took for it, what an L2 takes for its data included; undefined where the node does not say. */
  readonly fee?: bigint | undefined
}

/** What used a nonce: one of the transactions that were asked about, or none of them. */
export type NonceFate = Receipt | 'lost'

export type ViewQuery = {
  readonly owner: Address
  /** Balances and Permit2 allowances are read for each. */
  readonly tokens: readonly Token[]
  readonly feeds: readonly PriceFeed[]
  readonly permitNonce?: bigint
}

/** One block's answers. A token or feed whose read reverted is absent: what was not read is not zero (rule T8). */
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
  /** Calldata, lower-case; it tells orders of one amount apart. Undefined where it was not read. */
  readonly input: Hex | undefined
}

export type PermitView = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  readonly nonceUsed: boolean
  readonly ownerHasCode: boolean
  /** The transaction asked about; undefined while the node does not know a receipt for it. */
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

/** What a delegated account's transactions depend on, at one block. */
export type AccountView = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  readonly baseFeePerGas: bigint
  /** Wei. */
  readonly balance: bigint
  /** The account's own transaction nonce at the latest block. */
  readonly transactionCount: number
  /** The account's code: `0x`, an EIP-7702 delegation, or anything else. */
  readonly code: Hex
  /** Undefined where the code does not answer `nestedNonce()`. */
  readonly nestedNonce: bigint | undefined
  /** Undefined where the code does not answer `eip712Domain()`. */
  readonly domain: AnsweredDomain | undefined
  /**
   * What the GasTank says of the account, in wei, asked in both ways that its generations know; undefined where it does
   * not answer to one. It need not be what is left: in one generation charges never leave the contract.
   */
  readonly gasTank: Readonly<Record<GasTankMethods, bigint | undefined>>
}

/** Where something happened on a chain. */
export type MinedPlace = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly blockHash: Hex
}

/** What may have become of a permit whose nonce is used. */
export type Outgoing = {
  /** Transactions that moved some of the token out of the owner, oldest first. */
  readonly traces: readonly TransactionTrace[]
  /** Where the owner invalidated the nonce itself. */
  readonly cancelled: MinedPlace | undefined
}

/** A transfer of a token out of a wallet, in a block of the chain. */
export type Payment = Pick<Transfer, 'token' | 'amount' | 'logIndex'> & {
  readonly txHash: Hex
  readonly blockNumber: bigint
}

export type Chain = FinalChain &
  CodeChain & {
    /** Which chain the node serves, and the time of its newest block. */
    identity(): Promise<ChainReply<{ chainId: number; genesisHash: Hex; blockTimeSeconds: number }>>
    /** One batched request. */
    view(query: ViewQuery): Promise<ChainReply<ChainView>>
    /**
     * Nonce bit, head, whether the owner has code and, when named, a transaction's receipt: one batched request. Of what the receipt
     * says as many nodes are asked as have to agree.
     */
    permit(query: {
      readonly owner: Address
      readonly nonce: bigint
      readonly txHash?: Hex
    }): Promise<ChainReply<PermitView>>
    /** Whether a nonce is used at the newest final block. */
    finalPermit(
      query: FinalQuery & { readonly owner: Address; readonly nonce: bigint },
    ): Promise<AgreedReply<Sight & { readonly nonceUsed: boolean }>>
    /**
     * What left the owner since a block, and whether the owner invalidated a nonce. Transfers of nothing are no transfers:
     * anybody can make them. All of it or `unavailable`, never cut short. What is not in it may still have happened: a node
     * has state before it has logs.
     */
    outgoing(query: {
      readonly owner: Address
      readonly token: Address
      readonly nonce: bigint
      readonly fromBlock: bigint
      /** A node that has not reached this block is not asked. */
      readonly atLeastBlock: bigint
      /** Unix seconds after which none counts. */
      readonly untilSeconds: number
    }): Promise<ChainReply<Outgoing>>
    /**
     * What a wallet paid of these tokens in a range of blocks, both included; transfers of nothing, and burns, are no payments.
     * Found if one of as many nodes as `agree` says shows it. The newest blocks are searched first, and `fromBlock` says how far
     * back the search came: a node may take too many requests for a long range.
     */
    payments(query: {
      readonly owner: Address
      readonly tokens: readonly Address[]
      readonly fromBlock: bigint
      readonly toBlock: bigint
    }): Promise<ChainReply<{ readonly payments: readonly Payment[]; readonly fromBlock: bigint }>>
    /**
     * Nonce (of the latest block), gas with a margin and within what any chain allows, and fees for a call: of several nodes' fee
     * histories the middle, the lower of two. `baseFeePerGas` is what the next block asks for at the least. `raisedFeePerGas` is what
     * a replacement may offer where a node names a higher base fee, and the account can pay that. Whether
     * it can pay is judged by no more than `limits` allow.
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
    /** Sends raw bytes. A node that knows them already counts as success. */
    broadcast(raw: Hex): Promise<ChainReply<Hex>>
    /** First known receipt among the hashes, and the account's nonce at the latest block. */
    transaction(query: { readonly from: Address; readonly hashes: readonly Hex[] }): Promise<
      ChainReply<{
        readonly receipt: Receipt | undefined
        readonly latestNonce: number
      }>
    >
  }

/** The chain that the aggregation service works on: what calls need beside the rest. */
export type CallChain = FinalChain &
  CodeChain &
  Pick<Chain, 'identity' | 'draft' | 'broadcast' | 'transaction'> & {
    /** An account's code and `nestedNonce` at the newest final block; no nonce where its code does not answer. */
    finalAccount(
      query: FinalQuery & { readonly account: Address },
    ): Promise<AgreedReply<Sight & Pick<AccountView, 'code' | 'nestedNonce'>>>
    /** One batched request. */
    account(query: {
      readonly account: Address
      readonly gasTank: Address
    }): Promise<ChainReply<AccountView>>
    /** Runs a call without sending it; `refused` carries the revert reason. Gives the gas it used, estimated. */
    simulate(call: {
      readonly from: Address
      readonly to: Address
      readonly data: Hex
      readonly value: bigint
    }): Promise<ChainReply<{ readonly gasUsed: bigint }>>
    /** A mined transaction with its input and logs; undefined while the node does not know its receipt. */
    trace(hash: Hex): Promise<ChainReply<CallTrace | undefined>>
    /**
     * Transactions through a contract that hold `mark` in their input, from a block up to a time (Unix seconds), oldest first:
     * those of the first stretch of blocks that has any. They are found by the contract's events; out of whole blocks,
     * whatever their receiver, where it emits none, and always when the search is to be thorough. Of those that were
     * reverted some may be missing. `unavailable` rather than cut short. A thorough search that finds nothing was made on as
     * many nodes as `agree` says.
     */
    callsWith(query: {
      readonly contract: Address
      readonly mark: Hex
      readonly fromBlock: bigint
      /** A node that has not reached this block is not asked. */
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
  /** Wei that its blob gas came to; 0 without blobs. */
  readonly blobCost: bigint
  readonly input: Hex
}

/** Why the aggregation service gave no usable answer. The last two leave open whether a request took effect. */
export type AggregatorFault =
  | { readonly tag: 'accountNotFound'; readonly message: string }
  | { readonly tag: 'insufficientBalance'; readonly message: string }
  | { readonly tag: 'transactionNotFound'; readonly message: string }
  | { readonly tag: 'unauthenticated'; readonly message: string }
  /** Any other JSON-RPC error. */
  | { readonly tag: 'rejected'; readonly message: string }
  /** The service is limiting us. */
  | { readonly tag: 'rateLimited'; readonly message: string }
  | { readonly tag: 'unavailable'; readonly message: string }
  /** Nothing was asked: the question takes a login, and none is signed now. */
  | { readonly tag: 'unsigned'; readonly message: string }

export type AggregatorReply<Value> = Reply<Value, AggregatorFault>

/** Wei in the GasTank as the service counts it. Available is balance less outstanding charge. */
export type GasTankAccount = { readonly balance: bigint; readonly outstandingCharge: bigint }

/** The transaction aggregation service. One JSON-RPC request each, no retries. Never rejects. */
export type Aggregator = {
  /** Resolves with the transaction's hash, to be stored. Sending the same bytes again is harmless. */
  sendRawTransaction(raw: Hex): Promise<AggregatorReply<Hex>>
  /** The on-chain transaction that carried it; undefined until it has landed. A hint, to be checked on chain. */
  receipt(hash: Hex): Promise<AggregatorReply<{ readonly transactionHash: Hex } | undefined>>
  /** The same by the hash of the on-chain batch. */
  batchedReceipt(hash: Hex): Promise<AggregatorReply<{ readonly transactionHash: Hex } | undefined>>
  /** Of the wallet's own account: the request carries its signature. */
  accountInfo(): Promise<AggregatorReply<GasTankAccount>>
  /** Whatever fields the service gives: words for the operator. */
  transactionStatus(hash: Hex): Promise<AggregatorReply<Readonly<Record<string, unknown>>>>
}

export type SignedTransaction = { readonly raw: Hex; readonly hash: Hex }

/**
 * Holds a private key; the only thing that does. It signs whatever it is given, so nobody but the signer is given one.
 * Deterministic: the same input gives the same bytes.
 */
export type Key = {
  readonly address: Address
  signDigest(digest: Hex): Hex
  signTransaction(draft: TransactionDraft): SignedTransaction
  /**
   * A type-4 transaction to the zero address that carries the owner's authorization (EIP-7702, the service's setup
   * rule 3). Throws for chain id 0: such an authorization would hold on every chain (rule A4).
   */
  signDelegation(draft: DelegationDraft): SignedTransaction
}

/** A signature, or why there is to be none now. */
export type Signature<Value> =
  | { readonly ok: true; readonly value: Value }
  | {
      readonly ok: false
      readonly reason: BarReason
      readonly detail: string
    }

/**
 * The only way to a signature (rule T1). What is signed is named and never handed over: the signer takes it from the records
 * that are on disk, and each time judges it by the operator's files as they are now, the caps, the kill switch and the time.
 * Deterministic: the same record gives the same bytes.
 */
export type Signer = {
  readonly address: Address
  /** Signature of the permit that is on record for an intent. */
  permit(id: IntentId): Signature<Hex>
  /**
   * Calldata by which the account makes the call that is on record for an intent, with its owner's signature: for the
   * service, or for the direct fallback.
   */
  onCall(id: IntentId, route: 'service' | 'direct'): Signature<Hex>
  /** The transaction that gives that call to the aggregation service. */
  envelope(id: IntentId): Signature<SignedTransaction>
  /** A transaction of our own, by the id under which it is on record. */
  transaction(id: string): Signature<SignedTransaction>
  /** The EIP-7702 delegation of the wallet's account that was put on record last. */
  delegation(): Signature<SignedTransaction>
  /** The one request to the aggregation service that takes a login: what its own account holds. None under a halt. */
  login(requestId: number): Signature<Login>
}

/** A request to the aggregation service, and what its signature header says of just these bytes. */
export type Login = { readonly requestId: number; readonly body: string; readonly header: string }

export type Journal = {
  /** Live view of the fold. Read it, never write it. */
  readonly state: DaemonState
  /**
   * Applies the events to `state` at once, all or none, and resolves when they are on disk. Throws InvariantError
   * synchronously for an event that the state does not allow; rejects when the disk does, and then nothing more
   * is accepted. Of no events it resolves when all that was appended before is on disk.
   */
  append(...events: readonly JournalEvent[]): Promise<void>
  /** Whether the newest record of that name is on disk, or none was appended; see `recordName` of `book/journal.ts`. */
  isOnDisk(name: string): boolean
  /**
   * Records in order, oldest first; those that were moved to an archive are not among them. With `from` they are, and files that
   * lie wholly before it are not read, but for the last of them: what goes on after it was mostly begun there.
   */
  records(from?: RecordsFrom): AsyncIterable<JournalRecord>
}

/** Where somebody begins to read who needs no more: a record's number, or a time, epoch ms. */
export type RecordsFrom = { readonly seq?: number; readonly atMs?: number }

/** What bars signatures beside the journal. */
export type Guard = {
  /**
   * Why nothing may be signed at this moment, in words; undefined while nothing bars it. Asked right before each
   * signature, so it has to be cheap.
   */
  barred(): string | undefined
}

/**
 * An operator's halt outside the journal: a file of the state directory, which can be made without a config, a daemon or
 * a socket. It bars signatures through the guard as long as it is there.
 */
export type HaltFile = {
  /** What it says, where it is there for certain. */
  standing(): string | undefined
  /** Takes it away, durably. Throws where that is not certain; then it has to count as standing. */
  lift(): void
}

/** The operator's own modules, which decide apart from the daemon. */
export type Modules = {
  /**
   * Asks a strategy's module about one slot. Never rejects, and answers within MODULE_ANSWER_MS whatever the module
   * does; what it answers is outside text.
   */
  decide(strategy: CustomStrategy, view: ModuleView): Promise<ModuleReply>
  /** What the module of a strategy is, with all that it imports; also once it has ended. Undefined where it was not started. */
  versionOf(strategy: CustomStrategy): string | undefined
}

/** Paced and bounded requests to a service, by route. A task that has begun always runs to its end. */
export type Queue<Route extends string> = {
  run<Result>(route: Route, task: Task<Result>): Promise<Result>
  /**
   * The same for what is worth nothing once `end` is aborted: a task that has not begun by then never does, and undefined
   * is the answer at once.
   */
  runUnless<Result>(end: AbortSignal, route: Route, task: Task<Result>): Promise<Result | undefined>
}

export type Task<Result> = (turn: Turn) => Promise<Result>

export type Turn = {
  /** Nothing is sent in this turn: it counts against no limit, and somebody else may have it at once. */
  giveBack(): undefined
}

/** A queue in which pairs of requests stand in line together, where the answer to the first grows old. */
export type PairQueue<Route extends string> = Queue<Route> & {
  /** A place for a pair, in nobody's way until it lines up. */
  place(pair: {
    readonly first: Route
    readonly second: Route
    /** The lowest goes first; of one rank the place that was made first. */
    readonly rank: number
    /** Asked about once a second while the place waits for anything: when it says no, waiting is over. */
    readonly mayWait: () => boolean
  }): Place
}

export type Place = {
  /**
   * Lines up. True once a turn of the second route is at most `nearMs` ahead, as far as limits and those who have come that
   * far before allow; false when `end` was aborted or it may not wait any longer.
   */
  near(end: AbortSignal, nearMs: number): Promise<boolean>
  /** Runs in the next turn of the first route; undefined where it never did, as with `runUnless`. */
  first<Result>(end: AbortSignal, task: Task<Result>): Promise<Result | undefined>
  /** The same of the second route. Whoever gives that turn back may ask for another. */
  second<Result>(end: AbortSignal, task: Task<Result>): Promise<Result | undefined>
  /** Makes room for others. It may line up again, where it stood. */
  leave(): void
}
