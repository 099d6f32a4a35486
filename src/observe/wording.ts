import { durationText } from '../domain/text/duration.ts'

/** An instant for people: UTC, whole seconds. */
export function instantText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace('.000', '')
}

const TEN_YEARS_SECONDS = 3_653 * 86_400

/** Beyond ten years, an exact figure is pointless. */
export function lastingText(seconds: number): string {
  return seconds > TEN_YEARS_SECONDS ? 'for over ten years' : durationText(seconds * 1000)
}

/** An instant in a time zone, to the minute or the second, e.g. `Mon 23 Nov 2026 09:00 Europe/Berlin`. */
export function localText(
  epochSeconds: number,
  { timeZone, to }: { readonly timeZone: string; readonly to: 'minute' | 'second' },
): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  const parts = new Map(
    format.formatToParts(epochSeconds * 1000).map(({ type, value }) => [type, value]),
  )
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  const seconds = to === 'minute' ? '' : `:${of('second')}`
  const day = `${of('weekday')} ${of('day')} ${of('month')} ${of('year')}`
  return `${day} ${of('hour')}:${of('minute')}${seconds} ${timeZone}`
}
