import { useMemo, useState } from 'preact/hooks'
import { count } from '../../../page-parts/words/amounts.ts'
import { plain } from '../../../page-parts/words/outcomes.ts'
import type { OrderRow } from '../../model.ts'
import { Empty } from '../parts/card.tsx'
import { Ago, Command, Pill, Unknown, Until } from '../parts/words.tsx'
import { strategyHash, whyHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'
import { type Column, VirtualTable } from '../table/virtual-table.tsx'
import { ORDER_STATE_NAMES, orderMeaning, orderTone } from '../words/phrases.ts'

const COLUMNS: readonly Column<OrderRow>[] = [
  {
    id: 'state',
    title: 'State',
    cell: (order) => (
      <>
        <span class="line" title={orderMeaning(order.state)}>
          <Pill tone={orderTone(order)}>
            {order.overdue ? `${order.state}, overdue` : order.state}
          </Pill>
        </span>
        <span class="line small">attempt {order.attempt}</span>
      </>
    ),
  },
  {
    id: 'name',
    title: 'Strategy',
    cell: ({ strategy, slotSeconds, intentId }) => (
      <>
        <a class="line strong" href={strategyHash(strategy)} title={intentId}>
          {strategy}
        </a>
        <a class="line small" href={whyHash(strategy, slotSeconds)}>
          why this slot<span class="unseen"> of {strategy}</span>
        </a>
      </>
    ),
  },
  {
    id: 'what',
    title: 'Order',
    cell: ({ what, venue }) => (
      <>
        <span class="line" title={what}>
          {what}
        </span>
        <span class="line small">{venue}</span>
      </>
    ),
  },
  {
    id: 'doing',
    title: 'What is being done',
    cell: ({ doing, overdue, intentId }) => (
      <>
        <span class="line" title={doing}>
          {doing}
        </span>
        {overdue && (
          <span class="line small">
            <Command>tranched settle {intentId}</Command>
          </span>
        )}
      </>
    ),
  },
  {
    id: 'deadline',
    title: 'Deadline',
    numeric: true,
    cell: ({ deadlineSeconds }) =>
      deadlineSeconds === null ? (
        <Unknown>none</Unknown>
      ) : (
        <Until atMs={deadlineSeconds * 1_000} over="passed" />
      ),
  },
  {
    id: 'age',
    title: 'Opened',
    numeric: true,
    cell: ({ openedAtMs }) => <Ago atMs={openedAtMs} />,
  },
]

/** Those that somebody should look at first, then in the order in which orders go through their states. */
function inOrder(orders: readonly OrderRow[]): readonly OrderRow[] {
  return orders.toSorted(
    (a, b) =>
      Number(b.overdue) - Number(a.overdue) ||
      ORDER_STATE_NAMES.indexOf(b.state) - ORDER_STATE_NAMES.indexOf(a.state) ||
      a.openedAtMs - b.openedAtMs ||
      a.intentId.localeCompare(b.intentId),
  )
}

/** Orders that are not closed: what state each is in, and what is being done about it. */
export function Orders() {
  const { store } = usePage()
  const [state, setState] = useState<string>()
  const orders = store.overview?.orders ?? []
  const rows = useMemo(
    () => inOrder(orders.filter((order) => state === undefined || order.state === state)),
    [orders, state],
  )
  const { unresolved = 0, overdue = 0 } = store.overview?.counts ?? {}
  if (orders.length === 0) return <Empty>No order is under way: everything has its outcome.</Empty>
  return (
    <>
      {overdue > 0 && <Overdue overdue={overdue} />}
      <States orders={orders} chosen={state} choose={setState} />
      {rows.length === 0 && <Empty>No order is in that state any more.</Empty>}
      <OrderTable rows={rows} />
      {unresolved > orders.length && (
        <p class="end">
          {count(orders.length)} of {count(unresolved)} orders: those that are overdue, then the
          oldest.
        </p>
      )}
    </>
  )
}

function OrderTable({ rows }: { rows: readonly OrderRow[] }) {
  return (
    <VirtualTable
      label="Orders under way"
      kind="orders"
      columns={COLUMNS}
      count={rows.length}
      at={(index) => rows[index]}
      keyOf={({ intentId }) => intentId}
      indexOf={(id) => rows.findIndex(({ intentId }) => intentId === id)}
      rowClass={({ overdue }) => (overdue ? 'overdue' : '')}
    />
  )
}

function Overdue({ overdue }: { overdue: number }) {
  return (
    <div class="note bad">
      <p>
        <strong>
          {overdue === 1 ? 'One order has' : `${count(overdue)} orders have`} outlived deadline and
          finality.
        </strong>{' '}
        What an order may still take counts against the caps until the chain shows what became of
        it. <Command>tranched settle INTENT</Command> tells what is known and what may be said.
      </p>
    </div>
  )
}

function States(props: {
  orders: readonly OrderRow[]
  chosen: string | undefined
  choose(state: string | undefined): void
}) {
  const others = props.orders
    .map(({ state }) => state)
    .filter((state) => !ORDER_STATE_NAMES.includes(state))
  const states = [...ORDER_STATE_NAMES, ...new Set(others)]
  return (
    <ul class="states" aria-label="Orders by state">
      {states.map((state) => {
        const those = props.orders.filter((order) => order.state === state).length
        const isChosen = props.chosen === state
        return (
          <li key={state}>
            <button
              type="button"
              class="state"
              aria-pressed={isChosen}
              title={orderMeaning(state)}
              onClick={() => props.choose(isChosen ? undefined : state)}
            >
              <span class="number">{count(those)}</span>
              <span>{plain(state)}</span>
            </button>
            <p class="meaning">{orderMeaning(state)}</p>
          </li>
        )
      })}
    </ul>
  )
}
