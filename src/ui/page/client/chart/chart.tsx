import { useEffect, useId, useRef, useState } from 'preact/hooks'
import UPlot from 'uplot'
import { type MarkLayer, markLayer } from '../../../parts/browser/mark-layer.ts'
import { onResize, Palette, plotIn, roomy, sizeOf } from '../../../parts/browser/plotting.ts'
import { PlotArea } from '../../../parts/elements.tsx'
import type { Mark } from '../../../parts/marks.tsx'
import { column, figures, Table } from '../../../parts/table.tsx'
import { changeText, chartNumber, extentOf } from '../../../parts/wording/amounts.ts'
import type { Calendar } from '../../../parts/wording/times.ts'
import { type Course, nextKnown, spread } from '../data/holdings-series.ts'
import { usePage } from '../shell/context.tsx'
import { drawLevels, type LevelLine, withLevels } from './levels.ts'

const TABLE_ROWS_MAX = 60
const NO_MARKS: readonly Mark[] = []
const NO_LEVELS: readonly LevelLine[] = []
/** CSS pixels. */
const DIGIT_WIDTH = 7.5
const MINUTE = 60
const DAY = 86_400

/**
 * One figure over time as a line, as a sentence, and as a table on request. The arrow keys move between points.
 * @param look changes with the theme, which redraws the chart.
 */
export function Chart(props: {
  course: Course
  look: string
  marks?: readonly Mark[]
  /** The text of a mark. */
  textOf?(mark: Mark): string
  levels?: readonly LevelLine[]
}) {
  const { course, look, marks = NO_MARKS, levels = NO_LEVELS } = props
  const { calendar } = usePage()
  const id = useId()
  const [pointed, setPointed] = useState<number>()
  const [isTable, setTable] = useState(false)
  const area = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | undefined>(undefined)
  const layer = useRef<MarkLayer | undefined>(undefined)
  useEffect(() => {
    const element = area.current
    if (element === null) return
    const palette = new Palette(element)
    const { atSeconds: at, values: points } = course
    const own = markLayer(marks, { at, points, palette })
    layer.current = own
    // Marks may be older than the first point.
    const times = [...at, ...marks.map(({ atSeconds }) => atSeconds)]
    const period = [Math.min(...times), Math.max(...times)] as const
    const input = { course, calendar, palette, marks: own, period, levels }
    const drawn = draw(element, input, setPointed)
    plot.current = drawn
    const unobserve = onResize(element, () => drawn.setSize(sizeOf(element)))
    return () => {
      unobserve()
      drawn.destroy()
    }
  }, [course, look, calendar, marks, levels])
  const near =
    pointed === undefined || plot.current === undefined
      ? undefined
      : layer.current?.near(plot.current)
  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === 'ArrowLeft' ? -1 : 1
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
    event.preventDefault()
    const from = pointed ?? (step > 0 ? -1 : course.values.length)
    const index = nextKnown(course.values, from, step)
    const seconds = course.atSeconds[index]
    if (seconds !== undefined)
      plot.current?.setCursor({ left: plot.current.valToPos(seconds, 'x'), top: 0 })
    setPointed(index)
  }
  return (
    <figure class="chart">
      <Reading course={course} index={pointed} id={`${id}reading`} />
      <PlotArea
        area={area}
        label={`${course.name} over time`}
        describedBy={`${id}words ${id}reading`}
        onKeyDown={onKeyDown}
      />
      {marks.length > 0 && (
        <p class="near small" aria-live="polite">
          {near !== undefined &&
            `${calendar.full(near.atSeconds * 1_000)}: ${props.textOf?.(near) ?? near.side}`}
        </p>
      )}
      <figcaption>
        <p id={`${id}words`}>{summaryOf(course, marks)}</p>
        <button
          type="button"
          class="quiet"
          aria-expanded={isTable}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? 'Hide the table' : 'Show as a table'}
        </button>
      </figcaption>
      {isTable && <AsTable course={course} />}
    </figure>
  )
}

function figureText(value: number | null | undefined): string {
  return value === null || value === undefined ? 'not known' : chartNumber(value)
}

function Reading({ course, index, id }: { course: Course; index: number | undefined; id: string }) {
  const { calendar } = usePage()
  const at = index ?? nextKnown(course.values, course.values.length, -1)
  const seconds = course.atSeconds[at]
  return (
    <p class="reading" id={id}>
      <span class="figure">
        {figureText(course.values[at])} <span class="small">{course.unit}</span>
      </span>
      {seconds !== undefined && <span class="small">{calendar.full(seconds * 1_000)}</span>}
    </p>
  )
}

