import type {
  FoldResult,
  SweepAxisResult,
  SweepPointResult,
  SweepResult,
  WalkForwardResult,
} from '../../../backtest/report/result.ts'
import { Empty } from '../../parts/elements.tsx'
import { type Column, column, figures, Table } from '../../parts/table.tsx'
import { signedPercent } from '../../parts/wording/amounts.ts'
import { dayText, secondsOf } from '../../parts/wording/times.ts'
import { METRICS, metricText, ranked } from '../data/heat.ts'
import { counted, DRAWDOWN, FILLS, RETURN, returnCell } from '../data/labels.ts'
import { Curve, Heat } from './heat.tsx'
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
