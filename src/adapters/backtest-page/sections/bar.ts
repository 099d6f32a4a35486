import { html, type Markup } from '../markup.ts'

/** A figure as a bar from zero, among others that share its scale. It says nothing that does not stand beside it. */
export function barMarkup(value: number, extent: { lowest: number; highest: number }): Markup {
  const lowest = Math.min(0, extent.lowest)
  const highest = Math.max(0, extent.highest)
  const share = (figure: number) =>
    highest > lowest ? ((figure - lowest) / (highest - lowest)) * 100 : 0
  const [from, to] = [share(Math.min(0, value)), share(Math.max(0, value))]
  const zero = share(0)
  const width = Math.max(0.5, to - from)
  return html`<svg class="bar ${value < 0 ? 'below' : 'above'}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="${from.toFixed(2)}" y="1" width="${width.toFixed(2)}" height="8"/><line x1="${zero.toFixed(2)}" x2="${zero.toFixed(2)}" y1="0" y2="10"/></svg>`
}
