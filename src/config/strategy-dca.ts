import * as z from 'zod'
import type { DcaStrategy, OrderSize, PriceBounds, StrategyLimits } from '../domain/strategy.ts'
import type { Asset } from '../domain/token.ts'
import { type BaseUnits, compareRatio, formatAmount, mulDivDown } from '../domain/units.ts'
import type { Path } from './problem.ts'
import { section } from './scalars.ts'
import {
  amount,
  buildAmount,
  buildLimits,
  buildPrice,
  buildSchedule,
  commonFields,
  findTrade,
  priceBounds,
  type StrategyContext,
  symbol,
} from './strategy-fields.ts'

/** `kind: dca`: the same amount on every slot. */
export const dcaSchema = section({
  ...commonFields,
  kind: z.literal('dca', { error: 'dca' }),
  sell: symbol.describe('Token that is sold; ETH is wrapped first'),
  buy: symbol.describe('Token that is bought; ETH is unwrapped afterwards'),
  amount: amount.optional().describe('Exact input: what each slot sells, in the sell token'),
  buyAmount: amount.optional().describe('Exact output: what each slot buys, in the buy token'),
  price: priceBounds.prefault({}),
})

type DcaInput = z.output<typeof dcaSchema>
type Trade = { readonly sell: Asset; readonly buy: Asset }

/** The strategy, or undefined when something was reported that leaves it without a meaning. */
export function buildDca(input: DcaInput, context: StrategyContext): DcaStrategy | undefined {
  checkSizeFields(input, context)
  const trade = findTrade(input, context)
  if (trade === undefined) return undefined
  const limits = buildLimits(input.limits, trade.sell.token, context)
  const price = buildBounds(input, trade, context)
  const size = buildSize(input, trade, context)
  if (size === undefined) return undefined
  checkCanRun({ trade, size, price, limits }, context)
  warnUncapped(trade, limits, context)
  return {
    kind: 'dca',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSchedule(input.schedule),
    slippageBps: input.slippageBps ?? context.settings.gasless.slippageBps,
    maxDeviationBps: context.settings.limits.maxDeviationBps,
    priceCheck: 'feed',
    dips: [],
    dipWindowMs: 0,
    limits,
    ...trade,
    size,
    price,
  }
}

/**
 * Exact output leaves open how much is sold. The price feed and `maxDeviationBps` bound each order, but a feed can be
 * far from what the operator had in mind, so the file has to hold a bound of its own: a highest price or a daily cap.
 */
function checkSizeFields(input: DcaInput, { report }: StrategyContext): void {
  const { amount, buyAmount } = input
  if ((amount === undefined) === (buyAmount === undefined)) {
    const path = [amount === undefined ? 'amount' : 'buyAmount']
    const message = amount === undefined ? 'this order has no size' : 'this order has two sizes'
    const expected = 'exactly one of: amount (of the sell token), buyAmount (of the buy token)'
    report({ path, at: 'key', message, expected })
  }
  if (buyAmount === undefined || input.price.max !== undefined) return
  if (input.limits.perDay !== undefined) return
  const message = 'nothing bounds what this exact-output order may sell'
  report({ path: ['buyAmount'], at: 'key', message, expected: 'price.max, or limits.perDay' })
}

function buildBounds(input: DcaInput, trade: Trade, { report }: StrategyContext): PriceBounds {
  const pair = { sell: trade.sell.token, buy: trade.buy.token }
  const min = buildPrice(input.price.min, pair)
  const max = buildPrice(input.price.max, pair)
  if (min !== undefined && max !== undefined && compareRatio(min, max) > 0) {
    const message = 'the lowest price is above the highest'
    report({ path: ['price', 'min'], message, expected: 'at most price.max' })
  }
  return { min, max }
}

function buildSize(input: DcaInput, trade: Trade, context: StrategyContext): OrderSize | undefined {
  const { amount, buyAmount } = input
  if (amount !== undefined) {
    const value = buildAmount(amount, trade.sell.token, { path: ['amount'], context })
    return value === undefined ? undefined : { side: 'sell', amount: value }
  }
  if (buyAmount === undefined) return undefined
  const value = buildAmount(buyAmount, trade.buy.token, { path: ['buyAmount'], context })
  return value === undefined ? undefined : { side: 'buy', amount: value }
}

/** An order above one of its caps would be refused on every slot, and the operator would learn it weeks later. */
function checkCanRun(
  order: { trade: Trade; size: OrderSize; price: PriceBounds; limits: StrategyLimits },
  { settings, report }: StrategyContext,
): void {
  const { trade, size, limits } = order
  const token = trade.sell.token
  const least = leastSold(size, order.price)
  const path: Path = [size.side === 'sell' ? 'amount' : 'buyAmount']
  const caps: readonly (readonly [string, BaseUnits | undefined])[] = [
    ['limits.perDay of this strategy', limits.perDay.get(token.address)],
    ['limits.total of this strategy', limits.total.get(token.address)],
    [`limits.perOrder.${token.symbol} of the config`, settings.limits.perOrder.get(token.address)],
    [`limits.perDay.${token.symbol} of the config`, settings.limits.perDay.get(token.address)],
  ]
  for (const [name, cap] of caps) {
    if (cap === undefined || least <= cap) continue
    const message = `this order could never run: it sells more than ${name} allows`
    const expected = `at most ${formatAmount(cap, token.decimals)} ${token.symbol}`
    report({ path, message, expected })
  }
}

/** The least that one order sells: exact for exact input; at the lowest price it accepts for exact output. */
function leastSold(size: OrderSize, price: PriceBounds): bigint {
  if (size.side === 'sell') return size.amount
  return price.min === undefined ? 0n : mulDivDown(size.amount, price.min.num, price.min.den)
}

function warnUncapped(trade: Trade, limits: StrategyLimits, context: StrategyContext): void {
  const { symbol, address } = trade.sell.token
  const caps = [limits.perDay, limits.total, context.settings.limits.perDay]
  if (caps.some((cap) => cap.has(address))) return
  const message = 'nothing caps what this strategy sells in a day'
  const expected = `limits.perDay here, or limits.perDay.${symbol} in the config`
  context.warn({ path: ['limits'], at: 'key', message, expected })
}
