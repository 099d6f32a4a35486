import UPlot from 'uplot'
import type { MarkLayer } from '../../parts/browser/mark-layer.ts'
import { onResize, Palette, plotIn, roomy, sizeOf } from '../../parts/browser/plotting.ts'
import { monthText, shortDayText, timeText } from '../../parts/wording/times.ts'
import {
  axisTexts,
  type Buckets,
  barAt,
  bucketsOf,
  type ChartSpec,
  dashOf,
  highestOf,
  type Line,
} from '../data/charts.ts'
import type { PageData } from '../data/page-data.ts'

const DAY = 86_400
const MONTH = 28 * DAY
/** The same for all charts, so that a moment has the same position in each. Sizes are in CSS pixels. */
const AXIS_WIDTH = 62
const SYNC_KEY = 'backtest'
/** Width of one bar, including its gap. */
const BAR_WIDTH = 9
const GAP = 2

type PlotInput = {
  readonly chart: ChartSpec
  readonly at: readonly number[]
  readonly palette: Palette
  readonly marks: MarkLayer | undefined
  pointed(index: number | undefined): void
  zoomed(): void
}

export type Drawn = { readonly plot: UPlot; readonly bars: BarChart | undefined }

export function drawInto(element: HTMLElement, input: PlotInput): Drawn {
  const { chart, at, palette, marks } = input
  const bars = chart.kind === 'bars' ? barChart(chart, at, palette) : undefined
  const range = rangeOf(input, bars)
  const plot = plotIn(
    element,
    {
      palette,
      padding: [8, 34, 0, 0],
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
      cursor: {
        drag: { x: true, y: false, dist: 5 },
        points: { show: bars === undefined, size: 7 },
        sync: { key: SYNC_KEY, setSeries: false, scales: ['x', null] },
      },
      scales: { y: { range } },
      axes: [
        { space: 76, size: 26, values: (_, splits, __, ___, step) => dates(splits, step) },
        valueAxis(chart.unit),
      ],
      series: [{}, ...chart.lines.map((line) => seriesOf(chart, line, palette))],
      hooks: {
        setCursor: [({ cursor }) => input.pointed(cursor.idx ?? undefined)],
        setScale: [
          (drawn, scale) => {
            if (scale !== 'x') return
            if (bars !== undefined || marks !== undefined) fitHeight(drawn, range)
            input.zoomed()
          },
        ],
        draw: [(drawn) => bars?.draw(drawn), (drawn) => marks?.draw(drawn)],
      },
    },
    [[...at], ...chart.lines.map(({ points }) => [...points])],
  )
  return { plot, bars }
}

function valueAxis(unit: string): UPlot.Axis {
  return {
    size: AXIS_WIDTH,
    space: 26,
    values: (_, splits, __, ___, step) => axisTexts(splits, step, unit),
  }
}

/** Fits the height again, because bars and marks know the visible period only once it is set. */
function fitHeight(plot: UPlot, range: UPlot.Range.Function): void {
  const shown = plot.series.slice(1).filter(({ show }) => show !== false)
  const known = shown.flatMap(({ min, max }) => [min, max]).filter((value) => value != null)
  const [low, high] = known.length === 0 ? [null, null] : [Math.min(...known), Math.max(...known)]
  const [min, max] = range(plot, low as number, high as number, 'y')
  const { y } = plot.scales
  if (min == null || max == null || (y?.min === min && y.max === max)) return
  plot.setScale('y', { min, max })
}

/** A line beneath another one: wide and pale. */
const WIDE = 6
const PALE = 0.4

function lineWidth({ look, isWide = false }: Line): number {
  if (isWide) return WIDE
  return look === 0 ? 2 : 1.5
}

function seriesOf({ kind, lines }: ChartSpec, line: Line, palette: Palette): UPlot.Series {
  const { look, points } = line
  if (kind === 'bars') return { paths: () => null, points: { show: false } }
  const known = points.reduce<number>((sum, point) => sum + (point === null ? 0 : 1), 0)
  return {
    stroke: () => palette.of(`look-${look}`),
    width: lineWidth(line),
    alpha: line.isWide === true ? PALE : 1,
    dash: lines.length === 1 ? [] : dashOf(look).split(' ').filter(Boolean).map(Number),
    points: { show: known < 3, size: 6 },
    ...(kind === 'fall' && look === 0 ? { fill: () => palette.of('fall'), fillTo: () => 0 } : {}),
  }
}

