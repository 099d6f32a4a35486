import * as z from 'zod'
import {
  amountOrShare,
  percent,
  positiveDecimal,
  priceOrPercent,
} from '../../config/amount-scalars.ts'
import { flag, pairText, section, textLike } from '../../config/scalars.ts'
import type { Path } from '../../config/yaml/problem.ts'
import type { Asset, Pair, Token } from '../../domain/money/token.ts'
import { compareRatio } from '../../domain/money/units.ts'
import { STRATEGY_NAME } from '../../domain/strategy.ts'
import { buildTrade, checkOrderFits } from '../files/checks.ts'
import {
  buildAmount,
  buildPrice,
  buildSerialSchedule,
  findAsset,
  type StrategyContext,
  tradeFields,
} from '../files/fields.ts'
import { byKey, type Written } from '../files/hints.ts'
import { kindSchema } from '../files/kind-schema.ts'
import type { Rung, RungSize, ThresholdStrategy } from './rungs.ts'
import { threshold } from './threshold-kind.ts'

const triggers = {
  above: positiveDecimal.optional().describe('Fires when the price is this or higher'),
  below: positiveDecimal.optional().describe('Fires when the price is this or lower'),
  trailing: percent({ minBps: 1, maxBps: 9_000 })
    .optional()
    .describe('Fires when the price turns by this share from its extreme since it was armed'),
}

const size = amountOrShare.describe('Amount to sell, or a share of the free balance such as 50%')

const schema = section({
  ...tradeFields,
  kind: z.literal('threshold', { error: 'threshold' }),
  when: section({
    price: pairText.optional().describe('BASE/QUOTE of the price to watch, from the feeds'),
    ...triggers,
  })
    .prefault({})
    .describe('Price to watch, and the levels that trade `amount`'),
  takeProfit: priceOrPercent({ maxBps: 1_000_000 })
    .optional()
    .describe('Price, as in when.above; or a gain such as 10% over the entry of `entryOf`'),
  stopLoss: priceOrPercent({ maxBps: 9_900 })
    .optional()
    .describe('Price, as in when.below; or a loss such as 5% from the entry of `entryOf`'),
  entryOf: textLike(STRATEGY_NAME, 'the name of a strategy')
    .optional()
    .describe(
      'Strategy whose purchases to sell. The entry is the average price of its purchases that are not sold yet',
    ),
  ladder: z
    .array(section({ ...triggers, amount: size }), {
      error: 'a list of rungs, each with one of above, below, trailing, and an amount',
    })
    .optional()
    .describe('Several levels, each with its own amount'),
  amount: size.optional(),
  rearm: percent({ minBps: 1, maxBps: 5_000 })
    .prefault('1%')
    .describe('Share by which the price must come back before a level may fire again'),
  once: flag.prefault('false').describe('Whether each level fires at most once, ever'),
  fireAtOnce: flag
    .prefault('false')
    .describe('Whether it may trade at its first slot, in live mode without an approval'),
})

type ThresholdInput = z.output<typeof schema>
type Watch = ThresholdStrategy['watch']
type LineTrigger =
  | { readonly type: 'above' | 'below'; readonly price: string }
  | { readonly type: 'trailing' | 'gain' | 'loss'; readonly bps: number }
type Size = ThresholdInput['amount']
type Line = LineTrigger & { readonly size: Size; readonly path: Path }
type Placed = { readonly rung: Rung; readonly path: Path }

export const thresholdFile = kindSchema(threshold, {
  schema,
  build,
  does: 'trades when a price reaches a level: take-profit, stop-loss, trailing stop, ladder',
  examples: { slow: 'take-profit-stop-loss', fast: 'threshold', runsAsIs: true },
  hints: {
    unknownKey: byKey({ 'takeProfit stopLoss': exit, 'above below trailing': level }),
    otherNames: [
      [
        /^grid/,
        'two of `kind: threshold` make a grid: one buys with a `ladder` of levels below, such as `[{ below: "2900", amount: "25" }, { below: "2800", amount: "25" }]`, one sells with levels above',
      ],
      [
        /^(?:limit|stop|take|trailing|exit|oco)/,
        '`kind: threshold` waits for a level: `when: { below: "2500" }`, `takeProfit`, `stopLoss`',
      ],
    ],
  },
})

function exit({ below, key, text = '4500' }: Written): string | undefined {
  return below[0] === 'when' ? `it stands beside \`when\`, as in \`${key}: "${text}"\`` : undefined
}

/** Hint for a misplaced level. */
function level({ key, text }: Written): string {
  const value = key === 'trailing' ? (text ?? '5%') : JSON.stringify(text ?? '4000')
  return `it belongs to when, as in \`when: { ${key}: ${value} }\``
}

