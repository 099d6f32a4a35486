import { nearest } from '../../domain/text/nearest.ts'
import { decimal, percent } from './curves.ts'
import type { BacktestResult, FiguresResult, StrategyResult } from './result.ts'

/** A condition on a backtest's result, which decides the exit code. */
export type Expectation = {
  /** The text as given. */
  readonly text: string
  readonly metric: Metric
  /** True if its figure is a share, written with a percent sign. */
  readonly isPercent: boolean
  readonly sign: Sign
  readonly bound: number
}

export type Expected = ReturnType<typeof checkExpectation>

const SIGNS = ['<=', '>=', '<', '>', '='] as const
type Sign = (typeof SIGNS)[number]

/** The unit of a figure, and its value; null if unknown. */
type Figure = {
  readonly unit: 'percent' | 'number' | 'either'
  of(result: BacktestResult, isPercent: boolean): number | null
}

function share(of: (figures: FiguresResult, result: BacktestResult) => number | null): Figure {
  return { unit: 'percent', of: (result) => result.figures && of(result.figures, result) }
}

function number(of: (each: StrategyResult) => number): Figure {
  return { unit: 'number', of: ({ strategies }) => sumOf(strategies, of) }
}

/** A number, or a share of all slots. */
function slots(outcome: 'filled' | 'skipped' | 'failed' | 'missed'): Figure {
  return {
    unit: 'either',
    of({ strategies }, isPercent) {
      const count = sumOf(strategies, (each) => each[outcome])
      if (!isPercent) return count
      const all = sumOf(strategies, (each) => each.slots)
      return all === 0 ? null : percent(count / all)
    },
  }
}

const METRICS = {
  return: share(({ returnPercent }) => returnPercent),
  yearly: share(({ yearlyPercent }) => yearlyPercent),
  drawdown: share(({ drawdown }) => drawdown.percent),
  costs: share(({ costs }, result) => shareOf(costs.total.amount, result)),
  turnover: share(({ turnoverPercent }) => turnoverPercent),
  beats: share(({ returnPercent }, { against }) => {
    const holding = against.find(({ name }) => name === 'holding')
    return holding === undefined ? null : returnPercent - holding.returnPercent
  }),
  fills: number(({ trades }) => sumOf(trades, ({ fills }) => fills)),
  calls: number(({ calls }) => calls),
  slots: number((each) => each.slots),
  filled: slots('filled'),
  skipped: slots('skipped'),
  failed: slots('failed'),
  missed: slots('missed'),
} as const
type Metric = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as readonly Metric[]

const FORM = /^\s*([a-z]+)\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*(%?)\s*$/

type ExpectFault = { readonly message: string; readonly expected: string }

export function parseExpectation(text: string): Expectation | ExpectFault {
  const match = FORM.exec(text)
  const word = match?.[1] ?? /^\s*(\w+)/.exec(text)?.[1] ?? ''
  if (!isMetric(word)) {
    const close = nearest(word, METRIC_NAMES)
    return {
      message: `\`${text}\` names no figure${close === undefined ? '' : ` (did you mean \`${close}\`?)`}`,
      expected: `one of ${METRIC_NAMES.join(', ')}`,
    }
  }
  if (match === null)
    return {
      message: `\`${text}\` is no condition`,
      expected: `a figure, one of ${SIGNS.join(' ')}, and a number: drawdown<30%`,
    }
  const [, , sign = '=', number = '', sharp = ''] = match
  const isPercent = sharp === '%'
  const { unit } = METRICS[word]
  if (unit === 'percent' && !isPercent)
    return { message: `${word} is a share`, expected: `a percent sign: ${word}${sign}${number}%` }
  if (unit === 'number' && isPercent)
    return { message: `${word} is a number`, expected: `no percent sign: ${word}${sign}${number}` }
  return { text, metric: word, isPercent, sign: sign as Sign, bound: Number.parseFloat(number) }
}

function isMetric(word: string): word is Metric {
  return Object.hasOwn(METRICS, word)
}

export function checkExpectation(result: BacktestResult, expectation: Expectation) {
  const { text, metric, isPercent, sign, bound } = expectation
  const actual = METRICS[metric].of(result, isPercent)
  return {
    text,
    /** Decimal text; null if the figure is unknown, in which case the condition does not hold. */
    actual: actual === null ? null : decimal(actual),
    holds: actual !== null && HOLDS[sign](actual, bound),
  }
}

const HOLDS: Readonly<Record<Sign, (actual: number, bound: number) => boolean>> = {
  '<': (actual, bound) => actual < bound,
  '>': (actual, bound) => actual > bound,
  '<=': (actual, bound) => actual <= bound,
  '>=': (actual, bound) => actual >= bound,
  '=': (actual, bound) => actual === bound,
}

function sumOf<Part>(parts: readonly Part[], of: (part: Part) => number): number {
  return parts.reduce((sum, part) => sum + of(part), 0)
}

/** Share of the value at the beginning, in percent. */
function shareOf(amount: string, { begin }: BacktestResult): number | null {
  const value = begin.value === null ? 0 : Number.parseFloat(begin.value.amount)
  return value === 0 ? null : percent(Number.parseFloat(amount) / value)
}
