import type { BacktestResult } from '../../../backtest/report/result.ts'
import { count } from '../../page-parts/words/amounts.ts'
import type { Column } from '../both/cells.ts'
import type { PageData } from '../both/data.ts'
import { FILL_CHOICES, fillAt, fillColumns } from '../both/fills.ts'
import { rangeText, STATIC_ROWS_MAX } from '../both/paging.ts'
import { SLOT_CHOICES, slotAt, slotColumns } from '../both/slots.ts'
import { counted } from '../both/words.ts'
import { html, type Markup, tableMarkup } from '../markup.ts'

type Rows<Row> = {
  readonly id: 'slots' | 'fills'
  readonly title: string
  readonly about: string
  readonly total: number
  readonly leftOut: number
  readonly columns: readonly Column<Row>[]
  readonly choices: readonly string[]
  readonly empty: string
  at(index: number): Row
}

export function slotsSection({ slotsLeftOut }: BacktestResult, data: PageData): Markup {
  return rowsSection({
    id: 'slots',
    title: 'Slots',
    about:
      'What came of each slot. Slots of one strategy that ended alike, one after the other, are one row.',
    total: data.slots.from.length,
    leftOut: slotsLeftOut,
    columns: slotColumns(data.meanings),
    choices: SLOT_CHOICES,
    empty: 'No slot was due in the period.',
    at: (index) => slotAt(data.slots, index),
  })
}

export function fillsSection({ fillsLeftOut }: BacktestResult, data: PageData): Markup {
  return rowsSection({
    id: 'fills',
    title: 'Fills',
    about: 'What was paid and received, and the price of the feed at that moment.',
    total: data.fills.at.length,
    leftOut: fillsLeftOut,
    columns: fillColumns(),
    choices: FILL_CHOICES,
    empty: 'Nothing was filled in the period.',
    at: (index) => fillAt(data.fills, index),
  })
}

function rowsSection<Row>(rows: Rows<Row>): Markup {
  const { id, title, about, total, leftOut, empty } = rows
  return html`<section id="${id}" class="rows-section" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<p class="about">${about}${leftOut > 0 ? ` ${counted(leftOut, 'further row')} were more than a report holds, and are left out.` : ''}</p>
${total === 0 ? html`<p class="empty">${empty}</p>` : filled(rows)}
</section>`
}

function filled<Row>({ id, title, total, columns, choices, at }: Rows<Row>): Markup {
  const rows = Array.from({ length: Math.min(total, STATIC_ROWS_MAX) }, (_, index) => at(index))
  const table = { id: `${id}-table`, label: title, kind: `of-${id}`, columns, rows }
  const isCut = total > rows.length
  return html`<search class="choices needs-script" id="${id}-choices">${choices.map(choice)}
<label class="field search"><span>Text</span><input type="search" data-field="text" placeholder="Any text" autocomplete="off" spellcheck="false"></label>
<label class="field size"><span>Rows</span><select data-field="size"><option>25</option><option>100</option><option>500</option></select></label></search>
<div class="pager needs-script" id="${id}-pager"><p role="status">${rangeText({ page: 0, size: 25 }, total, total)}</p><span class="turns">${turn('first', 'First')}${turn('previous', 'Previous')}${turn('next', 'Next')}${turn('last', 'Last')}</span></div>
${isCut ? html`<noscript><p class="note warn">These are the first ${rows.length} of ${count(total)} rows; the page’s own script, which is switched off, shows the others.</p></noscript>` : undefined}
${tableMarkup(table)}
<p class="empty" id="${id}-none" hidden>No row is like that. <button type="button" class="quiet">Show all rows</button></p>`
}

function turn(to: string, text: string): Markup {
  return html`<button type="button" class="quiet" data-turn="${to}" disabled>${text}</button>`
}

/** Its options are given by the script, which alone can follow them. */
function choice(field: string): Markup {
  return html`<label class="field"><span>${field.charAt(0).toUpperCase() + field.slice(1)}</span><select data-field="${field}"><option value="">all</option></select></label>`
}
