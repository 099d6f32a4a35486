import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type {
  FoldResult,
  SweepAxisResult,
  SweepPointResult,
  SweepResult,
  WalkForwardResult,
} from '../../../backtest/report/result.ts'
import { Select } from '../../parts/choices.tsx'
import { Empty, PlotArea } from '../../parts/elements.tsx'
import { type Column, column, figures, Table } from '../../parts/table.tsx'
import { signedPercent } from '../../parts/wording/amounts.ts'
import { dayText, secondsOf } from '../../parts/wording/times.ts'
import {
  firstChoice,
  HEAT_STEPS,
  type HeatChoice,
  heatColumns,
  heatMapOf,
  METRICS,
  metricText,
  ranked,
} from '../data/heat.ts'
import { counted, DRAWDOWN, FILLS, RETURN, returnCell } from '../data/labels.ts'
import { About, Island } from './section.tsx'

const LISTED = 10

export function Sweep({ sweep }: { sweep: SweepResult }) {
  const { axes, points, metric, walkForward } = sweep
  const columns = [...axes.map(axisColumn), RETURN, DRAWDOWN, FILLS]
  const best = ranked(sweep)
    .slice(0, LISTED)
    .flatMap((place) => points[place] ?? [])
  return (
    <>
      <About>
        {counted(points.length, 'backtest')} of the same period, one for each combination of{' '}
        {axes.map(({ key }, at) => (
          <>
            {joint(at, axes.length)}
            <code>{key}</code>
          </>
        ))}
        . The best is the best by {METRICS[metric].toLowerCase()}.
      </About>
      <BestNote sweep={sweep} />
      <Island name="sweep">
        {axes.length > 1 ? <Heat sweep={sweep} /> : <Curve sweep={sweep} />}
      </Island>
      {axes.length === 1 && (
        <Table label="All points" kind="of-points" columns={columns} rows={inOrder(sweep)} />
      )}
      <h3 class="table-title">Best points</h3>
      {best.length === 0 ? (
        <Empty>No point has this figure.</Empty>
      ) : (
        <Table label="Best points" kind="of-points" columns={columns} rows={best} />
      )}
      {walkForward !== null && <WalkForward walkForward={walkForward} axes={axes} />}
    </>
  )
}

function axisColumn({ key }: SweepAxisResult, at: number): Column<SweepPointResult> {
  return column('axis', key, ({ values }) => values[at] ?? '')
}

function joint(at: number, of: number): string {
  if (at === 0) return ''
  return at === of - 1 ? ' and ' : ', '
}

function inOrder({ axes: [axis], points }: SweepResult): readonly SweepPointResult[] {
  return (axis?.values ?? []).flatMap((value) => points.filter(({ values }) => values[0] === value))
}

/** Shows the median beside the best point, which is no forecast. */
function BestNote({ sweep }: { sweep: SweepResult }) {
  const { axes, best, points, metric, isLonely } = sweep
  const point = best === null ? undefined : points[best]
  if (point === undefined) return null
  const order = ranked(sweep)
  const median = points[order[Math.floor(order.length / 2)] ?? -1]
  const beside =
    median === undefined ? '' : `; half of all points are at ${metricText(median, metric)} or below`
  const values = axes.map(({ key }, at) => `${key} ${point.values[at] ?? ''}`).join(', ')
  const found = `${values} gives ${metricText(point, metric)}${beside}.`
  return isLonely ? (
    <p class="note warn">
      <strong>The best point stands alone.</strong> {found} The points beside it are far worse, so
      it may fit this period only.
    </p>
  ) : (
    <p class="note good">The best point: {found} The points beside it are about as good.</p>
  )
}

