import * as z from 'zod'
import { duration, instant, integer, oneOf, section } from '../../config/scalars.ts'
import type { Schedule } from '../../domain/schedule/schedule.ts'
import { buildTrade, checkOrderFits } from '../files/checks.ts'
import {
  amount,
  buildAmount,
  type StrategyContext,
  scheduleFields,
  tradeFields,
} from '../files/fields.ts'
import { byKey } from '../files/hints.ts'
import { kindSchema } from '../files/kind-schema.ts'
import { type TwapStrategy, twap } from './twap-kind.ts'

const { missed, maxLateness, jitter } = scheduleFields
const { schedule: _, ...fields } = tradeFields

const schema = section({
  ...fields,
  kind: z.literal('twap', { error: 'twap' }),
  amount: amount.describe('Total to sell in all slices, in the sell token'),
  slices: integer({ min: 2, max: 10_000 }).describe('Number of slices'),
  every: duration({ min: '1s', max: '30d' }).describe('Time between slices, in whole seconds'),
  start: instant
    .optional()
    .describe('When the first slice is due. Default: when the daemon first sees the file'),
  unsold: oneOf(['spread', 'drop'])
    .prefault('spread')
    .describe('What to do with unsold amounts: spread them over later slices, or drop them'),
  schedule: section({ missed, maxLateness, jitter })
    .prefault({})
    .describe('Handling of slices that passed while the daemon was down'),
})

type TwapInput = z.output<typeof schema>

const SLICES =
  'slices are no cron schedule: `every: 1h` is the time between two, `start` says when the first is due'

export const twapFile = kindSchema(twap, {
  schema,
  build,
  does: 'sells a total in equal slices of time',
  examples: { slow: 'twap-day', fast: 'twap', runsAsIs: true },
  hints: {
    unknownKey: byKey({
      cron: ({ below }) => (below[0] === 'schedule' ? SLICES : undefined),
      'timezone overlap': () => SLICES,
    }),
    strangeValue: byKey({ schedule: () => SLICES }),
    otherNames: [[/^(?:vwap|iceberg|slice)/, '`kind: twap` sells a total in `slices`']],
  },
})

function build(input: TwapInput, context: StrategyContext): TwapStrategy | undefined {
  const trade = buildTrade(input, context)
  if (trade === undefined) return undefined
  const { token } = trade.sell
  const { limits } = trade
  const total = buildAmount(input.amount, token, { path: ['amount'], context })
  if (total === undefined) return undefined
  const slice = total / BigInt(input.slices)
  if (slice === 0n) {
    const message = 'there are more slices than base units to sell'
    context.report({ path: ['slices'], message, expected: `at most ${total}` })
  }
  checkOrderFits({ token, least: slice, path: ['amount'], limits, slices: input.slices }, context)
  const { unsold } = input
  return { kind: 'twap', ...trade, schedule: buildSlices(input, context), total, unsold }
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
