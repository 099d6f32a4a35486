import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Empty, PlotArea } from '../../parts/elements.tsx'
import { MarkEntries, marksOn } from '../../parts/marks.tsx'
import {
  type ChartSpec,
  chartsOf,
  courseText,
  dashOf,
  type Line,
  restingText,
} from '../data/charts.ts'
import { fillRows } from '../data/long-tables.ts'
import type { PageData } from '../data/page-data.ts'

/** Parts of the charts that the browser adds. */
export type LiveCharts = {
  /** The selected moment, or else the visible period. */
  readonly at: string
  readonly announcement: string
  readonly isWhole: boolean
  showWhole(): void
  draw(chart: ChartSpec, element: HTMLElement): void
  valuesOf(chart: ChartSpec): readonly string[]
  nearOn(chart: ChartSpec): string
  isShown(chart: ChartSpec, line: number): boolean
  toggle(chart: ChartSpec, line: number): void
  onKey(event: KeyboardEvent, chart: ChartSpec): void
  onBlur(): void
}

type Parts = { readonly data: PageData; readonly live?: LiveCharts | undefined }

/** Frames and legends have their final height, so that drawing moves nothing. */
export function Charts({ data, live }: Parts) {
  const charts = useMemo(() => chartsOf(data), [data])
  if (charts.length === 0) return <Empty>There are no samples, so there is no curve to show.</Empty>
  return (
    <>
      {live === undefined && (
        <noscript>
          <p class="note warn">
            Curves are drawn by the page’s own script, and scripts are disabled. Everything else is
            here.
          </p>
        </noscript>
      )}
      <div class="chart-bar needs-script">
        <button
          type="button"
          class="quiet"
          id="whole-period"
          disabled={live?.isWhole ?? true}
          onClick={() => live?.showWhole()}
        >
          Show the whole period
        </button>
        <p class="at" id="at">
          {live?.at ?? data.period}
        </p>
        <p class="hint small">
          Drag over a chart to zoom in on a part, in all charts. A double click shows the whole
          period again. With the keyboard: arrows, + and −, Escape.
        </p>
      </div>
      <p class="unseen" id="pointed" aria-live="polite">
        {live?.announcement}
      </p>
      {!charts.some(({ id }) => id === 'value') && (
        <Empty>
          There is no value curve: the price feeds lead to no common token to value everything in.
        </Empty>
      )}
      <div class="charts">
        {charts.map((chart) => (
          <Chart key={chart.id} chart={chart} data={data} live={live} />
        ))}
      </div>
    </>
  )
}

function Chart({ chart, data, live }: Parts & { readonly chart: ChartSpec }) {
  const { id, title, about, lines, height, feed } = chart
  const area = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (area.current !== null) live?.draw(chart, area.current)
  }, [chart, live])
  const values = live?.valuesOf(chart) ?? lines.map((line) => restingText(chart, line))
  return (
    <figure class="chart framed" data-chart={id}>
      <figcaption>
        <h3>{title}</h3>
        {about !== '' && <p class="about small">{about}</p>}
      </figcaption>
      <ul class="legend" aria-label={`Curves of ${title.toLowerCase()}`}>
        {lines.map((line, at) => (
          <li key={line.name}>
            <Entry chart={chart} line={line} at={at} value={values[at] ?? ''} live={live} />
          </li>
        ))}
        {feed !== undefined && <FillMarks feed={feed} data={data} />}
      </ul>
      <PlotArea
        area={area}
        height={height}
        label={title}
        describedBy={`course-${id}`}
        onKeyDown={(event) => live?.onKey(event, chart)}
        onBlur={() => live?.onBlur()}
      />
      {feed !== undefined && <p class="near small">{live?.nearOn(chart)}</p>}
      <p class="unseen" id={`course-${id}`}>
        {courseText(chart)}
      </p>
    </figure>
  )
}

/** A click hides the curve, unless it is the only one. */
function Entry(props: {
  chart: ChartSpec
  line: Line
  at: number
  value: string
  live: LiveCharts | undefined
}) {
  const { chart, line, at, live } = props
  const content = (
    <>
      <Swatch chart={chart} line={line} />
      <span class="name">{line.name}</span> <span class="value muted">{props.value}</span>
    </>
  )
  if (chart.lines.length === 1) return <span class="entry">{content}</span>
  return (
    <button
      type="button"
      class="entry"
      data-line={at}
      aria-pressed={live?.isShown(chart, at) ?? true}
      onClick={() => live?.toggle(chart, at)}
    >
      {content}
    </button>
  )
}

function Swatch({ chart, line }: { chart: ChartSpec; line: Line }) {
  const { look, isWide = false } = line
  const colour = `var(--look-${look})`
  return (
    <svg class="swatch" viewBox="0 0 20 10" aria-hidden="true">
      {chart.kind === 'bars' ? (
        <rect x="5" width="10" height="10" rx="2" fill={colour} />
      ) : (
        <line
          x1="0"
          y1="5"
          x2="20"
          y2="5"
          stroke={colour}
          stroke-width={isWide ? 6 : 2}
          stroke-opacity={isWide ? 0.4 : 1}
          stroke-dasharray={dashOf(look) || undefined}
        />
      )}
    </svg>
  )
}

function FillMarks({ feed, data }: { feed: string; data: PageData }) {
  const marks = useMemo(() => marksOn(feed, fillRows(data.fills)), [feed, data])
  return <MarkEntries marks={marks} />
}
