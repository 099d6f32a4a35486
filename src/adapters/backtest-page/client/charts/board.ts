import { type ChartSpec, chartsOf, pointText, restingText } from '../../both/charts.ts'
import type { PageData } from '../../both/data.ts'
import { marksOn, markText } from '../../both/marks.ts'
import { momentText } from '../../both/moments.ts'
import { theElement } from '../elements.ts'
import { MarkLayer } from './mark-layer.ts'
import { Palette } from './palette.ts'
import { type Drawn, drawInto } from './plot.ts'

/** Wide enough for the paper of either side of the ocean. */
const PRINTED_WIDTH = 680
/** What is kept of the time that is shown by one step closer. */
const ZOOM = 0.6
/** Steps that the arrow keys take from one side to the other, at the most. */
const STEPS = 200

/** From and until, epoch seconds. */
type Span = readonly [number, number]

type OnBoard = Drawn & {
  readonly chart: ChartSpec
  readonly element: HTMLElement
  /** Tells the values at a point; what stands there for good where there is none. */
  tell(index: number | undefined): void
}

/** All charts of the page: they share their time, what part of it is shown, and where one points. */
export function startCharts(data: PageData): void {
  if (document.querySelector('.charts') === null) return
  const board = new Board(data)
  board.draw()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => board.recolour())
  addEventListener('beforeprint', () => board.toPaper())
  addEventListener('afterprint', () => board.toScreen())
}

class Board {
  readonly #data: PageData
  readonly #palette = new Palette()
  readonly #charts: OnBoard[] = []
  readonly #at = theElement('#at')
  readonly #whole = theElement<HTMLButtonElement>('#whole-period')
  #pointed: number | undefined
  #isPrinting = false

  constructor(data: PageData) {
    this.#data = data
    this.#whole.addEventListener('click', () => this.#show(this.#all))
  }

