import { useEffect, useMemo, useState } from 'preact/hooks'
import { Select } from '../../../parts/choices.tsx'
import { Empty } from '../../../parts/elements.tsx'
import type { HoldingsRange } from '../../model.ts'
import { coursesOf, withTail } from '../data/holdings-series.ts'
import { usePage } from '../shell/context.tsx'
import { themeInEffect } from '../shell/header.tsx'
import { Chart } from './chart.tsx'

const RANGES: readonly HoldingsRange[] = ['day', 'week', 'month', 'year']
const CHECK_EVERY_MS = 15_000

/** Keeps the choice across views while the page is open. */
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
  const course = courses.find((one) => one.name === name) ?? courses[0]
  function chooseRange(to: HoldingsRange) {
    if (!simple) chosen.range = to
    setRange(to)
  }
  function chooseName(to: string) {
    chosen.name = to
    setName(to)
  }
  const nothing =
    state?.series === undefined
      ? 'Loading the history of the holdings.'
      : 'No data for this period yet. The line starts with the next reading.'
  return (
    <>
      <div class="chart-choices">
        <RangeChoice
          group={simple ? 'range-overview' : 'range'}
          range={range}
          choose={chooseRange}
        />
        {!simple && course !== undefined && courses.length > 1 && (
          <Select
            title="Show"
            options={courses.map((one) => [one.name, one.name] as const)}
            value={course.name}
            choose={chooseName}
          />
        )}
      </div>
      {course === undefined ? (
        <Empty>{state?.problem ?? nothing}</Empty>
      ) : (
        <Chart course={course} look={`${themeInEffect()} ${store.link.tag}`} />
      )}
    </>
  )
}

/** @param group unique on the page */
export function RangeChoice(props: {
  group: string
  range: HoldingsRange
  choose(range: HoldingsRange): void
}) {
  return (
    <fieldset class="segments">
      <legend class="unseen">Range</legend>
      {RANGES.map((one) => (
        <label key={one} class="segment">
          <input
            type="radio"
            name={props.group}
            checked={one === props.range}
            onChange={() => props.choose(one)}
          />
          <span>{one}</span>
        </label>
      ))}
    </fieldset>
  )
}

/** Loads the series while it is shown, and again once it is a minute old. */
function useSeries(range: HoldingsRange) {
  const { store } = usePage()
  const live = store.link.tag === 'live'
  useEffect(() => {
    const load = () => {
      if (!document.hidden && live) void store.wantSeries(range)
    }
    load()
    const timer = setInterval(load, CHECK_EVERY_MS)
    return () => clearInterval(timer)
  }, [store, range, live])
  return store.series(range)
}
