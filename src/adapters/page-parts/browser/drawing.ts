import type UPlot from 'uplot'
import type { Calendar } from '../words/times.ts'

/** What charts of both pages are drawn with. */

const MINUTE = 60
const DAY = 86_400
export const AXIS_FONT = '12px system-ui, sans-serif'

/** A canvas knows no variables: what the colour is, an element that has it must say. */
export function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.className = `probe ${name}`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Some room above and below; a value that never changed lies in the middle. */
export function roomy(_: UPlot, lowest: number | null, highest: number | null): [number, number] {
  if (lowest === null || highest === null) return [0, 1]
  const room = (highest - lowest) * 0.12 || Math.abs(highest) * 0.02 || 1
  const from = lowest - room
  return [lowest >= 0 ? Math.max(0, from) : from, highest + room]
}

/** The day where one begins, and the time everywhere else. */
export function dateText(calendar: Calendar, stepSeconds: number): (seconds: number) => string {
  return (seconds) => {
    const atMs = seconds * 1_000
    const time = calendar.time(atMs)
    if (stepSeconds >= DAY || time === '00:00:00') return calendar.day(atMs)
    return stepSeconds < MINUTE ? time : time.slice(0, 5)
  }
}

export function fade({ ctx, bbox }: UPlot, colour: string): CanvasGradient | string {
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height)
  gradient.addColorStop(0, withAlpha(colour, 0.22))
  gradient.addColorStop(1, withAlpha(colour, 0))
  return gradient
}

function withAlpha(colour: string, alpha: number): string {
  const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour)
  return parts === null ? 'transparent' : `rgba(${parts[1]}, ${parts[2]}, ${parts[3]}, ${alpha})`
}
