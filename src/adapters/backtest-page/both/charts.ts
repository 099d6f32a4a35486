import type { CurveResult, SeriesResult } from '../../../backtest/report/result.ts'
import { chartNumber, count, plainPercent } from '../../page-parts/words/amounts.ts'
import { plain } from '../../page-parts/words/outcomes.ts'
import type { PageData } from './data.ts'
import { againstName } from './words.ts'

export type Points = readonly (number | null)[]

export type Line = {
  readonly name: string
  readonly points: Points
  /** Which of the looks it has: a colour and a pattern. */
  readonly look: number
}

/** One chart: the program writes its frame and its legend, the page's script draws into it. Both go by this. */
export type ChartSpec = {
  readonly id: string
  readonly title: string
  /** What is to be seen, in a sentence. */
  readonly about: string
  readonly kind: 'lines' | 'fall' | 'bars'
  readonly height: 'tall' | 'middle' | 'low'
  /** Of its values: a token, `%`, or nothing for counts. */
  readonly unit: string
  readonly lines: readonly Line[]
  /** The feed whose fills are marked. */
  readonly feed?: string
}

/** A dozen patterns are as many as anybody tells apart; what goes beyond has one of them again. */
export const LOOKS = 8

/** Every chart for which something is known, from top to bottom. */
export function chartsOf({ series, valueToken }: PageData): readonly ChartSpec[] {
  return [
    valueChart(series, valueToken ?? ''),
    fallChart(series),
    ...series.prices.map(priceChart),
    ...series.holdings.filter(isMoving).map(holdingChart),
    capsChart({ ...series, caps: series.caps.filter(isMoving) }),
    skipsChart(series),
  ]
    .map((chart) => ({ ...chart, lines: chart.lines.filter(isKnown) }))
    .filter(({ lines }) => lines.length > 0)
}

function isKnown({ points }: Line): boolean {
  return points.some((point) => point !== null)
}

/** Of what was never there, and of a cap that nothing was counted against, there is nothing to see. */
function isMoving({ points }: CurveResult): boolean {
  return points.some((point) => point !== null && point !== 0)
}

function valueChart({ value, against }: SeriesResult, unit: string): ChartSpec {
  return {
    ...{ id: 'value', title: 'Value', kind: 'lines', height: 'tall', unit },
    about:
      'All holdings at the prices of their time, and what else the same money would have become.',
    lines: [
      { name: 'This backtest', points: value, look: 0 },
      ...against.map(({ name, points }, at) => ({ name: againstName(name), points, look: at + 1 })),
    ],
  }
}

function fallChart({ drawdownPercent, against }: SeriesResult): ChartSpec {
  const holding = against.find(({ name }) => name === 'holding')
  return {
    ...{ id: 'drawdown', title: 'Drawdown', kind: 'fall', height: 'middle', unit: '%' },
    about: 'How far the value lay below the highest before it.',
    lines: [
      { name: 'This backtest', points: drawdownPercent.map(below), look: 0 },
      ...(holding === undefined
        ? []
        : [{ name: againstName(holding.name), points: fallOf(holding.points), look: 1 }]),
    ],
  }
}

function below(percent: number | null): number | null {
  return percent === null ? null : -Math.abs(percent)
}

/** Percent below the highest point before, for each point. */
export function fallOf(points: Points): Points {
  let highest = 0
  return points.map((point) => {
    if (point === null) return null
    highest = Math.max(highest, point)
    return highest > 0 ? (point / highest - 1) * 100 : 0
  })
}

function priceChart({ name, points }: CurveResult, at: number): ChartSpec {
  return {
    ...{ id: `price-${at}`, title: `Price of ${name}`, kind: 'lines', height: 'tall' },
    ...{ unit: name.split('/')[1] ?? '', feed: name },
    about: 'The feed’s answers, and what was bought and sold.',
    lines: [{ name, points, look: 4 }],
  }
}

function holdingChart({ name, points }: CurveResult, at: number): ChartSpec {
  return {
    ...{ id: `holding-${at}`, title: `Holdings of ${name}`, kind: 'lines', height: 'low' },
    ...{ unit: name, about: '', lines: [{ name, points, look: at % LOOKS }] },
  }
}

function capsChart({ caps }: SeriesResult): ChartSpec {
  return {
    ...{ id: 'caps', title: 'Caps', kind: 'lines', height: 'middle', unit: '%' },
    about: 'How full each cap was: at 100 % no further order passes.',
    lines: caps.map(({ name, points }, at) => ({ name, points, look: at % LOOKS })),
  }
}

function skipsChart({ skips }: SeriesResult): ChartSpec {
  const lines = skips.filter(({ points }) => totalOf(points) > 0)
  return {
    ...{ id: 'skips', title: 'Slots skipped', kind: 'bars', height: 'middle', unit: '' },
    about: 'How many slots were skipped, by reason.',
    lines: lines
      .toSorted((a, b) => totalOf(b.points) - totalOf(a.points))
      .map(({ name, points }, at) => ({ name: plain(name), points, look: at % LOOKS })),
  }
}

export function totalOf(points: Points): number {
  return points.reduce<number>((sum, point) => sum + (point ?? 0), 0)
}

/** The last that is known. */
export function lastOf(points: Points): number | undefined {
  return points.findLast((point) => point !== null) ?? undefined
}

/** A value of a chart in its unit. */
export function pointText({ kind, unit }: Pick<ChartSpec, 'kind' | 'unit'>, value: number): string {
  if (kind === 'bars') return count(value)
  if (unit === '%') return plainPercent(value)
  return unit === '' ? chartNumber(value) : `${chartNumber(value)} ${unit}`
}

/** What stands beside a name while nobody points at a moment: the last value, of counts all together. */
export function restingText(chart: ChartSpec, { points }: Line): string {
  const value = chart.kind === 'bars' ? totalOf(points) : lastOf(points)
  return value === undefined ? '–' : pointText(chart, value)
}

/** The course of each line in words, for those who hear the page. */
export function courseText(chart: ChartSpec): string {
  if (chart.kind === 'bars')
    return `${chart.lines.map((line) => `${line.name} ${restingText(chart, line)}`).join(', ')}.`
  return chart.lines.map((line) => `${line.name}: ${extentText(chart, line.points)}.`).join(' ')
}

function extentText(chart: ChartSpec, points: Points): string {
  const known = points.filter((point) => point !== null)
  const text = (value: number | undefined) =>
    value === undefined ? 'not known' : pointText(chart, value)
  const [lowest, highest] = known.reduce(
    ([low, high], point) => [Math.min(low, point), Math.max(high, point)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
  return `from ${text(known[0])} to ${text(known.at(-1))}, lowest ${text(lowest)}, highest ${text(highest)}`
}
