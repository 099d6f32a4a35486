import { durationText } from '../../../../domain/text/duration.ts'
import { Amount, Card, Command, Empty, Fact, Unknown } from '../../../parts/elements.tsx'
import { type Cell, type Column, column, figures, NONE, Table } from '../../../parts/table.tsx'
import {
  compareAmounts,
  differenceOf,
  fullAmount,
  money,
  percent,
  shortAmount,
  signedMoney,
} from '../../../parts/wording/amounts.ts'
import type { GasTankRow, Holding, Overview, ProfitRow } from '../../model.ts'
import { HoldingsChart } from '../chart/holdings-chart.tsx'
import { OnChain } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'

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
        </Card>
        <Card title="Now">
          <Holdings overview={overview} />
        </Card>
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

/** A price older than this is visibly marked. */
const OLD_PRICE_SECONDS = 3_600
/** A shorter runway counts as low if there is no alert level. */
const SHORT_RUNWAY_SECONDS = 86_400

type Text = (amount: string) => string

function figureCell(amount: string | null, unknown: string, text: Text = money): Cell {
  if (amount === null) return { text: unknown, kind: 'unknown' }
  return { text: text(amount), title: fullAmount(amount) }
}

export function Holdings({ overview, brief = false }: { overview: Overview; brief?: boolean }) {
  const { holdings, valueToken, totalValue } = overview
  if (holdings.length === 0) return <Empty>Balances have not been read yet.</Empty>
  const columns: readonly Column<Holding>[] = [
    column('name', 'Token', ({ token }) => token),
    figures('amount', 'Amount', ({ amount }) => figureCell(amount, 'not read', shortAmount)),
    figures('value', `Value${valueToken === null ? '' : `, ${valueToken}`}`, (holding) => ({
      ...figureCell(holding.value, 'no price'),
      drawn: isOld(holding) && (
        <span class={`old line small ${brief ? '' : 'narrow-only'}`}>old price</span>
      ),
    })),
    figures('share', 'Share', ({ value }) => shareCell(value, totalValue)),
    figures('age', 'Price read', priceAgeCell),
  ]
  const total = { ...figureCell(totalValue, 'not known'), kind: 'strong' }
  return (
    <Table
      label="Holdings"
      kind="small-sheet fixed holdings"
      columns={brief ? columns.slice(0, 3) : columns}
      rows={holdings}
      foot={['Total', '', total, ...(brief ? [] : ['', ''])]}
    />
  )
}

function shareCell(value: string | null, total: string | null): Cell {
  const share = Number(value) / Number(total)
  if (value === null || total === null || !Number.isFinite(share)) return NONE
  return { text: percent(share) }
}

function isOld({ priceAgeSeconds }: Holding): boolean {
  return priceAgeSeconds !== null && priceAgeSeconds > OLD_PRICE_SECONDS
}

function priceAgeCell(holding: Holding): Cell {
  const { priceAgeSeconds } = holding
  if (priceAgeSeconds === null) return NONE
  return {
    text: `${durationText(priceAgeSeconds * 1_000)} ago`,
    kind: isOld(holding) ? 'old' : '',
  }
}

function Profit({ profit }: { profit: ProfitRow }) {
  const { held, token, cost, realised, unrealised } = profit
  const columns: readonly Column<ProfitRow['held'][number]>[] = [
    column('name', 'Token', (each) => each.token),
    figures('amount', 'Amount', (each) => figureCell(each.amount, '', shortAmount)),
    figures('cost', `Cost, ${token}`, (each) => figureCell(each.cost, '')),
    figures('profit', `Profit, ${token}`, (each) =>
      profitCell(each.value === null ? null : differenceOf(each.value, each.cost)),
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
      <p class="note-line">
        Realised since the first order: <strong>{signedMoney(realised)}</strong> {token}. At average
        cost, before gas and charges.
      </p>
    </>
  )
}

function profitCell(profit: string | null): Cell {
  return profit === null ? { text: 'no price', kind: 'unknown' } : { text: signedMoney(profit) }
}

export function isLow({ available, alertBelow, runwaySeconds }: GasTankRow): boolean {
  if (available !== null && alertBelow !== null) return compareAmounts(available, alertBelow) < 0
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
          It is low. <Command>tranched gastank deposit AMOUNT --yes</Command> tops it up; deposits
          cannot be withdrawn.
        </p>
      )}
    </>
  )
}

function ether(amount: string | null, unknown = 'not known') {
  if (amount === null) return <Unknown>{unknown}</Unknown>
  return <Amount amount={amount} token="ETH" />
}
