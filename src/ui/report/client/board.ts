import { onResize, Palette, sizeOf } from '../../parts/browser/plotting.ts'
import { momentText } from '../../parts/wording/times.ts'
import { type ChartSpec, pointText, restingText } from '../data/charts.ts'
import { type FillRow, fillRows, marksOn, markText } from '../data/fills.ts'
import type { PageData } from '../data/page-data.ts'
import type { LiveCharts } from '../view/charts.tsx'
import { type Drawn, drawInto, type MarkLayer, markLayer } from './plot.ts'

/** Fits paper of both sides of the ocean. */
const PRINTED_WIDTH = 680
const ZOOM = 0.6
/** The arrow keys cross a chart in at most as many steps. */
const STEPS = 200

type OnBoard = Drawn & {
  readonly element: HTMLElement
  readonly marks: MarkLayer | undefined
}

/** All charts of the report share the time in sight and the selected moment. */
export class Board implements LiveCharts {
  announcement = ''
  readonly #period: string
  readonly #times: readonly number[]
  readonly #fills: readonly FillRow[]
  readonly #palette = new Palette(document.body)
  readonly #charts = new Map<string, OnBoard>()
  readonly #changed: () => void
  #pointed: number | undefined
  #isPrinting = false

  constructor({ period, series, fills }: PageData, changed: () => void) {
    this.#period = period
    this.#times = series.atSeconds
    this.#fills = fillRows(fills)
    this.#changed = changed
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#recolour())
    addEventListener('beforeprint', () => this.#toPaper())
    addEventListener('afterprint', () => this.#toScreen())
  }

  get at(): string {
    if (this.#pointed !== undefined) return momentText(this.#times[this.#pointed] ?? 0)
    if (this.isWhole) return this.#period
    return this.#inSight.map((seconds) => momentText(Math.round(seconds))).join(' to ')
  }

  get isWhole(): boolean {
    const [from, until] = this.#inSight
    const [first, last] = this.#all
    return from <= first && until >= last
  }

  showWhole(): void {
    this.#show(this.#all)
  }

  draw(chart: ChartSpec, element: HTMLElement): void {
    const [feed] = chart.lines
    const marks =
      chart.feed === undefined || feed === undefined
        ? undefined
        : markLayer(marksOn(chart.feed, this.#fills), {
            at: this.#times,
            points: feed.points,
            palette: this.#palette,
          })
    const drawn = drawInto(element, {
      chart,
      at: this.#times,
      palette: this.#palette,
      marks,
      pointed: (index) => {
        this.#pointed = index
        this.#changed()
      },
      zoomed: this.#changed,
    })
    this.#charts.set(chart.id, { ...drawn, element, marks })
    onResize(element, () => this.#fit())
  }

  valuesOf(chart: ChartSpec): readonly string[] {
    const { bars, plot } = this.#charts.get(chart.id) ?? {}
    const index = this.#pointed
    if (index === undefined) return chart.lines.map((line) => restingText(chart, line))
    const bar = plot && bars?.barAt(plot, this.#times[index] ?? 0)
    return chart.lines.map(({ points }, line) => pointText(chart, bar ? bar[line] : points[index]))
  }

  nearOn({ id }: ChartSpec): string {
    const { marks, plot } = this.#charts.get(id) ?? {}
    const mark = this.#pointed === undefined ? undefined : plot && marks?.near(plot)
    const fill = this.#fills[mark?.index ?? -1]
    return fill === undefined ? '' : `${momentText(fill.atSeconds)}: ${markText(fill)}`
  }

  isShown({ id }: ChartSpec, line: number): boolean {
    return this.#charts.get(id)?.plot.series[line + 1]?.show !== false
  }

  toggle(chart: ChartSpec, line: number): void {
    const show = !this.isShown(chart, line)
    this.#charts.get(chart.id)?.plot.setSeries(line + 1, { show })
    this.#changed()
  }

  /** Arrows point at the points, plus and minus zoom, Escape shows everything. */
  onKey(event: KeyboardEvent, chart: ChartSpec): void {
    const { key } = event
    const does: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.#step(-1, chart),
      ArrowRight: () => this.#step(1, chart),
      '+': () => this.#zoom(ZOOM),
      '-': () => this.#zoom(1 / ZOOM),
      Escape: () => {
        this.onBlur()
        this.showWhole()
      },
    }
    if (does[key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    does[key]()
  }

  onBlur(): void {
    for (const { plot } of this.#charts.values()) plot.setCursor({ left: -10, top: -10 }, true)
  }

  get #all(): readonly [number, number] {
    return [this.#times[0] ?? 0, this.#times.at(-1) ?? 0]
  }

  get #inSight(): readonly [number, number] {
    const [first] = this.#charts.values()
    const { min, max } = first?.plot.scales['x'] ?? {}
    const [from, until] = this.#all
    return [min ?? from, max ?? until]
  }

  #show([min, max]: readonly [number, number]): void {
    for (const { plot } of this.#charts.values()) plot.setScale('x', { min, max })
  }

  #step(by: 1 | -1, chart: ChartSpec): void {
    const at = this.#times
    const [from, until] = this.#inSight
    const first = at.findIndex((seconds) => seconds >= from)
    const last = at.findLastIndex((seconds) => seconds <= until)
    const stride = Math.max(1, Math.round((last - first) / STEPS))
    const begin = by > 0 ? first - stride : last + stride
    const index = Math.max(first, Math.min(last, (this.#pointed ?? begin) + by * stride))
    for (const { plot } of this.#charts.values())
      plot.setCursor({ left: plot.valToPos(at[index] ?? 0, 'x'), top: 1 }, true)
    const values = chart.lines.map(
      ({ name, points }) => `${name} ${pointText(chart, points[index], 'not known')}`,
    )
    this.announcement = `${momentText(at[index] ?? 0)}: ${values.join(', ')}`
    this.#changed()
  }

  /** Keeps what is pointed at in the middle, and at least four points in sight. */
  #zoom(by: number): void {
    const [from, until] = this.#inSight
    const [first, last] = this.#all
    const least = (4 * (last - first)) / Math.max(4, this.#times.length)
    const middle = this.#times[this.#pointed ?? -1] ?? (from + until) / 2
    const length = Math.min(last - first, Math.max(least, (until - from) * by))
    const begin = Math.max(first, Math.min(last - length, middle - length / 2))
    this.#show([begin, begin + length])
  }

  #fit(): void {
    if (this.#isPrinting) return
    for (const { plot, element } of this.#charts.values()) {
      const size = sizeOf(element)
      if (size.width !== plot.width || size.height !== plot.height) plot.setSize(size)
    }
  }

  #recolour(): void {
    this.#palette.forget()
    for (const { plot } of this.#charts.values()) plot.redraw(false)
  }

  #toPaper(): void {
    this.#isPrinting = true
    document.documentElement.dataset['theme'] = 'light'
    for (const { plot, element } of this.#charts.values())
      plot.setSize({ width: PRINTED_WIDTH, height: element.clientHeight })
    this.#recolour()
  }

  #toScreen(): void {
    this.#isPrinting = false
    delete document.documentElement.dataset['theme']
    this.#fit()
    this.#recolour()
  }
}
