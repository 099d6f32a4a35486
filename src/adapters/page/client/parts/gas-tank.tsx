import { compareAmounts, fullAmount, shortAmount } from '../../../page-parts/words/amounts.ts'
import { durationText } from '../../../page-parts/words/times.ts'
import type { GasTankRow } from '../../model.ts'
import { Command, OnChain, Unknown } from './words.tsx'

/** Where no alarm is set, one that lasts shorter than this is told as low. */
const SHORT_RUNWAY_SECONDS = 86_400

export function isLow({ available, alertBelow, runwaySeconds }: GasTankRow): boolean {
  if (available !== null && alertBelow !== null) return compareAmounts(available, alertBelow) < 0
  return runwaySeconds !== null && runwaySeconds < SHORT_RUNWAY_SECONDS
}

export function runwayText({ runwaySeconds }: GasTankRow): string | undefined {
  return runwaySeconds === null ? undefined : durationText(runwaySeconds * 1_000)
}

/** The deposit that calls are paid from, and for how long it lasts. */
export function GasTank({ tank }: { tank: GasTankRow }) {
  const { account, balance, outstanding, available, alertBelow, unknown } = tank
  const runway = runwayText(tank)
  return (
    <>
      {unknown !== null && <p class="note warn">Nothing is known of it: {unknown}</p>}
      <dl class="facts">
        <div>
          <dt>Available</dt>
          <dd class="strong">{ether(available)}</dd>
        </div>
        <div>
          <dt>Lasts for</dt>
          <dd class="strong">{runway ?? <Unknown>not known yet</Unknown>}</dd>
        </div>
        <div>
          <dt>Balance</dt>
          <dd>{ether(balance)}</dd>
        </div>
        <div>
          <dt>Outstanding</dt>
          <dd>{ether(outstanding)}</dd>
        </div>
        <div>
          <dt>Alert below</dt>
          <dd>{alertBelow === null ? <Unknown>not set</Unknown> : ether(alertBelow)}</dd>
        </div>
        <div>
          <dt>Account</dt>
          <dd>
            <OnChain hash={account} url={null} what="Account" />
          </dd>
        </div>
      </dl>
      {isLow(tank) && (
        <p class="note warn">
          It is low. <Command>tranched gastank deposit AMOUNT --yes</Command> fills it; a deposit
          cannot be withdrawn.
        </p>
      )}
    </>
  )
}

function ether(amount: string | null) {
  if (amount === null) return <Unknown />
  return (
    <span class="amount" title={`${fullAmount(amount)} ETH`}>
      {shortAmount(amount)} <span class="token">ETH</span>
    </span>
  )
}
