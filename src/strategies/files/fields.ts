import * as z from 'zod'
import { basisPoints, percent, positiveDecimal } from '../../config/amount-scalars.ts'
import {
  duration,
  flag,
  integer,
  nameKey,
  nameOf,
  oneOf,
  scalar,
  section,
  textLike,
  timezone,
} from '../../config/scalars.ts'
import { tooManyDecimals } from '../../config/settings/build.ts'
import type { Fault } from '../../config/yaml/document.ts'
import type { Path } from '../../config/yaml/problem.ts'
import type { createPricePaths } from '../../domain/money/price.ts'
import {
  type Asset,
  ETHER,
  type Token,
  WETH_BASE_ADDRESS,
  wrappedEther,
} from '../../domain/money/token.ts'
import {
  type Address,
  type BaseUnits,
  parseAmount,
  parseRatio,
  type Ratio,
} from '../../domain/money/units.ts'
import { parseCron } from '../../domain/schedule/cron.ts'
import type { Schedule } from '../../domain/schedule/schedule.ts'
import type { Settings } from '../../domain/settings.ts'
import {
  type CapName,
  type Caps,
  everyCap,
  NO_CAPS,
  STRATEGY_NAME,
  type StrategyLimits,
  type TokenPair,
} from '../../domain/strategy.ts'
import { nearest } from '../../domain/text/nearest.ts'

/** The context of reading a strategy file. Warnings do not reject the file. */
export type StrategyContext = {
  readonly file: string
  readonly settings: Settings
  /** Feeds that connect two tokens of the config. */
  readonly pricePath: ReturnType<typeof createPricePaths>
  readonly report: (fault: Fault) => void
  readonly warn: (fault: Fault) => void
}

const cron = scalar({
  expected: 'five cron fields (minute hour day month weekday), or six with seconds first',
  read: (text) => {
    const parsed = parseCron(text)
    if (parsed.ok) return { ok: true, value: { text, pattern: parsed.pattern } }
    const { message, offset, length } = parsed
    return { ok: false, message, part: { offset, length } }
  },
})

export const scheduleFields = {
  cron: cron.describe('When a slot is due; day fields also take L, L-3, 15W, LW, 5#2 and 5L'),
  timezone: timezone.prefault('UTC').describe('IANA time zone of the cron text'),
  missed: oneOf(['skip', 'latest', 'all'])
    .prefault('latest')
    .describe('Which slots to make up after the daemon was down'),
  maxLateness: duration({ min: '1s', max: '30d' })
    .prefault('1h')
    .describe('Maximum delay of a slot; later it is recorded as missed'),
  jitter: duration({ min: '0s', max: '1d' })
    .prefault('0s')
    .describe('Maximum delay added to each slot; always the same for one slot'),
  overlap: oneOf(['skip', 'allow'])
    .optional()
    .describe(
      'Whether a slot may begin while an earlier one is open. Default for dca and call: allow',
    ),
}
const scheduleSchema = section(scheduleFields)

export const symbol = nameOf('a token of the config, or ETH')

/** An amount of the sold token, or amounts by token. */
const cap = z
  .union([positiveDecimal, z.record(nameKey, positiveDecimal)], {
    error: 'an amount such as "100", or a map of token: amount',
  })
  .optional()

const limitsSchema = section({
  perOrder: cap.describe('Maximum amount that one order spends: in the sell token, or by token'),
  perHour: cap.describe('Maximum amount spent in an hour'),
  perDay: cap.describe('Maximum amount spent in 24 hours'),
  perWeek: cap.describe('Maximum amount spent in seven days'),
  total: cap.describe('Maximum amount ever spent'),
  cooldown: duration({ min: '0s', max: '365d' })
    .prefault('0s')
    .describe('Minimum time between two orders'),
  maxOpenIntents: integer({ min: 1, max: 1_000 })
    .prefault('3')
    .describe('Maximum open orders at once'),
  maxFailures: integer({ min: 1, max: 1_000 })
    .optional()
    .describe('Slots in a row that fail, are refused or expire before the strategy is paused'),
  drawdown: percent({ minBps: 1, maxBps: 9_900 })
    .optional()
    .describe('Fall in the value of its tokens from their peak at which the strategy is paused'),
})

/** Fields of every kind. */
export const commonFields = {
  name: textLike(
    STRATEGY_NAME,
    'up to 63 lower-case letters, digits and `-`, not beginning with `-`',
  ).describe('Name, part of every order id; a renamed strategy is a new one'),
  enabled: flag.prefault('true').describe('Whether it trades; `false` only keeps the file'),
  schedule: scheduleSchema,
  limits: limitsSchema.prefault({}),
}

/** Fields of every kind that swaps. */
export const swapFields = {
  ...commonFields,
  slippageBps: basisPoints({ min: 1, max: 2_000 })
    .optional()
    .describe('Maximum slippage in basis points. Default: gasless.slippageBps'),
  maxDeviation: percent({ minBps: 1, maxBps: 5_000 })
    .optional()
    .describe('Maximum deviation of a quote from the feed. Default: limits.maxDeviationBps'),
}

