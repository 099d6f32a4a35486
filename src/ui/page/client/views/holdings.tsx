import { useEffect } from 'preact/hooks'
import { durationText } from '../../../../domain/text/duration.ts'
import { Amount, Card, Command, Empty, Fact, Unknown } from '../../../parts/elements.tsx'
import { type Cell, type Column, column, figures, NONE, Table } from '../../../parts/table.tsx'
import {
  count,
  differenceOf,
  fullAmount,
  money,
  percent,
  roughMoney,
  shortAmount,
  shortAmountsIn,
  signedMoney,
} from '../../../parts/wording/amounts.ts'
import { agoText, dayText, isoText, secondsOf, timeText } from '../../../parts/wording/times.ts'
import type { GasTankRow, Holding, HoldingsSeries, Overview, ProfitRow } from '../../model.ts'
import { HoldingsChart } from '../chart/holdings-chart.tsx'
import { AsOf, OnChain } from '../parts/values.tsx'
import { useNow, usePage } from '../shell/context.tsx'

export function HoldingsView() {
  const { store } = usePage()
  const { overview } = store
  if (overview === undefined) return <Empty>Not loaded yet.</Empty>
  const { profit, gasTank, wallets } = overview
  return (
    <div class="columns">
      <div class="column wide">
        <Card title="Over time">
          <HoldingsChart />
          <Today overview={overview} />
        </Card>
        <Card title="Now">
          <Holdings overview={overview} />
        </Card>
        {profit !== null && profit.days.length > 0 && (
          <Card title="Profit by day">
            <ProfitByDay overview={overview} profit={profit} />
          </Card>
        )}
        {profit !== null && (
          <Card title="Bought and held">
            <Profit profit={profit} />
          </Card>
        )}
      </div>
      <div class="column">
        <Card title="Wallets">
          {wallets.length === 0 ? (
            <Empty>No wallet is known.</Empty>
          ) : (
            <dl class="facts">
              {wallets.map(({ name, address, explorerUrl }) => (
                <Fact key={name} name={name}>
                  <OnChain hash={address} url={explorerUrl} what={`Wallet ${name}`} />
                </Fact>
              ))}
            </dl>
          )}
        </Card>
        {gasTank !== null && (
          <Card title="GasTank">
            <GasTank tank={gasTank} />
          </Card>
        )}
      </div>
    </div>
  )
}

/** Today's change in two parts: what its fills gained or lost against the feeds at signing, and the rest. */
export function Today({ overview }: { overview: Overview }) {
  const { store } = usePage()
  const { totalValue, valueToken, tradedToday, atMs } = overview
  const series = store.series('day')?.series
  const midnight = secondsOf(isoText(atMs / 1_000).slice(0, 10))
  const from = series && valueAt(series, midnight)
  if (totalValue === null || tradedToday === null || from === undefined) return null
  const change = Number(totalValue) - from.value
  const byFeeds = change - Number(tradedToday)
  return (
    <p class="note-line">
      Today, from {timeText(Math.max(midnight, from.at))} UTC:{' '}
      <strong>{signedMoney(change.toFixed(6))}</strong> {valueToken}. Trading against the feeds,
      fees included: <strong>{signedMoney(tradedToday)}</strong>. Moves of the feeds, deposits and
      gas: <strong>{signedMoney(byFeeds.toFixed(6))}</strong>.
    </p>
  )
}

/** Value at a moment: the last sample before it if that is recent, otherwise the first one after it. */
function valueAt({ atSeconds, value: values }: HoldingsSeries, moment: number) {
  const after = atSeconds.findIndex((at, index) => at >= moment && values[index] !== null)
  const before = atSeconds.findLastIndex((at, index) => at < moment && values[index] !== null)
  const isRecent = moment - (atSeconds[before] ?? 0) <= RECENT_SECONDS
  const index = isRecent ? before : after
  const [at, value] = [atSeconds[index], values[index]]
  return at === undefined || typeof value !== 'number' ? undefined : { at, value }
}

/** Somewhat more than the distance of samples. */
const RECENT_SECONDS = 900

