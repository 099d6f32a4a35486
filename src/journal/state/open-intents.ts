import type { Token } from '../../domain/money/token.ts'
import type { Address } from '../../domain/money/units.ts'
import type { Intent, IntentId } from '../../domain/order/intent.ts'
import type { OrderState } from '../../domain/order/order.ts'

type Most = { readonly token: Token; readonly amount: bigint; readonly shown: Token }

/**
 * Intents without an outcome, and what a decision asks about them: thousands may be open while thousands are decided, so no
 * decision scans all. `move` changes an intent's state; its other fields may change in place.
 */
export class OpenIntents<Open extends { state: OrderState; readonly intent: Intent }> extends Map<
  IntentId,
  Open
> {
  readonly #mostOf: (intent: Intent) => Most
  readonly #byStrategy = new Map<string, Set<Open>>()
  readonly #withEther = new Set<Open>()
  /** By token, then by shown token. */
  readonly #planned = new Map<Address, Map<Address, bigint>>()

  /** `mostOf`: the most that an order of an intent may take. */
  constructor(mostOf: (intent: Intent) => Most) {
    super()
    this.#mostOf = mostOf
  }

  override set(id: IntentId, open: Open): this {
    this.#forget(this.get(id))
    const { intent } = open
    const own = this.#byStrategy.get(intent.strategy) ?? new Set()
    this.#byStrategy.set(intent.strategy, own.add(open))
    if ('sell' in intent && (intent.sell.native || intent.buy.native)) this.#withEther.add(open)
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

  move(open: Open, to: OrderState): void {
    this.#count(open, -1n)
    open.state = to
    this.#count(open, 1n)
  }

  of(strategy: string): ReadonlySet<Open> {
    return this.#byStrategy.get(strategy) ?? new Set()
  }

  /** Swaps that sell or buy ETH. */
  get withEther(): ReadonlySet<Open> {
    return this.#withEther
  }

  /** The most that planned intents may take of a token, in base units; with `shown`, of those that show it as that. */
  planned(token: Address, shown?: Address): bigint {
    const sums = this.#planned.get(token)
    if (sums === undefined) return 0n
    if (shown !== undefined) return sums.get(shown) ?? 0n
    return [...sums.values()].reduce((total, sum) => total + sum, 0n)
  }

  #forget(open: Open | undefined): void {
    if (open === undefined) return
    const { strategy } = open.intent
    const own = this.#byStrategy.get(strategy)
    own?.delete(open)
    if (own?.size === 0) this.#byStrategy.delete(strategy)
    this.#withEther.delete(open)
    this.#count(open, -1n)
  }

  #count({ state, intent }: Open, sign: bigint): void {
    if (state !== 'planned') return
    const { token, amount, shown } = this.#mostOf(intent)
    const sums = this.#planned.get(token.address) ?? new Map<Address, bigint>()
    sums.set(shown.address, (sums.get(shown.address) ?? 0n) + sign * amount)
    this.#planned.set(token.address, sums)
  }
}
