import type { PageData, Sweep } from '../both/data.ts'
import { firstChoice, type HeatChoice, heatColumns, heatMapOf } from '../both/heat.ts'
import { startCurve } from './charts/curve.ts'
import { rowElement, theElement } from './elements.ts'

/** Lets one choose what a heat map shows, and draws the curve of a sweep of one axis. */
export function startSweep({ sweep }: PageData): void {
  if (sweep === null || sweep.axes.length === 0) return
  if (sweep.axes.length === 1) startCurve(sweep)
  else startHeat(sweep)
}

function startHeat(sweep: Sweep): void {
  const form = theElement('#heat-choices')
  let choice = firstChoice(sweep)
  form.addEventListener('input', () => {
    choice = chosenIn(form, choice)
    for (const [field, at] of [
      ['across', choice.across],
      ['down', choice.down],
    ] as const) {
      const select = form.querySelector<HTMLSelectElement>(`[data-field="${field}"]`)
      if (select !== null) select.value = String(at)
      theElement(`#heat-${field}`).textContent = sweep.axes[at]?.key ?? ''
    }
    sweep.axes.forEach((_, at) => {
      const label = form.querySelector(`[data-field="fixed-${at}"]`)?.closest('label')
      label?.toggleAttribute('hidden', at === choice.across || at === choice.down)
    })
    draw(sweep, choice)
  })
}

/** What the fields say. An axis that is chosen for both directions changes places with the other one. */
function chosenIn(form: HTMLElement, before: HeatChoice): HeatChoice {
  const said = (field: string) =>
    form.querySelector<HTMLSelectElement>(`[data-field="${field}"]`)?.value
  const across = Number(said('across') ?? before.across)
  const down = Number(said('down') ?? before.down)
  const fixed = before.fixed.map((value, at) => said(`fixed-${at}`) ?? value)
  const metric = (said('metric') ?? before.metric) as HeatChoice['metric']
  if (across !== down) return { across, down, fixed, metric }
  return across === before.across
    ? { across: before.down, down, fixed, metric }
    : { across, down: before.across, fixed, metric }
}

function draw(sweep: Sweep, choice: HeatChoice): void {
  const map = heatMapOf(sweep, choice)
  const columns = heatColumns(map)
  const table = theElement('#heat')
  const headings = columns.map(({ id, title }) => {
    const heading = document.createElement('th')
    heading.setAttribute('role', 'columnheader')
    heading.scope = 'col'
    heading.className = id
    heading.textContent = title
    return heading
  })
  theElement('thead tr', table).replaceChildren(...headings)
  theElement('tbody', table).replaceChildren(...map.rows.map((row) => rowElement(columns, row)))
}
