import type { LimitHit } from '../domain/book/limits.ts'
import type { StrategyMemory } from '../domain/book/memory.ts'
import type { Purchase } from '../domain/book/state.ts'
import type { Intent } from '../domain/intent.ts'
import type { PairPriceAnswer } from '../domain/price.ts'
import type { SkipReason } from '../domain/reason.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { type Asset, NATIVE_TOKEN, type Token } from '../domain/token.ts'
import { type Address, type BaseUnits, minOf } from '../domain/units.ts'

/** Everything a decision may depend on, of one slot of one strategy. */
export type MarketView = {
  readonly slotSeconds: SlotSeconds
  /** Time of the block that was read: what windows and ages are measured by. */
  readonly nowSeconds: number
  /** First slot of a schedule that counts its slots. */
  readonly startSeconds: number | undefined
  readonly owner: Address
  /** Base units that are in the wallet and promised to no other order, by `assetKey`. What was not read is absent. */
  readonly available: ReadonlyMap<Address, bigint>
  /** The same with what is promised to other orders: all that the wallet holds. What was not read is absent. */
  readonly held: ReadonlyMap<Address, bigint>
  /** By `pairKey`: sell base units per buy base unit. */
  readonly prices: ReadonlyMap<string, PairPriceAnswer>
  /** Most that one order can ever sell of a token, by all caps of the strategy and the account. */
  readonly orderCaps: ReadonlyMap<Address, BaseUnits>
  /** What the strategy's last slots left behind. */
  readonly memory: StrategyMemory
  /** What the strategy has spent since the beginning, and what its orders in flight may still take, by token. */
  readonly spent: ReadonlyMap<Address, BaseUnits>
  /** Of that, what its orders in flight may still take. */
  readonly promised: ReadonlyMap<Address, BaseUnits>
  /** What the strategy that `entryOf` names has bought and is not sold; undefined where none is named. */
  readonly entry?: Purchase | undefined
}

/** What a strategy wants for a slot. Limits are applied afterwards, to every kind alike. */
export type Decision =
  | {
      readonly tag: 'trade'
      readonly intents: readonly Intent[]
      /** Replaces what is remembered, whatever becomes of the intents. */
      readonly memory?: StrategyMemory
      /** Replaces what is remembered if all intents are filled. */
      readonly memoryOnFill?: StrategyMemory
    }
  | Skip

export type Skip = {
  readonly tag: 'skip'
  readonly reason: SkipReason
  readonly detail: string
  readonly memory?: StrategyMemory
  /** Of a slot that a cap keeps from trading, the cap. */
  readonly hit?: LimitHit
  /** Of a cooldown, when it is over, epoch ms. */
  readonly freesAtMs?: number
}

/** Where a view keeps what is available of an asset. */
export function assetKey(asset: Asset): Address {
  return asset.native ? NATIVE_TOKEN : asset.token.address
}

/** Where a view keeps the price of `buy` in `sell`. */
export function pairKey(sell: Token, buy: Token): string {
  return `${sell.symbol}/${buy.symbol}`
}

/** An amount, or as much of it as one order can ever sell: the rest is for later slots. */
export function withinOrderCap(view: MarketView, token: Token, amount: bigint): bigint {
  const cap = view.orderCaps.get(token.address)
  return cap === undefined ? amount : minOf(amount, cap)
}

/** What is free of an asset; undefined where its balance was not read, which is not zero. */
export function availableOf(view: MarketView, asset: Asset): bigint | undefined {
  return view.available.get(assetKey(asset))
}

/** Nothing is decided about what nobody could read. */
export function unreadable({ token, native }: Asset): Skip {
  const symbol = native ? 'ETH' : token.symbol
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
  return memory === undefined
    ? { tag: 'skip', reason, detail }
    : { tag: 'skip', reason, detail, memory }
}

/** No trade without a price: names the feed that gave none. */
export function noPrice(answer: Extract<PairPriceAnswer, { ok: false }>): Skip {
  return skip(answer.reason, answer.pair === undefined ? 'no feed' : `feed ${answer.pair}`)
}