/** A price older than this is visibly marked. */
const OLD_PRICE_MS = 3_600_000
/** A shorter runway counts as low if there is no alert level. */
const SHORT_RUNWAY_SECONDS = 86_400

function figureCell(amount: string | null, unknown: string, text = money): Cell {
  if (amount === null) return { text: unknown, kind: 'unknown' }
  return { text: text(amount), title: fullAmount(amount) }
}

export function Holdings({ overview, brief = false }: { overview: Overview; brief?: boolean }) {
  const { holdings, valueToken, totalValue, readAtMs } = overview
  const { store } = usePage()
  const nowMs = useNow() ?? store.daemonNow()
  if (holdings.length === 0) return <Empty>Balances have not been read yet.</Empty>
  const columns: readonly Column<Holding>[] = [
    column('name', 'Token', ({ token }) => token),
    figures('amount', 'Amount', ({ amount }) => figureCell(amount, 'not read', shortAmount)),
    figures('value', `Value${valueToken === null ? '' : `, ${valueToken}`}`, (holding) => ({
      ...figureCell(holding.value, 'no price'),
      drawn: isOld(holding, nowMs) && (
        <span class={`old line small ${brief ? '' : 'narrow-only'}`}>old price</span>
      ),
    })),
    figures('share', 'Share', ({ value }) => shareCell(value, totalValue)),
    figures('age', 'Price from', (holding) => priceAgeCell(holding, nowMs)),
  ]
  const total = { ...figureCell(totalValue, 'not known', roughMoney), kind: 'strong' }
  return (
    <>
      <Table
        label="Holdings"
        kind="small-sheet fixed holdings"
        columns={brief ? columns.slice(0, 3) : columns}
        rows={holdings}
        foot={['Total', '', total, ...(brief ? [] : ['', ''])]}
      />
      {readAtMs !== null && (
        <p class="note-line muted">
          <AsOf atMs={readAtMs} />
        </p>
      )}
    </>
  )
}

function shareCell(value: string | null, total: string | null): Cell {
  const share = Number(value) / Number(total)
  if (value === null || total === null || !Number.isFinite(share)) return NONE
  return { text: percent(share) }
}

function isOld({ pricedAtMs }: Holding, nowMs: number): boolean {
  return pricedAtMs !== null && nowMs - pricedAtMs > OLD_PRICE_MS
}

function priceAgeCell(holding: Holding, nowMs: number): Cell {
  const { pricedAtMs } = holding
  if (pricedAtMs === null) return NONE
  return { text: agoText(pricedAtMs, nowMs), kind: isOld(holding, nowMs) ? 'old' : '' }
}

function Profit({ profit }: { profit: ProfitRow }) {
  const { held, token, cost, realised, unrealised } = profit
  const columns: readonly Column<ProfitRow['held'][number]>[] = [
    column('name', 'Token', (each) => each.token),
    figures('amount', 'Amount', (each) => figureCell(each.amount, '', shortAmount)),
    figures('cost', `Cost, ${token}`, (each) => figureCell(each.cost, 'unknown')),
    figures('profit', `Profit, ${token}`, (each) =>
      profitCell(each.profit, each.cost === null ? 'unknown' : undefined),
    ),
  ]
  const total = { ...profitCell(unrealised), kind: 'strong' }
  return (
    <>
      {held.length === 0 ? (
        <Empty>No tokens bought by orders are held.</Empty>
      ) : (
        <Table
          label="Bought and held"
          kind="small-sheet fixed"
          columns={columns}
          rows={held}
          foot={['Unrealised', '', figureCell(cost, ''), total]}
        />
      )}
      {held.map(({ token: bought, unknownCost }) => (
        <p class="note-line" key={bought} hidden={unknownCost === ''}>
          {shortAmountsIn(unknownCost)}.
        </p>
      ))}
      <p class="note-line">
        Realised since the first order: <strong>{signedMoney(realised)}</strong> {token}. At average
        cost, before gas and charges.
      </p>
    </>
  )
}

