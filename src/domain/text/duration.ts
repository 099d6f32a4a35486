const UNIT_MS = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

export const DURATION = /^(\d{1,9})(ms|s|m|h|d)$/

/** `500ms`, `30s`, `10m`, `6h` or `1d`; undefined for other text. */
export function durationMs(text: string): number | undefined {
  const match = DURATION.exec(text)
  const unitMs = UNIT_MS.get(match?.[2] ?? '')
  return match === null || unitMs === undefined
    ? undefined
    : Number.parseInt(match[1] ?? '', 10) * unitMs
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** A duration in its largest unit and the next, to the second: `2d 10h`, `3m 5s`, `4s`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  const first = UNITS.findIndex(([, size]) => seconds >= size)
  if (first < 0) return '0s'
  let rest = seconds
  const parts: string[] = []
  for (const [unit, size] of UNITS.slice(first, first + 2)) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)}${unit}`)
    rest %= size
  }
  return parts.join(' ')
}

/** Its largest unit alone: `2d`. */
export function roughDurationText(ms: number): string {
  return durationText(ms).replace(/ .*/, '')
}
