import { nearest } from '../../domain/nearest.ts'
import { decimal, percent } from './curves.ts'
import type { BacktestResult, StrategyResult } from './result.ts'

/** What an author expects of a strategy: the exit code says whether it holds. */
export type Expectation = {
  /** As it was written. */
  readonly text: string
  readonly metric: Metric
  /** Whether its figure is a share, written with a percent sign. */
  readonly isPercent: boolean
  readonly sign: Sign
  readonly bound: number
}

export type Expected = {
  readonly text: string
  readonly holds: boolean
  /** What it came to, decimal text; null where there is no such figure: then it does not hold. */
  readonly actual: string | null
}

const SIGNS = ['<=', '>=', '<', '>', '='] as const
type Sign = (typeof SIGNS)[number]

/** Percent alone, numbers alone, or either of slots. */
const METRICS = {
  return: 'percent',
  yearly: 'percent',
  drawdown: 'percent',
  costs: 'percent',
  turnover: 'percent',
  beats: 'percent',
  fills: 'number',
  calls: 'number',
  slots: 'number',
  filled: 'either',
  skipped: 'either',
  failed: 'either',
  missed: 'either',
} as const
export type Metric = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as readonly Metric[]

const FORM = /^\s*([a-z]+)\s*(<=|>=|<|>|=)\s*(-?\d+(?:\.\d+)?)\s*(%?)\s*$/

/** What is wrong with a condition, and what would be right. */
export type ExpectFault = { readonly message: string; readonly expected: string }

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
  const unit = METRICS[word]
  if (unit === 'percent' && !isPercent)
    return { message: `${word} is a share`, expected: `a percent sign: ${word}${sign}${number}%` }
  if (unit === 'number' && isPercent)
    return { message: `${word} is a number`, expected: `no percent sign: ${word}${sign}${number}` }
  return { text, metric: word, isPercent, sign: sign as Sign, bound: Number.parseFloat(number) }
}

function isMetric(word: string): word is Metric {
  return Object.hasOwn(METRICS, word)
}

export function judge(result: BacktestResult, expectation: Expectation): Expected {
  const { text, sign, bound } = expectation
  const actual = figureOf(result, expectation)
  return {
    text,
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

function figureOf(result: BacktestResult, { metric, isPercent }: Expectation): number | null {
  const { figures, strategies, against } = result
  const sumOf = (of: (each: StrategyResult) => number): number =>
    strategies.reduce((sum, each) => sum + of(each), 0)
  const slots = sumOf((each) => each.slots)
  const counted = (of: (each: StrategyResult) => number): number | null => {
    if (!isPercent) return sumOf(of)
    return slots === 0 ? null : percent(sumOf(of) / slots)
  }
  switch (metric) {
    case 'return':
      return figures?.returnPercent ?? null
    case 'yearly':
      return figures?.yearlyPercent ?? null
    case 'drawdown':
      return figures?.drawdown.percent ?? null
    case 'turnover':
      return figures?.turnoverPercent ?? null
    case 'costs':
      return figures === null ? null : shareOf(figures.costs.total.amount, result)
    case 'beats': {
      const holding = against.find(({ name }) => name === 'holding')
      if (figures === null || holding === undefined) return null
      return figures.returnPercent - holding.returnPercent
    }
    case 'fills':
      return sumOf(({ trades }) => trades.reduce((sum, { fills }) => sum + fills, 0))
    case 'calls':
      return sumOf(({ calls }) => calls)
    case 'slots':
      return slots
    default:
      return counted((each) => each[metric])
  }
}

/** Of the value at the beginning, in percent. */
function shareOf(amount: string, { begin }: BacktestResult): number | null {
  const value = begin.value === null ? 0 : Number.parseFloat(begin.value.amount)
  return value === 0 ? null : percent(Number.parseFloat(amount) / value)
}
