import * as z from 'zod'
import { percent } from '../../config/amount-scalars.ts'
import { duration, section } from '../../config/scalars.ts'
import type { Path } from '../../config/yaml/problem.ts'
import { mulDivDown } from '../../domain/money/units.ts'
import type { OrderSize, PriceBounds, TradeBase } from '../../domain/strategy.ts'
import { buildTrade, checkOrderFits } from '../files/checks.ts'
import {
  amount,
  buildAmount,
  buildSchedule,
  type StrategyContext,
  tradeFields,
} from '../files/fields.ts'
import { kindSchema } from '../files/kind-schema.ts'
import { type DcaStrategy, type Dip, dca } from './dca-kind.ts'

const dip = section({
  drop: percent({ minBps: 1, maxBps: 9_900 }).describe('Fall from the highest price in the window'),
  amount: amount.describe('Amount to sell instead (or to buy, with buyAmount)'),
})

const schema = section({
  ...tradeFields,
  kind: z.literal('dca', { error: 'dca' }),
  amount: amount.optional().describe('Exact input: amount that each slot sells, in the sell token'),
  buyAmount: amount
    .optional()
    .describe('Exact output: amount that each slot buys, in the buy token'),
  dip: z
    .array(dip, { error: 'a list of dips, each with drop and amount' })
    .prefault([])
    .describe('Other amounts after a fall of the price; the deepest dip reached counts'),
  dipWindow: duration({ min: '1h', max: '365d' })
    .prefault('30d')
    .describe('Time window of the highest price'),
})

type DcaInput = z.output<typeof schema>
type Trade = Pick<TradeBase, 'sell' | 'buy'>

export const dcaFile = kindSchema(dca, {
  schema,
  build,
  does: 'trades an amount on every slot of a schedule',
  examples: { slow: 'weekly-eth', fast: 'buy-weth', runsAsIs: true },
  hints: {
    otherNames: [
      [
        /^(?:buy|market|recurring|accumulate|scheduled)/,
        '`kind: dca` trades the same amount on every slot',
      ],
    ],
  },
})

function build(input: DcaInput, context: StrategyContext): DcaStrategy | undefined {
  checkSizeFields(input, context)
  const trade = buildTrade(input, context)
  const size = trade && buildSize(input, trade, context)
  if (trade === undefined || size === undefined) return undefined
  const { limits, price } = trade
  const { token } = trade.sell
  const dips = buildDips(input, { trade, size }, context)
  const path = [size.side === 'sell' ? 'amount' : 'buyAmount']
  checkOrderFits({ token, least: leastSold(size, price), path, limits }, context)
  for (const [index, { amount }] of dips.entries()) {
    const least = leastSold({ ...size, amount }, price)
    checkOrderFits({ token, least, path: ['dip', index, 'amount'], limits }, context)
  }
  return {
    kind: 'dca',
    ...trade,
    schedule: buildSchedule(input.schedule),
    size,
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
 * Exact output leaves the sold amount open. The feed and `maxDeviationBps` bound each order, but a feed can be far from the
 * operator's expectation. So the file must have a highest price or a daily cap.
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
  const [side, key] =
    amount === undefined ? (['buy', 'buyAmount'] as const) : (['sell', 'amount'] as const)
  const text = amount ?? buyAmount
  if (text === undefined) return undefined
  const value = buildAmount(text, trade[side].token, { path: [key], context })
  return value === undefined ? undefined : { side, amount: value }
}

/** Minimum that one order sells; for exact output, at its lowest price. */
function leastSold(size: OrderSize, price: PriceBounds): bigint {
  if (size.side === 'sell') return size.amount
  return price.min === undefined ? 0n : mulDivDown(size.amount, price.min.num, price.min.den)
}
