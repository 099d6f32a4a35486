import type { Permit } from '../../domain/permit.ts'
import type { FeedReading } from '../../domain/price.ts'
import { fingerprint } from '../../domain/random.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { TransactionTrace, Transfer } from '../../ports.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export const BLOCK_SECONDS = 2
const UNLIMITED = 2n ** 256n - 1n
/** Where gas, wrapped ETH and the counterparty's tokens live. */
export const POOL: Address = '0x00000000000000000000000000000000000000ff'

/** A value with all its past, so that a node that lags can answer from an older block. */
export class Timeline<Value> {
  readonly #entries: { readonly block: number; readonly value: Value }[] = []

  set(block: number, value: Value): void {
    this.#entries.push({ block, value })
  }

  at(block: number): Value | undefined {
    return this.#entries.findLast((entry) => entry.block <= block)?.value
  }
}

/** A trace with the true time of its block, and what settlement it carries, if any. */
export type MinedTransaction = TransactionTrace & {
  readonly timeSeconds: number
  readonly settled: readonly Permit[]
}

/** One order inside a settlement: what the permit allows and what really moves. */
export type SettlementItem = {
  readonly permit: Permit
  readonly paid: bigint
  readonly received: bigint
}

/** What a feed says of itself at one block. */
type FeedRound = Omit<FeedReading, 'sequencer'>

/** A call that changes the chain; runs inside a transaction and returns what it moved, or undefined to revert. */
type Call = (block: number) => readonly Omit<Transfer, 'logIndex'>[] | undefined

/** The chain as it truly is: blocks of two seconds of true time, balances, Permit2, feeds. Knows no faults. */
export class Ledger {
  readonly transactions: MinedTransaction[] = []
  readonly #byHash = new Map<Hex, MinedTransaction>()
  readonly #genesisMs: number
  readonly #clock: VirtualClock
  readonly #amounts = new Map<string, Timeline<bigint>>()
  readonly #nonces = new Map<string, number>()
  readonly #readings = new Map<string, Timeline<FeedRound>>()
  readonly #tokens = new Set<Address>()
  readonly #code = new Map<Address, number>()

  constructor(clock: VirtualClock) {
    this.#clock = clock
    this.#genesisMs = Math.floor(clock.trueMs / 1000) * 1000 - 3_600_000
  }

  get block(): number {
    return Math.floor((this.#clock.trueMs - this.#genesisMs) / (BLOCK_SECONDS * 1000))
  }

  timeSeconds(block: number): number {
    return this.#genesisMs / 1000 + block * BLOCK_SECONDS
  }

  /** When the next block begins, true epoch milliseconds. */
  nextBlockMs(): number {
    return this.timeSeconds(this.block + 1) * 1000
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

  /** Whether a token contract is there: one that never had a holder is none. */
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

  /** Cancels a permit as its owner may do directly at Permit2. */
  invalidateNonce(owner: Address, nonce: bigint): void {
    this.#nonces.set(`${owner} ${nonce}`, this.block)
  }

  /** Whether a permit can never execute from now on. */
  isDead(permit: Permit): boolean {
    const late = this.timeSeconds(this.block) > permit.deadlineSeconds
    return late || this.nonceUsed(permit.owner, permit.nonce)
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
    settled?: readonly Permit[]
  }): MinedTransaction {
    const { block } = this
    const moved = transaction.call(block)
    const transfers = (moved ?? []).map((transfer, logIndex) => ({ ...transfer, logIndex }))
    const mined: MinedTransaction = {
      hash: transaction.hash,
      success: moved !== undefined,
      blockNumber: BigInt(block),
      transfers,
      input: transaction.input,
      timeSeconds: this.timeSeconds(block),
      settled: moved === undefined ? [] : (transaction.settled ?? []),
    }
    this.transactions.push(mined)
    this.#byHash.set(mined.hash, mined)
    return mined
  }

  /** Moves an asset, from nowhere if the holder is the pool. False, and nothing moved, without the balance. */
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

  /** Settles orders in one transaction through Permit2. Reverts as a whole if one permit may not execute. */
  settle(items: readonly SettlementItem[]): MinedTransaction {
    const permits = items.map(({ permit }) => permit)
    const input = settlementInput(permits)
    return this.mine({
      hash: fingerprint(`settlement ${input} ${this.block} ${this.transactions.length}`),
      input,
      settled: permits,
      call: () =>
        this.#maySettle(items) ? items.flatMap((item) => this.#execute(item)) : undefined,
    })
  }

  /** Tokens go from one stranger to another. */
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

/** Calldata in which each order's Permit2 struct stands as it would on chain: token, amount, nonce, deadline. */
function settlementInput(permits: readonly Permit[]): Hex {
  const word = (value: bigint): string => value.toString(16).padStart(64, '0')
  const words = permits.flatMap(({ token, amount, nonce, deadlineSeconds }) => [
    word(BigInt(token)),
    word(amount),
    word(nonce),
    word(BigInt(deadlineSeconds)),
  ])
  return `0x5e771e00${words.join('')}`
}
