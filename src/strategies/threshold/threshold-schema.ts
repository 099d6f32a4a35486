import * as z from 'zod'
import {
  type Rung,
  type RungSize,
  STRATEGY_NAME,
  type ThresholdStrategy,
} from '../../domain/strategy.ts'
import type { Asset, Pair, Token } from '../../domain/token.ts'
import { compareRatio } from '../../domain/units.ts'
import {
  amountOrShare,
  flag,
  pairText,
  percent,
  positiveDecimal,
  priceOrPercent,
  section,
  textLike,
} from '../scalars.ts'
import type { Path } from '../yaml/problem.ts'
import {
  buildBounds,
  buildSwapSettings,
  checkOrderFits,
  checkPrices,
  warnUncapped,
} from './checks.ts'
import {
  buildAmount,
  buildLimits,
  buildPrice,
  buildSerialSchedule,
  findAsset,
  findTrade,
  type StrategyContext,
  tradeFields,
} from './fields.ts'

const triggers = {
  above: positiveDecimal.optional().describe('Fires when the price is this or higher'),
  below: positiveDecimal.optional().describe('Fires when the price is this or lower'),
  trailing: percent({ minBps: 1, maxBps: 9_000 })
    .optional()
    .describe('Fires when the price has turned by this from its furthest since armed'),
}

const size = amountOrShare.describe(
  'What is sold: an amount, or a share of what is free such as 50%',
)

/** `kind: threshold`: trades when a price reaches a level. */
export const thresholdSchema = section({
  ...tradeFields,
  kind: z.literal('threshold', { error: 'threshold' }),
  when: section({
    price: pairText.optional().describe('BASE/QUOTE of the price that is watched, from the feeds'),
    ...triggers,
  })
    .prefault({})
    .describe('What is watched, and the levels at which `amount` is traded'),
  takeProfit: priceOrPercent({ maxBps: 1_000_000 })
    .optional()
    .describe('A price, the same as when.above; or a gain such as 10% over the entry of `entryOf`'),
  stopLoss: priceOrPercent({ maxBps: 9_900 })
    .optional()
    .describe('A price, the same as when.below; or a loss such as 5% from the entry of `entryOf`'),
  entryOf: textLike(STRATEGY_NAME, 'the name of a strategy')
    .optional()
    .describe(
      'The strategy whose purchases are sold: percentages are of what it paid on average for what is not sold yet',
    ),
  ladder: z
    .array(section({ ...triggers, amount: size }), {
      error: 'a list of rungs, each with one of above, below, trailing, and an amount',
    })
    .optional()
    .describe('Several levels, each with an amount of its own'),
  amount: size.optional(),
  rearm: percent({ minBps: 1, maxBps: 5_000 })
    .prefault('1%')
    .describe('How far the price must come back before a level may fire again'),
  once: flag.prefault('false').describe('Each level fires at most once, ever'),
  fireAtOnce: flag
    .prefault('false')
    .describe('It may trade at its first slot: in live mode no approval is waited for'),
})

type ThresholdInput = z.output<typeof thresholdSchema>
type Watch = ThresholdStrategy['watch']
type Line = {
  readonly type: 'above' | 'below' | 'trailing' | 'gain' | 'loss'
  /** A price, or basis points. */
  readonly level: string | number
  readonly size: ThresholdInput['amount']
  readonly path: Path
}

