import type { SwapIntent } from '../domain/intent.ts'
import { lessBps } from '../domain/policy.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  minOf,
  mulDivDown,
  mulDivUp,
  type Ratio,
} from '../domain/units.ts'

/** Millionths in one whole: a hundred of them are a basis point. */
export const PPM = 1_000_000n

/**
 * What stands in for the services and the chains: they gave their quotes and fills to nobody in the past. All of it is
 * named in the report.
 */
export type FillModel = {
  /** What every swap costs against the feed's price, in millionths. */
  readonly spreadPpm: number
  /** What the service takes on top, in millionths. */
  readonly feePpm: number
  /** Value of one order that moves the price by 1 %, in base units of the value token; undefined where no order moves it. */
  readonly depth: bigint | undefined
  /** Share of orders that come to nothing although the price allows them, in millionths. */
  readonly failurePpm: number
  /** From a slot to the signature. */
  readonly quoteSeconds: number
  /** From the signature to the block that fills it. */
  readonly fillSeconds: number
  /** How long a signature lives. */
  readonly validSeconds: number
  /** Of each wrapping or unwrapping, in wei. */
  readonly wrapWei: bigint
  /** What the aggregation service charges the GasTank for a call, in wei. */
  readonly callWei: bigint
  /** What is in the GasTank at the beginning, in wei; undefined where it never runs dry. */
  readonly tankWei: bigint | undefined
  /** Which orders fail follows from it. */
  readonly seed: string
}

/** Figures of no particular service, rather too dear than too cheap. */
export const DEFAULT_MODEL: FillModel = {
  spreadPpm: 1_000,
  feePpm: 0,
  depth: undefined,
  failurePpm: 5_000,
  quoteSeconds: 2,
  fillSeconds: 12,
  validSeconds: 120,
  wrapWei: 10_000_000_000_000n,
  callWei: 500_000_000_000_000n,
  tankWei: undefined,
  seed: '1',
}

/** What an order costs against the feed's price, each in millionths of what it moves; together never more than all of it. */
export type OrderCosts = {
  readonly spreadPpm: bigint
  readonly feePpm: bigint
  readonly impactPpm: bigint
}

const ONE_PERCENT = 10_000n

/** `value`: what the order moves, in base units of the value token; undefined where nothing tells. */
export function costsOf(model: FillModel, value: bigint | undefined): OrderCosts {
  const spreadPpm = minOf(BigInt(model.spreadPpm), PPM)
  const feePpm = minOf(BigInt(model.feePpm), PPM - spreadPpm)
  const { depth } = model
  const moved = depth === undefined || value === undefined ? 0n : (value * ONE_PERCENT) / depth
  return { spreadPpm, feePpm, impactPpm: minOf(moved, PPM - spreadPpm - feePpm) }
}

/** What the market gives, or takes, for an order at a price of sell base units per buy base unit. */
export function swappedAt(
  { size }: Pick<SwapIntent, 'size'>,
  price: Ratio,
  { spreadPpm, feePpm, impactPpm }: OrderCosts,
): { readonly paid: bigint; readonly received: bigint } {
  const kept = PPM - spreadPpm - feePpm - impactPpm
  if (size.side === 'sell') {
    const fair = mulDivDown(size.amount, price.den, price.num)
    return { paid: size.amount, received: mulDivDown(fair, kept, PPM) }
  }
  const fair = mulDivUp(size.amount, price.num, price.den)
  // Nothing is left of an order that costs all of itself.
  const paid = kept === 0n ? fair * PPM : mulDivUp(fair, PPM, kept)
  return { paid, received: size.amount }
}

/** What a quote promises, as the service's own rules make it of what the market gives. */
export type ModelQuote = {
  readonly sellAmount: BaseUnits
  readonly buyAmount: BaseUnits
  readonly minBuyAmount: BaseUnits
}

export function quoteOf(intent: SwapIntent, price: Ratio, costs: OrderCosts): ModelQuote {
  const { paid, received } = swappedAt(intent, price, costs)
  const { slippageBps, size } = intent
  const buyAmount = baseUnits(received)
  if (size.side === 'sell') {
    const minBuyAmount = baseUnits(lessBps(received, slippageBps))
    return { sellAmount: size.amount, buyAmount, minBuyAmount }
  }
  const most = baseUnits(mulDivUp(paid, BPS + BigInt(slippageBps), BPS))
  return { sellAmount: most, buyAmount, minBuyAmount: buyAmount }
}
