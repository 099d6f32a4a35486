import * as z from 'zod'
import { percent } from '../../config/amount-scalars.ts'
import { nameKey, oneOf, section } from '../../config/scalars.ts'
import type { Token } from '../../domain/money/token.ts'
import { buildSwap, warnUncapped } from '../files/checks.ts'
import {
  amount,
  buildAmount,
  buildLimits,
  buildSerialSchedule,
  findAsset,
  type StrategyContext,
  swapFields,
  symbol,
} from '../files/fields.ts'
import { percentage } from '../files/hints.ts'
import { kindSchema } from '../files/kind-schema.ts'
import { type RebalanceStrategy, type RebalanceTarget, rebalance } from './rebalance-kind.ts'

const TARGETS_MAX = 16
const WHOLE_BPS = 10_000

const schema = section({
  ...swapFields,
  kind: z.literal('rebalance', { error: 'rebalance' }),
  targets: z
    .record(nameKey, percent({ minBps: 1, maxBps: 9_999 }), {
      error: 'a map of token: weight, such as { WETH: 60%, USDC: 40% }',
    })
    .describe('Weights of at least two tokens, 100% in sum'),
  quote: symbol.describe('Token for all valuations'),
  band: percent({ minBps: 1, maxBps: 5_000 }).describe(
    'Maximum distance of a weight from its target, in percent of the portfolio, without a trade',
  ),
  to: oneOf(['target', 'edge'])
    .prefault('target')
    .describe('Whether to trade back to the targets, or only to the edge of the bands'),
  minTrade: amount.describe('Minimum value of one order, in the quote token'),
  maxCost: percent({ minBps: 1, maxBps: 5_000 })
    .optional()
    .describe('Maximum cost of an order against the feed, in percent; costlier ones are skipped'),
})

type RebalanceInput = z.output<typeof schema>

export const rebalanceFile = kindSchema(rebalance, {
  schema,
  build,
  does: 'keeps the weights of a portfolio',
  examples: { slow: 'rebalance-60-40', fast: 'rebalance', runsAsIs: true },
  hints: {
    strangeValue: (written) =>
      [...written.below, written.key][0] === 'targets' ? percentage(written) : undefined,
    otherNames: [
      [
        /^(?:portfolio|index|balance|weights)/,
        '`kind: rebalance` keeps a portfolio at its `targets`',
      ],
    ],
  },
})

function build(input: RebalanceInput, context: StrategyContext): RebalanceStrategy | undefined {
  const limits = buildLimits(input.limits, undefined, context)
  const quote = plainToken(input.quote, ['quote'], context)
  const targets = buildTargets(input, context)
  if (quote === undefined || targets === undefined) return undefined
  for (const { token } of targets) checkIsPriced(token, quote, context)
  const minTrade = buildAmount(input.minTrade, quote, { path: ['minTrade'], context })
  if (minTrade === undefined) return undefined
  for (const { token } of targets) warnUncapped(token, limits, context)
  return {
    kind: 'rebalance',
    ...buildSwap(input, context),
    schedule: buildSerialSchedule(input.schedule, context),
    priceCheck: 'feed',
    limits,
    targets,
    quote,
    bandBps: input.band,
    to: input.to,
    minTrade,
    maxCostBps: input.maxCost,
  }
}

function buildTargets({ targets }: RebalanceInput, context: StrategyContext) {
  const { report } = context
  const entries = Object.entries(targets)
  const path = ['targets']
  if (entries.length < 2 || entries.length > TARGETS_MAX) {
    const message = 'a portfolio of this size cannot be rebalanced'
    report({ path, at: 'key', message, expected: `2 to ${TARGETS_MAX} tokens` })
  }
  const sum = entries.reduce((total, [, weight]) => total + weight, 0)
  if (sum !== WHOLE_BPS) {
    const message = `these weights sum to ${sum / 100}%`
    report({ path, at: 'key', message, expected: 'weights that sum to 100%' })
  }
  const built = entries.flatMap(([name, weightBps]): RebalanceTarget[] => {
    const token = plainToken(name, ['targets', name], context)
    return token === undefined ? [] : [{ token, weightBps }]
  })
  return built.length === entries.length ? built : undefined
}

/** Excludes ETH, which would be wrapped for each order and pays for gas. */
function plainToken(name: string, path: readonly string[], context: StrategyContext) {
  const asset = findAsset(name, { path: [...path], context })
  if (asset === undefined || !asset.native) return asset?.token
  const message = 'ETH pays for gas and cannot be part of a portfolio'
  context.report({ path: [...path], message, expected: 'WETH', suggestion: 'WETH' })
  return undefined
}

function checkIsPriced(token: Token, quote: Token, { pricePath, report }: StrategyContext): void {
  if (token === quote || pricePath(quote, token) !== undefined) return
  const message = `the config has no price feed that connects ${token.symbol} with ${quote.symbol}`
  const expected = `an entry ${token.symbol}/${quote.symbol} under \`prices\``
  report({ path: ['targets', token.symbol], message, expected })
}
