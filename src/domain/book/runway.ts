/** Funds seen at one time. */
export type FundsSample = {
  readonly atMs: number
  /** Wei that could be spent then. */
  readonly available: bigint
  /** Wei that was spent since the first sample. */
  readonly burned: bigint
}

/** Samples older than this say nothing about tomorrow's spending. */
export const RUNWAY_WINDOW_MS = 86_400_000
/** Less than this is too short to draw a line through. */
const SPAN_MS_MIN = 60_000

/** The sample of what was seen after another. Rises are deposits and do not count. */
export function sampleAfter(
  before: FundsSample | undefined,
  { atMs, available }: { readonly atMs: number; readonly available: bigint },
): FundsSample {
  if (before === undefined) return { atMs, available, burned: 0n }
  const fall = before.available - available
  return { atMs, available, burned: before.burned + (fall > 0n ? fall : 0n) }
}

/**
 * Seconds until funds run out at the rate they fell over the samples, oldest first. Undefined while too little was seen,
 * or nothing was spent.
 */
export function runwaySeconds(samples: readonly FundsSample[]): number | undefined {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined) return undefined
  const spanMs = last.atMs - first.atMs
  const burned = last.burned - first.burned
  if (spanMs < SPAN_MS_MIN || burned === 0n) return undefined
  const left = last.available > 0n ? last.available : 0n
  const milliseconds = (left * BigInt(Math.round(spanMs))) / burned
  return Number.parseInt((milliseconds / 1000n).toString(), 10)
}
