import { useMemo, useState } from 'preact/hooks'
import { Command, Empty, Pill, Unknown } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { plain } from '../../../parts/wording/outcomes.ts'
import type { OrderRow } from '../../model.ts'
import { ORDER_STATE_NAMES, orderMeaning, orderTone } from '../parts/labels.ts'
import { StrategyLink, TwoLines } from '../parts/rows.tsx'
import { Ago, Said, Until } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { whyHash } from '../shell/route.ts'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

const COLUMNS: readonly Column<OrderRow>[] = [
  column('state', 'State', (order) => (
    <TwoLines
      first={
        <Pill tone={orderTone(order)}>
          {order.overdue ? `${order.state}, overdue` : order.state}
        </Pill>
      }
      title={orderMeaning(order.state)}
      second={<>attempt {order.attempt}</>}
    />
  )),
  column('name', 'Strategy', ({ strategy, slotSeconds, intentId }) => (
    <>
      <StrategyLink name={strategy} title={intentId} />
      <a class="line small" href={whyHash(strategy, slotSeconds)}>
        why this slot<span class="unseen"> of {strategy}</span>
      </a>
    </>
  )),
  column('what', 'Order', ({ what, venue }) => (
    <TwoLines first={<Said text={what} />} title={what} second={venue} />
  )),
  column('doing', 'Current step', ({ doing, overdue, intentId }) => (
    <TwoLines
      first={<Said text={doing} />}
      title={doing}
      second={overdue ? <Command>tranched settle {intentId}</Command> : undefined}
    />
  )),
  column('deadline numeric', 'Deadline', ({ deadlineSeconds: at }) =>
    at === null ? <Unknown>none</Unknown> : <Until atMs={at * 1_000} over="passed" />,
  ),
  column('age numeric', 'Opened', ({ openedAtMs }) => <Ago atMs={openedAtMs} />),
]

function inOrder(orders: readonly OrderRow[]): readonly OrderRow[] {
  return orders.toSorted(
    (a, b) =>
      Number(b.overdue) - Number(a.overdue) ||
      ORDER_STATE_NAMES.indexOf(b.state) - ORDER_STATE_NAMES.indexOf(a.state) ||
      a.openedAtMs - b.openedAtMs ||
      a.intentId.localeCompare(b.intentId),
  )
}

export function Orders() {
  const { store } = usePage()
  const [state, setState] = useState<string>()
  const orders = store.overview?.orders ?? []
  const rows = useMemo(
    () => inOrder(orders.filter((order) => state === undefined || order.state === state)),
    [orders, state],
  )
  const { unresolved = 0, overdue = 0 } = store.overview?.counts ?? {}
  if (orders.length === 0) return <Empty>No order is open: every slot has an outcome.</Empty>
  return (
    <>
      {overdue > 0 && (
        <div class="note bad">
          <p>
            <strong>
              {overdue === 1 ? 'One order has' : `${count(overdue)} orders have`} passed deadline
              and finality.
            </strong>{' '}
            The amount an order may still spend counts against the caps until the chain shows its
            outcome. <Command>tranched settle INTENT</Command> shows the evidence and the options.
          </p>
        </div>
      )}
      <States orders={orders} chosen={state} choose={setState} />
      {rows.length === 0 && <Empty>No order is in that state now.</Empty>}
      <VirtualTable
        label="Open orders"
        kind="orders"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ intentId }) => intentId}
        rowClass={(order) => (order.overdue ? 'overdue' : '')}
      />
      {unresolved > orders.length && (
        <p class="end">
          {count(orders.length)} of {count(unresolved)} orders: overdue ones, then the oldest.
        </p>
      )}
    </>
  )
}

function States(props: {
  orders: readonly OrderRow[]
  chosen: string | undefined
  choose(state: string | undefined): void
}) {
  const { orders, chosen, choose } = props
  const states = new Set([...ORDER_STATE_NAMES, ...orders.map(({ state }) => state)])
  return (
    <ul class="states" aria-label="Orders by state">
      {[...states].map((state) => (
        <li key={state}>
          <button
            type="button"
            class="state"
            aria-pressed={chosen === state}
            title={orderMeaning(state)}
            onClick={() => choose(chosen === state ? undefined : state)}
          >
            <span class="number">
              {count(orders.filter((order) => order.state === state).length)}
            </span>
            <span>{plain(state)}</span>
          </button>
          <p class="meaning">{orderMeaning(state)}</p>
        </li>
      ))}
    </ul>
  )
}
