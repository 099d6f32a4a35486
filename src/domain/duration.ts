const UNIT_MS = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

export const DURATION = /^(\d{1,9})(ms|s|m|h|d)$/

/** Milliseconds of `500ms`, `30s`, `10m`, `6h` or `1d`; undefined for other text. */
export function durationMs(text: string): number | undefined {
  const match = DURATION.exec(text)
  const unitMs = UNIT_MS.get(match?.[2] ?? '')
  return match === null || unitMs === undefined
    ? undefined
    : Number.parseInt(match[1] ?? '', 10) * unitMs
}