  draw(): void {
    const observer = new ResizeObserver(() => this.#fit())
    for (const chart of chartsOf(this.#data)) {
      const figure = theElement(`[data-chart="${chart.id}"]`)
      const element = theElement('.plot', figure)
      this.#charts.push(this.#drawn(chart, figure, element))
      element.addEventListener('keydown', (event) => this.#onKey(event, chart))
      element.addEventListener('blur', () => this.#pointNowhere())
      observer.observe(element)
    }
  }

  recolour(): void {
    this.#palette.forget()
    for (const { plot } of this.#charts) plot.redraw(false)
  }

  toPaper(): void {
    this.#isPrinting = true
    document.documentElement.dataset['theme'] = 'light'
    for (const { plot, element } of this.#charts)
      plot.setSize({ width: PRINTED_WIDTH, height: element.clientHeight })
    this.recolour()
  }

  toScreen(): void {
    this.#isPrinting = false
    delete document.documentElement.dataset['theme']
    this.#fit()
    this.recolour()
  }

  get #times(): readonly number[] {
    return this.#data.series.atSeconds
  }

  get #all(): Span {
    return [this.#times[0] ?? 0, this.#times.at(-1) ?? 0]
  }

  #fit(): void {
    if (this.#isPrinting) return
    for (const { plot, element } of this.#charts) {
      const { clientWidth: width, clientHeight: height } = element
      if (width !== plot.width || height !== plot.height) plot.setSize({ width, height })
    }
  }

  #show([min, max]: Span): void {
    for (const { plot } of this.#charts) plot.setScale('x', { min, max })
  }

  /** What part of the time is shown; all charts have the same. */
  get #shown(): Span {
    const { min, max } = this.#charts[0]?.plot.scales['x'] ?? {}
    const [from, until] = this.#all
    return [min ?? from, max ?? until]
  }

  #onZoomed(): void {
    const [from, until] = this.#shown
    const [first, last] = this.#all
    this.#whole.disabled = from <= first && until >= last
    if (this.#pointed === undefined) this.#tellTime(undefined)
  }

  #onPointed(onBoard: OnBoard, index: number | undefined): void {
    onBoard.tell(index)
    if (index === this.#pointed) return
    this.#pointed = index
    this.#tellTime(index)
  }

  #tellTime(index: number | undefined): void {
    const [from, until] = this.#shown
    const isWhole = this.#whole.disabled
    const period = isWhole ? (this.#at.dataset['period'] ?? '') : spanText(from, until)
    this.#at.textContent = index === undefined ? period : momentText(this.#times[index] ?? 0)
  }

  /** Arrows point at the points, plus and minus look closer at where one points, Escape shows all. */
  #onKey(event: KeyboardEvent, chart: ChartSpec): void {
    const { key } = event
    const does: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.#step(-1, chart),
      ArrowRight: () => this.#step(1, chart),
      '+': () => this.#zoom(ZOOM),
      '-': () => this.#zoom(1 / ZOOM),
      Escape: () => {
        this.#pointNowhere()
        this.#show(this.#all)
      },
    }
    if (does[key] === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    does[key]()
  }

  #step(by: 1 | -1, chart: ChartSpec): void {
    const at = this.#times
    const [from, until] = this.#shown
    const first = at.findIndex((seconds) => seconds >= from)
    const last = at.findLastIndex((seconds) => seconds <= until)
    const stride = Math.max(1, Math.round((last - first) / STEPS))
    const begin = by > 0 ? first - stride : last + stride
    const index = Math.max(first, Math.min(last, (this.#pointed ?? begin) + by * stride))
    for (const { plot } of this.#charts)
      plot.setCursor({ left: plot.valToPos(at[index] ?? 0, 'x'), top: 1 }, true)
    const values = chart.lines.map(({ name, points }) => {
      const point = points[index]
      return `${name} ${point === null || point === undefined ? 'not known' : pointText(chart, point)}`
    })
    theElement('#pointed').textContent = `${momentText(at[index] ?? 0)}: ${values.join(', ')}`
  }

  #pointNowhere(): void {
    for (const { plot } of this.#charts) plot.setCursor({ left: -10, top: -10 }, true)
  }

  #zoom(by: number): void {
    const [from, until] = this.#shown
    const [first, last] = this.#all
    const middle = this.#times[this.#pointed ?? -1] ?? (from + until) / 2
    const length = Math.min(last - first, Math.max(this.#least, (until - from) * by))
    const begin = Math.max(first, Math.min(last - length, middle - length / 2))
    this.#show([begin, begin + length])
  }

  /** No closer than four points. */
  get #least(): number {
    const [first, last] = this.#all
    return (4 * (last - first)) / Math.max(4, this.#times.length)
  }

  #drawn(chart: ChartSpec, figure: HTMLElement, element: HTMLElement): OnBoard {
    const { fills } = this.#data
    const at = this.#times
    const [feed] = chart.lines
    const marks =
      chart.feed === undefined || feed === undefined
        ? undefined
        : new MarkLayer(marksOn(chart.feed, fills), { at, points: feed.points }, this.#palette)
    const near = figure.querySelector('.near')
    const values = [...figure.querySelectorAll('.legend .value')]
    const drawn = drawInto(element, {
      ...{ chart, at, marks, palette: this.#palette },
      pointed: (index) => this.#onPointed(onBoard, index),
      zoomed: () => this.#onZoomed(),
    })
    const onBoard: OnBoard = {
      ...{ ...drawn, chart, element },
      tell(index) {
        const bar = index === undefined ? [] : drawn.bars?.barAt(drawn.plot, at[index] ?? 0)
        chart.lines.forEach((line, place) => {
          const value = bar === undefined ? line.points[index ?? -1] : bar[place]
          const told = value === undefined || value === null ? '–' : pointText(chart, value)
          const text = index === undefined ? restingText(chart, line) : told
          const place_ = values[place]
          if (place_ !== undefined) place_.textContent = text
        })
        if (near === null || marks === undefined) return
        const mark = index === undefined ? undefined : marks.near(drawn.plot)
        near.textContent =
          mark === undefined ? '' : `${momentText(mark.atSeconds)}: ${markText(fills, mark)}`
      },
    }
    for (const button of figure.querySelectorAll<HTMLButtonElement>('[data-line]'))
      button.addEventListener('click', () => toggle(drawn, button))
    return onBoard
  }
}

/** A line is taken away or shown again; the others take its room. */
function toggle({ plot }: Drawn, button: HTMLButtonElement): void {
  const isShown = button.getAttribute('aria-pressed') !== 'true'
  button.setAttribute('aria-pressed', String(isShown))
  plot.setSeries(Number(button.dataset['line']) + 1, { show: isShown })
}

function spanText(from: number, until: number): string {
  return `${momentText(Math.round(from))} to ${momentText(Math.round(until))}`
}
