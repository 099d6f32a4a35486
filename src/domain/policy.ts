import { mulDivDown } from './money/units.ts'

/** The service's freshness margin: both deadlines must be further ahead than this. */
const FRESHNESS_MARGIN_MS = 10_000
/** Maximum clock disagreement under which anything is signed. */
export const CLOCK_SKEW_MS_MAX = 5_000
/** A head block older than this means that the node lags and proves nothing about the present. */
export const CHAIN_LAG_MS_MAX = 120_000

export type ExecutionPolicy = {
  readonly attemptsMax: number
  /** Quotes requested per attempt, including stale ones. */
  readonly quotesPerAttemptMax: number
  readonly requestTriesMax: number
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  readonly pollMsMin: number
  readonly pollMsMax: number
  /** Order age at which polling slows down toward `pollMsMax`. */
  readonly pollSlowAfterMs: number
  /**
   * Minimum interval between chain reads for an order that the service is silent about. Settled orders are proven within
   * seconds, and an outage of hours costs one batched read every three seconds.
   */
  readonly silenceMs: number
  /** The direct route gets this last share of a signed call's lifetime, bounded, because it takes a few blocks. */
  readonly directShare: number
  readonly directMsMax: number
  /** Time before the fee of a pending wallet transaction is raised. */
  readonly transactionRetryMs: number
}

export const DEFAULT_POLICY: ExecutionPolicy = {
  attemptsMax: 3,
  quotesPerAttemptMax: 4,
  requestTriesMax: 5,
  backoffMsMin: 500,
  backoffMsMax: 30_000,
  pollMsMin: 1_000,
  pollMsMax: 5_000,
  pollSlowAfterMs: 15_000,
  silenceMs: 3_000,
  directShare: 1 / 3,
  directMsMax: 120_000,
  transactionRetryMs: 30_000,
}

/** Exponential backoff with jitter over the upper half of the step. `tries` counts from 1, `jitter` is in [0, 1). */
export function backoffMs(policy: ExecutionPolicy, tries: number, jitter: number): number {
  const ceiling = Math.min(policy.backoffMsMax, policy.backoffMsMin * 2 ** Math.min(tries - 1, 20))
  return Math.round(ceiling / 2 + (ceiling / 2) * jitter)
}

/** Poll interval: 1 to 2 seconds at first, rising to 5 for slow orders. */
export function pollDelayMs(policy: ExecutionPolicy, orderAgeMs: number, jitter: number): number {
  if (orderAgeMs < policy.pollSlowAfterMs) return Math.round(policy.pollMsMin * (1 + jitter / 2))
  const slow = policy.pollMsMin * 2 + (orderAgeMs - policy.pollSlowAfterMs) / 10
  return Math.round(Math.min(policy.pollMsMax, slow))
}

type TimeSources = {
  readonly localMs: number
  /** Service clock minus local clock, from its Date header; undefined before the first reply. */
  readonly serviceOffsetMs: number | undefined
  readonly blockTimeSeconds: number
}

export type TrustedTime =
  | { readonly ok: true; readonly nowMs: number }
  | { readonly ok: false; readonly reason: 'clock-skew' | 'chain-stale'; readonly detail: string }

/**
 * The latest of the three clocks, so that a deadline never looks further away than it is. Refuses if they differ by more
 * than CLOCK_SKEW_MS_MAX, or if the chain's head is too old.
 */
export function trustedTime(sources: TimeSources): TrustedTime {
  const { localMs, serviceOffsetMs } = sources
  const chainAheadMs = sources.blockTimeSeconds * 1000 - localMs
  if (chainAheadMs > CLOCK_SKEW_MS_MAX) return skew('chain', chainAheadMs)
  const stale = staleHead(localMs, sources.blockTimeSeconds)
  if (stale !== undefined) return { ok: false, reason: 'chain-stale', detail: stale }
  if (serviceOffsetMs !== undefined && Math.abs(serviceOffsetMs) > CLOCK_SKEW_MS_MAX)
    return skew('service', serviceOffsetMs)
  return {
    ok: true,
    nowMs: Math.max(localMs, localMs + (serviceOffsetMs ?? 0), localMs + chainAheadMs),
  }
}

/** An error text if the newest block is too old; otherwise undefined. */
export function staleHead(nowMs: number, blockTimeSeconds: number): string | undefined {
  if (believedMs(nowMs, blockTimeSeconds) === nowMs) return undefined
  return `the newest block is ${Math.round(nowMs / 1000 - blockTimeSeconds)} s old`
}

/**
 * Whether a deadline has passed by every clock: the block's, this machine's, and the service's if known. Expiry needs the
 * slowest clock, signing the fastest (rule T6). A node may be ahead by up to CLOCK_SKEW_MS_MAX, so the other clocks must be
 * past by as much.
 */
export function isPastForAll(deadlineSeconds: number, sources: TimeSources): boolean {
  const { localMs, serviceOffsetMs = 0, blockTimeSeconds } = sources
  const deadlineMs = deadlineSeconds * 1000
  const earliestMs = Math.min(localMs, localMs + serviceOffsetMs)
  return blockTimeSeconds * 1000 > deadlineMs && earliestMs > deadlineMs + CLOCK_SKEW_MS_MAX
}

/** The latest plausible time of a newest block by this machine's clock, epoch seconds. */
export function latestBlockSeconds(localMs: number): number {
  return Math.floor((localMs + CLOCK_SKEW_MS_MAX) / 1000)
}

/** This machine's time, capped at the newest block's time plus its maximum age. Epoch ms. */
export function believedMs(nowMs: number, blockTimeSeconds: number): number {
  return Math.min(nowMs, blockTimeSeconds * 1000 + CHAIN_LAG_MS_MAX)
}

/** A moment by both clocks, whether or not they agreed. Epoch ms; undefined without a block. */
export type Moment = { readonly clockMs: number; readonly chainMs: number | undefined }

/** The moment, once the clocks agree: the later of the two, since one may have lagged, unless it lies in the future. */
export function momentMs({ clockMs, chainMs = clockMs }: Moment, agreedMs: number): number {
  const past = [clockMs, chainMs].filter((ms) => ms <= agreedMs)
  return past.length === 0 ? agreedMs : Math.max(...past)
}

/** Time since a recorded moment, ms. A moment too far ahead came from a wrong clock and counts as infinitely long ago. */
export function agoMs(nowMs: number, notedMs: number): number {
  const ago = nowMs - notedMs
  return ago < -CHAIN_LAG_MS_MAX ? Number.POSITIVE_INFINITY : ago
}

function skew(source: string, offsetMs: number): TrustedTime {
  const detail = `the ${source}'s clock differs from this machine's by ${Math.round(offsetMs)} ms`
  return { ok: false, reason: 'clock-skew', detail }
}

/** The service's freshness rule: both times must exceed the margin. */
export function isFresh(
  quote: { readonly expirationMs: number; readonly validToSeconds: number },
  nowMs: number,
): boolean {
  return (
    quote.expirationMs - nowMs > FRESHNESS_MARGIN_MS &&
    quote.validToSeconds * 1000 - nowMs > FRESHNESS_MARGIN_MS
  )
}

/** `amount` less `bps`, rounded down: the minimum that a slippage or deviation bound accepts. */
export function lessBps(amount: bigint, bps: number): bigint {
  return mulDivDown(amount, 10_000n - BigInt(bps), 10_000n)
}
