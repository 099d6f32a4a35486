import { briefDecimal } from '../../../domain/units.ts'
import type { BacktestData } from '../../json/backtest-report.ts'
import { type Column, tableLines } from '../../table.ts'

type SweepData = NonNullable<BacktestData['sweep']>
type Point = SweepData['points'][number]

/** The best ones; all are on the page and under `--json`. */
const SHOWN_MAX = 10

/** A sweep for a person: the best points, whether to believe them, and what walking forward found. */
export function sweepLines(sweep: SweepData, columns: number): readonly string[] {
  const { points, best, metric, axes, isLonely, walkForward } = sweep
  if (best === null) return ['SWEEP  no combination could be valued']
  const byDrawdown = metric === 'drawdownPercent'
  const known = points.filter((point) => point[metric] !== null)
  const ranked = known.toSorted((a, b) =>
    byDrawdown
      ? (a.drawdownPercent ?? 0) - (b.drawdownPercent ?? 0)
      : (b.returnPercent ?? 0) - (a.returnPercent ?? 0),
  )
  return [
    `SWEEP  ${points.length} combinations, the best by ${byDrawdown ? 'the smallest drawdown' : 'return'} first`,
    ...tableLines(columnsOf(axes.map(({ key }) => key)), ranked.slice(0, SHOWN_MAX), columns),
    ...(ranked.length > SHOWN_MAX ? [`and ${ranked.length - SHOWN_MAX} more`] : []),
    ...(isLonely
      ? [
          'WARNING  the best stands alone: one step beside it there is far less. It fits this past, and need not fit what comes.',
        ]
      : []),
    ...(walkForward === null ? [] : walkedLines(walkForward, axes, columns)),
  ]
}

function columnsOf(keys: readonly string[]): readonly Column<Point>[] {
  return [
    ...keys.map(
      (key, index): Column<Point> => ({
        title: key,
        cell: ({ values }) => values[index] ?? '',
        right: true,
      }),
    ),
    { title: 'RETURN', cell: ({ returnPercent }) => share(returnPercent), right: true },
    { title: 'DRAWDOWN', cell: ({ drawdownPercent }) => share(drawdownPercent), right: true },
    { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true },
  ]
}

type Walked = NonNullable<SweepData['walkForward']>
type Fold = Walked['folds'][number]

function walkedLines(
  { folds, unseenReturnPercent }: Walked,
  axes: SweepData['axes'],
  columns: number,
): readonly string[] {
  const table: readonly Column<Fold>[] = [
    { title: 'CHOSEN UNTIL', cell: ({ searchUntilAt }) => searchUntilAt.slice(0, 10) },
    { title: 'TRIED UNTIL', cell: ({ tryUntilAt }) => tryUntilAt.slice(0, 10) },
    ...axes.map(
      ({ key }, index): Column<Fold> => ({
        title: key,
        cell: ({ values }) => values[index] ?? '-',
        right: true,
      }),
    ),
    { title: 'THERE', cell: ({ searchReturnPercent }) => share(searchReturnPercent), right: true },
    { title: 'AFTER', cell: ({ tryReturnPercent }) => share(tryReturnPercent), right: true },
  ]
  const unseen = unseenReturnPercent === null ? 'is not known' : share(unseenReturnPercent)
  return [
    '',
    'WALKING FORWARD  the best of each part, tried in the part after it',
    ...tableLines(table, folds, columns),
    `all that was not chosen by, one after the other: ${unseen}`,
  ]
}

function share(percent: number | null): string {
  return percent === null ? '-' : `${briefDecimal(percent.toFixed(4))}%`
}
