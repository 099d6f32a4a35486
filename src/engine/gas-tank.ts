import { DAY_MS } from '../domain/book/limits.ts'
import { type FundsSample, RUNWAY_WINDOW_MS, runwaySeconds } from '../domain/book/runway.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { TopUp } from '../domain/settings.ts'
import { depositOnce, isDepositing } from '../execute/account/deposit.ts'
import { trustedNow } from '../execute/ask.ts'
import { haltedNow } from '../execute/close.ts'
import type { AggregatorContext, OrderContext } from '../execute/context.ts'

const LOOK_EVERY_MS = 15_000

/** What the service and the chain say about the account's deposit, in wei. */
type Funds = {
  readonly balance: bigint
  readonly outstanding: bigint
  /** In the contract; more than the service's balance means that a deposit is not indexed yet. */
  readonly onChain: bigint | undefined
  /** Time of the newest block; undefined while the chain is silent. */
  readonly blockTimeSeconds: number | undefined
}

/**
 * Watches the account's deposit until the daemon closes: tells it, warns when it falls below the operator's threshold,
 * and tops it up within the daily cap, one deposit at a time.
 */
export async function keepGasTank(
  context: OrderContext,
  aggregator: AggregatorContext,
): Promise<void> {
  const { clock, observe } = context.ports
  const { alertBelowWei, topUp } = aggregator.settings.gasTank
  const account = aggregator.settings.wallet
  let samples: readonly FundsSample[] = []
  let isLow = false
  let isCapped = false
  while (!context.closing.aborted) {
    const funds = await readFunds(aggregator)
    if (funds !== undefined) {
      const { balance, outstanding } = funds
      const available = balance - outstanding
      samples = [...samples, { atMs: clock.now(), available }].filter(
        ({ atMs }) => clock.now() - atMs <= RUNWAY_WINDOW_MS,
      )
      const runway = runwaySeconds(samples)
      const wasLow = isLow
      isLow = alertBelowWei !== undefined && available < alertBelowWei
      observe({ type: 'gas-tank', account, balance, outstanding, runwaySeconds: runway, isLow })
      if (isLow && !wasLow) observe({ type: 'gas-tank-low', account, available })
      const maySend = context.mode !== 'dry-run' && haltedNow(context) === undefined
      const isDue = maySend && topUp !== undefined && available < topUp.belowWei
      const wasCapped = isCapped
      isCapped = isDue && (await topUpOnce(context, aggregator, topUp, funds)) === 'capped'
      if (isCapped && !wasCapped) observe({ type: 'top-up-capped', account })
    }
    await clock.sleep(LOOK_EVERY_MS, context.closing)
  }
}

async function readFunds(aggregator: AggregatorContext): Promise<Funds | undefined> {
  const { service, chain, settings, wallet } = aggregator
  const { address } = wallet.signer
  const [info, view] = await Promise.all([
    service.accountInfo(address),
    chain.account({ account: address, gasTank: settings.contracts.gasTank }),
  ])
  const onChain = view.ok ? view.value.gasTankBalance : undefined
  const blockTimeSeconds = view.ok ? view.value.blockTimeSeconds : undefined
  const seen = { onChain, blockTimeSeconds }
  if (info.ok)
    return { balance: info.value.balance, outstanding: info.value.outstandingCharge, ...seen }
  return info.fault.tag === 'accountNotFound'
    ? { balance: 0n, outstanding: 0n, ...seen }
    : undefined
}

/** Deposits once, unless a deposit is under way, not indexed yet, or would pass the daily cap. */
async function topUpOnce(
  context: OrderContext,
  aggregator: AggregatorContext,
  topUp: TopUp,
  funds: Funds,
): Promise<'tried' | 'waiting' | 'capped'> {
  const { journal, observe } = context.ports
  const { onChain, blockTimeSeconds } = funds
  if (onChain === undefined || blockTimeSeconds === undefined) return 'waiting'
  if (onChain > funds.balance || isDepositing(journal.state, aggregator)) return 'waiting'
  // A clock set a day ahead must not make room for another day's deposits.
  const time = trustedNow(context, { blockTimeSeconds })
  if (!time.ok) return 'waiting'
  if (depositedInDay(journal.state, time.nowMs) + topUp.amountWei > topUp.maxPerDayWei)
    return 'capped'
  const outcome = await depositOnce(context, aggregator, topUp.amountWei)
  if (outcome.tag === 'unsent')
    observe({ type: 'chain-trouble', doing: 'topping up the GasTank', message: outcome.detail })
  return 'tried'
}

/** Wei deposited in the last day, by any command; deposits dated ahead of a clock that was set back count. */
export function depositedInDay(state: DaemonState, nowMs: number): bigint {
  let sum = 0n
  for (const { atMs, amount } of state.deposits.values()) if (nowMs - atMs < DAY_MS) sum += amount
  return sum
}