function WalkForward(props: { walkForward: WalkForwardResult; axes: readonly SweepAxisResult[] }) {
  const { folds, unseenReturnPercent } = props.walkForward
  const all =
    unseenReturnPercent === null
      ? 'Their combined return is unknown.'
      : `The tested parts return ${signedPercent(unseenReturnPercent)} in sequence.`
  const columns: readonly Column<FoldResult>[] = [
    column('when', 'Searched', (fold) => spanText(fold.searchFromAt, fold.searchUntilAt)),
    column('values', props.axes.map(({ key }) => key).join(', '), ({ values }) =>
      values.join(', '),
    ),
    figures('return', 'Return there', (fold) => returnCell(fold.searchReturnPercent)),
    column('when', 'Tested', (fold) => spanText(fold.tryFromAt, fold.tryUntilAt)),
    figures('return', 'Return there', (fold) => returnCell(fold.tryReturnPercent)),
  ]
  return (
    <>
      <h3 class="table-title">Walk-forward</h3>
      <About>
        The best values of one part of the period, tested on the next part, which the search had not
        seen. {all}
      </About>
      <Table label="Walk-forward" kind="of-folds" columns={columns} rows={folds} />
    </>
  )
}

function spanText(fromAt: string, untilAt: string): string {
  return `${dayText(secondsOf(fromAt))} to ${dayText(secondsOf(untilAt))}`
}

type Draw = (element: HTMLElement, sweep: SweepResult) => void

export function Curve({ sweep, draw }: { sweep: SweepResult; draw?: Draw }) {
  const element = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (element.current !== null) draw?.(element.current, sweep)
  }, [draw, sweep])
  const title = `Return by ${sweep.axes[0]?.key ?? ''}`
  return (
    <figure class="chart framed needs-script">
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      <PlotArea area={element} height="middle" label={title} />
    </figure>
  )
}

export function Heat({ sweep }: { sweep: SweepResult }) {
  const { axes } = sweep
  const [choice, choose] = useState(() => firstChoice(sweep))
  const map = heatMapOf(sweep, choice)
  return (
    <>
      <search class="choices needs-script" id="heat-choices">
        <Choices sweep={sweep} choice={choice} choose={choose} />
      </search>
      <p class="heat-across">
        <code>{axes[choice.across]?.key}</code> goes across, <code>{axes[choice.down]?.key}</code>{' '}
        down{axes.length > 2 ? ', the others as at the best point' : ''}.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach that. */}
      <section class="scroller" tabIndex={0} aria-label="Heat map">
        <Table
          id="heat"
          label="Heat map"
          kind="heat-map"
          columns={heatColumns(map)}
          rows={map.rows}
        />
      </section>
      <p class="scale" aria-hidden="true">
        worse{' '}
        <span class="scale-steps">
          {Array.from({ length: HEAT_STEPS }, (_, step) => (
            <span key={step} class={`heat-${step}`} />
          ))}
        </span>{' '}
        better
      </p>
    </>
  )
}

function Choices(props: {
  sweep: SweepResult
  choice: HeatChoice
  choose(choice: HeatChoice): void
}) {
  const { choice, choose } = props
  const { axes } = props.sweep
  const metrics = Object.entries(METRICS)
  const places = axes.map(({ key }, at) => [String(at), key] as const)
  return (
    <>
      <Select
        field="metric"
        title="Figure"
        options={metrics}
        value={choice.metric}
        choose={(metric) => choose({ ...choice, metric: metric as HeatChoice['metric'] })}
      />
      {axes.length > 2 &&
        (['across', 'down'] as const).map((way) => (
          <Select
            key={way}
            field={way}
            title={way === 'across' ? 'Across' : 'Down'}
            options={places}
            value={String(choice[way])}
            choose={(at) => choose(turned(choice, way, Number(at)))}
          />
        ))}
      {axes.length > 2 &&
        axes.map(({ key, values }, at) => (
          <Select
            key={key}
            field={`fixed-${at}`}
            title={key}
            options={values.map((value) => [value, value] as const)}
            value={choice.fixed[at] ?? ''}
            hidden={at === choice.across || at === choice.down}
            choose={(value) => choose({ ...choice, fixed: choice.fixed.with(at, value) })}
          />
        ))}
    </>
  )
}

/** Choosing an axis for both directions swaps it with the other one. */
function turned(choice: HeatChoice, way: 'across' | 'down', at: number): HeatChoice {
  const other = way === 'across' ? 'down' : 'across'
  return { ...choice, [way]: at, [other]: choice[other] === at ? choice[way] : choice[other] }
}
