import type UPlot from 'uplot'
import { type Buckets, barAt, bucketsOf, highestOf } from '../../both/buckets.ts'
import type { ChartSpec } from '../../both/charts.ts'
import type { Palette } from './palette.ts'

/** Room for one bar with its gap, in pixels of the screen. */
const BAR_WIDTH = 9
const GAP = 2

/** Counts as stacked bars, as many as there is room for, whatever part of the time is shown. */
export class BarChart {
  readonly #chart: ChartSpec
  readonly #at: readonly number[]
  readonly #palette: Palette

  constructor(chart: ChartSpec, at: readonly number[], palette: Palette) {
    this.#chart = chart
    this.#at = at
    this.#palette = palette
  }

  /** What is shown now: lines that are taken away count nothing. */
  bucketsIn({ scales, series, width }: UPlot): Buckets {
    const lines = this.#chart.lines.map(({ points }, at) =>
      series[at + 1]?.show === false ? [] : points,
    )
    const { min, max } = scales['x'] ?? {}
    const [from, until] = [min ?? this.#at[0] ?? 0, max ?? this.#at.at(-1) ?? 0]
    const most = Math.max(8, Math.floor(width / BAR_WIDTH))
    return bucketsOf({ at: this.#at, lines, fromSeconds: from, untilSeconds: until, most })
  }

  barAt(plot: UPlot, seconds: number): readonly number[] {
    return barAt(this.bucketsIn(plot), seconds) ?? []
  }

  rangeOf(plot: UPlot): [number, number] {
    return [0, Math.max(1, highestOf(this.bucketsIn(plot)) * 1.08)]
  }

  draw(plot: UPlot): void {
    const { ctx } = plot
    const { fromSeconds, stepSeconds, sums } = this.bucketsIn(plot)
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
        ctx.fillStyle = this.#palette.of(`look-${this.#chart.lines[line]?.look ?? 0}`)
        ctx.fillRect(left, top, Math.max(1, right - left - gap), bottom - top)
      })
    })
    ctx.restore()
  }
}
