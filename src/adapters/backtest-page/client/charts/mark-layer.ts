import type UPlot from 'uplot'
import type { Points } from '../../both/charts.ts'
import type { Mark } from '../../both/marks.ts'
import type { Palette } from './palette.ts'

/** Half of a mark's width, and how near one has to point, in pixels of the screen. */
const RADIUS = 4.5
const NEAR = 8
/** Marks nearer to each other than this are one. */
const GRAIN = 3

type Placed = Mark & { readonly value: number }

/** Fills on the chart of a feed: what points up was bought, what points down was sold. */
export class MarkLayer {
  readonly #marks: readonly Placed[]
  readonly #palette: Palette

  /** @param feed the feed's points, which those marks lie on that have no price of its own. */
  constructor(
    marks: readonly Mark[],
    feed: { readonly at: readonly number[]; readonly points: Points },
    palette: Palette,
  ) {
    let index = 0
    this.#palette = palette
    this.#marks = marks.flatMap((mark) => {
      while ((feed.at[index + 1] ?? Number.POSITIVE_INFINITY) <= mark.atSeconds) index += 1
      const value = mark.price ?? feed.points[index] ?? undefined
      return value === undefined ? [] : [{ ...mark, value }]
    })
  }

  /** The lowest and highest that has to be seen, with the marks that are. */
  extend(plot: UPlot, [low, high]: [number | null, number | null]): [number | null, number | null] {
    let [lowest, highest] = [low, high]
    for (const { value } of this.#seen(plot)) {
      lowest = Math.min(lowest ?? value, value)
      highest = Math.max(highest ?? value, value)
    }
    return [lowest, highest]
  }

  draw(plot: UPlot): void {
    const { ctx } = plot
    const [radius, grain] = [RADIUS * devicePixelRatio, GRAIN * devicePixelRatio]
    const taken = new Set<string>()
    ctx.save()
    ctx.lineWidth = devicePixelRatio
    ctx.strokeStyle = this.#palette.of('surface')
    for (const { atSeconds, value, side } of this.#seen(plot)) {
      const x = plot.valToPos(atSeconds, 'x', true)
      const y = plot.valToPos(value, 'y', true)
      const place = `${side} ${Math.round(x / grain)} ${Math.round(y / grain)}`
      if (taken.has(place)) continue
      taken.add(place)
      const up = side === 'buy' ? -radius : radius
      ctx.beginPath()
      ctx.moveTo(x, y + up)
      ctx.lineTo(x + radius, y - up)
      ctx.lineTo(x - radius, y - up)
      ctx.closePath()
      ctx.fillStyle = this.#palette.of(`mark-${side}`)
      ctx.fill()
      ctx.stroke()
    }
    ctx.restore()
  }

  /** The mark that is pointed at, if any. */
  near(plot: UPlot): Mark | undefined {
    const { left = -1 } = plot.cursor
    if (left < 0) return undefined
    const seconds = plot.posToVal(left, 'x')
    const reach = plot.posToVal(left + NEAR, 'x') - seconds
    let nearest: Mark | undefined
    let distance = reach
    for (const mark of this.#seen(plot)) {
      const away = Math.abs(mark.atSeconds - seconds)
      if (away > distance) continue
      nearest = mark
      distance = away
    }
    return nearest
  }

  #seen({ scales }: UPlot): readonly Placed[] {
    const { min = 0, max = 0 } = scales['x'] ?? {}
    return this.#marks.filter(({ atSeconds }) => atSeconds >= min && atSeconds <= max)
  }
}
