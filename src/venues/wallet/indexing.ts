import { agoMs } from '../../domain/policy.ts'
import { depositIndexed } from '../../journal/events/state/transactions.ts'
import {
  type Depositor,
  latestDeposit,
  type MinedDeposit,
  minedAtMs,
} from '../../journal/projections/deposits.ts'
import type { DaemonState, Deposit } from '../../journal/state/daemon-state.ts'
import type { Journal } from '../../ports.ts'
import type { AggregatorContext } from '../context.ts'

/** A deposit not shown after this long is a failure; the interface mentions a couple of minutes. */
export const INDEXING_MS_MAX = 10 * 60_000
/**
 * True if the service's figure includes the deposit. It grew by the deposit minus charges meanwhile, so half of the deposit
 * is enough evidence. The contract's balance is not, because charges may never leave it.
 */
export function isIndexed(
  { amount, availableBefore }: Pick<Deposit, 'amount' | 'availableBefore'>,
  available: bigint,
): boolean {
  return availableBefore !== undefined && 2n * (available - availableBefore) >= amount
}

/** Wei that the service reports for the account; undefined if it does not know the account. */
export type Seen = { readonly available: bigint | undefined; readonly nowMs: number }

/**
 * The account's latest deposit that the service never showed, without a time limit: a second one would wait for the same
 * index. A deposit recorded without a figure counts as shown after ten minutes.
 */
export function unseenDeposit(
  state: DaemonState,
  aggregator: AggregatorContext,
  { available, nowMs }: Seen,
): MinedDeposit | undefined {
  const latest = latestDeposit(state, depositorOf(aggregator))
  if (latest === undefined || latest.isIndexed === true) return undefined
  if (available !== undefined && isIndexed(latest, available)) return undefined
  // Older records do not store whether the service showed the deposit, so it may have been shown and spent.
  const isKept = latest.availableBefore !== undefined && latest.isIndexed === false
  return isKept || isOfLate(latest, nowMs) ? latest : undefined
}

/** A deposit mined less than ten minutes ago and not shown yet: not a failure, but no other deposit is made meanwhile. */
export function awaitedDeposit(
  state: DaemonState,
  aggregator: AggregatorContext,
  seen: Seen,
): MinedDeposit | undefined {
  const unseen = unseenDeposit(state, aggregator, seen)
  return unseen !== undefined && isOfLate(unseen, seen.nowMs) ? unseen : undefined
}

function isOfLate(deposit: Deposit, nowMs: number): boolean {
  return agoMs(nowMs, minedAtMs(deposit)) < INDEXING_MS_MAX
}

/** Journals that the service shows the latest deposit, because later charges lower its figure again. */
export async function noteIndexed(
  journal: Journal,
  aggregator: AggregatorContext,
  available: bigint,
): Promise<void> {
  const latest = latestDeposit(journal.state, depositorOf(aggregator))
  if (latest === undefined || latest.isIndexed === true || !isIndexed(latest, available)) return
  await journal.append(depositIndexed({ id: latest.id }))
}

export function depositorOf({ wallet }: AggregatorContext): Depositor {
  return { account: wallet.signer.address, chainId: wallet.chainId }
}
