type Sample = { readonly atMs: number; readonly offsetMs: number; readonly roundTripMs: number }

/** A Date header has whole seconds, so on average it lags by half a second. */
const DATE_LAG_MS = 500
const ROUND_TRIP_MS_MAX = 2_000
const SAMPLE_AGE_MS_MAX = 600_000
/** A sample further in the future is older than a step of the local clock. */
const FUTURE_MS_MAX = 1_000
const SAMPLES_MAX = 8

/**
 * Estimates the service's clock from its Date headers. All times in epoch milliseconds.
 *
 * Keeps the last few samples and uses the one with the shortest round trip, accurate to about half a second. A sample that
 * contradicts older ones beyond their error means that a clock was set, and drops them.
 */
export function createServiceClock() {
  let samples: readonly Sample[] = []
  return {
    sample(exchange: {
      readonly sentMs: number
      readonly receivedMs: number
      readonly date: string | readonly string[] | undefined
    }): void {
      const { sentMs, receivedMs, date } = exchange
      const roundTripMs = receivedMs - sentMs
      if (typeof date !== 'string' || roundTripMs < 0 || roundTripMs > ROUND_TRIP_MS_MAX) return
      const dateMs = Date.parse(date)
      if (Number.isNaN(dateMs)) return
      const offsetMs = dateMs + DATE_LAG_MS - (sentMs + receivedMs) / 2
      const fresh = { atMs: receivedMs, offsetMs, roundTripMs }
      samples = [...samples.filter((old) => agree(old, fresh)), fresh].slice(-SAMPLES_MAX)
    },
    /** Service clock minus local clock; undefined without a sample of the last ten minutes. */
    offsetMs(nowMs: number): number | undefined {
      const [first, ...rest] = samples.filter((sample) => isCurrent(sample, nowMs))
      if (first === undefined) return undefined
      return rest.reduce((a, b) => (b.roundTripMs <= a.roundTripMs ? b : a), first).offsetMs
    },
  }
}

function isCurrent({ atMs }: Sample, nowMs: number): boolean {
  return nowMs - atMs <= SAMPLE_AGE_MS_MAX && atMs - nowMs <= FUTURE_MS_MAX
}

function agree(a: Sample, b: Sample): boolean {
  const errorMs = 2 * DATE_LAG_MS + (a.roundTripMs + b.roundTripMs) / 2
  return Math.abs(a.offsetMs - b.offsetMs) <= errorMs
}
