import type { ComponentChildren } from 'preact'
import { Card, Empty, Pill } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import type { Overview as OverviewModel, StrategyRow } from '../../model.ts'
import { HoldingsChart } from '../chart/holdings-chart.tsx'
import { attentionOf, orderTone } from '../parts/labels.ts'
import {
  AgainstFeed,
  Caps,
  fillKind,
  LastSlot,
  Marks,
  Moved,
  NextSlot,
  State,
  StrategyLink,
  StrategyName,
  WhyLink,
} from '../parts/rows.tsx'
import { Ago, Said, Until } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { strategyHash, viewHash, whyHash } from '../shell/route.ts'
import { GasTank, Holdings, Today } from './holdings.tsx'
import { byFullness } from './limits.tsx'
import { NoStrategies } from './strategies.tsx'
import { Tiles } from './tiles.tsx'

const STRATEGIES_MAX = 12
const ORDERS_MAX = 6
const FILLS_MAX = 10
const LIMITS_MAX = 6
const ATTENTION_MAX = 5

export function Overview() {
  const { store } = usePage()
  const { overview } = store
  if (overview === undefined) return null
  return (
    <>
      <Tiles overview={overview} />
      <div class="columns">
        <div class="column wide">
          <Attention />
          <Card title="Value" more={{ href: viewHash('holdings'), text: 'Holdings' }}>
            <HoldingsChart simple />
            <Today overview={overview} />
          </Card>
          <StrategiesCard />
          <FillsCard />
        </div>
        <div class="column">
          <Card title="Holdings" more={{ href: viewHash('holdings'), text: 'More' }}>
            <Holdings overview={overview} brief />
          </Card>
          <LimitsCard overview={overview} />
          {overview.gasTank !== null && (
            <Card title="GasTank">
              <GasTank tank={overview.gasTank} />
            </Card>
          )}
          {/* Last, because it grows and shrinks with every order. */}
          <OrdersCard overview={overview} />
        </div>
      </div>
    </>
  )
}

function Attention() {
  const { store } = usePage()
  const rows = [...store.strategies.values()].flatMap((row) => {
    const attention = attentionOf(row)
    return attention === undefined ? [] : [{ name: row.name, ...attention }]
  })
  if (rows.length === 0) return null
  return (
    <Card
      title={`Needs attention (${count(rows.length)})`}
      more={{ href: viewHash('strategies'), text: 'All strategies' }}
    >
      <ul class="lines">
        {rows.slice(0, ATTENTION_MAX).map(({ name, tone, word, text }) => (
          <li key={name}>
            <StrategyLink name={name} />
            <span>
              <Pill tone={tone}>{word}</Pill>
            </span>
            <span class="rest" title={text}>
              <Said text={text} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function StrategiesCard() {
  const { store } = usePage()
  const all = [...store.strategies.values()]
  const rows = firstOf(all)
  return (
    <Card
      title={all.length > rows.length ? `Next of ${count(all.length)} strategies` : 'Strategies'}
      more={{ href: viewHash('strategies'), text: 'All' }}
    >
      {rows.length === 0 ? (
        <NoStrategies />
      ) : (
        <ul class="briefs">
          {rows.map((row) => (
            <Brief
              key={row.name}
              cells={{
                name: <StrategyName row={row} />,
                state: <State row={row} />,
                next: <NextSlot row={row} />,
                outcome: <LastSlot row={row} />,
              }}
            />
          ))}
        </ul>
      )}
    </Card>
  )
}

/** Cells by class name. */
function Brief(props: { kind?: string; cells: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <li class={`brief ${props.kind ?? ''}`}>
      {Object.entries(props.cells).map(([name, content]) => (
        <span key={name} class={name}>
          {content}
        </span>
      ))}
    </li>
  )
}

/** All strategies by name if they are few, otherwise those with the next slots. */
function firstOf(rows: readonly StrategyRow[]): readonly StrategyRow[] {
  const byName = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (rows.length <= STRATEGIES_MAX) return byName
  return byName
    .filter(({ nextSlotSeconds }) => nextSlotSeconds !== null)
    .sort((a, b) => (a.nextSlotSeconds ?? 0) - (b.nextSlotSeconds ?? 0))
    .slice(0, STRATEGIES_MAX)
}

function OrdersCard({ overview: { orders, counts } }: { overview: OverviewModel }) {
  const overdueFirst = orders.toSorted((a, b) => Number(b.overdue) - Number(a.overdue))
  return (
    <Card
      title={`Open orders (${count(counts.unresolved)})`}
      more={{ href: viewHash('orders'), text: 'All orders' }}
    >
      {orders.length === 0 ? (
        <Empty>No order is open: every slot has an outcome.</Empty>
      ) : (
        <ul class="lines stacked">
          {overdueFirst.slice(0, ORDERS_MAX).map((order) => (
            <li key={order.intentId}>
              <span class="head">
                <Pill tone={orderTone(order)}>{order.overdue ? 'overdue' : order.state}</Pill>
                <a class="line" href={whyHash(order.strategy, order.slotSeconds)}>
                  {order.strategy}
                </a>
                {order.deadlineSeconds !== null && (
                  <span class="at small">
                    deadline <Until atMs={order.deadlineSeconds * 1_000} over="passed" />
                  </span>
                )}
              </span>
              <span class="rest">
                <Said text={order.doing} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function FillsCard() {
  const { store } = usePage()
  const { loaded } = store.fills
  const rows = Array.from({ length: FILLS_MAX }, (_, at) => loaded.at(at) ?? []).flat()
  return (
    <Card title="Last fills" more={{ href: viewHash('fills'), text: 'All fills' }}>
      {rows.length === 0 ? (
        <Empty>No fills yet. The first fill appears here on its own.</Empty>
      ) : (
        <ul class="briefs fills-brief">
          {rows.map((fill) => (
            <Brief
              key={fill.intentId}
              kind={fillKind(fill, store)}
              cells={{
                'when muted': <Ago atMs={fill.atMs} />,
                'name line': <a href={strategyHash(fill.strategy)}>{fill.strategy}</a>,
                what: (
                  <>
                    <Moved fill={fill} />
                    <Marks fill={fill} />
                  </>
                ),
                feed: <AgainstFeed fill={fill} />,
                why: <WhyLink fill={fill} />,
              }}
            />
          ))}
        </ul>
      )}
    </Card>
  )
}

function LimitsCard({ overview: { limits } }: { overview: OverviewModel }) {
  if (limits.length === 0) return null
  const rows = byFullness(limits).slice(0, LIMITS_MAX)
  return (
    <Card title="Fullest limits" more={{ href: viewHash('limits'), text: 'All limits' }}>
      <Caps limits={rows} named />
    </Card>
  )
}
