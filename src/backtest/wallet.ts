import { type Asset, NATIVE_TOKEN } from '../domain/token.ts'
import type { Address } from '../domain/units.ts'

/** What the wallet holds of every token, in base units; the chain's own coin stands under NATIVE_TOKEN. */
export class Wallet {
  readonly balances: ReadonlyMap<Address, bigint>
  readonly #balances: Map<Address, bigint>

  /** There is nothing of what is traded and not named. */
  constructor(balances: ReadonlyMap<Address, bigint>, traded: readonly Asset[]) {
    const nothing = traded.map(({ token }) => [token.address, 0n] as const)
    this.#balances = new Map([...nothing, ...balances])
    this.balances = this.#balances
  }

  get nativeBalance(): bigint {
    return this.of(NATIVE_TOKEN)
  }

  of(token: Address): bigint {
    return this.#balances.get(token) ?? 0n
  }

  add(token: Address, amount: bigint): void {
    this.#balances.set(token, this.of(token) + amount)
  }

  /** A wrapping, or the other way round. Both cost gas. */
  wrap({ token }: Asset, amount: bigint, gasWei: bigint): void {
    this.add(NATIVE_TOKEN, -amount - gasWei)
    this.add(token.address, amount)
  }
}
