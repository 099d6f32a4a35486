import type { FeedReading } from '../../../src/domain/money/price.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { Permit } from '../../../src/domain/order/permit.ts'
import type { TransactionTrace, Transfer } from '../../../src/ports.ts'
import { fingerprint } from '../../support/random-hex.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { Codes } from './codes.ts'

export const BLOCK_SECONDS = 2
const UNLIMITED = 2n ** 256n - 1n
/** Where gas, wrapped ETH and the counterparty's tokens live. */
export const POOL: Address = '0x00000000000000000000000000000000000000ff'

/** A value with its full history, so that a lagging node can answer from an older block. */
export class Timeline<Value> {
  readonly #entries: { readonly block: number; readonly value: Value }[] = []

  set(block: number, value: Value): void {
    this.#entries.push({ block, value })
  }

  /** Drops values set after a block. */
  cut(block: number): void {
    while ((this.#entries.at(-1)?.block ?? block) > block) this.#entries.pop()
  }

  at(block: number): Value | undefined {
    return this.#entries.findLast((entry) => entry.block <= block)?.value
  }
}

/** A trace with the true time of its block and its settlements, if any. */
export type MinedTransaction = TransactionTrace & {
  readonly timeSeconds: number
  readonly settled: readonly SettlementItem[]
  /** Wei that its sender paid for gas; 0 for other senders than the wallet. */
  readonly fee: bigint
}

/** Repeats a transaction that a reorganisation took out of its block. */
type Again = () => void

/** A branch of the chain: the blocks after a fork, mined from some moment on. */
type Branch = { readonly fork: number }

/** Nonces that the owner used up itself, and how. */
export type Invalidation = {
  readonly owner: Address
  readonly nonce: bigint
  readonly txHash: Hex
  readonly blockNumber: bigint
}

/** One order inside a settlement: the permit's limits and the real movement. */
export type SettlementItem = {
  readonly permit: Permit
  readonly paid: bigint
  readonly received: bigint
}

/** The form of a settlement on the chain. */
type SettlementShape = { readonly zeroes?: number; readonly hidesAmounts?: boolean | undefined }

/** A feed's answer at one block. */
type FeedRound = Omit<FeedReading, 'sequencer'>

/** A call that changes the chain; runs inside a transaction and returns its movements, or undefined to revert. */
type Call = (block: number) => readonly Omit<Transfer, 'logIndex'>[] | undefined

/** The true chain: blocks of two seconds of true time, balances, Permit2, feeds. Has no faults. */
export class Ledger {
  readonly transactions: MinedTransaction[] = []
  readonly invalidations: Invalidation[] = []
  readonly codes = new Codes()
  /** Called when blocks are taken back: everything after the fork is undone. */
  readonly onReorg: ((fork: number) => void)[] = []
  readonly #branches: Branch[] = []
  readonly #again = new Map<Hex, Again>()
  readonly #byHash = new Map<Hex, MinedTransaction>()
  readonly #genesisMs: number
  readonly #firstBlock: number
  readonly #clock: VirtualClock
  readonly #amounts = new Map<string, Timeline<bigint>>()
  readonly #nonces = new Map<string, number>()
  readonly #readings = new Map<string, Timeline<FeedRound>>()
  readonly #tokens = new Set<Address>()
  readonly #code = new Map<Address, number>()

  constructor(clock: VirtualClock) {
    this.#clock = clock
    this.#genesisMs = Math.floor(clock.trueMs / 1000) * 1000 - 3_600_000
    this.#firstBlock = this.block
  }

  get block(): number {
    return Math.floor((this.#clock.trueMs - this.#genesisMs) / (BLOCK_SECONDS * 1000))
  }

  timeSeconds(block: number): number {
    return this.#genesisMs / 1000 + block * BLOCK_SECONDS
  }

  /** Start of the next block, true epoch milliseconds. */
  nextBlockMs(): number {
    return this.timeSeconds(this.block + 1) * 1000
  }

  /** A block's hash; a reorganisation replaces it. */
  blockHash(block: number): Hex {
    const branch = this.#branches.findLastIndex(({ fork }) => fork < block)
    return fingerprint(`block ${block} of branch ${branch}`)
  }

  /**
   * Takes back the last blocks and everything that happened in them. Settlements are mined again after `againAfterMs`
   * if they are still valid, or never; so are a wallet's own transactions, unless the nodes have lost them.
   */
  reorg(change: {
    readonly blocks: number
    readonly againAfterMs: number | undefined
    readonly losesOwn?: boolean
  }): void {
    // The initial state stays.
    const fork = Math.max(this.block - change.blocks, this.#firstBlock)
    const gone = this.transactions.filter(({ blockNumber }) => blockNumber > BigInt(fork))
    for (const { hash } of gone) this.#byHash.delete(hash)
    keepOnly(this.transactions, fork)
    keepOnly(this.invalidations, fork)
    for (const line of this.#amounts.values()) line.cut(fork)
    for (const marks of [this.#nonces, this.#code])
      for (const [key, block] of marks) if (block > fork) (marks as Map<string, number>).delete(key)
    this.codes.cut(fork)
    this.#branches.push({ fork })
    for (const report of this.onReorg) report(fork)
    const { againAfterMs } = change
    const kept = gone.filter(({ settled, fee }) =>
      fee > 0n ? change.losesOwn !== true : settled.length === 0 || againAfterMs !== undefined,
    )
    const again = kept.flatMap(({ hash }) => this.#again.get(hash) ?? [])
    this.#clock.schedule(this.#clock.trueMs + (againAfterMs ?? 0), () => {
      for (const make of again) make()
    })
  }

  transaction(hash: Hex): MinedTransaction | undefined {
    return this.#byHash.get(hash)
  }

  balance(asset: Address | 'native', holder: Address, block = this.block): bigint {
    return this.#amounts.get(`${asset} ${holder}`)?.at(block) ?? 0n
  }

  allowance(token: Address, owner: Address, block = this.block): bigint {
    return this.#amounts.get(`allowance ${token} ${owner}`)?.at(block) ?? 0n
  }

  /** Whether a token contract exists: an address that never had a holder is none. */
  isToken(address: Address): boolean {
    return this.#tokens.has(address)
  }

  setBalance(asset: Address | 'native', holder: Address, amount: bigint): void {
    if (asset !== 'native') this.#tokens.add(asset)
    this.#setAmount(`${asset} ${holder}`, amount)
  }

  setAllowance(token: Address, owner: Address, amount: bigint): void {
    this.#setAmount(`allowance ${token} ${owner}`, amount)
  }

  nonceUsed(owner: Address, nonce: bigint, block = this.block): boolean {
    const usedAt = this.#nonces.get(`${owner} ${nonce}`)
    return usedAt !== undefined && usedAt <= block
  }

  /** Cancels a permit, as its owner may do directly at Permit2. */
  invalidateNonce(owner: Address, nonce: bigint): void {
    const blockNumber = BigInt(this.block)
    const txHash = fingerprint(`invalidation of ${nonce} at ${blockNumber}`)
    this.invalidations.push({ owner, nonce, txHash, blockNumber })
    this.#nonces.set(`${owner} ${nonce}`, this.block)
  }

  /** Whether a permit can never execute from now on. */
  isDead(permit: Permit): boolean {
    return this.isPast(permit) || this.nonceUsed(permit.owner, permit.nonce)
  }

  isPast({ deadlineSeconds }: Permit): boolean {
    return this.timeSeconds(this.block) > deadlineSeconds
  }

  reading(feed: Address, block = this.block): FeedRound | undefined {
    return this.#readings.get(feed)?.at(block)
  }

  setReading(feed: Address, reading: Omit<FeedRound, 'updatedAtSeconds'>): void {
    const line = this.#readings.get(feed) ?? new Timeline<FeedRound>()
    this.#readings.set(feed, line)
    line.set(this.block, { ...reading, updatedAtSeconds: this.timeSeconds(this.block) })
  }

  hasCode(address: Address, block = this.block): boolean {
    return (this.#code.get(address) ?? Number.POSITIVE_INFINITY) <= block
  }

  growCode(address: Address): void {
    this.#code.set(address, this.block)
  }

  /** Mines a call: all of its transfers happen, or none. */
  mine(transaction: {
    hash: Hex
    input: Hex
    call: Call
    settled?: readonly SettlementItem[]
    again?: Again
    fee?: bigint
  }): MinedTransaction {
    const { block } = this
    const { again, fee = 0n } = transaction
    if (again !== undefined) this.#again.set(transaction.hash, again)
    const moved = transaction.call(block)
    const transfers = (moved ?? []).map((transfer, logIndex) => ({ ...transfer, logIndex }))
    const mined: MinedTransaction = {
      hash: transaction.hash,
      success: moved !== undefined,
      blockNumber: BigInt(block),
      blockHash: this.blockHash(block),
      transfers,
      input: transaction.input,
      timeSeconds: this.timeSeconds(block),
      settled: moved === undefined ? [] : (transaction.settled ?? []),
      fee,
    }
    this.transactions.push(mined)
    this.#byHash.set(mined.hash, mined)
    return mined
  }

  /**
   * Moves an asset; the pool has an unlimited balance. Returns false without moving anything if the balance is too
   * small.
   */
  move(transfer: {
    asset: Address | 'native'
    from: Address
    to: Address
    amount: bigint
  }): boolean {
    const { asset, from, to, amount } = transfer
    const balance = this.balance(asset, from)
    if (from !== POOL && balance < amount) return false
    if (from !== POOL) this.setBalance(asset, from, balance - amount)
    this.setBalance(asset, to, this.balance(asset, to) + amount)
    return true
  }

  /**
   * Settles orders in one transaction through Permit2. Reverts as a whole if one permit may not execute. `zeroes`: this
   * many zero-value transfers in the owner's name come first. `hidesAmounts`: the calldata omits the amounts taken.
   */
  settle(
    items: readonly SettlementItem[],
    { zeroes = 0, hidesAmounts, hash }: SettlementShape & { readonly hash?: Hex } = {},
  ): MinedTransaction {
    const input = settlementInput(items, { hidesAmounts })
    const permits = settlementInput(items, { hidesAmounts: true })
    const own =
      hash ?? fingerprint(`settlement ${permits} ${this.block} ${this.transactions.length}`)
    const [first] = items
    const nothing = first === undefined ? [] : zeroTransfers(first.permit, zeroes)
    return this.mine({
      hash: own,
      input,
      settled: items,
      again: () => this.settle(items, { zeroes, hidesAmounts, hash: own }),
      call: () =>
        this.#maySettle(items)
          ? [...nothing, ...items.flatMap((item) => this.#execute(item))]
          : undefined,
    })
  }

  /** Anyone makes a zero-value transfer out of a wallet, in a separate transaction with arbitrary calldata. */
  zeroTransfer(of: { readonly token: Address; readonly owner: Address }, input: Hex = '0x'): void {
    const hash = fingerprint(`nothing ${this.transactions.length} ${this.block}`)
    this.mine({ hash, input, call: () => zeroTransfers(of, 1) })
  }

  /** Moves tokens between two strangers. */
  strangersTransfer(token: Address, amount: bigint): MinedTransaction {
    const transfer = { token, from: POOL, to: strangerOf(token), amount }
    const hash = fingerprint(`stranger ${this.transactions.length}`)
    return this.mine({ hash, input: '0xa9059cbb', call: () => [transfer] })
  }

  #maySettle(items: readonly SettlementItem[]): boolean {
    const needs = new Map<Address, bigint>()
    for (const { permit, paid } of items) {
      const { owner, token } = permit
      if (this.isDead(permit) || this.hasCode(owner) || paid > permit.amount) return false
      const need = (needs.get(token) ?? 0n) + paid
      needs.set(token, need)
      if (this.balance(token, owner) < need || this.allowance(token, owner) < need) return false
    }
    return true
  }

  #execute({ permit, paid, received }: SettlementItem): Omit<Transfer, 'logIndex'>[] {
    const { owner, token, tokenOut, recipient, nonce } = permit
    const allowance = this.allowance(token, owner)
    if (allowance !== UNLIMITED) this.setAllowance(token, owner, allowance - paid)
    this.move({ asset: token, from: owner, to: POOL, amount: paid })
    this.move({ asset: tokenOut, from: POOL, to: recipient, amount: received })
    this.#nonces.set(`${owner} ${nonce}`, this.block)
    return [
      { token, from: owner, to: POOL, amount: paid },
      { token: tokenOut, from: POOL, to: recipient, amount: received },
    ]
  }

  #setAmount(key: string, amount: bigint): void {
    const line = this.#amounts.get(key) ?? new Timeline<bigint>()
    this.#amounts.set(key, line)
    line.set(this.block, amount)
  }
}

function strangerOf(token: Address): Address {
  return `0x${fingerprint(token).slice(2, 42)}`
}

function zeroTransfers(
  { token, owner }: { readonly token: Address; readonly owner: Address },
  count: number,
): Omit<Transfer, 'logIndex'>[] {
  return Array.from({ length: count }, () => ({ token, from: owner, to: POOL, amount: 0n }))
}

function keepOnly(list: { readonly blockNumber: bigint }[], fork: number): void {
  const kept = list.filter(({ blockNumber }) => blockNumber <= BigInt(fork))
  list.splice(0, list.length, ...kept)
}

/**
 * Calldata of a settlement, each order's Permit2 struct as on chain: token, amount, nonce, deadline. The amounts taken
 * follow, unless the contract computes them itself.
 */
export function settlementInput(
  items: readonly Pick<SettlementItem, 'permit' | 'paid'>[],
  { hidesAmounts = false }: { readonly hidesAmounts?: boolean | undefined } = {},
): Hex {
  const hexWord = (value: bigint): string => value.toString(16).padStart(64, '0')
  const hexWords = items.flatMap(({ permit, paid }) => {
    const { token, amount, nonce, deadlineSeconds } = permit
    const struct = [BigInt(token), amount, nonce, BigInt(deadlineSeconds)]
    return hidesAmounts ? struct : [...struct, paid]
  })
  return `0x5e771e00${hexWords.map(hexWord).join('')}`
}
