import type { PairPriceAnswer } from '../../domain/money/price.ts'
import { type Asset, shownToken, type Token } from '../../domain/money/token.ts'
import { type Address, type BaseUnits, minOf } from '../../domain/money/units.ts'
import type { Intent } from '../../domain/order/intent.ts'
import type { SkipReason } from '../../domain/order/reason.ts'
import type { SlotSeconds } from '../../domain/schedule/schedule.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import type { LimitHit } from '../../journal/projections/limits.ts'
import type { Purchase } from '../../journal/state/daemon-state.ts'

/** All inputs of a slot's decision. */
export type MarketView = {
  readonly slotSeconds: SlotSeconds
  /** Time of the block that was read. */
  readonly nowSeconds: number
  /** First slot of an interval schedule. */
  readonly startSeconds: number | undefined
  readonly owner: Address
  /** Uncommitted base units by `assetKey`; unread balances are absent. */
  readonly available: ReadonlyMap<Address, bigint>
  /** All base units by `assetKey`, committed ones included; unread balances are absent. */
  readonly held: ReadonlyMap<Address, bigint>
  /** By `pairKey`: sell base units per buy base unit. */
  readonly prices: ReadonlyMap<string, PairPriceAnswer>
  /** Maximum that one order can ever sell of a token under all caps. */
  readonly orderCaps: ReadonlyMap<Address, BaseUnits>
  readonly memory: StrategyMemory
  /**
   * Base units spent since the beginning, plus the amount that pending orders may still spend, by token. Empty for a strategy
   * without a total.
   */
  readonly spent: ReadonlyMap<Address, BaseUnits>
  /** The part of `spent` that pending orders may still spend. */
  readonly promised: ReadonlyMap<Address, BaseUnits>
  /** Unsold purchases of the strategy that `entryOf` names, if any. */
  readonly entry?: Purchase | undefined
}

/** A strategy's decision for a slot, before limits. */
export type Decision =
  | {
      readonly tag: 'trade'
      readonly intents: readonly Intent[]
      /** Replaces the memory, whatever the intents' outcome. */
      readonly memory?: StrategyMemory | undefined
      /** Replaces the memory if all intents are filled. */
      readonly memoryOnFill?: StrategyMemory | undefined
    }
  | Skip

export type Skip = {
  readonly tag: 'skip'
  readonly reason: SkipReason
  readonly detail: string
  readonly memory?: StrategyMemory | undefined
  /** The cap that blocks the slot. */
  readonly hit?: LimitHit
  /** End of a cooldown, epoch ms. */
  readonly freesAtMs?: number
}

/** Key of an asset's balance in a view. */
export function assetKey(asset: Asset): Address {
  return shownToken(asset).address
}

/** Keys by tokens: a text that was used before is found faster than a new one. */
const pairKeys = new WeakMap<Token, WeakMap<Token, string>>()

/** Key of the price of `buy` in `sell`. */
export function pairKey(sell: Token, buy: Token): string {
  const known = pairKeys.get(sell) ?? new WeakMap<Token, string>()
  const key = known.get(buy) ?? `${sell.symbol}/${buy.symbol}`
  pairKeys.set(sell, known.set(buy, key))
  return key
}

/** Limits an amount to the maximum of one order; the rest is left for later slots. */
export function withinOrderCap(view: MarketView, token: Token, amount: bigint): bigint {
  const cap = view.orderCaps.get(token.address)
  return cap === undefined ? amount : minOf(amount, cap)
}

/** Uncommitted balance; undefined if unread, which does not mean 0. */
export function availableOf(view: MarketView, asset: Asset): bigint | undefined {
  return view.available.get(assetKey(asset))
}

export function unreadable(asset: Asset): Skip {
  const { symbol } = shownToken(asset)
  return skip('balance-unreadable', `the balance of ${symbol} could not be read`)
}

export function priceOf(
  view: Pick<MarketView, 'prices'>,
  sell: Token,
  buy: Token,
): PairPriceAnswer {
  const missing = { ok: false, reason: 'price-missing', pair: undefined } as const
  return view.prices.get(pairKey(sell, buy)) ?? missing
}

export function skip(reason: SkipReason, detail: string, memory?: StrategyMemory): Skip {
  return { tag: 'skip', reason, detail, memory }
}

export function noPrice(answer: Extract<PairPriceAnswer, { ok: false }>): Skip {
  return skip(answer.reason, answer.pair === undefined ? 'no feed' : `feed ${answer.pair}`)
}
