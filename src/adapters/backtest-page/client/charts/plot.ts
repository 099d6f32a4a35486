import UPlot from 'uplot'
import { AXIS_FONT, roomy } from '../../../page-parts/browser/drawing.ts'
import { axisTexts } from '../../both/axis.ts'
import type { ChartSpec } from '../../both/charts.ts'
import { dashOf } from '../../both/looks.ts'
import { monthText, shortDayText, timeText } from '../../both/moments.ts'
import { BarChart } from './bars.ts'
import type { MarkLayer } from './mark-layer.ts'
import type { Palette } from './palette.ts'

const DAY = 86_400
const MONTH = 28 * DAY
/** The same for all charts, so that a moment lies at the same place in each. */
const AXIS_WIDTH = 62
const SYNC_KEY = 'backtest'

export type PlotInput = {
  readonly chart: ChartSpec
  readonly at: readonly number[]
  readonly palette: Palette
  readonly marks: MarkLayer | undefined
  /** Called with the place of the point that is pointed at. */
  pointed(index: number | undefined): void
  /** Called when another part of the time is shown. */
  zoomed(): void
}

export type Drawn = { readonly plot: UPlot; readonly bars: BarChart | undefined }

/** Draws a chart into an element, as large as that is. */
export function drawInto(element: HTMLElement, input: PlotInput): Drawn {
  const { chart, at, palette, marks } = input
  const bars = chart.kind === 'bars' ? new BarChart(chart, at, palette) : undefined
  const axis = {
    stroke: () => palette.of('muted'),
    font: AXIS_FONT,
    grid: { stroke: () => palette.of('line'), width: 1 },
    ticks: { show: false },
  }
  const range = rangeOf(input, bars)
  const plot = new UPlot(
    {
      width: element.clientWidth,
      height: element.clientHeight,
      legend: { show: false },
      padding: [8, 34, 0, 0],
      tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1_000), 'UTC'),
      cursor: {
        y: false,
        drag: { x: true, y: false, dist: 5 },
        points: { show: bars === undefined, size: 7 },
        sync: { key: SYNC_KEY, setSeries: false, scales: ['x', null] },
      },
      scales: { y: { range } },
      axes: [
        { ...axis, space: 76, size: 26, values: (_, splits, __, ___, step) => dates(splits, step) },
        {
          ...axis,
          size: AXIS_WIDTH,
          space: 26,
          values: (_, splits, __, ___, step) => [...axisTexts(splits, step, chart.unit)],
        },
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
    element,
  )
  return { plot, bars }
}

/** Bars and marks are told which part of the time is shown only when it is: then the height is found anew. */
function fitHeight(plot: UPlot, range: UPlot.Range.Function): void {
  const shown = plot.series.slice(1).filter(({ show }) => show !== false)
  const known = shown.flatMap(({ min, max }) => [min, max]).filter((value) => value != null)
  const [low, high] = known.length === 0 ? [null, null] : [Math.min(...known), Math.max(...known)]
  const [min, max] = range(plot, low as number, high as number, 'y')
  const { y } = plot.scales
  if (min == null || max == null || (y?.min === min && y.max === max)) return
  plot.setScale('y', { min, max })
}

function seriesOf(
  { kind, lines }: ChartSpec,
  { look, points }: ChartSpec['lines'][number],
  palette: Palette,
): UPlot.Series {
  if (kind === 'bars') return { paths: () => null, points: { show: false } }
  const known = points.reduce<number>((sum, point) => sum + (point === null ? 0 : 1), 0)
  return {
    stroke: () => palette.of(`look-${look}`),
    width: look === 0 ? 2 : 1.5,
    dash: lines.length === 1 ? [] : [...dashOf(look)],
    points: { show: known < 3, size: 6 },
    ...(kind === 'fall' && look === 0 ? { fill: () => palette.of('fall'), fillTo: () => 0 } : {}),
  }
}

function rangeOf({ chart, marks }: PlotInput, bars: BarChart | undefined): UPlot.Range.Function {
  if (bars !== undefined) return (plot) => bars.rangeOf(plot)
  return (plot, low, high) => {
    const [lowest, highest] = marks?.extend(plot, [low, high]) ?? [low, high]
    const [from, until] = roomy(plot, lowest, highest)
    // A fall is told from the top, and a cap from nothing: there is no room beyond either.
    if (chart.kind === 'fall') return [from, 0]
    return chart.id === 'caps' ? [0, Math.max(100, until)] : [from, until]
  }
}

/** Months, days and times, as the step between them takes. */
function dates(splits: readonly number[], step: number): string[] {
  return splits.map((seconds) => {
    if (step >= MONTH) return monthText(seconds)
    return step >= DAY || seconds % DAY === 0 ? shortDayText(seconds) : timeText(seconds)
  })
}
