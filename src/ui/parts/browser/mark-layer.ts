import type UPlot from 'uplot'
import type { Mark } from '../marks.tsx'
import type { Palette } from './plotting.ts'

/** Half a mark's width, and the maximum distance of the pointer, in CSS pixels. */
const RADIUS = 4.5
const NEAR = 8
/** Marks closer together than this are drawn as one. */
const GRAIN = 3

type Range = readonly [lowest: number | null, highest: number | null]

export type MarkLayer = ReturnType<typeof markLayer>

/**
 * Fills on a feed's chart: marks that point up are purchases, those that point down are sales. Marks without a price lie on
 * the feed's `points`.
 */
export function markLayer(
  marks: readonly Mark[],
  on: { at: readonly number[]; points: readonly (number | null)[]; palette: Palette },
) {
  const { at, points, palette } = on
  let index = 0
  const placed = marks.flatMap((mark) => {
    while ((at[index + 1] ?? Number.POSITIVE_INFINITY) <= mark.atSeconds) index += 1
    const value = mark.price ?? points[index] ?? undefined
    return value === undefined ? [] : [{ ...mark, value }]
  })
  const inSight = ({ scales }: UPlot) => {
    const { min = 0, max = 0 } = scales['x'] ?? {}
    return placed.filter(({ atSeconds }) => atSeconds >= min && atSeconds <= max)
  }
  function draw(plot: UPlot): void {
    const { ctx } = plot
    const [radius, grain] = [RADIUS * devicePixelRatio, GRAIN * devicePixelRatio]
    const taken = new Set<string>()
    ctx.save()
    ctx.lineWidth = devicePixelRatio
    ctx.strokeStyle = palette.of('surface')
    for (const { atSeconds, value, side } of inSight(plot)) {
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
      ctx.fillStyle = palette.of(`mark-${side}`)
      ctx.fill()
      ctx.stroke()
    }
    ctx.restore()
  }
  return {
    draw,
    /** Without a plot: by all marks. */
    extend: (plot: UPlot | undefined, range: Range): Range =>
      (plot === undefined ? placed : inSight(plot)).reduce<Range>(
        ([low, high], { value }) => [Math.min(low ?? value, value), Math.max(high ?? value, value)],
        range,
      ),
    /** The mark nearest to the pointer; the last one if several are equally near. */
    near(plot: UPlot): Mark | undefined {
      const { left = -1 } = plot.cursor
      if (left < 0) return undefined
      const seconds = plot.posToVal(left, 'x')
      let distance = plot.posToVal(left + NEAR, 'x') - seconds
      let nearest: Mark | undefined
      for (const mark of inSight(plot)) {
        const away = Math.abs(mark.atSeconds - seconds)
        if (away > distance) continue
        nearest = mark
        distance = away
      }
      return nearest
    },
  }
}
