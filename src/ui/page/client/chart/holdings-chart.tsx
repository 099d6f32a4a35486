import { useEffect, useMemo, useState } from 'preact/hooks'
import type { HoldingsRange, HoldingsSeries } from '../../model.ts'
import { withTail } from '../data/value-tail.ts'
import { Empty } from '../parts/card.tsx'
import { usePage } from '../shell/page-context.ts'
import { useTheme } from '../shell/theme.tsx'
import { Chart } from './chart.tsx'
import { coursesOf } from './course.ts'

const RANGES: readonly HoldingsRange[] = ['day', 'week', 'month', 'year']
const LOOK_AGAIN_MS = 15_000

/** Value and amounts over time. What is chosen stays while the page is open. */
const chosen: { range: HoldingsRange; name: string | undefined } = { range: 'day', name: undefined }

export function HoldingsChart({ simple = false }: { simple?: boolean }) {
  const [range, setRange] = useState<HoldingsRange>(simple ? 'day' : chosen.range)
  const [name, setName] = useState(simple ? undefined : chosen.name)
  const { store } = usePage()
  const state = useSeries(range)
  const courses = useMemo(
    () => (state?.series === undefined ? [] : coursesOf(withTail(state.series, store.tail.points))),
    [state?.series, store.tail.points],
  )
  const { seen } = useTheme()
  const course = courses.find((one) => one.name === name) ?? courses[0]
  function chooseRange(to: HoldingsRange) {
    if (!simple) chosen.range = to
    setRange(to)
  }
  function chooseName(to: string) {
    chosen.name = to
    setName(to)
  }
  return (
    <>
      <div class="chart-choices">
        <fieldset class="segments">
          <legend class="unseen">Range</legend>
          {RANGES.map((one) => (
            <label key={one} class="segment">
              <input
                type="radio"
                name={simple ? 'range-overview' : 'range'}
                checked={one === range}
                onChange={() => chooseRange(one)}
              />
              <span>{one}</span>
            </label>
          ))}
        </fieldset>
        {!simple && courses.length > 1 && (
          <label class="field">
            <span>Show</span>
            <select
              value={course?.name}
              onChange={(event) => chooseName(event.currentTarget.value)}
            >
              {courses.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {course === undefined ? (
        <NoCourse series={state?.series} problem={state?.problem} />
      ) : (
        <Chart course={course} look={`${seen} ${store.link.tag}`} />
      )}
    </>
  )
}

function NoCourse(props: { series: HoldingsSeries | undefined; problem: string | undefined }) {
  if (props.problem !== undefined) return <Empty>{props.problem}</Empty>
  if (props.series === undefined) return <Empty>Asking for the course of the holdings.</Empty>
  return <Empty>Nothing is recorded of this time yet. The line begins with the next reading.</Empty>
}

/** Asked for while it is looked at, again when it is a minute old. */
function useSeries(range: HoldingsRange) {
  const { store } = usePage()
  const live = store.link.tag === 'live'
  useEffect(() => {
    const look = () => {
      if (!document.hidden && live) store.wantSeries(range)
    }
    look()
    const timer = setInterval(look, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [store, range, live])
  return store.series(range)
}
