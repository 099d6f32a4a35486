import * as z from 'zod'

/**
 * Shapes that outputs under `--json` share. Tests and what writes docs/json.md load them; the program takes their types alone,
 * so that its start pays for none of them.
 */

export const text = () => z.string()
export const flag = () => z.boolean()
/** How often, how many: never negative. */
export const count = () => z.int().min(0)
/** ISO 8601, UTC. */
export const time = () => z.iso.datetime()
/** A decimal as text, exact: prices and amounts. */
export const decimal = () => z.string().regex(/^-?\d+(\.\d+)?$/)
/** A whole number as text, because it may be larger than what JSON's readers keep exactly: blocks and nonces. */
export const bigWhole = () => z.string().regex(/^\d+$/)
export const address = () => z.string().regex(/^0x[0-9a-fA-F]{40}$/)
export const hash = () => z.string().regex(/^0x[0-9a-f]{64}$/)
export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly()

export const amount = () => z.strictObject({ amount: decimal(), token: text() })
export type AmountData = z.output<ReturnType<typeof amount>>

export const problem = z
  .strictObject({
    file: text().describe('file or directory'),
    line: count().describe('from 1; 0 where no place in a file is meant'),
    column: count().describe('from 1; 0 where no place in a file is meant'),
    path: text().describe('key, such as `limits.perDay`; empty for the whole file'),
    message: text().describe('what is wrong'),
    expected: text().describe('what would be right, or what to do'),
    suggestion: text().nullable().describe('the word that was probably meant'),
    hint: text().nullable().describe('what to write instead'),
    frame: text().describe('source lines with a caret; empty where no place is meant'),
  })
  .describe('one mistake in the files of the operator')
export type ProblemData = z.output<typeof problem>

const problems = () =>
  list(problem).describe('mistakes in config and strategy files; empty where there are none')

const ok = z.literal(true).describe('true: it was done, exit code 0')

/** What a command prints that does what it was asked. */
export function done<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({ ok, ...fields, problems: problems() })
}

/** The same of one that has something to say also where it fails. */
export function judged<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({
    ok: flag().describe('whether the exit code is 0'),
    ...fields,
    problems: problems(),
  })
}

/** What a command prints that fails and has no more to say than why. */
export function failed<Fields extends z.ZodRawShape>(fields: Fields) {
  return z.strictObject({
    ok: z.literal(false).describe('false: the exit code is not 0'),
    message: text().describe('why, in sentences for a person'),
    ...fields,
    problems: problems(),
  })
}

export const failure = failed({})
export type FailureData = z.output<typeof failure>

export const MODES = ['sandbox', 'dry-run', 'live'] as const
export const VENUES = ['gasless', 'aggregated', 'direct'] as const
export const ORDER_STATES = [
  'planned',
  'exposed',
  'accepted',
  'lapsing',
  'filled',
  'closed',
] as const
export const OUTCOMES = ['filled', 'skipped', 'refused', 'failed', 'expired', 'missed'] as const

export const cap = () =>
  z.strictObject({
    strategy: text().nullable().describe('null: it binds all strategies together'),
    window: z.enum(['hour', 'day', 'week', 'total']).describe('over which time it counts'),
    used: amount().describe('of it so far; more than the cap where a file was changed since'),
    cap: amount().describe('the most that may be spent'),
  })
export type CapData = z.output<ReturnType<typeof cap>>

export const inFlight = () =>
  list(
    z.strictObject({
      intentId: text().describe('STRATEGY:EPOCH_SECONDS:LEG'),
      state: z.enum(ORDER_STATES).describe('docs/outcomes.md explains them'),
      deadlineAt: time()
        .nullable()
        .describe('until when what is signed may execute; null where it has no deadline'),
    }),
  ).describe('orders whose end is not known yet')
