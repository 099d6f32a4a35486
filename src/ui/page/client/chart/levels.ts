import type UPlot from 'uplot'
import type { Palette } from '../../../parts/browser/plotting.ts'
import type { PriceChart } from '../../model.ts'

export type LevelLine = PriceChart['levels'][number]

type Range = readonly [lowest: number | null, highest: number | null]

const LOOKS: Readonly<Record<LevelLine['kind'], { readonly colour: string; dash: number[] }>> = {
  trade: { colour: 'warn', dash: [6, 4] },
  ready: { colour: 'muted', dash: [2, 4] },
  bound: { colour: 'look-4', dash: [] },
}
/** A level this far from the prices, as a share of them, would flatten their curve. */
const FAR = 0.25
/** CSS pixels. */
const LABEL_HEIGHT = 12

/** The range of prices, with the levels near it. */
export function withLevels([low, high]: Range, levels: readonly LevelLine[]): Range {
  if (low === null || high === null) return [low, high]
  const prices = levels.map(({ price }) => price)
  const near = prices.filter((price) => price >= low * (1 - FAR) && price <= high * (1 + FAR))
  return [Math.min(low, ...near), Math.max(high, ...near)]
}

/** Lines with their names, and a tint between the bounds of the file. */
export function drawLevels(plot: UPlot, levels: readonly LevelLine[], palette: Palette): void {
  const { ctx, bbox } = plot
  const { top, left, width, height } = bbox
  const scale = devicePixelRatio
  const placeOf = (price: number): number => plot.valToPos(price, 'y', true)
  ctx.save()
  ctx.beginPath()
  ctx.rect(left, top, width, height)
  ctx.clip()
  ctx.lineWidth = scale
  ctx.textAlign = 'left'
  ctx.textBaseline = 'alphabetic'
  ctx.font = `${11 * scale}px system-ui, sans-serif`
  tint()
  let labelled = Number.NEGATIVE_INFINITY
  for (const { name, price, kind } of levels.toSorted((a, b) => b.price - a.price)) {
    const y = Math.round(placeOf(price))
    if (y < top || y > top + height) continue
    const { colour, dash } = LOOKS[kind]
    ctx.strokeStyle = palette.of(colour)
    ctx.fillStyle = palette.of(colour)
    ctx.setLineDash(dash.map((length) => length * scale))
    ctx.beginPath()
    ctx.moveTo(left, y)
    ctx.lineTo(left + width, y)
    ctx.stroke()
    // Labels of close lines would cover each other; the list below the chart names all.
    if (y - labelled < LABEL_HEIGHT * scale) continue
    labelled = y
    const above = y - top > LABEL_HEIGHT * 1.5 * scale
    ctx.fillText(name, left + 4 * scale, above ? y - 4 * scale : y + LABEL_HEIGHT * scale)
  }
  ctx.restore()

  function tint(): void {
    const bounds = levels.filter(({ kind }) => kind === 'bound').map(({ price }) => placeOf(price))
    if (bounds.length < 2) return
    ctx.globalAlpha = 0.08
    ctx.fillStyle = palette.of('look-4')
    ctx.fillRect(left, Math.min(...bounds), width, Math.max(...bounds) - Math.min(...bounds))
    ctx.globalAlpha = 1
  }
}
