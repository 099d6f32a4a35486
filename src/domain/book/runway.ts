/** Funds seen at one time: wei that could be spent then. */
export type FundsSample = { readonly atMs: number; readonly available: bigint }

/** Samples older than this say nothing about tomorrow's spending. */
export const RUNWAY_WINDOW_MS = 86_400_000
/** Less than this is too short to draw a line through. */
const SPAN_MS_MIN = 60_000

/**
 * Seconds until funds run out at the rate they fell over the samples, oldest first. Rises are deposits and do not
 * count. Undefined while too little was seen, or nothing was spent.
 */
export function runwaySeconds(samples: readonly FundsSample[]): number | undefined {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined) return undefined
  const spanMs = last.atMs - first.atMs
  if (spanMs < SPAN_MS_MIN) return undefined
  let burned = 0n
  for (const [index, sample] of samples.entries()) {
    const before = samples[index - 1]?.available ?? sample.available
    if (sample.available < before) burned += before - sample.available
  }
  if (burned === 0n) return undefined
  const left = last.available > 0n ? last.available : 0n
  const milliseconds = (left * BigInt(Math.round(spanMs))) / burned
  return Number.parseInt((milliseconds / 1000n).toString(), 10)
}
