import type { Token } from './token.ts'
import { exactDecimal, formatAmount, formatBrief, type Ratio, tenTo } from './units.ts'

type Unit = Pick<Token, 'symbol' | 'decimals'>

/** An exact amount with its token, for people: `1,025.000001 USDC`. */
export function amountText(amount: bigint, { symbol, decimals }: Unit): string {
  return `${exactDecimal(formatAmount(amount, decimals))} ${symbol}`
}

/** The same, cut to six significant digits. */
export function briefText(amount: bigint, { symbol, decimals }: Unit): string {
  return `${formatBrief(amount, decimals)} ${symbol}`
}

const PRICE_PLACES = 18

/** `4003.2 USDC per WETH`, inverted if below one. `price`: base units of `sell` per `buy`. Undefined without a trade. */
export function priceText(price: Ratio, sides: Sides): string | undefined {
  return shownPrice(price, sides)?.text
}

/** A price bound as text, `not above 4200 USDC per WETH`. In the inverse direction a minimum becomes a maximum. */
export function boundText(bound: 'min' | 'max', price: Ratio, sides: Sides): string | undefined {
  const shown = shownPrice(price, sides)
  return (
    shown && `${(bound === 'max') === shown.isInverted ? 'not below' : 'not above'} ${shown.text}`
  )
}

type Sides = { readonly sell: Unit; readonly buy: Unit }
type ShownPrice = Sides & { readonly text: string; readonly isInverted: boolean }

/** Last text of each price: thousands of decisions show the same price and the same bounds. */
const shownPrices = new WeakMap<Ratio, ShownPrice>()

function shownPrice(price: Ratio, { sell, buy }: Sides): ShownPrice | undefined {
  const last = shownPrices.get(price)
  if (last?.sell === sell && last.buy === buy) return last
  if (price.num <= 0n || price.den <= 0n) return undefined
  const [up, down] = wholeTokens(price, { sell, buy })
  const isInverted = up < down
  const text = isInverted
    ? `${perUnit(down, up)} ${buy.symbol} per ${sell.symbol}`
    : `${perUnit(up, down)} ${sell.symbol} per ${buy.symbol}`
  const shown = { sell, buy, text, isInverted }
  shownPrices.set(price, shown)
  return shown
}

/** A price and the bound it breaks: `4100 USDC per WETH, and price.max says not above 4000 USDC per WETH`. */
export function brokenText(
  price: Ratio,
  { bound, level }: { bound: 'min' | 'max'; level: Ratio },
  sides: { sell: Unit; buy: Unit },
): string {
  return `${priceText(price, sides) ?? 'none'}, and price.${bound} says ${boundText(bound, level, sides) ?? 'otherwise'}`
}

function wholeTokens(
  { num, den }: Ratio,
  { sell, buy }: { sell: Unit; buy: Unit },
): readonly [bigint, bigint] {
  return [num * tenTo(buy.decimals), den * tenTo(sell.decimals)]
}

/** A price as its feed counts it, `3520.5`: whole `quote` per whole `base`. */
export function quotedText(price: Ratio, { base, quote }: { base: Unit; quote: Unit }): string {
  return perUnit(...wholeTokens(price, { sell: quote, buy: base }))
}

function perUnit(num: bigint, den: bigint): string {
  return formatBrief((num * tenTo(PRICE_PLACES)) / den, PRICE_PLACES)
}

/** `12.5 bps better than the feed`. */
export function feedText(bps: number): string {
  return bps < 0 ? `${-bps} bps worse than the feed` : `${bps} bps better than the feed`
}

/** Why a bought amount has no known cost. */
export function unknownCostText(amount: string, paidWith: readonly string[]): string {
  const them = paidWith.length > 1 ? 'were' : 'was'
  return `${amount} bought at unknown cost: paid with ${paidWith.join(', ')} that ${them} not bought here`
}
