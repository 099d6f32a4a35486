import type {
  FoldResult,
  SweepAxisResult,
  SweepPointResult,
  SweepResult,
  WalkForwardResult,
} from '../../../backtest/report/sweep-result.ts'
import { count, signedPercent } from '../../page-parts/words/amounts.ts'
import type { Column, Row } from '../both/cells.ts'
import {
  firstChoice,
  HEAT_STEPS,
  type HeatChoice,
  heatColumns,
  heatMapOf,
  METRICS,
  metricText,
  ranked,
} from '../both/heat.ts'
import { dayText, secondsOf } from '../both/moments.ts'
import { counted, fallCell, returnCell } from '../both/words.ts'
import { attribute, html, type Markup, tableMarkup } from '../markup.ts'

/** Points that are listed, best first. */
const LISTED = 10

export function sweepSection(sweep: SweepResult | null): Markup | undefined {
  if (sweep === null || sweep.axes.length === 0) return undefined
  return html`<section id="sweep" aria-labelledby="sweep-title">
<h2 id="sweep-title">Sweep</h2>
<p class="about">${counted(sweep.points.length, 'backtest')} of the same period, one for each combination of ${keysText(sweep.axes)}. The best is the best by ${METRICS[sweep.metric].toLowerCase()}.</p>
${warning(sweep)}
${sweep.axes.length === 1 ? curve(sweep) : heat(sweep)}
<h3 class="table-title">Best points</h3>
${bestTable(sweep)}
${sweep.walkForward === null ? undefined : walkForward(sweep.walkForward, sweep.axes)}
</section>`
}

function keysText(axes: readonly SweepAxisResult[]): Markup {
  return html`${axes.map(({ key }, at) => html`${joint(at, axes.length)}<code>${key}</code>`)}`
}

function joint(at: number, of: number): string {
  if (at === 0) return ''
  return at === of - 1 ? ' and ' : ', '
}

/** A best point is told beside the median, so that nobody takes it for what is to be expected. */
function warning(sweep: SweepResult): Markup | undefined {
  const { best, points, metric, isLonely } = sweep
  const point = best === null ? undefined : points[best]
  if (point === undefined) return undefined
  const order = ranked(sweep)
  const median = points[order[Math.floor(order.length / 2)] ?? -1]
  const beside =
    median === undefined ? '' : `; half of all points are at ${metricText(median, metric)} or below`
  const told = html`${valuesText(point, sweep.axes)} gives ${metricText(point, metric)}${beside}.`
  if (!isLonely)
    return html`<p class="note good">The best point: ${told} The points beside it are about as good.</p>`
  return html`<p class="note warn"><strong>The best point stands alone.</strong> ${told} The points beside it are far worse: what was found fits this period, not a rule that is likely to hold in another one.</p>`
}

function valuesText({ values }: SweepPointResult, axes: readonly SweepAxisResult[]): string {
  return axes.map(({ key }, at) => `${key} ${values[at] ?? ''}`).join(', ')
}

function heat(sweep: SweepResult): Markup {
  const choice = firstChoice(sweep)
  const map = heatMapOf(sweep, choice)
  const columns = heatColumns(map)
  const table = { label: 'Heat map', kind: 'heat-map', id: 'heat', columns, rows: map.rows }
  return html`<search class="choices needs-script" id="heat-choices">${choices(sweep, choice)}</search>
<p class="heat-across"><code id="heat-across">${sweep.axes[choice.across]?.key ?? ''}</code> goes across, <code id="heat-down">${sweep.axes[choice.down]?.key ?? ''}</code> down${sweep.axes.length > 2 ? ', the others as at the best point' : ''}.</p>
<div class="scroller" tabindex="0" role="region" aria-label="Heat map">${tableMarkup<Row>(table)}</div>
<p class="scale" aria-hidden="true">worse <span class="scale-steps">${Array.from({ length: HEAT_STEPS }, (_, step) => html`<span class="heat-${step}"></span>`)}</span> better</p>`
}

