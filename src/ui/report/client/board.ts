import { type MarkLayer, markLayer } from '../../parts/browser/mark-layer.ts'
import { onResize, Palette, sizeOf } from '../../parts/browser/plotting.ts'
import { marksOn } from '../../parts/marks.tsx'
import { momentText } from '../../parts/wording/times.ts'
import { type ChartSpec, pointText, restingText } from '../data/charts.ts'
import { type FillRow, fillRows, markText } from '../data/long-tables.ts'
import type { PageData } from '../data/page-data.ts'
import type { LiveCharts } from '../view/charts.tsx'
import { type Drawn, drawInto } from './plot.ts'

/** Fits A4 and Letter paper. */
const PRINTED_WIDTH = 680
const ZOOM = 0.6
/** The arrow keys cross a chart in at most this many steps. */
const STEPS = 200

type OnBoard = Drawn & {
  readonly element: HTMLElement
  readonly marks: MarkLayer | undefined
}

/** All charts of the report share the visible period and the selected moment. */
export function createBoard({ period, series, fills: packed }: PageData, changed: () => void) {
  const times = series.atSeconds
  const whole = [times[0] ?? 0, times.at(-1) ?? 0] as const
  const fills: readonly FillRow[] = fillRows(packed)
  const palette = new Palette(document.body)
  const charts = new Map<string, OnBoard>()
  let announcement = ''
  let pointed: number | undefined
  let isPrinting = false

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour)
  addEventListener('beforeprint', toPaper)
  addEventListener('afterprint', toScreen)

  function inSight(): readonly [number, number] {
    const [first] = charts.values()
    const { min, max } = first?.plot.scales['x'] ?? {}
    return [min ?? whole[0], max ?? whole[1]]
  }

  function isWhole(): boolean {
    const [from, until] = inSight()
    return from <= whole[0] && until >= whole[1]
  }

  function show([min, max]: readonly [number, number]): void {
    for (const { plot } of charts.values()) plot.setScale('x', { min, max })
  }

  function pointAtNothing(): void {
    for (const { plot } of charts.values()) plot.setCursor({ left: -10, top: -10 }, true)
  }

  function step(by: 1 | -1, chart: ChartSpec): void {
    const [from, until] = inSight()
    const first = times.findIndex((seconds) => seconds >= from)
    const last = times.findLastIndex((seconds) => seconds <= until)
    const stride = Math.max(1, Math.round((last - first) / STEPS))
    const begin = by > 0 ? first - stride : last + stride
    const index = Math.max(first, Math.min(last, (pointed ?? begin) + by * stride))
    const seconds = times[index] ?? 0
    for (const { plot } of charts.values())
      plot.setCursor({ left: plot.valToPos(seconds, 'x'), top: 1 }, true)
    const values = chart.lines.map(
      ({ name, points }) => `${name} ${pointText(chart, points[index], 'not known')}`,
    )
    announcement = `${momentText(seconds)}: ${values.join(', ')}`
    changed()
  }

  /** Zooms around the selected moment, or the middle; keeps at least four points visible. */
  function zoom(by: number): void {
    const [from, until] = inSight()
    const [first, last] = whole
    const least = (4 * (last - first)) / Math.max(4, times.length)
    const middle = times[pointed ?? -1] ?? (from + until) / 2
    const length = Math.min(last - first, Math.max(least, (until - from) * by))
    const begin = Math.max(first, Math.min(last - length, middle - length / 2))
    show([begin, begin + length])
  }

  function fitSizes(): void {
    if (isPrinting) return
    for (const { plot, element } of charts.values()) {
      const size = sizeOf(element)
      if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size)
    }
  }

  function recolour(): void {
    palette.forget()
    for (const { plot } of charts.values()) plot.redraw(false)
  }

  function toPaper(): void {
    isPrinting = true
    document.documentElement.dataset['theme'] = 'light'
    for (const { plot, element } of charts.values())
      plot.setSize({ width: PRINTED_WIDTH, height: element.clientHeight })
    recolour()
  }

  function toScreen(): void {
    isPrinting = false
    delete document.documentElement.dataset['theme']
    fitSizes()
    recolour()
  }

  function isShown({ id }: ChartSpec, line: number): boolean {
    return charts.get(id)?.plot.series[line + 1]?.show !== false
  }

  return {
    get announcement() {
      return announcement
    },
    get at() {
      if (pointed !== undefined) return momentText(times[pointed] ?? 0)
      if (isWhole()) return period
      return inSight()
        .map((seconds) => momentText(Math.round(seconds)))
        .join(' to ')
    },
    get isWhole() {
      return isWhole()
    },
    showWhole: () => show(whole),
    draw(chart, element) {
      const [line] = chart.lines
      const marks =
        chart.feed === undefined || line === undefined
          ? undefined
          : markLayer(marksOn(chart.feed, fills), { at: times, points: line.points, palette })
      const drawn = drawInto(element, {
        chart,
        at: times,
        palette,
        marks,
        pointed(index) {
          pointed = index
          changed()
        },
        zoomed: changed,
      })
      charts.set(chart.id, { ...drawn, element, marks })
      onResize(element, fitSizes)
    },
    valuesOf(chart) {
      const { bars, plot } = charts.get(chart.id) ?? {}
      const index = pointed
      if (index === undefined) return chart.lines.map((line) => restingText(chart, line))
      const bar = plot && bars?.barAt(plot, times[index] ?? 0)
      return chart.lines.map(({ points }, line) =>
        pointText(chart, bar ? bar[line] : points[index]),
      )
    },
    nearOn({ id }) {
      const { marks, plot } = charts.get(id) ?? {}
      const mark = pointed === undefined ? undefined : plot && marks?.near(plot)
      const fill = fills[mark?.index ?? -1]
      return fill === undefined ? '' : `${momentText(fill.atSeconds)}: ${markText(fill)}`
    },
    isShown,
    toggle(chart, line) {
      const isOn = !isShown(chart, line)
      charts.get(chart.id)?.plot.setSeries(line + 1, { show: isOn })
      changed()
    },
    /** Arrows select points, plus and minus zoom, Escape shows everything. */
    onKey(event, chart) {
      const { key } = event
      const does: Readonly<Record<string, () => void>> = {
        ArrowLeft: () => step(-1, chart),
        ArrowRight: () => step(1, chart),
        '+': () => zoom(ZOOM),
        '-': () => zoom(1 / ZOOM),
        Escape() {
          pointAtNothing()
          show(whole)
        },
      }
      if (does[key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      does[key]()
    },
    onBlur: pointAtNothing,
  } satisfies LiveCharts
}