function rangeOf({ chart, marks }: PlotInput, bars: BarChart | undefined): UPlot.Range.Function {
  if (bars !== undefined) return (plot) => bars.rangeOf(plot)
  return (plot, low, high) => {
    const [lowest, highest] = marks?.extend(plot, [low, high]) ?? [low, high]
    const [from, until] = roomy(plot, lowest, highest)
    // A drawdown hangs from zero and a cap starts at zero, so no space is added there.
    if (chart.kind === 'fall') return [from, 0]
    return chart.id === 'caps' ? [0, Math.max(100, until)] : [from, until]
  }
}

function dates(splits: readonly number[], step: number): string[] {
  return splits.map((seconds) => {
    if (step >= MONTH) return monthText(seconds)
    return step >= DAY || seconds % DAY === 0 ? shortDayText(seconds) : timeText(seconds)
  })
}

type BarChart = ReturnType<typeof barChart>

/** Stacked bars: as many as fit the visible period. */
function barChart({ lines }: ChartSpec, at: readonly number[], palette: Palette) {
  function bucketsIn({ scales, series, width }: UPlot): Buckets {
    const shown = lines.map(({ points }, line) => (series[line + 1]?.show === false ? [] : points))
    const { min, max } = scales['x'] ?? {}
    return bucketsOf({
      at,
      lines: shown,
      fromSeconds: min ?? at[0] ?? 0,
      untilSeconds: max ?? at.at(-1) ?? 0,
      most: Math.max(8, Math.floor(width / BAR_WIDTH)),
    })
  }
  function draw(plot: UPlot): void {
    const { ctx } = plot
    const { fromSeconds, stepSeconds, sums } = bucketsIn(plot)
    const gap = GAP * devicePixelRatio
    ctx.save()
    sums.forEach((bar, place) => {
      const seconds = fromSeconds + place * stepSeconds
      const left = Math.round(plot.valToPos(seconds, 'x', true))
      const right = Math.round(plot.valToPos(seconds + stepSeconds, 'x', true))
      let sum = 0
      bar.forEach((part, line) => {
        if (part === 0) return
        const bottom = plot.valToPos(sum, 'y', true)
        sum += part
        const top = plot.valToPos(sum, 'y', true)
        ctx.fillStyle = palette.of(`look-${lines[line]?.look ?? 0}`)
        ctx.fillRect(left, top, Math.max(1, right - left - gap), bottom - top)
      })
    })
    ctx.restore()
  }
  return {
    draw,
    barAt: (plot: UPlot, seconds: number) => barAt(bucketsIn(plot), seconds) ?? [],
    rangeOf: (plot: UPlot): [number, number] => [0, Math.max(1, highestOf(bucketsIn(plot)) * 1.08)],
  }
}

export function drawCurve(
  element: HTMLElement,
  { axes: [axis], points }: NonNullable<PageData['sweep']>,
): void {
  if (axis === undefined) return
  const palette = new Palette(element)
  const returns = axis.values.map(
    (value) => points.find(({ values }) => values[0] === value)?.returnPercent ?? null,
  )
  const plot = plotIn(
    element,
    {
      palette,
      padding: [8, 14, 0, 0],
      cursor: { points: { size: 7 } },
      scales: { x: { time: false } },
      axes: [
        {
          space: 60,
          size: 26,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
          values: (_, splits) => splits.map((at) => axis.values[at] ?? ''),
        },
        valueAxis('%'),
      ],
      series: [
        {},
        { stroke: () => palette.of('look-0'), width: 2, points: { show: true, size: 6 } },
      ],
    },
    [returns.map((_, at) => at), returns],
  )
  onResize(element, () => {
    if (element.clientWidth !== plot.width) plot.setSize(sizeOf(element))
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    palette.forget()
    plot.redraw(false)
  })
}
