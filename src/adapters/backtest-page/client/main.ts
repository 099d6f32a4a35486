import type { PageData } from '../both/data.ts'
import { FILL_CHOICES, fillAt, fillColumns, fillText } from '../both/fills.ts'
import { SLOT_CHOICES, slotAt, slotColumns, slotText } from '../both/slots.ts'
import { startCharts } from './charts/board.ts'
import { startRows } from './rows.ts'
import { startSweep } from './sweep.ts'

/** The page is whole without this: it draws the curves, and lets one look through what is more than a page of rows. */
function start(): void {
  const block = document.querySelector('#data')
  if (block === null) return
  const data = JSON.parse(block.textContent ?? '') as PageData
  startCharts(data)
  startSweep(data)
  startRows({
    id: 'slots',
    rows: data.slots.from.map((_, index) => slotAt(data.slots, index)),
    columns: slotColumns(data.meanings),
    choices: SLOT_CHOICES,
    textOf: slotText,
  })
  startRows({
    id: 'fills',
    rows: data.fills.at.map((_, index) => fillAt(data.fills, index)),
    columns: fillColumns(),
    choices: FILL_CHOICES,
    textOf: fillText,
  })
}

start()
