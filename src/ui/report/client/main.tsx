import { type ComponentChild, render } from 'preact'
import { useReducer, useState } from 'preact/hooks'
import { fillRows, fillTable, slotTable } from '../data/long-tables.ts'
import { decodeData, type PageData } from '../data/page-data.ts'
import { Charts } from '../view/charts.tsx'
import { Rows } from '../view/rows.tsx'
import type { IslandName } from '../view/section.tsx'
import { Curve, Heat } from '../view/sweep.tsx'
import { createBoard } from './board.ts'
import { drawCurve } from './plot.ts'

/** Renders over the static part, if the report contains it. */
function renderIsland(name: IslandName, content: ComponentChild): void {
  const island = document.querySelector(`[data-island="${name}"]`)
  if (island === null) return
  for (const each of island.querySelectorAll('noscript')) each.remove()
  render(content, island)
}

function DrawnCharts({ data }: { data: PageData }) {
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0)
  const [board] = useState(() => createBoard(data, () => draw(undefined)))
  return <Charts data={data} live={board} />
}

const block = document.querySelector('#data')
if (block !== null) {
  const data = decodeData(block.textContent ?? '')
  const { sweep } = data
  renderIsland('charts', <DrawnCharts data={data} />)
  if (sweep !== null)
    renderIsland(
      'sweep',
      sweep.axes.length > 1 ? <Heat sweep={sweep} /> : <Curve sweep={sweep} draw={drawCurve} />,
    )
  renderIsland('slots', <Rows table={slotTable(data.slots, data.meanings)} live />)
  renderIsland('fills', <Rows table={fillTable(fillRows(data.fills))} live />)
}
