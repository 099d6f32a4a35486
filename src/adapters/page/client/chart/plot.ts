import UPlot from 'uplot'
import { chartNumber } from '../words/amounts.ts'
import type { Calendar } from '../words/times.ts'
import type { Course } from './course.ts'

const MINUTE = 60
const DAY = 86_400
const AXIS_FONT = '12px system-ui, sans-serif'
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

/** A canvas knows no variables: what the colour is, an element that has it must say. */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.className = `probe ${name}`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Some room above and below; a value that never changed lies in the middle. */
function roomy(_: UPlot, lowest: number | null, highest: number | null): [number, number] {
  if (lowest === null || highest === null) return [0, 1]
  const room = (highest - lowest) * 0.12 || Math.abs(highest) * 0.02 || 1
  const from = lowest - room
  return [lowest >= 0 ? Math.max(0, from) : from, highest + room]
}

function widthOf(_: UPlot, values: readonly string[] | null): number {
  const longest = Math.max(4, ...(values ?? []).map((text) => text.length))
  return Math.ceil(longest * DIGIT_WIDTH) + 14
}

/** The day where one begins, and the time everywhere else. */
function dateText(calendar: Calendar, stepSeconds: number): (seconds: number) => string {
  return (seconds) => {
    const atMs = seconds * 1_000
    const time = calendar.time(atMs)
    if (stepSeconds >= DAY || time === '00:00:00') return calendar.day(atMs)
    return stepSeconds < MINUTE ? time : time.slice(0, 5)
  }
}

function fade({ ctx, bbox }: UPlot, colour: string): CanvasGradient | string {
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height)
  gradient.addColorStop(0, withAlpha(colour, 0.22))
  gradient.addColorStop(1, withAlpha(colour, 0))
  return gradient
}

function withAlpha(colour: string, alpha: number): string {
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour)
  return parts === null ? 'transparent' : `rgba(${parts[1]}, ${parts[2]}, ${parts[3]}, ${alpha})`
}
