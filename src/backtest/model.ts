import { BPS, baseUnits, minOf, mulDivDown, mulDivUp, type Ratio } from '../domain/money/units.ts'
import type { SwapIntent } from '../domain/order/intent.ts'
import { lessBps } from '../domain/policy.ts'

/** Millionths in one whole; a hundred of them are a basis point. */
export const PPM = 1_000_000n

/** Assumptions that replace services and chains, all listed in the report. */
export type FillModel = {
  /** Cost of a swap against the feed's price, millionths. */
  readonly spreadPpm: number
  /** The service's additional fee, millionths. */
  readonly feePpm: number
  /** Value of an order that moves the price by 1 %, base units of the value token; undefined if orders do not move it. */
  readonly depth: bigint | undefined
  /** Share of orders that fail although the price allows them, millionths. */
  readonly failurePpm: number
  /** From slot to signature. */
  readonly quoteSeconds: number
  /** From signature to fill. */
  readonly fillSeconds: number
  /** Lifetime of a signature. */
  readonly validSeconds: number
  /** Gas of each wrap or unwrap. */
  readonly wrapWei: bigint
  /** GasTank charge of each call. */
  readonly callWei: bigint
  /** First balance of the GasTank; undefined if it never runs dry. */
  readonly tankWei: bigint | undefined
  /** Determines which orders fail. */
  readonly seed: string
}

/** Describes no particular service; more expensive rather than too cheap. */
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

/** Costs of an order against the feed's price, millionths of its value; their sum is at most its whole value. */
export type OrderCosts = {
  readonly spreadPpm: bigint
  readonly feePpm: bigint
  readonly impactPpm: bigint
}

const ONE_PERCENT = 10_000n

/** `value`: the order's value in base units of the value token, if known. */
export function costsOf(model: FillModel, value: bigint | undefined): OrderCosts {
  const spreadPpm = minOf(BigInt(model.spreadPpm), PPM)
  const feePpm = minOf(BigInt(model.feePpm), PPM - spreadPpm)
  const { depth } = model
  const moved = depth === undefined || value === undefined ? 0n : (value * ONE_PERCENT) / depth
  return { spreadPpm, feePpm, impactPpm: minOf(moved, PPM - spreadPpm - feePpm) }
}

/** Amounts of an order at a price of sell base units per buy base unit. */
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
  // Costs equal the order's whole value, so the division would be by zero.
  const paid = kept === 0n ? fair * PPM : mulDivUp(fair, PPM, kept)
  return { paid, received: size.amount }
}

export type ModelQuote = ReturnType<typeof quoteOf>

/** A quote by the service's own rules. */
export function quoteOf(intent: SwapIntent, price: Ratio, costs: OrderCosts) {
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
