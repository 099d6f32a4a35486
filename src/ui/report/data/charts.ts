import type { CurveResult } from '../../../backtest/report/result.ts'
import {
  chartNumber,
  count,
  extentOf,
  fullAmount,
  plainPercent,
} from '../../parts/wording/amounts.ts'
import { plain } from '../../parts/wording/outcomes.ts'
import { againstName } from './labels.ts'
import type { PageData } from './page-data.ts'

export type Points = readonly (number | null)[]

export type Line = {
  readonly name: string
  readonly points: Points
  /** Index of its colour and dash pattern: `--look-0` and so on. */
  readonly look: number
  /** Drawn wide, because a later line lies on it. */
  readonly isWide?: boolean
}

/** One chart: the program writes its frame and legend, and the browser draws into it. */
export type ChartSpec = {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly kind: 'lines' | 'fall' | 'bars'
  readonly height: 'tall' | 'middle' | 'low'
  /** Unit of the values: a token, `%`, or empty for counts. */
  readonly unit: string
  readonly lines: readonly Line[]
  readonly feed?: string
}

/** Dashes of each look, in pixels, which distinguish lines without colour. Further lines reuse them. */
const DASHES: readonly string[] = ['', '7 3', '2 3', '9 3 2 3', '', '4 2', '1 2', '12 4']
const LOOKS = DASHES.length

export function dashOf(look: number): string {
  return DASHES[look % LOOKS] ?? ''
}

/** Share of a chart's height within which two lines look like one. */
const COINCIDING = 0.005

function isSame(one: Points, other: Points, span: number): boolean {
  return one.every((value, at) => {
    const that = other[at] ?? null
    if (value === null || that === null) return value === that
    return Math.abs(value - that) <= span * COINCIDING
  })
}

/** A line that lies on an earlier one says so, and the earlier one is drawn wide, so that both are visible. */
export function withCoinciding(chart: ChartSpec): ChartSpec {
  const { lines } = chart
  const extent = extentOf(lines.flatMap(({ points }) => points))
  const span = extent === undefined ? 0 : extent.highest - extent.lowest
  const under = lines.map(({ points }, at) =>
    lines.slice(0, at).find((other) => isSame(points, other.points, span)),
  )
  return {
    ...chart,
    lines: lines.map((line, at) => ({
      ...line,
      name: under[at] === undefined ? line.name : `${line.name} (same as ${under[at].name})`,
      isWide: under.includes(line),
    })),
  }
}

/** Only charts with data. */
export function chartsOf({ series, valueToken }: PageData): readonly ChartSpec[] {
  const { value, drawdownPercent, against, prices, holdings, caps, skips } = series
  const holding = against.filter(({ name }) => name === 'holding')
  const counted = skips.filter(({ points }) => totalOf(points) > 0)
  const charts: readonly ChartSpec[] = [
    {
      id: 'value',
      title: 'Value',
      about:
        'All holdings at the prices of each moment, and the value of the alternatives with the same money.',
      kind: 'lines',
      height: 'tall',
      unit: valueToken ?? '',
      lines: [
        { name: 'This backtest', points: value, look: 0 },
        ...against.map((each, at) => ({
          name: againstName(each.name),
          points: each.points,
          look: at + 1,
        })),
      ],
    },
    {
      id: 'drawdown',
      title: 'Drawdown',
      about: 'How far the value was below its previous high.',
      kind: 'fall',
      height: 'middle',
      unit: '%',
      lines: [
        { name: 'This backtest', points: drawdownPercent.map(below), look: 0 },
        ...holding.map(({ name, points }) => ({
          name: againstName(name),
          points: fallOf(points),
          look: 1,
        })),
      ],
    },
    ...prices.map(
      ({ name, points }, at): ChartSpec => ({
        id: `price-${at}`,
        title: `Price of ${name}`,
        about: 'The feed’s answers, with purchases and sales.',
        kind: 'lines',
        height: 'tall',
        unit: name.split('/')[1] ?? '',
        lines: [{ name, points, look: 4 }],
        feed: name,
      }),
    ),
    ...holdings.filter(isMoving).map(
      ({ name, points }, at): ChartSpec => ({
        id: `holding-${at}`,
        title: `Holdings of ${name}`,
        about: '',
        kind: 'lines',
        height: 'low',
        unit: name,
        lines: [{ name, points, look: at % LOOKS }],
      }),
    ),
    {
      id: 'caps',
      title: 'Caps',
      about: 'How full each cap was: at 100 % no further order passes.',
      kind: 'lines',
      height: 'middle',
      unit: '%',
      lines: caps.filter(isMoving).map(lineOf),
    },
    {
      id: 'skips',
      title: 'Slots skipped',
      about: 'How many slots were skipped, by reason.',
      kind: 'bars',
      height: 'middle',
      unit: '',
      lines: counted
        .toSorted((a, b) => totalOf(b.points) - totalOf(a.points))
        .map(({ name, points }, at) => lineOf({ name: plain(name), points }, at)),
    },
  ]
  return charts
    .map((chart) => ({ ...chart, lines: chart.lines.filter(isKnown) }))
    .filter(({ lines }) => lines.length > 0)
    .map(withCoinciding)
}

