import { count } from '../../../page-parts/words/amounts.ts'
import type { Overview as OverviewModel, StrategyRow } from '../../model.ts'
import { HoldingsChart } from '../chart/holdings-chart.tsx'
import { Caps } from '../parts/caps.tsx'
import { Card, Empty } from '../parts/card.tsx'
import { AgainstFeed, Marks, Moved, WhyLink } from '../parts/fill.tsx'
import { GasTank } from '../parts/gas-tank.tsx'
import { Holdings } from '../parts/holdings.tsx'
import { LastSlot, NextSlot, State, StrategyName } from '../parts/strategy.tsx'
import { Ago, Pill, Until } from '../parts/words.tsx'
import { strategyHash, viewHash, whyHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'
import { attentionOf, orderTone } from '../words/phrases.ts'
import { byFullness } from './limits.tsx'
import { NoStrategies } from './strategies.tsx'
import { Tiles } from './tiles.tsx'

const STRATEGIES_MAX = 12
const ORDERS_MAX = 6
const FILLS_MAX = 10
const LIMITS_MAX = 6
const ATTENTION_MAX = 5

/** What somebody sees who opens the page: is it well, what does it hold, what does it do now, what has it done last. */
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
          {/* Last: it grows and shrinks with every order, and would push the others about. */}
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
      title={`Needs a look (${count(rows.length)})`}
      more={{ href: viewHash('strategies'), text: 'All strategies' }}
    >
      <ul class="lines">
        {rows.slice(0, ATTENTION_MAX).map(({ name, tone, word, text }) => (
          <li key={name}>
            <a class="strong line" href={strategyHash(name)} title={name}>
              {name}
            </a>
            <span>
              <Pill tone={tone}>{word}</Pill>
            </span>
            <span class="rest" title={text}>
              {text}
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
            <li key={row.name} class="brief">
              <span class="name">
                <StrategyName row={row} />
              </span>
              <span class="state">
                <State row={row} />
              </span>
              <span class="next">
                <NextSlot row={row} />
              </span>
              <span class="outcome">
                <LastSlot row={row} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

/** A few are all shown, by name; of many those whose slots come next. */
function firstOf(rows: readonly StrategyRow[]): readonly StrategyRow[] {
  if (rows.length <= STRATEGIES_MAX) return rows.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return rows
    .filter(({ nextSlotSeconds }) => nextSlotSeconds !== null)
    .sort(
      (a, b) => (a.nextSlotSeconds ?? 0) - (b.nextSlotSeconds ?? 0) || (a.name < b.name ? -1 : 1),
    )
    .slice(0, STRATEGIES_MAX)
}

function OrdersCard({ overview: { orders, counts } }: { overview: OverviewModel }) {
  const overdueFirst = orders.toSorted((a, b) => Number(b.overdue) - Number(a.overdue))
  return (
    <Card
      title={`Under way (${count(counts.unresolved)})`}
      more={{ href: viewHash('orders'), text: 'All orders' }}
    >
      {orders.length === 0 ? (
        <Empty>No order is open: everything has its outcome.</Empty>
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
                  <span class="at">
                    deadline <Until atMs={order.deadlineSeconds * 1_000} over="passed" />
                  </span>
                )}
              </span>
              <span class="rest">{order.doing}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function FillsCard() {
  const { store } = usePage()
  const { book } = store.fills
  const rows = Array.from({ length: Math.min(FILLS_MAX, book.size) }, (_, index) => book.at(index))
  return (
    <Card title="Last fills" more={{ href: viewHash('fills'), text: 'All fills' }}>
      {rows.length === 0 ? (
        <Empty>Nothing has been filled yet. The first fill appears here by itself.</Empty>
      ) : (
        <ul class="briefs fills-brief">
          {rows.map((fill) =>
            fill === undefined ? null : (
              <li
                key={fill.intentId}
                class={`brief ${fill.undone ? 'undone' : ''} ${store.fresh.has(fill.intentId) ? 'fresh' : ''}`}
              >
                <span class="when">
                  <Ago atMs={fill.atMs} />
                </span>
                <a class="name line" href={strategyHash(fill.strategy)}>
                  {fill.strategy}
                </a>
                <span class="what">
                  <Moved fill={fill} />
                  <Marks fill={fill} />
                </span>
                <span class="feed">
                  <AgainstFeed fill={fill} />
                </span>
                <span class="why">
                  <WhyLink fill={fill} />
                </span>
              </li>
            ),
          )}
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
