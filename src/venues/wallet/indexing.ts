import {
  type Depositor,
  latestDeposit,
  type MinedDeposit,
  minedAtMs,
} from '../../domain/book/deposits.ts'
import type { DaemonState, Deposit } from '../../domain/book/state.ts'
import { agoMs } from '../../domain/policy.ts'
import type { Journal } from '../../ports.ts'
import type { AggregatorContext } from '../context.ts'

/** After this long a deposit that the service does not show is a trouble: the interface speaks of a couple of minutes. */
export const INDEXING_MS_MAX = 10 * 60_000
/**
 * Whether the service has a deposit in its own figure. That figure grew by the deposit, less what calls were charged
 * meanwhile: half of it is enough to tell. The contract's figure tells nothing, for charges may never leave it.
 */
export function isIndexed(
  { amount, availableBefore }: Pick<Deposit, 'amount' | 'availableBefore'>,
  available: bigint,
): boolean {
  return availableBefore !== undefined && 2n * (available - availableBefore) >= amount
}

/** What the service has for the account, in wei; undefined where it does not know it. */
export type Seen = { readonly available: bigint | undefined; readonly nowMs: number }

/**
 * The account's latest deposit on chain, as long as the service was never seen to have it: without a limit of time, for
 * a second one would wait for the same index. Of one recorded without a figure that cannot be told: ten minutes do.
 */
export function unseenDeposit(
  state: DaemonState,
  aggregator: AggregatorContext,
  { available, nowMs }: Seen,
): MinedDeposit | undefined {
  const latest = latestDeposit(state, depositorOf(aggregator))
  if (latest === undefined || latest.isIndexed === true) return undefined
  if (available !== undefined && isIndexed(latest, available)) return undefined
  // Of what was made before it was kept whether it was seen, nobody knows either: it may have come and been spent.
  const isKept = latest.availableBefore !== undefined && latest.isIndexed === false
  return isKept || isOfLate(latest, nowMs) ? latest : undefined
}

/** One that is not shown yet, and was mined less than ten minutes ago: until then it is no trouble, and nobody adds to it. */
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

/** Keeps in the journal that the service shows the latest deposit: what is spent later makes its figure fall again. */
export async function noteIndexed(
  journal: Journal,
  aggregator: AggregatorContext,
  available: bigint,
): Promise<void> {
  const latest = latestDeposit(journal.state, depositorOf(aggregator))
  if (latest === undefined || latest.isIndexed === true || !isIndexed(latest, available)) return
  await journal.append({ type: 'deposit-indexed', id: latest.id })
}

/** Whose deposits are asked for. */
export function depositorOf({ wallet }: AggregatorContext): Depositor {
  return { account: wallet.signer.address, chainId: wallet.chainId }
}
