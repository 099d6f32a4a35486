import { doingOf, overdueAtMs } from '../../domain/book/doing.ts'
import type { DaemonState, OpenIntent } from '../../domain/book/state.ts'
import { bookOf, deadlineOf } from '../../domain/book/venues.ts'
import type { IntentId } from '../../domain/intent.ts'
import type { Finality } from '../../domain/settings.ts'
import type { OrderRow } from './model.ts'

const ROWS_MAX = 100

export type OrderParts = {
  readonly nowMs: number
  /** What each venue's chain takes for final. */
  readonly finality: { readonly gasless: Finality; readonly aggregated: Finality }
  /** What an order waits for before anything is signed. */
  readonly waiting: ReadonlyMap<IntentId, string>
}

/** Open orders as they are shown: those first that somebody should look at, then the oldest. */
export function orderRows(
  state: Pick<DaemonState, 'intents' | 'transactions'>,
  parts: OrderParts,
): { readonly rows: readonly OrderRow[]; readonly overdue: number } {
  const { nowMs, finality } = parts
  const open = [...state.intents.values()].map((each) => ({
    open: each,
    isOverdue: overdueAtMs(each, finality[each.venue]) < nowMs,
  }))
  open.sort(
    (a, b) =>
      Number(b.isOverdue) - Number(a.isOverdue) ||
      a.open.openedAtMs - b.open.openedAtMs ||
      (a.open.intent.id < b.open.intent.id ? -1 : 1),
  )
  return {
    rows: open.slice(0, ROWS_MAX).map((each) => orderRow(state, each, parts)),
    overdue: open.filter(({ isOverdue }) => isOverdue).length,
  }
}

function orderRow(
  state: Pick<DaemonState, 'transactions'>,
  { open, isOverdue }: { readonly open: OpenIntent; readonly isOverdue: boolean },
  { nowMs, waiting }: OrderParts,
): OrderRow {
  const { intent, venue, attempt, openedAtMs } = open
  return {
    intentId: intent.id,
    strategy: intent.strategy,
    slotSeconds: intent.slotSeconds,
    venue,
    what: bookOf(open).wordsOf(intent),
    state: open.state,
    attempt,
    openedAtMs,
    deadlineSeconds: deadlineOf(open) ?? null,
    doing: doingOf(state, open, { nowMs, waitsFor: waiting.get(intent.id) }),
    overdue: isOverdue,
  }
}
