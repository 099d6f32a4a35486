import * as z from 'zod'
import type { DcaStrategy, Dip, OrderSize, PriceBounds } from '../../domain/strategy.ts'
import type { Asset } from '../../domain/token.ts'
import { mulDivDown } from '../../domain/units.ts'
import { duration, percent, section } from '../scalars.ts'
import type { Path } from '../yaml/problem.ts'
import {
  buildBounds,
  buildSwapSettings,
  checkOrderFits,
  checkPrices,
  refuseDrawdown,
  warnUncapped,
} from './checks.ts'
import {
  amount,
  buildAmount,
  buildLimits,
  buildSchedule,
  findTrade,
  type StrategyContext,
  tradeFields,
} from './fields.ts'

const dip = section({
  drop: percent({ minBps: 1, maxBps: 9_900 }).describe(
    'Fall below the highest price of the window',
  ),
  amount: amount.describe('What a slot sells then (or buys, with buyAmount) instead'),
})

/** `kind: dca`: the same amount on every slot. */
export const dcaSchema = section({
  ...tradeFields,
  kind: z.literal('dca', { error: 'dca' }),
  amount: amount.optional().describe('Exact input: what each slot sells, in the sell token'),
  buyAmount: amount.optional().describe('Exact output: what each slot buys, in the buy token'),
  dip: z
    .array(dip, { error: 'a list of dips, each with drop and amount' })
    .prefault([])
    .describe('Other amounts for slots whose price has fallen; the deepest dip reached counts'),
  dipWindow: duration({ min: '1h', max: '365d' })
    .prefault('30d')
    .describe('How far back the highest price is looked for'),
})

type DcaInput = z.output<typeof dcaSchema>
type Trade = { readonly sell: Asset; readonly buy: Asset }

/** The strategy, or undefined when something was reported that leaves it without a meaning. */
export function buildDca(input: DcaInput, context: StrategyContext): DcaStrategy | undefined {
  checkSizeFields(input, context)
  refuseDrawdown(input.limits, context)
  const trade = findTrade(input, context)
  if (trade === undefined) return undefined
  const limits = buildLimits(input.limits, trade.sell.token, context)
  const price = buildBounds(input.price, trade, context)
  const priceCheck = checkPrices(input.price, trade, context)
  const size = buildSize(input, trade, context)
  if (size === undefined) return undefined
  const dips = buildDips(input, { trade, size }, context)
  const path = [size.side === 'sell' ? 'amount' : 'buyAmount']
  const { token } = trade.sell
  checkOrderFits({ token, least: leastSold(size, price), path, limits }, context)
  for (const [index, { amount }] of dips.entries()) {
    const least = leastSold({ ...size, amount }, price)
    checkOrderFits({ token, least, path: ['dip', index, 'amount'], limits }, context)
  }
  warnUncapped(token, limits, context)
  return {
    kind: 'dca',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSchedule(input.schedule),
    ...buildSwapSettings(input, context),
    priceCheck,
    limits,
    ...trade,
    size,
    price,
    dips: [...dips].sort((a, b) => b.dropBps - a.dropBps),
    dipWindowMs: input.dipWindow,
  }
}

function buildDips(
  input: DcaInput,
  { trade, size }: { trade: Trade; size: OrderSize },
  context: StrategyContext,
): readonly Dip[] {
  const { token } = size.side === 'sell' ? trade.sell : trade.buy
  const drops = new Set<number>()
  return input.dip.flatMap(({ drop: dropBps, amount: text }, index) => {
    const path: Path = ['dip', index]
    if (drops.has(dropBps)) {
      const message = 'this dip is given twice'
      context.report({ path: [...path, 'drop'], message, expected: 'each drop once' })
    }
    drops.add(dropBps)
    const value = buildAmount(text, token, { path: [...path, 'amount'], context })
    return value === undefined ? [] : [{ dropBps, amount: value }]
  })
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

/** The least that one order sells: exact for exact input; at the lowest price it accepts for exact output. */
function leastSold(size: OrderSize, price: PriceBounds): bigint {
  if (size.side === 'sell') return size.amount
  return price.min === undefined ? 0n : mulDivDown(size.amount, price.min.num, price.min.den)
}