export const amount = positiveDecimal
const priceBounds = section({
  min: positiveDecimal
    .optional()
    .describe('Minimum price, sell token per buy token; below it the slot is skipped'),
  max: positiveDecimal
    .optional()
    .describe('Maximum price, sell token per buy token; above it the slot is skipped'),
  withoutFeed: textLike(/^\S{1,32}\/\S{1,32}$/, 'SELL/BUY, such as USDC/PEPE')
    .optional()
    .describe('Pair to trade although no feed gives its price; needs price.max'),
})

/** Fields of a one-directional swap. */
export const tradeFields = {
  ...swapFields,
  sell: symbol.describe('Token to sell; ETH is wrapped first'),
  buy: symbol.describe('Token to buy; ETH is unwrapped afterwards'),
  price: priceBounds.prefault({}),
}

export type TradeInput = z.output<z.ZodObject<Omit<typeof tradeFields, 'schedule'>>>
export type LimitsInput = z.output<typeof limitsSchema>
type ScheduleInput = z.output<typeof scheduleSchema>

export function buildSchedule(input: ScheduleInput): Schedule {
  const { cron, timezone, missed, maxLateness, jitter, overlap } = input
  return {
    type: 'cron',
    cron: cron.text,
    pattern: cron.pattern,
    timezone,
    missed,
    maxLatenessMs: maxLateness,
    jitterMs: jitter,
    overlap: overlap ?? 'allow',
  }
}

/** For kinds that decide by balances, because pending orders change these. */
export function buildSerialSchedule(input: ScheduleInput, { report }: StrategyContext): Schedule {
  if (input.overlap === 'allow') {
    const message = 'this kind decides by balances, which orders in flight are about to change'
    report({ path: ['schedule', 'overlap'], message, expected: 'skip, or nothing' })
  }
  return { ...buildSchedule(input), overlap: 'skip' }
}

/** Caps in base units, by token. A plain amount is in `sell`, which is undefined for kinds that sell several tokens. */
export function buildLimits(
  input: LimitsInput,
  sell: Token | undefined,
  context: StrategyContext,
): StrategyLimits {
  const { cooldown, maxOpenIntents, maxFailures, drawdown } = input
  return {
    ...everyCap((name) => buildCaps(input[name], { sell, name, context })),
    cooldownMs: cooldown,
    maxOpenIntents,
    maxFailures,
    drawdownBps: drawdown,
  }
}

function buildCaps(
  given: LimitsInput[CapName],
  { sell, name, context }: { sell: Token | undefined; name: CapName; context: StrategyContext },
): Caps {
  const path = ['limits', name]
  if (given === undefined) return NO_CAPS
  if (typeof given === 'string') {
    if (sell === undefined) {
      const message = 'this strategy sells several tokens, so an amount needs its token'
      context.report({ path, message, expected: 'a map of token: amount' })
      return NO_CAPS
    }
    const amount = buildAmount(given, sell, { path, context })
    return amount === undefined ? NO_CAPS : new Map([[sell.address, amount]])
  }
  const caps = new Map<Address, BaseUnits>()
  for (const [symbol, text] of Object.entries(given)) {
    const asset = findAsset(symbol, { path: [...path, symbol], context })
    if (asset === undefined) continue
    const amount = buildAmount(text, asset.token, { path: [...path, symbol], context })
    if (amount !== undefined) caps.set(asset.token.address, amount)
  }
  return caps
}

type Place = { readonly path: Path; readonly context: StrategyContext }

/** Base units of a decimal amount. Returns undefined and reports a fault if it has too many decimals. */
export function buildAmount(text: string, token: Token, { path, context }: Place) {
  const value = parseAmount(text, token.decimals)
  if (value === undefined) context.report(tooManyDecimals(path, token))
  return value
}

/** Finds a token by name. `ETH` is WETH, wrapped before or unwrapped after the order. */
export function findAsset(name: string, { path, context }: Place): Asset | undefined {
  const { tokens } = context.settings
  const native = name === ETHER.symbol
  const token = native ? wrappedEther(tokens.values()) : tokens.get(name)
  if (token !== undefined) return { token, native }
  if (native) {
    const message = 'ETH is traded as WETH, and the config has no WETH'
    const expected = `a token at ${WETH_BASE_ADDRESS} under \`tokens\``
    context.report({ path, message, expected })
    return undefined
  }
  const symbols = [...tokens.keys(), 'ETH']
  const message = 'the config has no token of this name'
  const expected = `one of: ${symbols.join(', ')}`
  context.report({ path, message, expected, suggestion: nearest(name, symbols) })
  return undefined
}

export function findTrade(input: Pick<TradeInput, 'sell' | 'buy'>, context: StrategyContext) {
  const sell = findAsset(input.sell, { path: ['sell'], context })
  const buy = findAsset(input.buy, { path: ['buy'], context })
  if (sell === undefined || buy === undefined) return undefined
  if (sell.token === buy.token) {
    const message = 'sell and buy are the same token'
    context.report({ path: ['buy'], message, expected: 'two different tokens; ETH counts as WETH' })
    return undefined
  }
  return { sell, buy }
}

/** Base units of sell per base unit of buy, from whole tokens. */
export function buildPrice(text: string | undefined, { sell, buy }: TokenPair): Ratio | undefined {
  const whole = text === undefined ? undefined : parseRatio(text)
  return (
    whole && {
      num: whole.num * 10n ** BigInt(sell.decimals),
      den: whole.den * 10n ** BigInt(buy.decimals),
    }
  )
}
