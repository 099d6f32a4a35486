import { type ChartSpec, chartsOf, courseText, type Line, restingText } from '../both/charts.ts'
import type { PageData } from '../both/data.ts'
import { dashOf } from '../both/looks.ts'
import { marksOn, sidesOn } from '../both/marks.ts'
import { counted } from '../both/words.ts'
import { attribute, html, type Markup } from '../markup.ts'

/** Frames and legends, as high as they stay: what draws into them moves nothing. */
export function chartsSection(data: PageData, period: string): Markup {
  const charts = chartsOf(data)
  return html`<section id="charts" aria-labelledby="charts-title">
<h2 id="charts-title">Over time</h2>
${charts.length === 0 ? html`<p class="empty">Nothing was sampled, so there is no curve to show.</p>` : drawn(charts, data, period)}
</section>`
}

function drawn(charts: readonly ChartSpec[], data: PageData, period: string): Markup {
  const price = charts.some(({ id }) => id === 'value')
    ? undefined
    : html`<p class="empty">There is no curve of the value: no price feed leads to a token that everything could be valued in.</p>`
  return html`<noscript><p class="note warn">Curves are drawn by the page’s own script, and scripts are switched off. Everything else is here.</p></noscript>
<div class="chart-bar needs-script"><button type="button" class="quiet" id="whole-period" disabled>Show the whole period</button><p class="at" id="at" data-period="${period}">${period}</p><p class="hint">Drag over a chart to look closer at a part, in all of them. A double click shows the whole period again. With the keyboard: arrows, + and −, Escape.</p></div>
<p class="unseen" id="pointed" aria-live="polite"></p>
${price}<div class="charts">${charts.map((chart) => chartMarkup(chart, data))}</div>`
}

function chartMarkup(chart: ChartSpec, data: PageData): Markup {
  const { id, title, about, lines, height, feed } = chart
  const marks = feed === undefined ? undefined : marksLegend(feed, data)
  return html`<figure class="chart" data-chart="${id}">
<figcaption><h3>${title}</h3>${about === '' ? undefined : html`<p class="about">${about}</p>`}</figcaption>
<ul class="legend" aria-label="${`Curves of ${title.toLowerCase()}`}">${lines.map((line, at) => legendItem(chart, line, at))}${marks}</ul>
<div class="plot ${height}" tabindex="0" role="group" aria-roledescription="chart" aria-label="${title}" aria-describedby="course-${id}"></div>
${marks === undefined ? undefined : html`<p class="near"></p>`}
<p class="unseen" id="course-${id}">${courseText(chart)}</p>
</figure>`
}

function legendItem(chart: ChartSpec, line: Line, at: number): Markup {
  const value = html`<span class="value">${restingText(chart, line)}</span>`
  const content = html`${swatch(chart, line)}<span class="name">${line.name}</span> ${value}`
  // One alone cannot be taken away.
  if (chart.lines.length === 1) return html`<li><span class="entry">${content}</span></li>`
  return html`<li><button type="button" class="entry" data-line="${at}" aria-pressed="true">${content}</button></li>`
}

function swatch({ kind }: ChartSpec, { look }: Line): Markup {
  if (kind === 'bars')
    return html`<svg class="swatch look-${look}" viewBox="0 0 20 10" aria-hidden="true"><rect x="5" width="10" height="10" rx="2"/></svg>`
  const dash = dashOf(look).join(' ')
  return html`<svg class="swatch look-${look}" viewBox="0 0 20 10" aria-hidden="true"><line x1="0" y1="5" x2="20" y2="5"${attribute('stroke-dasharray', dash)}/></svg>`
}

function marksLegend(feed: string, { fills }: PageData): Markup {
  const { bought, sold } = sidesOn(marksOn(feed, fills))
  const entry = (kind: string, shape: string, text: string) =>
    html`<li><span class="entry"><svg class="swatch mark-${kind}" viewBox="0 0 20 10" aria-hidden="true"><path d="${shape}"/></svg><span class="name">${text}</span></span></li>`
  return html`${bought === 0 ? undefined : entry('buy', 'M10 0.5 15 9.5H5Z', counted(bought, 'purchase'))}${sold === 0 ? undefined : entry('sell', 'M10 9.5 15 0.5H5Z', counted(sold, 'sale'))}`
}