function lineOf({ name, points }: CurveResult, at: number): Line {
  return { name, points, look: at % LOOKS }
}

function below(percent: number | null): number | null {
  return percent === null ? null : -Math.abs(percent)
}

function isKnown({ points }: Line): boolean {
  return points.some((point) => point !== null)
}

/** False for a token never held, and for an unused cap. */
function isMoving({ points }: CurveResult): boolean {
  return points.some((point) => point !== null && point !== 0)
}

export function fallOf(points: Points): Points {
  let highest = 0
  return points.map((point) => {
    if (point === null) return null
    highest = Math.max(highest, point)
    return highest > 0 ? (point / highest - 1) * 100 : 0
  })
}

function totalOf(points: Points): number {
  return points.reduce<number>((sum, point) => sum + (point ?? 0), 0)
}

export function pointText(
  { kind, unit }: ChartSpec,
  value: number | null | undefined,
  unknown = '–',
): string {
  if (value === null || value === undefined) return unknown
  if (kind === 'bars') return count(value)
  if (unit === '%') return plainPercent(value)
  return unit === '' ? chartNumber(value) : `${chartNumber(value)} ${unit}`
}

/** The legend's figure without a selected moment: the last value, or the total of counts. */
export function restingText(chart: ChartSpec, { points }: Line): string {
  const last = points.findLast((point) => point !== null)
  return pointText(chart, chart.kind === 'bars' ? totalOf(points) : last)
}

export function courseText(chart: ChartSpec): string {
  if (chart.kind === 'bars')
    return `${chart.lines.map((line) => `${line.name} ${restingText(chart, line)}`).join(', ')}.`
  return chart.lines.map((line) => `${line.name}: ${extentText(chart, line.points)}.`).join(' ')
}

function extentText(chart: ChartSpec, points: Points): string {
  const extent = extentOf(points)
  const text = (end: 'first' | 'last' | 'lowest' | 'highest') =>
    pointText(chart, extent?.[end], 'not known')
  return `from ${text('first')} to ${text('last')}, lowest ${text('lowest')}, highest ${text('highest')}`
}

export type Buckets = ReturnType<typeof bucketsOf>

/**
 * Stacked bars over time, as sums by bar and line. Each point counts in the bar of its time; points outside the period count
 * in none.
 */
export function bucketsOf(input: {
  readonly at: readonly number[]
  readonly lines: readonly Points[]
  /** The visible period, and the number of bars that fit. */
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly most: number
}) {
  const { at, lines, fromSeconds, untilSeconds, most } = input
  const bars = Math.max(1, Math.floor(most))
  const stepSeconds = Math.max(1, (untilSeconds - fromSeconds) / bars)
  const sums = Array.from({ length: bars }, () => lines.map(() => 0))
  at.forEach((seconds, index) => {
    if (seconds < fromSeconds || seconds > untilSeconds) return
    const bar = sums[Math.min(bars - 1, Math.floor((seconds - fromSeconds) / stepSeconds))]
    if (bar === undefined) return
    lines.forEach((points, line) => {
      bar[line] = (bar[line] ?? 0) + (points[index] ?? 0)
    })
  })
  return { fromSeconds, stepSeconds, sums }
}

export function highestOf({ sums }: Buckets): number {
  return sums.reduce((highest, bar) => Math.max(highest, totalOf(bar)), 0)
}

export function barAt({ fromSeconds, stepSeconds, sums }: Buckets, seconds: number) {
  const place = Math.floor((seconds - fromSeconds) / stepSeconds)
  return sums[Math.max(0, Math.min(sums.length - 1, place))]
}

const MILLION = 1_000_000
/** A smaller step needs more decimal places than fit. */
const STEP_SMALLEST = 0.000_01

/** Numbers of an axis, with the decimal places that their step needs: `2,950`, `1.25M`, `0.005`. */
export function axisTexts(values: readonly number[], step: number, unit = ''): string[] {
  const highest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const after = unit === '%' ? ' %' : ''
  if (step < STEP_SMALLEST) return values.map((value) => value.toExponential(1) + after)
  const [size, suffix] = highest >= MILLION ? [MILLION, 'M'] : [1, '']
  const places = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9))
  return values.map((value) => fixedText(value / size, places) + suffix + after)
}

function fixedText(value: number, places: number): string {
  const text = Math.abs(value).toFixed(Math.min(places, 8))
  const [whole = '', fraction] = text.split('.')
  const sign = value < 0 && Number(text) !== 0 ? '\u2212' : ''
  return sign + fullAmount(whole) + (fraction === undefined ? '' : `.${fraction}`)
}
