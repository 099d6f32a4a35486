import type { Clock } from '../../ports.ts'
import { hintedBlocks, type RefusalKind } from './refusals.ts'

/** Upper bound on batch size: gateways refuse longer ones. */
export const BATCH_MAX = 40
/** Widest eth_getLogs range that public nodes accept. */
export const LOG_BLOCKS_MAX = 2_000
/** Answers at the current limit before a larger size is tried. */
const GOOD_ANSWERS = 8
/** A refused size is not retried for this long. */
const REFUSED_MS = 10 * 60_000

type Refused = { readonly kind: RefusalKind; readonly message: string }

/** The next size to try after a refusal. It takes effect once the node has answered it. */
export type Trial = {
  readonly size: number
  readonly next: number
  readonly refused: Refused & { readonly size: number }
}

export type Lowered = { readonly size: number; readonly refused: Trial['refused'] }

export type Limit = ReturnType<typeof createLimit>

/**
 * The size that one node accepts, found by trial: halved on refusal, remembered, and slowly increased again. Request
 * `size()`. After a refusal, use `smaller(...)` until the node answers or the size is 1.
 */
export function createLimit(options: {
  readonly max: number
  readonly clock: Pick<Clock, 'now'>
  readonly onLowered?: (lowered: Lowered) => void
}) {
  const { max, clock, onLowered } = options
  let most = max
  /** Last answered size of at least `most`. */
  let proven = 0
  let ceiling = Number.POSITIVE_INFINITY
  let ceilingSinceMs = 0
  let goodAnswers = 0
  let lowest: Lowered | undefined

  function learn({ next, refused }: Trial): void {
    most = Math.min(most, next)
    // Results that are dense in one range may be sparse in the next.
    ceiling = refused.kind === 'results' ? Number.POSITIVE_INFINITY : refused.size
    ceilingSinceMs = clock.now()
    goodAnswers = 0
    if (lowest !== undefined && most >= lowest.size) return
    lowest = { size: most, refused }
    onLowered?.(lowest)
  }

  function grow(): void {
    goodAnswers = 0
    if (Math.abs(clock.now() - ceilingSinceMs) >= REFUSED_MS) ceiling = Number.POSITIVE_INFINITY
    most = Math.min(max, 2 * most, Math.floor((most + ceiling) / 2))
  }

  return {
    size: () => most,
    /** True if `size()` was lowered after a refusal and has not been answered since. */
    isTrying: () => most < max && most > proven,
    /** `size` must be above 1, so that the result is smaller. */
    smaller(size: number, { kind, message }: Refused): Trial {
      const half = Math.floor(size / 2)
      const refused = { kind, message, size }
      // A minimal request shows, at the cost of one request, whether size is the cause at all.
      if (kind === 'other') return { size: 1, next: half, refused }
      const hint = hintedBlocks(kind, message) ?? 0
      const known = proven < size ? Math.max(proven, half) : half
      const next = hint >= 1 && hint < size ? hint : known
      return { size: next, next, refused }
    },
    answered(size: number, trial?: Trial): void {
      if (trial !== undefined) learn(trial)
      if (most === max || size < most) return
      proven = size
      goodAnswers += 1
      if (goodAnswers >= GOOD_ANSWERS) grow()
    },
    /** The lowest size so far; undefined if the node never refused one. */
    lowered: () => lowest,
  }
}
