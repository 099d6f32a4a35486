import { formatAmount } from '../../domain/units.ts'
import type { Observed, Observers } from './observers.ts'

const ETHER_DECIMALS = 18

/** Ether as a metric wants it; exact amounts are in the log. */
function ether(wei: bigint): number {
  return Number(formatAmount(wei, ETHER_DECIMALS))
}

/** The account's deposit as the service counts it. */
export function gasTank(event: Observed<'gas-tank'>, { metrics }: Observers): void {
  const { account, balance, outstanding, runwaySeconds } = event
  metrics.gasTankBalance.set({ account }, ether(balance))
  metrics.gasTankOutstanding.set({ account }, ether(outstanding))
  metrics.gasTankAvailable.set({ account }, ether(balance - outstanding))
  if (runwaySeconds === undefined) metrics.runway.remove({ resource: 'gastank' })
  else metrics.runway.set({ resource: 'gastank' }, runwaySeconds)
}

/** The deposit has fallen below the operator's threshold. */
export function gasTankLow(event: Observed<'gas-tank-low'>, { log, notify }: Observers): void {
  const { account } = event
  const available = formatAmount(event.available, ETHER_DECIMALS)
  const text = `the GasTank of ${account} has ${available} ETH left, below gasTank.alertBelow`
  log.warn(text, { event: event.type, account, available })
  notify({ event: 'low-funds', text, details: { account, available } })
}

/** A top-up that the daily cap does not allow. */
export function topUpCapped(event: Observed<'top-up-capped'>, { log, notify }: Observers): void {
  const { account } = event
  const text = `the GasTank of ${account} is not topped up: gasTank.topUp.maxPerDay is reached`
  log.warn(text, { event: event.type, account })
  notify({ event: 'low-funds', text, details: { account } })
}
