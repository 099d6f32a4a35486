import type { Path } from '../../config/yaml/problem.ts'
import { amountText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import { compareRatio } from '../../domain/money/units.ts'
import {
  CAP_NAMES,
  type PriceCheck,
  type StrategyLimits,
  type SwapBase,
  type TradeBase,
} from '../../domain/strategy.ts'
import {
  buildLimits,
  buildPrice,
  findTrade,
  type StrategyContext,
  type TradeInput,
} from './fields.ts'

type Trade = Pick<TradeBase, 'sell' | 'buy'>

/** The common fields of one-directional swaps; undefined if reported faults leave nothing to build. */
export function buildTrade(input: TradeInput, context: StrategyContext) {
  const trade = findTrade(input, context)
  if (trade === undefined) return undefined
  const { token } = trade.sell
  const limits = buildLimits(input.limits, token, context)
  const price = buildBounds(input.price, trade, context)
  const priceCheck = checkPrices(input.price, trade, context)
  warnUncapped(token, limits, context)
  return { ...buildSwap(input, context), ...trade, limits, price, priceCheck }
}

/** Requires a pair without a feed to be named and bounded by its own price. */
function checkPrices(
  price: TradeInput['price'],
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
    report({ path, at: 'key', message, expected: 'nothing: quotes are checked against the feeds' })
    return 'feed'
  }
  if (![`${sell}/${buy}`, `${buy}/${sell}`].includes(price.withoutFeed))
    report({ path, message: 'this is not what the strategy trades', expected: `${sell}/${buy}` })
  if (price.max === undefined) {
    const message = 'without a feed only a price bound protects against bad quotes'
    report({ path, at: 'key', message, expected: 'a price.max beside it' })
  }
  return 'bounds'
}

/** Price bounds in base units of sell per base unit of buy. */
function buildBounds(price: TradeInput['price'], trade: Trade, { report }: StrategyContext) {
  const pair = { sell: trade.sell.token, buy: trade.buy.token }
  const min = buildPrice(price.min, pair)
  const max = buildPrice(price.max, pair)
  if (min !== undefined && max !== undefined && compareRatio(min, max) > 0) {
    const message = 'the lowest price is above the highest'
    report({ path: ['price', 'min'], message, expected: 'at most price.max' })
  }
  return { min, max }
}

export function buildSwap(
  input: Pick<TradeInput, 'name' | 'enabled' | 'slippageBps' | 'maxDeviation'>,
  { file, settings, report }: StrategyContext,
): Pick<SwapBase, 'name' | 'file' | 'enabled' | 'slippageBps' | 'maxDeviationBps'> {
  const widest = settings.limits.maxDeviationBps
  const own = input.maxDeviation ?? widest
  if (own > widest) {
    const message = 'this is wider than limits.maxDeviationBps of the config'
    report({ path: ['maxDeviation'], message, expected: `at most ${widest / 100}%` })
  }
  const { name, enabled, slippageBps = settings.gasless.slippageBps } = input
  return { name, file, enabled, slippageBps, maxDeviationBps: Math.min(own, widest) }
}

/** Rejects an order above one of its caps, which would be skipped on every slot. `slices`: of an amount that is split. */
export function checkOrderFits(
  order: { token: Token; least: bigint; path: Path; limits: StrategyLimits; slices?: number },
  { settings, report }: StrategyContext,
): void {
  const { token, least, path, limits, slices = 1 } = order
  const { address, symbol } = token
  const hold = (where: string, cap: bigint | undefined): void => {
    if (cap === undefined || least <= cap) return
    const what = slices === 1 ? 'this order could never run: it sells' : 'each slice would sell'
    const message = `${what} more than limits.${where} allows`
    const most = amountText(cap * BigInt(slices), token)
    const more = slices === 1 ? '' : ` in ${slices} slices, or more slices`
    report({ path, message, expected: `at most ${most}${more}` })
  }
  for (const name of CAP_NAMES) {
    hold(`${name} of this strategy`, limits[name].get(address))
    hold(`${name}.${symbol} of the config`, settings.limits[name].get(address))
  }
}

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
