import type { Clock } from '../../ports.ts'
import { hintedBlocks, type RefusalKind } from './refusals.ts'

/** Requests of one batch, at most: gateways refuse longer ones. */
export const BATCH_MAX = 40
/** Widest range that public nodes answer eth_getLogs for. */
export const LOG_BLOCKS_MAX = 2_000
/** Answers to requests of full size before a larger one is tried. */
const GOOD_ANSWERS = 8
/** How long a size that a node refused is not tried again. */
const REFUSED_MS = 10 * 60_000

export type Refused = { readonly kind: RefusalKind; readonly message: string }

/** What to try after a refusal. It counts once the node has answered it. */
export type Trial = {
  readonly size: number
  /** What to ask for afterwards. */
  readonly next: number
  readonly refused: Refused & { readonly size: number }
}

/** A size that a node was seen to refuse, and what it said. */
export type Lowered = { readonly size: number; readonly refused: Trial['refused'] }

/**
 * How much one node takes at once, found by trying: halved when it refuses, remembered, and grown again slowly. The caller
 * asks for `size()`; after a refusal for `smaller(...)`, until that is answered or nothing smaller is left.
 */
export type Limit = {
  size(): number
  /** Whether that size is tried again after a refusal, and was not answered since. */
  isTrying(): boolean
  /** `size` is more than 1, so that what comes out is less. */
  smaller(size: number, refused: Refused): Trial
  answered(size: number, trial?: Trial): void
  /** The lowest size so far; undefined for a node that took whatever it was asked for. */
  lowered(): Lowered | undefined
}

export function createLimit(options: {
  /** What is asked for where nothing is refused. */
  readonly max: number
  readonly clock: Pick<Clock, 'now'>
  /** Called for each new lowest size. */
  readonly onLowered?: (lowered: Lowered) => void
}): Limit {
  const { max, clock, onLowered } = options
  let most = max
  /** Last size of at least `most` that was answered. */
  let proven = 0
  let ceiling = Number.POSITIVE_INFINITY
  let ceilingSinceMs = 0
  let goodAnswers = 0
  let lowest: Lowered | undefined

  function learn({ next, refused }: Trial): void {
    most = Math.min(most, next)
    // What is dense in one place may be sparse in the next.
    ceiling = refused.kind === 'results' ? Number.POSITIVE_INFINITY : refused.size
    ceilingSinceMs = clock.now()
    goodAnswers = 0
    if (lowest !== undefined && most >= lowest.size) return
    lowest = { size: most, refused }
    onLowered?.(lowest)
  }

  /** Twice as much, or half the way to what was refused lately. */
  function grow(): void {
    goodAnswers = 0
    if (Math.abs(clock.now() - ceilingSinceMs) >= REFUSED_MS) ceiling = Number.POSITIVE_INFINITY
    most = Math.min(max, 2 * most, Math.floor((most + ceiling) / 2))
  }

  return {
    size: () => most,
    isTrying: () => most < max && most > proven,
    smaller(size, { kind, message }) {
      const half = Math.floor(size / 2)
      const refused = { kind, message, size }
      // The smallest tells whether it is about the size at all, at the price of one request.
      if (kind === 'other') return { size: 1, next: half, refused }
      const hint = hintedBlocks(kind, message) ?? 0
      const known = proven < size ? Math.max(proven, half) : half
      const next = hint >= 1 && hint < size ? hint : known
      return { size: next, next, refused }
    },
    answered(size, trial) {
      if (trial !== undefined) learn(trial)
      if (most === max || size < most) return
      proven = size
      goodAnswers += 1
      if (goodAnswers >= GOOD_ANSWERS) grow()
    },
    lowered: () => lowest,
  }
}
