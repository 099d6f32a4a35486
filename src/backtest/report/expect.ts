import { nearest } from '../../domain/text/nearest.ts'
import { decimal, percent } from './curves.ts'
import type { BacktestResult, FiguresResult, StrategyResult } from './result.ts'

/** An author's condition on a backtest; it decides the exit code. */
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
  /** Decimal text; null without such a figure, and then it does not hold. */
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

export function checkExpectation(result: BacktestResult, expectation: Expectation): Expected {
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
  const { figures, strategies } = result
  const sumOf = (of: (each: StrategyResult) => number): number =>
    strategies.reduce((sum, each) => sum + of(each), 0)
  const slots = sumOf((each) => each.slots)
  switch (metric) {
    case 'fills':
      return sumOf(({ trades }) => trades.reduce((sum, { fills }) => sum + fills, 0))
    case 'calls':
      return sumOf(({ calls }) => calls)
    case 'slots':
      return slots
    case 'filled':
    case 'skipped':
    case 'failed':
    case 'missed': {
      const count = sumOf((each) => each[metric])
      if (!isPercent) return count
      return slots === 0 ? null : percent(count / slots)
    }
    default:
      return figures && SHARES[metric](figures, result)
  }
}

type Share = 'return' | 'yearly' | 'drawdown' | 'turnover' | 'costs' | 'beats'

const SHARES: Readonly<
  Record<Share, (figures: FiguresResult, result: BacktestResult) => number | null>
> = {
  return: ({ returnPercent }) => returnPercent,
  yearly: ({ yearlyPercent }) => yearlyPercent,
  drawdown: ({ drawdown }) => drawdown.percent,
  turnover: ({ turnoverPercent }) => turnoverPercent,
  costs: ({ costs }, result) => shareOf(costs.total.amount, result),
  beats: ({ returnPercent }, { against }) => {
    const holding = against.find(({ name }) => name === 'holding')
    return holding === undefined ? null : returnPercent - holding.returnPercent
  },
}

/** Of the value at the beginning, in percent. */
function shareOf(amount: string, { begin }: BacktestResult): number | null {
  const value = begin.value === null ? 0 : Number.parseFloat(begin.value.amount)
  return value === 0 ? null : percent(Number.parseFloat(amount) / value)
}
