import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'

export type AmountData = z.output<ReturnType<typeof s.amount>>

export const problem = s.object('one mistake in the files of the operator', {
  file: s.text('file or directory'),
  line: s.count('from 1; 0 where no place in a file is meant'),
  column: s.count('from 1; 0 where no place in a file is meant'),
  path: s.text('key, such as `limits.perDay`; empty for the whole file'),
  message: s.text('what is wrong'),
  expected: s.text('what would be right, or what to do'),
  suggestion: s.nullable('the word that was probably meant', s.text()),
  hint: s.nullable('what to write instead', s.text()),
  frame: s.text('source lines with a caret; empty where no place is meant'),
})
export type ProblemData = z.output<typeof problem>

const problems = s.list(
  'mistakes in config and strategy files; empty where there are none',
  problem,
)

const ok = z.literal(true).describe('true: it was done, exit code 0')

/** Output of a command that succeeds. */
export function done<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ok, ...fields, problems })
}

/** Output of a command that prints data even if it fails. */
export function outcome<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ok: s.flag('whether the exit code is 0'), ...fields, problems })
}

/** Output of a command that fails. */
export function failed<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({
    ok: z.literal(false).describe('false: the exit code is not 0'),
    message: s.text('why, in sentences for a person'),
    ...fields,
    problems,
  })
}

export const failure = failed({})
export type FailureData = z.output<typeof failure>

export const MODES = ['sandbox', 'dry-run', 'live'] as const
export const ORDER_STATES = [
  'planned',
  'exposed',
  'accepted',
  'lapsing',
  'filled',
  'closed',
] as const

export const cap = z.strictObject({
  strategy: s.nullable('null: it binds all strategies together', s.text()),
  window: s.oneOf('over which time it counts', ['hour', 'day', 'week', 'total']),
  used: s.amount('of it so far; more than the cap where a file was changed since'),
  cap: s.amount('the most that may be spent'),
})
export type CapData = z.output<typeof cap>

export const inFlight = s.list('orders whose end is not known yet', {
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  state: s.oneOf('docs/outcomes.md explains them', ORDER_STATES),
  deadlineAt: s.nullable(
    'until when what is signed may execute; null where it has no deadline',
    s.time(),
  ),
})
