import * as z from 'zod'
import * as s from '../../system/json-shapes.ts'

export type AmountData = z.output<ReturnType<typeof s.amount>>

export const problem = s.object('mistake in a config or strategy file', {
  file: s.text('path of the file or directory'),
  line: s.count('line number from 1; 0 without a position'),
  column: s.count('column number from 1; 0 without a position'),
  path: s.text('key such as `limits.perDay`; empty for the whole file'),
  message: s.text('description of the mistake'),
  expected: s.text('valid values, or how to fix it'),
  suggestion: s.nullable('valid name closest to the one given; null if none is close', s.text()),
  hint: s.nullable('text to write instead; null if there is none', s.text()),
  frame: s.text('source lines with a caret; empty without a position'),
})
export type ProblemData = z.output<typeof problem>

const problems = s.list('mistakes in config and strategy files; empty if there are none', problem)

const ok = z.literal(true).describe('always true: the exit code is 0')

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
    ok: z.literal(false).describe('always false: the exit code is not 0'),
    message: s.text('human-readable reason'),
    ...fields,
    problems,
  })
}

export const failure = failed({})
export type FailureData = z.output<typeof failure>

export const MODES = ['sandbox', 'dry-run', 'live'] as const

const STATES = ['planned', 'exposed', 'accepted', 'lapsing', 'filled', 'closed'] as const
export const orderState = s.oneOf('state of the order; see docs/outcomes.md', STATES)
export const deadlineAt = s.nullable(
  'latest time at which the signature may execute; null if nothing is signed or it has no deadline',
  s.time(),
)

export const cap = z.strictObject({
  strategy: s.nullable('name of the strategy; null for a cap on all strategies together', s.text()),
  window: s.oneOf('time window of the cap', ['hour', 'day', 'week', 'total']),
  used: s.amount('amount used so far; may exceed `cap` after a change of the files'),
  cap: s.amount('maximum spending in the window'),
})
export type CapData = z.output<typeof cap>

export const inFlight = s.list('open orders', {
  intentId: s.text('STRATEGY:EPOCH_SECONDS:LEG'),
  state: orderState,
  deadlineAt,
})