function choices({ axes }: SweepResult, choice: HeatChoice): Markup {
  const metrics = Object.entries(METRICS).map(([value, text]) => ({ value, text }))
  const shown = select({
    field: 'metric',
    title: 'Figure',
    options: metrics,
    chosen: choice.metric,
  })
  if (axes.length === 2) return shown
  const keys = axes.map(({ key }, at) => ({ value: String(at), text: key }))
  const across = { field: 'across', title: 'Across', options: keys, chosen: String(choice.across) }
  const down = { field: 'down', title: 'Down', options: keys, chosen: String(choice.down) }
  const fixed = axes.map(({ key, values }, at) =>
    select({
      field: `fixed-${at}`,
      title: key,
      options: values.map((value) => ({ value, text: value })),
      chosen: choice.fixed[at] ?? '',
      hidden: at === choice.across || at === choice.down,
    }),
  )
  return html`${shown}${select(across)}${select(down)}${fixed}`
}

type Select = {
  readonly field: string
  readonly title: string
  readonly options: readonly { readonly value: string; readonly text: string }[]
  readonly chosen: string
  readonly hidden?: boolean
}

function select({ field, title, options, chosen, hidden = false }: Select): Markup {
  return html`<label class="field"${attribute('hidden', hidden ? 'hidden' : undefined)}><span>${title}</span><select data-field="${field}">${options.map(
    ({ value, text }) =>
      html`<option value="${value}"${attribute('selected', value === chosen ? 'selected' : undefined)}>${text}</option>`,
  )}</select></label>`
}

/** One axis: a line of its returns, drawn by the script, and all of its points. */
function curve({ axes, points }: SweepResult): Markup {
  const [axis] = axes
  const rows = (axis?.values ?? []).flatMap((value) =>
    points.filter(({ values }) => values[0] === value),
  )
  return html`<figure class="chart needs-script" data-curve="sweep"><figcaption><h3>Return by ${axis?.key ?? ''}</h3></figcaption>
<div class="plot middle" tabindex="0" role="group" aria-roledescription="chart" aria-label="Return by ${axis?.key ?? ''}"></div></figure>
${tableMarkup({ label: 'All points', kind: 'of-points', columns: pointColumns(axes), rows })}`
}

function pointColumns(axes: readonly SweepAxisResult[]): readonly Column<SweepPointResult>[] {
  return [
    ...axes.map(
      ({ key }, at): Column<SweepPointResult> => ({
        id: 'axis',
        title: key,
        cell: ({ values }) => ({ text: values[at] ?? '' }),
      }),
    ),
    { id: 'return', title: 'Return', numeric: true, cell: (row) => returnCell(row.returnPercent) },
    { id: 'fall', title: 'Drawdown', numeric: true, cell: (row) => fallCell(row.drawdownPercent) },
    { id: 'fills', title: 'Fills', numeric: true, cell: ({ fills }) => ({ text: count(fills) }) },
  ]
}

function bestTable(sweep: SweepResult): Markup {
  const rows = ranked(sweep)
    .slice(0, LISTED)
    .flatMap((place) => sweep.points[place] ?? [])
  if (rows.length === 0) return html`<p class="empty">No point has this figure.</p>`
  const columns = pointColumns(sweep.axes)
  return tableMarkup({ label: 'Best points', kind: 'of-points', columns, rows })
}

function walkForward(
  { folds, unseenReturnPercent }: WalkForwardResult,
  axes: readonly SweepAxisResult[],
): Markup {
  const span = (from: string, until: string) =>
    `${dayText(secondsOf(from))} to ${dayText(secondsOf(until))}`
  const columns: readonly Column<FoldResult>[] = [
    {
      id: 'when',
      title: 'Searched',
      cell: (fold) => ({ text: span(fold.searchFromAt, fold.searchUntilAt) }),
    },
    {
      id: 'values',
      title: axes.map(({ key }) => key).join(', '),
      cell: ({ values }) => ({ text: values.join(', ') }),
    },
    {
      id: 'return',
      title: 'Return there',
      numeric: true,
      cell: (fold) => returnCell(fold.searchReturnPercent),
    },
    {
      id: 'when',
      title: 'Then tried',
      cell: (fold) => ({ text: span(fold.tryFromAt, fold.tryUntilAt) }),
    },
    {
      id: 'return',
      title: 'Return there',
      numeric: true,
      cell: (fold) => returnCell(fold.tryReturnPercent),
    },
  ]
  const all =
    unseenReturnPercent === null
      ? 'What they come to together is not known.'
      : `One after the other, what was tried comes to ${signedPercent(unseenReturnPercent)}.`
  return html`<h3 class="table-title">Walk-forward</h3>
<p class="about">What was best in one part of the period, tried in the part after it that the search had not seen. ${all}</p>
${tableMarkup({ label: 'Walk-forward', kind: 'of-folds', columns, rows: folds })}`
}
