import { plain } from '../../page-parts/words/outcomes.ts'
import type { Column } from '../both/cells.ts'
import { type Page, pagesOf, rangeText } from '../both/paging.ts'
import { rowElement, theElement } from './elements.ts'

export type RowsInput<Row extends Readonly<Record<Choice, string>>, Choice extends string> = {
  /** Of the section. */
  readonly id: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  /** Fields of which one value can be chosen. */
  readonly choices: readonly Choice[]
  /** What is looked through for a text, in lower case. */
  textOf(row: Row): string
}

/** Lets one look through the rows of a table: by page, by values of some fields, and by text. */
export function startRows<Row extends Readonly<Record<Choice, string>>, Choice extends string>(
  input: RowsInput<Row, Choice>,
): void {
  const { id, rows, columns, choices, textOf } = input
  const table = document.querySelector<HTMLTableElement>(`#${id}-table`)
  if (table === null) return
  const body = theElement('tbody', table)
  const form = theElement(`#${id}-choices`)
  const pager = theElement(`#${id}-pager`)
  const none = theElement(`#${id}-none`)
  const fieldOf = (name: string) =>
    theElement<HTMLInputElement | HTMLSelectElement>(`[data-field="${name}"]`, form)
  const turns = [...pager.querySelectorAll<HTMLButtonElement>('[data-turn]')]
  const find = finder(rows, textOf)
  let found = rows
  let shown: Page = { page: 0, size: Number(fieldOf('size').value) }

  for (const choice of choices) offer(fieldOf(choice), rows, choice)
  form.addEventListener('input', () => look())
  pager.addEventListener('click', ({ target }) => {
    if (target instanceof HTMLElement) turn(target.dataset['turn'] ?? '')
  })
  theElement('button', none).addEventListener('click', () => {
    for (const name of [...choices, 'text']) fieldOf(name).value = ''
    look()
    fieldOf('text').focus()
  })
  // A browser that comes back to the page may have kept what was chosen.
  look()

  function look(): void {
    const chosen = choices.map((choice) => [choice, fieldOf(choice).value] as const)
    found = find(
      chosen.filter(([, value]) => value !== ''),
      fieldOf('text').value.trim().toLowerCase(),
    )
    shown = { page: 0, size: Number(fieldOf('size').value) }
    draw()
  }

  function turn(to: string): void {
    const last = pagesOf(shown, found.length) - 1
    const pages: Readonly<Record<string, number>> = {
      first: 0,
      previous: Math.max(0, shown.page - 1),
      next: Math.min(last, shown.page + 1),
      last,
    }
    const page = pages[to]
    if (page === undefined) return
    shown = { ...shown, page }
    draw()
  }

  function draw(): void {
    const { page, size } = shown
    const part = found.slice(page * size, (page + 1) * size)
    body.replaceChildren(...part.map((row) => rowElement(columns, row)))
    table?.classList.add('live')
    table?.toggleAttribute('hidden', part.length === 0)
    none.toggleAttribute('hidden', part.length > 0)
    theElement('p', pager).textContent = rangeText(shown, found.length, rows.length)
    const last = pagesOf(shown, found.length) - 1
    for (const button of turns) {
      const isBack = button.dataset['turn'] === 'first' || button.dataset['turn'] === 'previous'
      button.disabled = isBack ? page === 0 : page === last
    }
  }
}

/** Finds rows; what is looked through for text is made once, when the first text is looked for. */
function finder<Row extends Readonly<Record<Choice, string>>, Choice extends string>(
  rows: readonly Row[],
  textOf: (row: Row) => string,
) {
  let texts: readonly string[] | undefined
  return (chosen: readonly (readonly [Choice, string])[], text: string): readonly Row[] => {
    if (chosen.length === 0 && text === '') return rows
    if (text !== '') texts ??= rows.map(textOf)
    return rows.filter(
      (row, index) =>
        chosen.every(([choice, value]) => row[choice] === value) &&
        (text === '' || texts?.[index]?.includes(text)),
    )
  }
}

/** Every value that occurs, to be chosen. */
function offer<Row extends Readonly<Record<Choice, string>>, Choice extends string>(
  field: HTMLElement,
  rows: readonly Row[],
  choice: Choice,
): void {
  const values = [...new Set(rows.map((row) => row[choice]))].sort()
  field.append(
    ...values.map((value) => {
      const option = document.createElement('option')
      option.value = value
      option.textContent = choice === 'strategy' ? value : plain(value)
      return option
    }),
  )
}
