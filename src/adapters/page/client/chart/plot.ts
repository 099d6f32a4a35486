import UPlot from 'uplot'
import { AXIS_FONT, colourOf, dateText, fade, roomy } from '../../../page-parts/browser/drawing.ts'
import { chartNumber } from '../../../page-parts/words/amounts.ts'
import type { Calendar } from '../../../page-parts/words/times.ts'
import type { Course } from './course.ts'

const DIGIT_WIDTH = 7.5

export type Plot = {
  /** Shows the point as if pointed at. */
  point(index: number): void
  resize(width: number, height: number): void
  destroy(): void
}

export type PlotOptions = {
  readonly course: Course
  readonly calendar: Calendar
  /** Called with the point that is pointed at. */
  pointed(index: number | undefined): void
}

/** Draws a course into an element, in the colours that the element has. */
export function plotInto(element: HTMLElement, options: PlotOptions): Plot {
  const { course, calendar, pointed } = options
  const { clientWidth: width, clientHeight: height } = element
  const colour = (name: string) => colourOf(element, name)
  const line = colour('accent')
  const axis = {
    stroke: colour('muted'),
    font: AXIS_FONT,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  }
  const plot = new UPlot(
    {
      width,
      height,
      legend: { show: false },
      padding: [8, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
      scales: { y: { range: roomy } },
      axes: [
        {
          ...axis,
          space: 72,
          size: 28,
          values: (_, at, __, ___, step) => at.map(dateText(calendar, step)),
        },
        { ...axis, size: widthOf, values: (_, values) => values.map(chartNumber) },
      ],
      series: [
        {},
        {
          stroke: line,
          width: 2,
          fill: (drawn) => fade(drawn, line),
          points: { show: course.values.length < 3, size: 6 },
        },
      ],
      hooks: { setCursor: [({ cursor }) => pointed(cursor.idx ?? undefined)] },
    },
    [[...course.atSeconds], [...course.values]],
    element,
  )
  return {
    point(index) {
      const seconds = course.atSeconds[index]
      if (seconds !== undefined) plot.setCursor({ left: plot.valToPos(seconds, 'x'), top: 0 })
    },
    resize: (newWidth, newHeight) => plot.setSize({ width: newWidth, height: newHeight }),
    destroy: () => plot.destroy(),
  }
}

function widthOf(_: UPlot, values: readonly string[] | null): number {
  const longest = Math.max(4, ...(values ?? []).map((text) => text.length))
  return Math.ceil(longest * DIGIT_WIDTH) + 14
}
