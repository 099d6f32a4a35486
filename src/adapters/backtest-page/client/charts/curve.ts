import UPlot from 'uplot'
import { AXIS_FONT, roomy } from '../../../page-parts/browser/drawing.ts'
import { axisTexts } from '../../both/axis.ts'
import type { Sweep } from '../../both/data.ts'
import { theElement } from '../elements.ts'
import { Palette } from './palette.ts'

const AXIS_WIDTH = 62

/** The returns of a sweep of one axis, its values side by side. */
export function startCurve({ axes, points }: Sweep): void {
  const [axis] = axes
  const figure = document.querySelector('[data-curve="sweep"]')
  if (figure === null || axis === undefined) return
  const element = theElement('.plot', figure)
  const palette = new Palette()
  const look = {
    stroke: () => palette.of('muted'),
    font: AXIS_FONT,
    grid: { stroke: () => palette.of('line'), width: 1 },
    ticks: { show: false },
  }
  const returns = axis.values.map(
    (value) => points.find(({ values }) => values[0] === value)?.returnPercent ?? null,
  )
  const plot = new UPlot(
    {
      width: element.clientWidth,
      height: element.clientHeight,
      legend: { show: false },
      padding: [8, 14, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: { range: roomy } },
      axes: [
        {
          ...look,
          space: 60,
          size: 26,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
          values: (_, splits) => splits.map((at) => axis.values[at] ?? ''),
        },
        {
          ...look,
          size: AXIS_WIDTH,
          space: 26,
          values: (_, splits, __, ___, step) => [...axisTexts(splits, step, '%')],
        },
      ],
      series: [
        {},
        { stroke: () => palette.of('look-0'), width: 2, points: { show: true, size: 6 } },
      ],
    },
    [returns.map((_, at) => at), returns],
    element,
  )
  new ResizeObserver(() => {
    const { clientWidth: width, clientHeight: height } = element
    if (width !== plot.width) plot.setSize({ width, height })
  }).observe(element)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    palette.forget()
    plot.redraw(false)
  })
}
