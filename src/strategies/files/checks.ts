import type { PriceBounds, PriceCheck, StrategyLimits } from '../../domain/strategy.ts'
import type { Asset, Token } from '../../domain/token.ts'
import { compareRatio, formatAmount } from '../../domain/units.ts'
import type { Path } from '../yaml/problem.ts'
import { buildPrice, CAP_NAMES, type StrategyContext } from './fields.ts'

/** Checks that the kinds of strategies share, and what they build from the fields they share. */

type Trade = { readonly sell: Asset; readonly buy: Asset }

/** What a trade's price is checked by. A pair that no feed prices has to be named, and bounded by a price of its own. */
export function checkPrices(
  price: { withoutFeed?: string | undefined; max?: string | undefined },
  trade: Trade,
  context: StrategyContext,
): PriceCheck {
  const { report } = context
  const [sell, buy] = [trade.sell.token.symbol, trade.buy.token.symbol]
  const isPriced = context.pricePath(trade.sell.token, trade.buy.token) !== undefined
  if (price.withoutFeed === undefined) {
    if (isPriced) return 'feed'
    const message = `the config has no price feed for ${buy} and ${sell}`
    const expected = `an entry ${buy}/${sell} under \`prices\`; or here price.withoutFeed: ${sell}/${buy} and a price.max`
    report({ path: ['buy'], message, expected })
    return 'feed'
  }
  const path = ['price', 'withoutFeed']
  if (isPriced) {
    const message = `feeds of the config give the price of ${buy} in ${sell}`
    report({ path, at: 'key', message, expected: 'nothing: quotes are held against them' })
    return 'feed'
  }
  if (![`${sell}/${buy}`, `${buy}/${sell}`].includes(price.withoutFeed))
    report({ path, message: 'this is not what the strategy trades', expected: `${sell}/${buy}` })
  if (price.max === undefined) {
    const message = 'without a feed nothing but a bound of its own keeps a quote honest'
    report({ path, at: 'key', message, expected: 'a price.max beside it' })
  }
  return 'bounds'
}

/** Lowest and highest price of a trade, in base units of sell per base unit of buy. */
export function buildBounds(
  price: { min?: string | undefined; max?: string | undefined },
  trade: Trade,
  { report }: StrategyContext,
): PriceBounds {
  const pair = { sell: trade.sell.token, buy: trade.buy.token }
  const min = buildPrice(price.min, pair)
  const max = buildPrice(price.max, pair)
  if (min !== undefined && max !== undefined && compareRatio(min, max) > 0) {
    const message = 'the lowest price is above the highest'
    report({ path: ['price', 'min'], message, expected: 'at most price.max' })
  }
  return { min, max }
}

/** What every strategy that swaps takes from its file or else from the config. */
export function buildSwapSettings(
  input: { slippageBps?: number | undefined; maxDeviation?: number | undefined },
  { settings, report }: StrategyContext,
): { slippageBps: number; maxDeviationBps: number } {
  const widest = settings.limits.maxDeviationBps
  const own = input.maxDeviation ?? widest
  if (own > widest) {
    const message = 'this is wider than limits.maxDeviationBps of the config'
    report({ path: ['maxDeviation'], message, expected: `at most ${widest / 100}%` })
  }
  const slippageBps = input.slippageBps ?? settings.gasless.slippageBps
  return { slippageBps, maxDeviationBps: Math.min(own, widest) }
}

/** An order above one of its caps would be skipped on every slot, and the operator would learn it weeks later. */
export function checkOrderFits(
  order: { token: Token; least: bigint; path: Path; limits: StrategyLimits },
  { settings, report }: StrategyContext,
): void {
  const { token, least, path, limits } = order
  const caps = CAP_NAMES.flatMap((name) => [
    [`limits.${name} of this strategy`, limits[name].get(token.address)] as const,
    [
      `limits.${name}.${token.symbol} of the config`,
      settings.limits[name].get(token.address),
    ] as const,
  ])
  for (const [where, cap] of caps) {
    if (cap === undefined || least <= cap) continue
    const message = `this order could never run: it sells more than ${where} allows`
    const expected = `at most ${formatAmount(cap, token.decimals)} ${token.symbol}`
    report({ path, message, expected })
  }
}

/** An operator may mean to go without caps, but should have said so to himself. */
export function warnUncapped(token: Token, limits: StrategyLimits, context: StrategyContext): void {
  const lasting = CAP_NAMES.filter((name) => name !== 'perOrder')
  const isCapped = [limits, context.settings.limits].some((of) =>
    lasting.some((name) => of[name].has(token.address)),
  )
  if (isCapped) return
  const message = `nothing caps what this strategy sells of ${token.symbol} in a day`
  const expected = `limits.perDay here, or limits.perDay.${token.symbol} in the config`
  context.warn({ path: ['limits'], at: 'key', message, expected })
}

/** Only kinds that hold a portfolio can fall in value. */
export function refuseDrawdown(
  input: { drawdown?: number | undefined },
  { report }: StrategyContext,
): void {
  if (input.drawdown === undefined) return
  const message = 'only rebalance and threshold have a portfolio whose value can fall'
  report({ path: ['limits', 'drawdown'], at: 'key', message, expected: 'nothing' })
}
