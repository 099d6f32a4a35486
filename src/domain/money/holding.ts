import type { Address, Ratio } from './units.ts'

export type Holding = {
  readonly token: string
  readonly decimals: number
  /** Base units; undefined if not read. */
  readonly amount: bigint | undefined
  /** Base units of the value token; undefined without a usable price. */
  readonly value: bigint | undefined
  /** Time of the oldest price used; undefined for the value token itself, and without a price. */
  readonly pricedAtSeconds: number | undefined
  readonly address: Address
  /** Base units of the value token per base unit; undefined without a usable price. */
  readonly price: Ratio | undefined
}
