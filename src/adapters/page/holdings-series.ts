import type { HoldingsRange, HoldingsSeries } from './model.ts'

/** What was held at one time. Null where it was not read, or had no usable price: never zero for that. */
export type HoldingsSample = {
  /** Epoch seconds. */
  readonly at: number
  readonly valueToken: string | null
  readonly value: number | null
  readonly held: Readonly<Record<string, number | null>>
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Time between two samples. */
export const SAMPLE_SECONDS = 10 * MINUTE

/** How far apart samples are kept, by how old they are. What is older than all of it is dropped. */
const KEPT = [
  { upToSeconds: 2 * DAY, everySeconds: SAMPLE_SECONDS },
  { upToSeconds: 60 * DAY, everySeconds: HOUR },
  { upToSeconds: 5 * 366 * DAY, everySeconds: DAY },
] as const

/** What a clock that was ahead for a while has noted is nobody's. */
const AHEAD_SECONDS_MAX = HOUR

/** Tokens of one series. */
const TOKENS_MAX = 50

const RANGES: Readonly<
  Record<HoldingsRange, { readonly spanSeconds: number; readonly stepSeconds: number }>
> = {
  day: { spanSeconds: DAY, stepSeconds: SAMPLE_SECONDS },
  week: { spanSeconds: 7 * DAY, stepSeconds: HOUR },
  month: { spanSeconds: 30 * DAY, stepSeconds: 4 * HOUR },
  year: { spanSeconds: 366 * DAY, stepSeconds: DAY },
}

export function isHoldingsRange(text: string): text is HoldingsRange {
  return Object.hasOwn(RANGES, text)
}

/** The samples that are kept, oldest first: of each stretch of time the first one. */
export function thinned(
  samples: readonly HoldingsSample[],
  nowSeconds: number,
): readonly HoldingsSample[] {
  let last: string | undefined
  return samples
    .toSorted((a, b) => a.at - b.at)
    .filter(({ at }) => {
      const age = nowSeconds - at
      const rule = KEPT.find(({ upToSeconds }) => age <= upToSeconds)
      if (rule === undefined || age < -AHEAD_SECONDS_MAX) return false
      const stretch = `${rule.everySeconds} ${Math.floor(at / rule.everySeconds)}`
      const isFirst = stretch !== last
      last = stretch
      return isFirst
    })
}

/** The samples of a range, as they are drawn. What was valued in another token than the newest has no value here. */
export function seriesOf(
  samples: readonly HoldingsSample[],
  range: HoldingsRange,
  nowSeconds: number,
): HoldingsSeries {
  const { spanSeconds, stepSeconds } = RANGES[range]
  let last: number | undefined
  const shown = samples.filter(({ at }) => {
    if (at <= nowSeconds - spanSeconds || at > nowSeconds + AHEAD_SECONDS_MAX) return false
    const stretch = Math.floor(at / stepSeconds)
    const isFirst = stretch !== last
    last = stretch
    return isFirst
  })
  const valueToken = samples.at(-1)?.valueToken ?? null
  const tokens = [...new Set(shown.flatMap(({ held }) => Object.keys(held)))].slice(0, TOKENS_MAX)
  return {
    valueToken,
    atSeconds: shown.map(({ at }) => at),
    value: shown.map((sample) => (sample.valueToken === valueToken ? sample.value : null)),
    tokens: tokens.map((token) => ({
      token,
      amounts: shown.map(({ held }) => held[token] ?? null),
    })),
  }
}

/** A sample as a line of its file; undefined for a line that is none. */
export function sampleOf(line: string): HoldingsSample | undefined {
  let read: unknown
  try {
    read = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof read !== 'object' || read === null) return undefined
  const { at, valueToken, value, held } = read as Record<string, unknown>
  if (typeof at !== 'number' || !Number.isSafeInteger(at) || at <= 0) return undefined
  if (typeof valueToken !== 'string' && valueToken !== null) return undefined
  if (!isFigure(value) || typeof held !== 'object' || held === null) return undefined
  const figures = Object.entries(held)
  if (!figures.every((entry): entry is [string, number | null] => isFigure(entry[1])))
    return undefined
  return { at, valueToken, value, held: Object.fromEntries(figures) }
}

function isFigure(value: unknown): value is number | null {
  return value === null || (typeof value === 'number' && Number.isFinite(value))
}
