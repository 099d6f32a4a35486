import { mulDivDown } from './units.ts'

/** Freshness margin of the service's rules: both deadlines must be more than this far ahead. */
export const FRESHNESS_MARGIN_MS = 10_000
/** Widest disagreement of clocks under which anything is signed. */
export const CLOCK_SKEW_MS_MAX = 5_000
/** A head block older than this says the node is behind, so what it answers is no proof of the present. */
export const CHAIN_LAG_MS_MAX = 120_000

/** Knobs of one order's path. Times in milliseconds. */
export type ExecutionPolicy = {
  /** Signed attempts per intent. */
  readonly attemptsMax: number
  /** Quotes asked for within one attempt, stale ones included. */
  readonly quotesPerAttemptMax: number
  readonly requestTriesMax: number
  readonly backoffMsMin: number
  readonly backoffMsMax: number
  readonly pollMsMin: number
  readonly pollMsMax: number
  /** Age of an order from which polling slows down toward `pollMsMax`. */
  readonly pollSlowAfterMs: number
  /**
   * Least time between two looks at the chain for an order of which the service says nothing. A settled order is proven within
   * seconds then, and a service that is gone for hours costs one batched read in three seconds.
   */
  readonly silenceMs: number
  /** Of a signed call's lifetime the direct route has the last part: this share, and no more than so long, for it takes a few blocks. */
  readonly directShare: number
  readonly directMsMax: number
  /** How long a transaction of our own may stay unmined before its fee is raised. */
  readonly transactionPatienceMs: number
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
  transactionPatienceMs: 30_000,
}

/** Exponential backoff with full jitter above half of the step. `tries` counts from 1, `jitter` lies in [0, 1). */
export function backoffMs(policy: ExecutionPolicy, tries: number, jitter: number): number {
  const ceiling = Math.min(policy.backoffMsMax, policy.backoffMsMin * 2 ** Math.min(tries - 1, 20))
  return Math.round(ceiling / 2 + (ceiling / 2) * jitter)
}

/** Time to the next poll: 1 to 2 seconds at first, then rising to 5 for orders that take long. */
export function pollDelayMs(policy: ExecutionPolicy, orderAgeMs: number, jitter: number): number {
  if (orderAgeMs < policy.pollSlowAfterMs) return Math.round(policy.pollMsMin * (1 + jitter / 2))
  const slow = policy.pollMsMin * 2 + (orderAgeMs - policy.pollSlowAfterMs) / 10
  return Math.round(Math.min(policy.pollMsMax, slow))
}

export type TimeSources = {
  readonly localMs: number
  /** Service clock minus local clock, from its Date header; undefined before the first reply. */
  readonly serviceOffsetMs: number | undefined
  readonly blockTimeSeconds: number
}

export type TrustedTime =
  | { readonly ok: true; readonly nowMs: number }
  | { readonly ok: false; readonly reason: 'clock-skew' | 'chain-stale'; readonly detail: string }

/**
 * The latest of the three clocks, so that no deadline looks further away than anyone believes. Refuses when they
 * disagree by more than CLOCK_SKEW_MS_MAX, or when the chain's head is too old to prove anything.
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

/** Says that the newest block is too old to prove anything; undefined while it is not. */
export function staleHead(nowMs: number, blockTimeSeconds: number): string | undefined {
  if (believedMs(nowMs, blockTimeSeconds) === nowMs) return undefined
  return `the newest block is ${Math.round(nowMs / 1000 - blockTimeSeconds)} s old`
}

/**
 * Whether a deadline has passed by every clock there is: of the block that is asked, of this machine, and of the service
 * where it is known. Deaths are judged by the latest of them to get there, as signatures are by the first (rule T6). A node
 * whose blocks are ahead by no more than CLOCK_SKEW_MS_MAX is believed, so that the other clocks have to be past by as much.
 */
export function isPastForAll(deadlineSeconds: number, sources: TimeSources): boolean {
  const { localMs, serviceOffsetMs = 0, blockTimeSeconds } = sources
  const deadlineMs = deadlineSeconds * 1000
  const earliestMs = Math.min(localMs, localMs + serviceOffsetMs)
  return blockTimeSeconds * 1000 > deadlineMs && earliestMs > deadlineMs + CLOCK_SKEW_MS_MAX
}

/** The latest time, in Unix seconds, that a newest block may have by this machine's clock. */
export function latestBlockSeconds(localMs: number): number {
  return Math.floor((localMs + CLOCK_SKEW_MS_MAX) / 1000)
}

/**
 * What of this machine's clock is believed where the chain is all there is to hold it against: no more than the newest block's
 * time and the age that such a block may have. Epoch ms.
 */
export function believedMs(nowMs: number, blockTimeSeconds: number): number {
  return Math.min(nowMs, blockTimeSeconds * 1000 + CHAIN_LAG_MS_MAX)
}

/** When something was seen, by both clocks, whether or not they agreed. Epoch ms; undefined where no block was read. */
export type Sighting = { readonly clockMs: number; readonly chainMs: number | undefined }

/**
 * When something was seen, told once the clocks agree: the later of the two, for one may have been behind; but for one that
 * is still to come, which was ahead.
 */
export function sightedAtMs({ clockMs, chainMs = clockMs }: Sighting, agreedMs: number): number {
  const past = [clockMs, chainMs].filter((ms) => ms <= agreedMs)
  return past.length === 0 ? agreedMs : Math.max(...past)
}

/**
 * Time since a moment that was noted by this machine's clock. One that lies further ahead than clocks may differ was noted
 * by a clock that was wrong: nobody knows how long ago it was, and nothing waits for it to come.
 */
export function agoMs(nowMs: number, notedMs: number): number {
  const ago = nowMs - notedMs
  return ago < -CHAIN_LAG_MS_MAX ? Number.POSITIVE_INFINITY : ago
}

function skew(source: string, offsetMs: number): TrustedTime {
  const detail = `the ${source}'s clock differs from this machine's by ${Math.round(offsetMs)} ms`
  return { ok: false, reason: 'clock-skew', detail }
}

/** The service's own freshness rule: both times strictly more than the margin ahead. */
export function isFresh(
  quote: { readonly expirationMs: number; readonly validToSeconds: number },
  nowMs: number,
): boolean {
  return (
    quote.expirationMs - nowMs > FRESHNESS_MARGIN_MS &&
    quote.validToSeconds * 1000 - nowMs > FRESHNESS_MARGIN_MS
  )
}

/** `amount` less `bps`, rounded down: the least that a slippage or deviation bound accepts. */
export function lessBps(amount: bigint, bps: number): bigint {
  return mulDivDown(amount, 10_000n - BigInt(bps), 10_000n)
}
