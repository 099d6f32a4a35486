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
  const [up, down] = wholeTokens(price, { sell, buy })
  return up >= down
    ? `${perUnit(up, down)} ${sell.symbol} per ${buy.symbol}`
    : `${perUnit(down, up)} ${buy.symbol} per ${sell.symbol}`
}

/** A bound of such a price in words, `not above 4200 USDC per WETH`: the other way round the lowest is the highest. */
export function boundText(
  bound: 'min' | 'max',
  price: Ratio,
  sides: { sell: Unit; buy: Unit },
): string | undefined {
  const text = priceText(price, sides)
  if (text === undefined) return undefined
  const [up, down] = wholeTokens(price, sides)
  return `${(bound === 'max') === up >= down ? 'not above' : 'not below'} ${text}`
}

/** A price beside the bound that it breaks: `4100 USDC per WETH, and price.max says not above 4000 USDC per WETH`. */
export function brokenText(
  price: Ratio,
  { bound, level }: { bound: 'min' | 'max'; level: Ratio },
  sides: { sell: Unit; buy: Unit },
): string {
  return `${priceText(price, sides) ?? 'none'}, and price.${bound} says ${boundText(bound, level, sides) ?? 'otherwise'}`
}

/** The two sides of a price in whole tokens. */
function wholeTokens(
  { num, den }: Ratio,
  { sell, buy }: { sell: Unit; buy: Unit },
): readonly [bigint, bigint] {
  return [num * 10n ** BigInt(buy.decimals), den * 10n ** BigInt(sell.decimals)]
}

/** A price of a pair as its feed counts, `3520.5`: of whole `quote` per whole `base`. */
export function quotedText(price: Ratio, { base, quote }: { base: Unit; quote: Unit }): string {
  return perUnit(...wholeTokens(price, { sell: quote, buy: base }))
}

function perUnit(num: bigint, den: bigint): string {
  return formatBrief((num * 10n ** BigInt(PRICE_PLACES)) / den, PRICE_PLACES)
}

/** `12.5 bps better than the feed`. */
export function feedText(bps: number): string {
  return bps < 0 ? `${-bps} bps worse than the feed` : `${bps} bps better than the feed`
}