function build(input: ThresholdInput, context: StrategyContext): ThresholdStrategy | undefined {
  const trade = buildTrade(input, context)
  const watch = trade && buildWatch(input, trade, context)
  if (trade === undefined || watch === undefined) return undefined
  const { sell, limits } = trade
  const lines = linesOf(input, context)
  const placed = lines.flatMap((line) => buildRung(line, { watch, sell, context }))
  checkRungs(placed, context)
  checkEntry(input, { lines, isBuilt: placed.length > 0, watch, sell: sell.token }, context)
  for (const { rung, path } of placed)
    if (rung.size.type === 'amount')
      checkOrderFits({ token: sell.token, least: rung.size.amount, path, limits }, context)
  const { rearm: rearmBps, once, fireAtOnce, entryOf } = input
  return {
    kind: 'threshold',
    ...trade,
    schedule: buildSerialSchedule(input.schedule, context),
    watch,
    rungs: placed.map(({ rung }) => rung),
    rearmBps,
    once,
    fireAtOnce,
    entryOf,
  }
}

/** Every trigger of the file, in order. */
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
  { size, path }: { size: Size; path: Path },
): readonly Line[] {
  const { trailing } = given
  const levels = (['above', 'below'] as const).flatMap((type): Line[] => {
    const price = given[type]
    return price === undefined ? [] : [{ type, price, size, path: [...path, type] }]
  })
  if (trailing === undefined) return levels
  return [...levels, { type: 'trailing', bps: trailing, size, path: [...path, 'trailing'] }]
}

function exitLine(
  given: ThresholdInput['takeProfit'],
  on: {
    readonly types: readonly [price: 'above' | 'below', percent: 'gain' | 'loss']
    readonly size: Size
    readonly path: Path
  },
): readonly Line[] {
  if (given === undefined) return []
  const { types, size, path } = on
  return given.type === 'price'
    ? [{ type: types[0], price: given.text, size, path }]
    : [{ type: types[1], bps: given.bps, size, path }]
}

function buildRung(
  line: Line,
  { watch, sell, context }: { watch: Watch; sell: Asset; context: StrategyContext },
): readonly Placed[] {
  const { path } = line
  const size = buildRungSize(line.size, sell, context)
  if (size === undefined) return []
  if ('bps' in line) {
    const { type, bps } = line
    return [{ rung: { id: `${type} ${bps / 100}%`, trigger: { type, bps }, size }, path }]
  }
  const { type, price } = line
  const level = buildPrice(price, { sell: watch.quote, buy: watch.base })
  if (level === undefined) return []
  return [{ rung: { id: `${type} ${price}`, trigger: { type, level }, size }, path }]
}

function buildRungSize(size: Size, sell: Asset, context: StrategyContext): RungSize | undefined {
  if (size?.type !== 'amount') return size
  const amount = buildAmount(size.text, sell.token, { path: ['amount'], context })
  return amount === undefined ? undefined : { type: 'amount', amount }
}

/** Rejects rungs with one id, which would share their memory, and overlapping levels, which would fire on every slot. */
function checkRungs(placed: readonly Placed[], { report }: StrategyContext): void {
  const rungs = placed.map(({ rung }) => rung)
  for (const [index, { rung, path }] of placed.entries()) {
    const { id, trigger } = rung
    if (rungs.findIndex((other) => other.id === id) < index)
      report({ path, message: 'this level is given twice', expected: 'each level once' })
    if (trigger.type !== 'below') continue
    const covered = rungs.some(
      (other) =>
        other.trigger.type === 'above' && compareRatio(trigger.level, other.trigger.level) >= 0,
    )
    if (!covered) continue
    const message = 'one of these levels would fire at any price'
    report({ path, message, expected: 'a level below every `above`' })
  }
}

/** Requires an entry for a gain or loss: purchases of the sold token at the watched price. */
function checkEntry(
  { entryOf, name }: ThresholdInput,
  on: { lines: readonly Line[]; isBuilt: boolean; watch: Watch; sell: Token },
  { report }: StrategyContext,
): void {
  const { lines, isBuilt, watch, sell } = on
  const relative = lines.find(({ type }) => type === 'gain' || type === 'loss')
  if (entryOf === undefined && relative !== undefined) {
    const message = 'a percentage needs an entry'
    const expected = 'entryOf, the name of the strategy that buys what is sold here; or a price'
    report({ path: relative.path, message, expected })
  }
  if (entryOf === undefined || !isBuilt) return
  if (entryOf === name) {
    const message = 'a strategy that sells has no entry of its own'
    report({ path: ['entryOf'], message, expected: 'the strategy that buys' })
  }
  if (sell.address === watch.base.address) return
  const message = `it sells ${sell.symbol}, and the price is that of ${watch.base.symbol}`
  report({ path: ['entryOf'], message, expected: `a price of ${sell.symbol}` })
}

/** The named pair, or a feed of the traded pair. */
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
    const message = 'the watched price is ambiguous'
    report({ path: ['when'], at: 'key', message, expected: 'when.price, such as WETH/USDC' })
    return undefined
  }
  const path = ['when', 'price']
  const [base, quote] = pair.split('/').map((name) => findAsset(name, { path, context })?.token)
  if (base === undefined || quote === undefined) return undefined
  if (base === quote || context.pricePath(quote, base) === undefined) {
    const message = `no feed of the config gives the price of ${pair}`
    report({ path, message, expected: `an entry ${pair} under \`prices\`` })
    return undefined
  }
  return { pair: `${base.symbol}/${quote.symbol}`, base, quote }
}
