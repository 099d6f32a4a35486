import { parseCron } from '../domain/cron.ts'
import type { Schedule } from '../domain/schedule.ts'
import type { Settings } from '../domain/settings.ts'
import { STRATEGY_NAME, type StrategyLimits } from '../domain/strategy.ts'
import type { Asset, Token } from '../domain/token.ts'
import { WETH_BASE_ADDRESS } from '../domain/token.ts'
import { type BaseUnits, parseAmount, parseRatio, type Ratio } from '../domain/units.ts'
import type { Fault } from './document.ts'
import { nearest } from './nearest.ts'
import type { Path } from './problem.ts'
import {
  duration,
  flag,
  integer,
  nameOf,
  oneOf,
  positiveDecimal,
  scalar,
  section,
  textLike,
  timezone,
} from './scalars.ts'
import { tooManyDecimals } from './settings-build.ts'

/** What a strategy is read against, and where its faults go. Warnings are faults that do not stop anything. */
export type StrategyContext = {
  readonly file: string
  readonly settings: Settings
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

const scheduleSchema = section({
  cron: cron.describe('When a slot comes up'),
  timezone: timezone.prefault('UTC').describe('IANA time zone that the cron text is read in'),
  missed: oneOf(['skip', 'latest', 'all'])
    .prefault('latest')
    .describe('What happens to slots that passed while the daemon was down'),
  maxLateness: duration({ min: '1s', max: '30d' })
    .prefault('1h')
    .describe('A slot found later than this is recorded as missed'),
})

const limitsSchema = section({
  perDay: positiveDecimal
    .optional()
    .describe('Most that is spent in 24 hours: in the sell token, or ether of a call'),
  total: positiveDecimal
    .optional()
    .describe('Most that is ever spent: in the sell token, or ether of a call'),
  cooldown: duration({ min: '0s', max: '365d' })
    .prefault('0s')
    .describe('Shortest time between two orders'),
  maxOpenIntents: integer({ min: 1, max: 1_000 })
    .prefault('3')
    .describe('Orders that may be unresolved at once'),
})

/** Fields that every kind of strategy has. Each kind adds its own in a file `strategy-<kind>.ts`. */
export const commonFields = {
  name: textLike(
    STRATEGY_NAME,
    'up to 63 lower-case letters, digits and `-`, not beginning with `-`',
  ).describe('Part of every order id; a renamed strategy is a new one'),
  enabled: flag.prefault('true').describe('false keeps the file but trades nothing'),
  schedule: scheduleSchema,
  slippageBps: integer({ min: 1, max: 2_000 })
    .optional()
    .describe('Slippage in basis points; gasless.slippageBps unless given'),
  limits: limitsSchema.prefault({}),
}

export const symbol = nameOf('a token of the config, or ETH')
export const amount = positiveDecimal
export const priceBounds = section({
  min: positiveDecimal
    .optional()
    .describe('Sell token per buy token; below it the slot is skipped'),
  max: positiveDecimal
    .optional()
    .describe('Sell token per buy token; above it the slot is skipped'),
})

type ScheduleInput = ReturnType<typeof scheduleSchema.parse>
type LimitsInput = ReturnType<typeof limitsSchema.parse>

export function buildSchedule(input: ScheduleInput): Schedule {
  const { cron, timezone, missed, maxLateness } = input
  const { text, pattern } = cron
  return { cron: text, pattern, timezone, missed, maxLatenessMs: maxLateness }
}

/** Caps in base units of the token that is sold. */
export function buildLimits(
  input: LimitsInput,
  sell: Token,
  context: StrategyContext,
): StrategyLimits {
  const cap = (name: 'perDay' | 'total') => {
    const text = input[name]
    return text === undefined
      ? undefined
      : buildAmount(text, sell, { path: ['limits', name], context })
  }
  const { cooldown, maxOpenIntents } = input
  return { perDay: cap('perDay'), total: cap('total'), cooldownMs: cooldown, maxOpenIntents }
}

/** Base units of a decimal amount; undefined, and reported, when the token is not that fine. */
export function buildAmount(
  text: string,
  token: Token,
  place: { path: Path; context: StrategyContext },
): BaseUnits | undefined {
  const value = parseAmount(text, token.decimals)
  if (value === undefined) place.context.report(tooManyDecimals(place.path, token))
  return value
}

/** A token that a strategy names; `ETH` is WETH, wrapped before or unwrapped after the order. */
function findAsset(
  name: string,
  place: { path: Path; context: StrategyContext },
): Asset | undefined {
  const { path, context } = place
  const { tokens } = context.settings
  if (name === 'ETH') return findNative(path, context)
  const token = tokens.get(name)
  if (token !== undefined) return { token, native: false }
  const symbols = [...tokens.keys(), 'ETH']
  const message = 'the config has no token of this name'
  const expected = `one of: ${symbols.join(', ')}`
  context.report({ path, message, expected, suggestion: nearest(name, symbols) })
  return undefined
}

function findNative(path: Path, context: StrategyContext): Asset | undefined {
  for (const token of context.settings.tokens.values())
    if (token.address === WETH_BASE_ADDRESS) return { token, native: true }
  const message = 'ETH is traded as WETH, and the config has no WETH'
  context.report({ path, message, expected: `a token at ${WETH_BASE_ADDRESS} under \`tokens\`` })
  return undefined
}

/** Both sides of a trade: two different tokens with a price feed between them, in either direction. */
export function findTrade(
  input: { sell: string; buy: string },
  context: StrategyContext,
): { sell: Asset; buy: Asset } | undefined {
  const sell = findAsset(input.sell, { path: ['sell'], context })
  const buy = findAsset(input.buy, { path: ['buy'], context })
  if (sell === undefined || buy === undefined) return undefined
  if (sell.token === buy.token) {
    const message = 'sell and buy are the same token'
    context.report({ path: ['buy'], message, expected: 'two different tokens; ETH counts as WETH' })
    return undefined
  }
  const { prices } = context.settings
  const [a, b] = [buy.token.symbol, sell.token.symbol]
  if (!prices.has(`${a}/${b}`) && !prices.has(`${b}/${a}`)) {
    const message = `the config has no price feed for ${a} and ${b}`
    context.report({ path: ['buy'], message, expected: `an entry ${a}/${b} under \`prices\`` })
  }
  return { sell, buy }
}

/** A price in whole sell tokens per whole buy token, as base units of sell per base unit of buy. */
export function buildPrice(text: string | undefined, pair: { sell: Token; buy: Token }) {
  const human = text === undefined ? undefined : parseRatio(text)
  if (human === undefined) return undefined
  const ratio: Ratio = {
    num: human.num * 10n ** BigInt(pair.sell.decimals),
    den: human.den * 10n ** BigInt(pair.buy.decimals),
  }
  return ratio
}
