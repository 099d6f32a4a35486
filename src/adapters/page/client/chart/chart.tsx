import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { changeText, chartNumber } from '../../../page-parts/words/amounts.ts'
import { usePage } from '../shell/page-context.ts'
import { type Course, extentOf, nextKnown, spread } from './course.ts'
import { type Plot, plotInto } from './plot.ts'

const TABLE_ROWS_MAX = 60

/** A course as a line, as a sentence, and as a table for those who want one. The arrow keys go from point to point. */
export function Chart({ course, look }: { course: Course; look: string }) {
  const id = useId()
  const [pointed, setPointed] = useState<number>()
  const [isTable, setTable] = useState(false)
  const { element, plot } = usePlot(course, look, setPointed)
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const from = pointed ?? (step > 0 ? -1 : course.values.length)
    const index = nextKnown(course.values, from, step > 0 ? 1 : -1)
    plot.current?.point(index)
    setPointed(index)
  }
  return (
    <figure class="chart">
      <Reading course={course} index={pointed} id={`${id}reading`} />
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would be part of a form. */}
      <div
        class="plot"
        ref={element}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys go along the line.
        tabIndex={0}
        role="group"
        aria-roledescription="chart"
        aria-label={`${course.name} over time`}
        aria-describedby={`${id}words ${id}reading`}
        onKeyDown={onKeyDown}
      />
      <figcaption>
        <Summary course={course} id={`${id}words`} />
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

function usePlot(course: Course, look: string, pointed: (index: number | undefined) => void) {
  const { calendar } = usePage()
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | undefined>(undefined)
  // With another theme, and when the connection is lost, colours change: the chart is drawn anew.
  useEffect(() => {
    const into = element.current
    if (into === null) return
    const drawn = plotInto(into, { course, calendar, pointed })
    plot.current = drawn
    const observer = new ResizeObserver(() => drawn.resize(into.clientWidth, into.clientHeight))
    observer.observe(into)
    return () => {
      observer.disconnect()
      drawn.destroy()
      plot.current = undefined
    }
  }, [course, look, calendar, pointed])
  return { element, plot }
}

/** The point that is pointed at; the newest where none is. */
function Reading({ course, index, id }: { course: Course; index: number | undefined; id: string }) {
  const { calendar } = usePage()
  const at = index ?? nextKnown(course.values, course.values.length, -1)
  const [value, seconds] = [course.values[at], course.atSeconds[at]]
  return (
    <p class="reading" id={id}>
      <span class="figure">
        {value === undefined || value === null ? 'not known' : chartNumber(value)}{' '}
        <span class="token">{course.unit}</span>
      </span>
      {seconds !== undefined && <span class="at">{calendar.full(seconds * 1_000)}</span>}
    </p>
  )
}

function Summary({ course, id }: { course: Course; id: string }) {
  const extent = extentOf(course)
  if (extent === undefined) return <p id={id}>Nothing is known of it.</p>
  const { first, last, lowest, highest } = extent
  const change = changeText(first, last)
  return (
    <p id={id}>
      From {chartNumber(first)} to {chartNumber(last)}
      {change === undefined ? '' : ` (${change})`}, lowest {chartNumber(lowest)}, highest{' '}
      {chartNumber(highest)}.
    </p>
  )
}

function AsTable({ course }: { course: Course }) {
  const { calendar } = usePage()
  const rows = spread(course.atSeconds.length, TABLE_ROWS_MAX).toReversed()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that.
    <section class="scrolled" tabIndex={0} aria-label={`${course.name} as a table`}>
      <table class="points">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col" class="numeric">
              {course.name}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((index) => {
            const [seconds = 0, value] = [course.atSeconds[index], course.values[index]]
            return (
              <tr key={seconds}>
                <td>{calendar.full(seconds * 1_000)}</td>
                <td class="numeric">
                  {value === null || value === undefined ? 'not known' : chartNumber(value)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
