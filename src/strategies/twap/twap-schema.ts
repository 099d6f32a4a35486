import * as z from 'zod'
import type { Schedule } from '../../domain/schedule/schedule.ts'
import type { TwapStrategy } from '../../domain/strategy.ts'
import { duration, instant, integer, oneOf, section } from '../scalars.ts'
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
  findTrade,
  type StrategyContext,
  scheduleFields,
  tradeFields,
} from './fields.ts'

const { missed, maxLateness, jitter } = scheduleFields
const { schedule: _, ...fields } = tradeFields

/** `kind: twap`: a total, sold in slices of equal time. */
export const twapSchema = section({
  ...fields,
  kind: z.literal('twap', { error: 'twap' }),
  amount: amount.describe('What all slices sell together, in the sell token'),
  slices: integer({ min: 2, max: 10_000 }).describe('How many slices'),
  every: duration({ min: '1s', max: '30d' }).describe('Time between two slices, in whole seconds'),
  start: instant
    .optional()
    .describe('When the first slice is due; as soon as the file is first seen unless given'),
  unsold: oneOf(['spread', 'drop'])
    .prefault('spread')
    .describe('What slices did not sell: shared by the later ones, or given up'),
  schedule: section({ missed, maxLateness, jitter })
    .prefault({})
    .describe('What happens to slices that passed while the daemon was down'),
})

type TwapInput = z.output<typeof twapSchema>

/** The strategy, or undefined when something was reported that leaves it without a meaning. */
export function buildTwap(input: TwapInput, context: StrategyContext): TwapStrategy | undefined {
  refuseDrawdown(input.limits, context)
  const trade = findTrade(input, context)
  if (trade === undefined) return undefined
  const { token } = trade.sell
  const limits = buildLimits(input.limits, token, context)
  const price = buildBounds(input.price, trade, context)
  const priceCheck = checkPrices(input.price, trade, context)
  const total = buildAmount(input.amount, token, { path: ['amount'], context })
  if (total === undefined) return undefined
  const slice = total / BigInt(input.slices)
  if (slice === 0n) {
    const message = 'there are more slices than base units to sell'
    context.report({ path: ['slices'], message, expected: `at most ${total}` })
  }
  checkOrderFits({ token, least: slice, path: ['amount'], limits }, context)
  warnUncapped(token, limits, context)
  return {
    kind: 'twap',
    name: input.name,
    file: context.file,
    enabled: input.enabled,
    schedule: buildSlices(input, context),
    ...buildSwapSettings(input, context),
    priceCheck,
    limits,
    ...trade,
    price,
    total,
    unsold: input.unsold,
  }
}

function buildSlices(input: TwapInput, { report }: StrategyContext): Schedule {
  const { every, slices: count, start, schedule } = input
  if (every % 1_000 !== 0)
    report({ path: ['every'], message: 'slots are whole seconds', expected: 'such as 30s or 1h' })
  return {
    type: 'interval',
    everySeconds: Math.max(1, Math.floor(every / 1_000)),
    count,
    startSeconds: start,
    missed: schedule.missed,
    maxLatenessMs: schedule.maxLateness,
    jitterMs: schedule.jitter,
    overlap: 'skip',
  }
}
