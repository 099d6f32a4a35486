/** Moments in UTC as people read them, alike on every machine and in every browser. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function two(number: number): string {
  return String(number).padStart(2, '0')
}

/** `4 Nov`. */
export function shortDayText(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
}

/** `4 Nov 2025`. */
export function dayText(seconds: number): string {
  return `${shortDayText(seconds)} ${new Date(seconds * 1_000).getUTCFullYear()}`
}

/** `Nov 2025`. */
export function monthText(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return `${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** `14:05`, with the seconds where they are not zero. */
export function timeText(seconds: number): string {
  const date = new Date(seconds * 1_000)
  const second = date.getUTCSeconds()
  const text = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`
  return second === 0 ? text : `${text}:${two(second)}`
}

/** `4 Nov 2025 14:05`. */
export function momentText(seconds: number): string {
  return `${dayText(seconds)} ${timeText(seconds)}`
}

/** `2025-11-04T14:05:00Z`. */
export function isoText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

/** Epoch seconds of an ISO text. */
export function secondsOf(iso: string): number {
  return Date.parse(iso) / 1_000
}