/** The extremes include the prices of the marks. */
function summaryOf(course: Course, marks: readonly Mark[]): string {
  const extent = extentOf(course.values)
  if (extent === undefined) return 'No known values.'
  const [first, last] = [chartNumber(extent.first), chartNumber(extent.last)]
  const change = changeText(extent.first, extent.last)
  const prices = [extent.lowest, extent.highest, ...marks.flatMap(({ price }) => price ?? [])]
  const [lowest, highest] = [chartNumber(Math.min(...prices)), chartNumber(Math.max(...prices))]
  const range = `lowest ${lowest}, highest ${highest}${marks.length === 0 ? '' : ', fills included'}`
  return `From ${first} to ${last}${change === undefined ? '' : ` (${change})`}, ${range}.`
}

function AsTable({ course: { name, atSeconds, values } }: { course: Course }) {
  const { calendar } = usePage()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that.
    <section class="scrolled" tabIndex={0} aria-label={`${name} as a table`}>
      <Table
        label={name}
        kind="small-sheet fixed points"
        columns={[
          column<number>('at', 'Time', (index) => calendar.full((atSeconds[index] ?? 0) * 1_000)),
          figures<number>('value', name, (index) => figureText(values[index])),
        ]}
        rows={spread(atSeconds.length, TABLE_ROWS_MAX).toReversed()}
      />
    </section>
  )
}

/** @param pointed called with the index of the point under the pointer. */
function draw(
  element: HTMLElement,
  input: {
    readonly course: Course
    readonly calendar: Calendar
    readonly palette: Palette
    readonly marks: MarkLayer
    readonly period: readonly [from: number, until: number]
    readonly levels: readonly LevelLine[]
  },
  pointed: (index: number | undefined) => void,
): UPlot {
  const { calendar, palette, marks, levels } = input
  const [from, until] = input.period
  const { atSeconds, values } = input.course
  const line = palette.of('accent')
  return plotIn(
    element,
    {
      palette,
      tzDate: (seconds) => dateIn(seconds, calendar.timeZone),
      padding: [8, 28, 0, 0],
      cursor: { points: { size: 8 } },
      scales: {
        // A single point lies in the middle.
        x: { range: from < until ? [from, until] : [from - MINUTE, until + MINUTE] },
        y: {
          range: (plot, low, high) =>
            roomy(plot, ...withLevels(marks.extend(undefined, [low, high]), levels)),
        },
      },
      axes: [
        {
          space: 72,
          size: 28,
          values: (_, at, __, ___, step) => at.map((seconds) => timeText(seconds, step, calendar)),
        },
        { size: widthOf, values: (_, at) => at.map(chartNumber) },
      ],
      series: [
        {},
        {
          stroke: line,
          width: 2,
          fill: (drawn) => fade(drawn, line),
          points: { show: values.length < 3, size: 6 },
        },
      ],
      hooks: {
        setCursor: [({ cursor }) => pointed(cursor.idx ?? undefined)],
        draw: [(drawn) => drawLevels(drawn, levels, palette), marks.draw],
      },
    },
    [[...atSeconds], [...values]],
  )
}

function widthOf(_: UPlot, values: readonly string[] | null): number {
  const longest = Math.max(4, ...(values ?? []).map((text) => text.length))
  return Math.ceil(longest * DIGIT_WIDTH) + 14
}

/** A date whose local fields are those of the time zone, so that ticks lie on its hours and days. */
function dateIn(seconds: number, timeZone: string | undefined): Date {
  const date = new Date(seconds * 1_000)
  return timeZone === undefined ? date : UPlot.tzDate(date, timeZone)
}

/** The date at the start of a day, otherwise the time. */
function timeText(seconds: number, step: number, calendar: Calendar): string {
  const time = calendar.time(seconds * 1_000)
  if (step >= DAY || time === '00:00:00') return calendar.day(seconds * 1_000)
  return step < MINUTE ? time : time.slice(0, 5)
}

function fade({ ctx, bbox }: UPlot, colour: string): CanvasGradient {
  const gradient = ctx.createLinearGradient(0, bbox.top, 0, bbox.top + bbox.height)
  const [, rgb] = /^rgb\((.+)\)$/.exec(colour) ?? []
  for (const [stop, alpha] of [0.22, 0].entries())
    gradient.addColorStop(stop, rgb === undefined ? 'transparent' : `rgba(${rgb}, ${alpha})`)
  return gradient
}
