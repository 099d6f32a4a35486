import { type Cell, type Column, cellClass } from './both/cells.ts'

/** Text that is HTML already. All other text is escaped wherever it is put into some. */
export type Markup = { readonly markup: string }

export type Part = Markup | string | number | undefined | readonly Part[]

/** HTML of a template. What is filled in is text unless it was made by `html` itself; lists are one after the other. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const markup = strings.map((text, at) => text + (at < parts.length ? written(parts[at]) : ''))
  return { markup: markup.join('') }
}

function written(part: Part): string {
  if (part === undefined) return ''
  if (typeof part === 'string') return escaped(part)
  if (typeof part === 'number') return String(part)
  return isList(part) ? part.map(written).join('') : part.markup
}

function isList(part: Markup | readonly Part[]): part is readonly Part[] {
  return Array.isArray(part)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

/** An attribute with its value; nothing where there is none. */
export function attribute(name: string, value: string | undefined): Markup {
  return value === undefined || value === ''
    ? { markup: '' }
    : html` ${{ markup: name }}="${value}"`
}

/** JSON for a data block: nothing in it can end the block, or begin a comment. */
export function jsonMarkup(value: unknown): Markup {
  return { markup: JSON.stringify(value).replaceAll('<', '\\u003c') }
}

/** What stands in a cell; the page's script draws the same. */
export function cellMarkup({ text, more = [], small, tone, iso }: Cell): Markup {
  const lines = [text, ...more].map((line, at) => {
    if (iso !== undefined && at === 0) return html`<time datetime="${iso}">${line}</time>`
    if (tone !== undefined)
      return html`<span class="pill ${tone}"><span class="mark" aria-hidden="true"></span>${line}</span>`
    return more.length === 0 ? html`${line}` : html`<span class="of-many">${line}</span>`
  })
  return html`${lines}${small === undefined ? undefined : html`<span class="small">${small}</span>`}`
}

/** A column of the program's own tables, in which more than text can stand. */
export type DrawnColumn<Item> = Column<Item> & { drawn?(item: Item): Markup }

export type TableOptions<Item> = {
  readonly label: string
  /** A class, by which the style sheet knows the table. */
  readonly kind: string
  readonly columns: readonly DrawnColumn<Item>[]
  readonly rows: readonly Item[]
  readonly id?: string
}

/** A table whose first cells name their rows. The roles say that it is one where a narrow screen makes cards of its rows. */
export function tableMarkup<Item>({ label, kind, columns, rows, id }: TableOptions<Item>): Markup {
  return html`<table role="table" class="sheet ${kind}" aria-label="${label}"${attribute('id', id)}>
<thead role="rowgroup"><tr role="row">${columns.map(
    (column) =>
      html`<th role="columnheader" scope="col" class="${cellClass(column)}">${column.title}</th>`,
  )}</tr></thead>
<tbody role="rowgroup">${rows.map((item) => html`<tr role="row">${columns.map((column, at) => placeMarkup(column, item, at === 0))}</tr>`)}</tbody>
</table>`
}

function placeMarkup<Item>(column: DrawnColumn<Item>, item: Item, isFirst: boolean): Markup {
  const cell = column.cell(item)
  const shown = html`${cellMarkup(cell)}${column.drawn?.(item)}`
  const named = html`class="${cellClass(column, cell)}" data-label="${column.title}"${attribute('title', cell.title)}`
  return isFirst
    ? html`<th role="rowheader" scope="row" ${named}>${shown}</th>`
    : html`<td role="cell" ${named}>${shown}</td>`
}
