import type { Address, Ratio } from './units.ts'

/** What a wallet holds of a token, and what that is worth by the feeds. */
export type Holding = {
  /** Symbol, or ETH. */
  readonly token: string
  readonly decimals: number
  /** Base units; undefined where it was not read. */
  readonly amount: bigint | undefined
  /** Base units of the token that all is valued in; undefined where no usable price leads there. */
  readonly value: bigint | undefined
  /** Of the oldest price in it; undefined for the token that all is valued in, and without a price. */
  readonly pricedAtSeconds: number | undefined
  /** Of the token by which it is valued. */
  readonly address: Address
  /** Base units of the value token per base unit; undefined without a usable price. */
  readonly price: Ratio | undefined
}