/** The strategy, or undefined when something was reported that leaves it without a meaning. */
export function buildThreshold(
  input: ThresholdInput,
  context: StrategyContext,
): ThresholdStrategy | undefined {
  const trade = findTrade(input, context)
  if (trade === undefined) return undefined
  const { token } = trade.sell
  const limits = buildLimits(input.limits, token, context)
  const price = buildBounds(input.price, trade, context)
  const priceCheck = checkPrices(input.price, trade, context)
  const watch = buildWatch(input, trade, context)
  if (watch === undefined) return undefined
  const lines = linesOf(input, context)
  const rungs = lines.flatMap((line) => buildRung(line, { watch, sell: trade.sell, context }))
  checkRungs(rungs, lines, context)
  checkEntry(input, { rungs, lines, watch, sell: trade.sell }, context)
  for (const [index, { size }] of rungs.entries()) {
    const path = lines[index]?.path ?? ['amount']
    if (size.type === 'amount') checkOrderFits({ token, least: size.amount, path, limits }, context)
  }
  warnUncapped(token, limits, context)
  return {
    kind: 'threshold',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSerialSchedule(input.schedule, context),
    ...buildSwapSettings(input, context),
    priceCheck,
    limits,
    ...trade,
    price,
    watch,
    rungs,
    rearmBps: input.rearm,
    once: input.once,
    fireAtOnce: input.fireAtOnce,
    ...(input.entryOf === undefined ? {} : { entryOf: input.entryOf }),
  }
}

/** Every trigger of the file in its order, whichever way it was written. */
function linesOf(input: ThresholdInput, { report }: StrategyContext): readonly Line[] {
  const { when, takeProfit, stopLoss, ladder, amount } = input
  const own: Line[] = [
    ...triggerLines(when, { size: amount, path: ['when'] }),
    ...exitLine(takeProfit, { types: ['above', 'gain'], size: amount, path: ['takeProfit'] }),
    ...exitLine(stopLoss, { types: ['below', 'loss'], size: amount, path: ['stopLoss'] }),
  ]
  const rungs = (ladder ?? []).flatMap((rung, index) => {
    const lines = triggerLines(rung, { size: rung.amount, path: ['ladder', index] })
    if (lines.length !== 1) {
      const message = 'each rung has one trigger'
      const expected = 'exactly one of: above, below, trailing'
      report({ path: ['ladder', index], message, expected })
    }
    return lines
  })
  if (own.length > 0 && amount === undefined) {
    const message = 'these triggers have no amount'
    report({ path: ['amount'], message, expected: 'an amount, or a share such as 50%' })
  }
  if (own.length + rungs.length === 0) {
    const message = 'nothing would ever trigger this strategy'
    const expected = 'when.above, when.below, when.trailing, takeProfit, stopLoss or a ladder'
    report({ path: ['when'], at: 'key', message, expected })
  }
  return [...own, ...rungs]
}

function triggerLines(
  given: { above?: string | undefined; below?: string | undefined; trailing?: number | undefined },
  place: { size: ThresholdInput['amount']; path: Path },
): readonly Line[] {
  return (['above', 'below', 'trailing'] as const).flatMap((type) => {
    const level = given[type]
    if (level === undefined) return []
    return [{ type, level, size: place.size, path: [...place.path, type] }]
  })
}

/** `takeProfit` or `stopLoss`: a price, or so far from the entry. */
function exitLine(
  given: ThresholdInput['takeProfit'],
  on: {
    readonly types: readonly [price: 'above' | 'below', percent: 'gain' | 'loss']
    readonly size: ThresholdInput['amount']
    readonly path: Path
  },
): readonly Line[] {
  if (given === undefined) return []
  const { types, size, path } = on
  const [price, percentage] = types
  return given.type === 'price'
    ? [{ type: price, level: given.text, size, path }]
    : [{ type: percentage, level: given.bps, size, path }]
}

function buildRung(
  line: Line,
  on: { watch: Watch; sell: Asset; context: StrategyContext },
): readonly Rung[] {
  const size = buildRungSize(line, on)
  if (size === undefined) return []
  if (typeof line.level === 'number') {
    const { type, level: bps } = line
    if (type === 'above' || type === 'below') return []
    return [{ id: `${type} ${bps / 100}%`, trigger: { type, bps }, size }]
  }
  const level = buildPrice(line.level, { sell: on.watch.quote, buy: on.watch.base })
  const { type } = line
  if (level === undefined || (type !== 'above' && type !== 'below')) return []
  return [{ id: `${type} ${line.level}`, trigger: { type, level }, size }]
}

