import type { Token } from './token.ts'
import { formatAmount, formatBrief, type Ratio } from './units.ts'

type Unit = Pick<Token, 'symbol' | 'decimals'>

/** An amount of base units with its token, exact: `25.000001 USDC`. */
export function amountText(amount: bigint, { symbol, decimals }: Unit): string {
  return `${formatAmount(amount, decimals)} ${symbol}`
}

/** The same for people, cut to six digits. */
export function briefText(amount: bigint, { symbol, decimals }: Unit): string {
  return `${formatBrief(amount, decimals)} ${symbol}`
}

/** Places that a price is cut to before it is shortened. */
const PRICE_PLACES = 18

/**
 * A price in words, `4003.2 USDC per WETH`, the way round in which the number is not below one. `price`: base units of `sell` per
 * base unit of `buy`. Undefined where nothing was traded.
 */
export function priceText(
  price: Ratio,
  { sell, buy }: { sell: Unit; buy: Unit },
): string | undefined {
  const { num, den } = price
  if (num <= 0n || den <= 0n) return undefined
  const [up, down] = [num * 10n ** BigInt(buy.decimals), den * 10n ** BigInt(sell.decimals)]
  return up >= down
    ? `${perUnit(up, down)} ${sell.symbol} per ${buy.symbol}`
    : `${perUnit(down, up)} ${buy.symbol} per ${sell.symbol}`
}

function perUnit(num: bigint, den: bigint): string {
  return formatBrief((num * 10n ** BigInt(PRICE_PLACES)) / den, PRICE_PLACES)
}

/** `12.5 bps better than the feed`. */
export function feedText(bps: number): string {
  return bps < 0 ? `${-bps} bps worse than the feed` : `${bps} bps better than the feed`
}