/** Rows shown. */
const DAYS_MAX = 30

/** Newest first. Days are UTC, as `tranched report --by day` counts them. */
function ProfitByDay({ overview, profit }: { overview: Overview; profit: ProfitRow }) {
  const { store } = usePage()
  const { days, token } = profit
  useEffect(() => void store.wantSeries('year'), [store, days.length])
  const changes = changesByDay(store.series('year')?.series, overview.totalValue)
  const columns: readonly Column<ProfitRow['days'][number]>[] = [
    column('name', 'Day, UTC', ({ day }) => dayText(secondsOf(day))),
    figures('fills', 'Fills', ({ fills }) => count(fills)),
    figures('profit', `Realised, ${token}`, ({ realised }) => profitCell(realised)),
    figures('feed', 'Against feeds', ({ againstFeed }) => profitCell(againstFeed)),
    figures('value', 'Total value', ({ day }) => profitCell(changes.get(day) ?? null, 'not known')),
  ]
  return (
    <>
      <Table
        label="Profit by day"
        kind="small-sheet fixed by-day"
        columns={columns}
        rows={days.slice(-DAYS_MAX).toReversed()}
      />
      <p class="note-line">
        Days with fills. Realised at average cost, before gas and charges. Against feeds: what fills
        gained or lost at signing, fees included. Total value: its change, deposits included. More:{' '}
        <Command>tranched report --by day</Command>
      </p>
    </>
  )
}

/** Change of the total value of each UTC day with samples. */
function changesByDay(series: HoldingsSeries | undefined, totalValue: string | null) {
  const { atSeconds = [], value = [] } = series ?? {}
  return new Map(
    atSeconds.flatMap((at, index) => {
      const isLast = index === atSeconds.length - 1
      const from = value[index]
      const to = isLast ? totalValue : value[index + 1]
      if (typeof from !== 'number' || to === null || to === undefined) return []
      return [[isoText(at).slice(0, 10), (Number(to) - from).toFixed(6)] as const]
    }),
  )
}

function profitCell(profit: string | null, unknown = 'no price'): Cell {
  return profit === null ? { text: unknown, kind: 'unknown' } : { text: signedMoney(profit) }
}

export function isLow({ available, alertBelow, runwaySeconds }: GasTankRow): boolean {
  if (available !== null && alertBelow !== null)
    return differenceOf(available, alertBelow).startsWith('-')
  return runwaySeconds !== null && runwaySeconds < SHORT_RUNWAY_SECONDS
}

export function runwayText({ runwaySeconds }: GasTankRow): string | undefined {
  return runwaySeconds === null ? undefined : durationText(runwaySeconds * 1_000)
}

export function GasTank({ tank }: { tank: GasTankRow }) {
  const { account, balance, outstanding, available, alertBelow, unknown } = tank
  return (
    <>
      {unknown !== null && <p class="note warn">Unknown: {unknown}</p>}
      <dl class="facts">
        <Fact name="Available">
          <span class="strong">{ether(available)}</span>
        </Fact>
        <Fact name="Lasts for">
          <span class="strong">{runwayText(tank) ?? <Unknown>not known yet</Unknown>}</span>
        </Fact>
        <Fact name="Balance">{ether(balance)}</Fact>
        <Fact name="Outstanding">{ether(outstanding)}</Fact>
        <Fact name="Alert below">{ether(alertBelow, 'not set')}</Fact>
        <Fact name="Account">
          <OnChain hash={account} url={null} what="Account" />
        </Fact>
      </dl>
      {isLow(tank) && (
        <p class="note warn">
          {alertBelow === null
            ? 'It lasts less than a day. '
            : 'It is below the limit for an alert. '}
          <Command>tranched gastank deposit AMOUNT --yes</Command> tops it up while no daemon runs;
          deposits cannot be withdrawn.
        </p>
      )}
    </>
  )
}

function ether(amount: string | null, unknown = 'not known') {
  if (amount === null) return <Unknown>{unknown}</Unknown>
  return <Amount amount={amount} token="ETH" />
}