function buildRungSize(
  { size }: Line,
  { sell, context }: { sell: Asset; context: StrategyContext },
): RungSize | undefined {
  if (size === undefined) return undefined
  if (size.type === 'share') return size
  const value = buildAmount(size.text, sell.token, { path: ['amount'], context })
  return value === undefined ? undefined : { type: 'amount', amount: value }
}

/** Two rungs of one id would share their memory, and levels that overlap would fire on every slot. */
function checkRungs(
  rungs: readonly Rung[],
  lines: readonly Line[],
  { report }: StrategyContext,
): void {
  for (const [index, { id, trigger }] of rungs.entries()) {
    const path = lines[index]?.path ?? ['when']
    if (rungs.findIndex((other) => other.id === id) < index)
      report({ path, message: 'this level is given twice', expected: 'each level once' })
    if (trigger.type !== 'below') continue
    const covered = rungs.some(
      (other) =>
        other.trigger.type === 'above' && compareRatio(trigger.level, other.trigger.level) >= 0,
    )
    if (!covered) continue
    const message = 'at every price one of these levels would fire'
    report({ path, message, expected: 'a level below every `above`' })
  }
}

/** A gain or a loss is measured from an entry; an entry is of what is sold, at the price that is watched. */
function checkEntry(
  { entryOf, name }: ThresholdInput,
  on: {
    readonly rungs: readonly Rung[]
    readonly lines: readonly Line[]
    readonly watch: Watch
    readonly sell: Asset
  },
  { report }: StrategyContext,
): void {
  const { rungs, lines, watch, sell } = on
  const relative = lines.find(({ type }) => type === 'gain' || type === 'loss')
  if (entryOf === undefined && relative !== undefined) {
    const message = 'a percentage of which entry?'
    const expected = 'entryOf, the name of the strategy that buys what is sold here; or a price'
    report({ path: relative.path, message, expected })
  }
  if (entryOf === undefined || rungs.length === 0) return
  if (entryOf === name) {
    const message = 'a strategy that sells has no entry of its own'
    report({ path: ['entryOf'], message, expected: 'the strategy that buys' })
  }
  if (sell.token.address === watch.base.address) return
  const message = `it sells ${sell.token.symbol}, and the price is that of ${watch.base.symbol}`
  report({ path: ['entryOf'], message, expected: `a price of ${sell.token.symbol}` })
}

/** The watched pair: as named, or the feed between what is sold and bought. */
function buildWatch(
  { when }: ThresholdInput,
  trade: { sell: Asset; buy: Asset },
  context: StrategyContext,
): Watch | undefined {
  const { settings, report } = context
  const [a, b] = [trade.sell.token, trade.buy.token]
  const pairs: readonly Pair[] = [`${a.symbol}/${b.symbol}`, `${b.symbol}/${a.symbol}`]
  const own = pairs.find((pair) => settings.prices.has(pair))
  const pair = when.price ?? own
  if (pair === undefined) {
    const message = 'it is not clear which price is watched'
    report({ path: ['when'], at: 'key', message, expected: 'when.price, such as WETH/USDC' })
    return undefined
  }
  const [base, quote] = pair.split('/').map((name) => watchedToken(name, context))
  if (base === undefined || quote === undefined) return undefined
  if (base === quote || context.pricePath(quote, base) === undefined) {
    const message = `no feed of the config gives the price of ${pair}`
    report({ path: ['when', 'price'], message, expected: `an entry ${pair} under \`prices\`` })
    return undefined
  }
  return { pair: `${base.symbol}/${quote.symbol}`, base, quote }
}

function watchedToken(name: string, context: StrategyContext): Token | undefined {
  return findAsset(name, { path: ['when', 'price'], context })?.token
}
