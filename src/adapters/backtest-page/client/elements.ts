import { type Cell, type Column, cellClass } from '../both/cells.ts'

/** The elements that the program writes for the same cells. */

type Attributes = Readonly<Record<string, string | undefined>>

function element(tag: string, attributes: Attributes, ...children: (Node | string)[]) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) made.setAttribute(name, value)
  made.append(...children)
  return made
}

export function rowElement<Row>(columns: readonly Column<Row>[], row: Row): HTMLElement {
  const cells = columns.map((column, at) => {
    const cell = column.cell(row)
    const kind = {
      class: cellClass(column, cell),
      'data-label': column.title,
      title: cell.title === '' ? undefined : cell.title,
    }
    return at === 0
      ? element('th', { role: 'rowheader', scope: 'row', ...kind }, ...contentOf(cell))
      : element('td', { role: 'cell', ...kind }, ...contentOf(cell))
  })
  return element('tr', { role: 'row' }, ...cells)
}

function contentOf(cell: Cell): (Node | string)[] {
  const { text, more = [], small } = cell
  const lines = [text, ...more].map((line, at) => lineOf(cell, line, at))
  return small === undefined ? lines : [...lines, element('span', { class: 'small' }, small)]
}

function lineOf({ more = [], tone, iso }: Cell, line: string, at: number): Node | string {
  if (iso !== undefined && at === 0) return element('time', { datetime: iso }, line)
  if (tone !== undefined) {
    const mark = element('span', { class: 'mark', 'aria-hidden': 'true' })
    return element('span', { class: `pill ${tone}` }, mark, line)
  }
  return more.length === 0 ? line : element('span', { class: 'of-many' }, line)
}

/** An element that the program is known to have written. Throws where it is not there. */
export function theElement<Kind extends HTMLElement = HTMLElement>(
  selector: string,
  within: ParentNode = document,
): Kind {
  const found = within.querySelector<Kind>(selector)
  if (found === null) throw new Error(`the page has no ${selector}`)
  return found
}
