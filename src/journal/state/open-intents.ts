import type { Address } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import type { OrderState } from '../../domain/order/order.ts'
import { projectionOf } from '../../venues/projections.ts'
import { swapOf } from '../../venues/swap/swap-projection.ts'
import type { OpenIntent, OpenSwap } from './daemon-state.ts'

const NONE: ReadonlySet<OpenIntent> = new Set()

/**
 * Intents without an outcome, and what a decision asks about them: thousands may be open while thousands are decided, so no
 * decision scans all. `move` changes an intent's state; its other fields may change in place.
 */
export class OpenIntents extends Map<IntentId, OpenIntent> {
  readonly #byStrategy = new Map<string, Set<OpenIntent>>()
  readonly #withEther = new Set<OpenSwap>()
  /** By token, then by shown token. */
  readonly #planned = new Map<Address, Map<Address, bigint>>()

  override set(id: IntentId, open: OpenIntent): this {
    this.#forget(this.get(id))
    const { strategy } = open.intent
    const own = this.#byStrategy.get(strategy) ?? new Set()
    this.#byStrategy.set(strategy, own.add(open))
    const swap = swapOf(open)
    if (swap?.intent.sell.native || swap?.intent.buy.native) this.#withEther.add(swap)
    this.#count(open, 1n)
    return super.set(id, open)
  }

  override delete(id: IntentId): boolean {
    this.#forget(this.get(id))
    return super.delete(id)
  }

  override clear(): void {
    this.#byStrategy.clear()
    this.#withEther.clear()
    this.#planned.clear()
    super.clear()
  }

  move(open: OpenIntent, to: OrderState): void {
    this.#count(open, -1n)
    open.state = to
    this.#count(open, 1n)
  }

  of(strategy: string): ReadonlySet<OpenIntent> {
    return this.#byStrategy.get(strategy) ?? NONE
  }

  /** Swaps that sell or buy ETH. */
  get withEther(): ReadonlySet<OpenSwap> {
    return this.#withEther
  }

  /** The most that planned intents may take of a token, in base units; with `shown`, of those that show it as that. */
  planned(token: Address, shown?: Address): bigint {
    const sums = this.#planned.get(token)
    if (sums === undefined) return 0n
    if (shown !== undefined) return sums.get(shown) ?? 0n
    return [...sums.values()].reduce((total, sum) => total + sum, 0n)
  }

  #forget(open: OpenIntent | undefined): void {
    if (open === undefined) return
    const { strategy } = open.intent
    const own = this.#byStrategy.get(strategy)
    own?.delete(open)
    if (own?.size === 0) this.#byStrategy.delete(strategy)
    const swap = swapOf(open)
    if (swap !== undefined) this.#withEther.delete(swap)
    this.#count(open, -1n)
  }

  #count({ state, intent }: OpenIntent, sign: bigint): void {
    if (state !== 'planned') return
    const { token, amount, shown } = projectionOf(intent).mostOf(intent)
    const sums = this.#planned.get(token.address) ?? new Map<Address, bigint>()
    sums.set(shown.address, (sums.get(shown.address) ?? 0n) + sign * amount)
    this.#planned.set(token.address, sums)
  }
}
