import type { Intent } from '../domain/intent.ts'
import type { Price, PriceFeed, PriceRefusal } from '../domain/price.ts'
import type { SkipReason } from '../domain/reason.ts'
import type { SlotSeconds } from '../domain/schedule.ts'
import type { Address } from '../domain/units.ts'

/** Everything a decision may depend on, of one slot of one strategy. */
export type MarketView = {
  readonly slotSeconds: SlotSeconds
  readonly owner: Address
  /** Sell base units that are in the wallet and promised to no other order. */
  readonly available: bigint
  readonly price:
    | { readonly ok: true; readonly price: Price; readonly feed: PriceFeed }
    | { readonly ok: false; readonly reason: PriceRefusal }
  readonly maxDeviationBps: number
}

/** What a strategy wants for a slot. Limits are applied afterwards, to every kind alike. */
export type Decision =
  | { readonly tag: 'trade'; readonly intents: readonly Intent[] }
  | { readonly tag: 'skip'; readonly reason: SkipReason; readonly detail: string }
