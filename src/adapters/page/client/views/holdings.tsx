import type { Overview } from '../../model.ts'
import { HoldingsChart } from '../chart/holdings-chart.tsx'
import { Card, Empty } from '../parts/card.tsx'
import { GasTank } from '../parts/gas-tank.tsx'
import { Holdings as HoldingsTable } from '../parts/holdings.tsx'
import { Profit } from '../parts/profit.tsx'
import { OnChain } from '../parts/words.tsx'
import { usePage } from '../shell/page-context.ts'

/** What is there, what it was worth over time, whose it is, and what pays for calls. */
export function HoldingsView() {
  const { store } = usePage()
  const { overview } = store
  if (overview === undefined) return <Empty>Nothing is known yet.</Empty>
  return (
    <div class="columns">
      <div class="column wide">
        <Card title="Over time">
          <HoldingsChart />
        </Card>
        <Card title="Now">
          <HoldingsTable overview={overview} />
        </Card>
        {overview.profit !== null && (
          <Card title="Bought and held">
            <Profit profit={overview.profit} />
          </Card>
        )}
      </div>
      <div class="column">
        <Card title="Wallets">
          <Wallets overview={overview} />
        </Card>
        {overview.gasTank !== null && (
          <Card title="GasTank">
            <GasTank tank={overview.gasTank} />
          </Card>
        )}
      </div>
    </div>
  )
}

function Wallets({ overview: { wallets } }: { overview: Overview }) {
  if (wallets.length === 0) return <Empty>No wallet is known.</Empty>
  return (
    <dl class="facts">
      {wallets.map(({ name, address, explorerUrl }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <OnChain hash={address} url={explorerUrl} what={`Wallet ${name}`} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
