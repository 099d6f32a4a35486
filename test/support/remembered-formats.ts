import { afterAll, beforeAll } from 'vitest'

/**
 * For the tests of a file, lets `Intl.DateTimeFormat.formatToParts` answer each moment once. A peer that is asked about
 * millions of moments, many of them again and again, spends nearly all of its time there; its answers stay the same.
 */
export function rememberFormats(): void {
  const { formatToParts } = Intl.DateTimeFormat.prototype
  const known = new WeakMap<Intl.DateTimeFormat, Map<number, Intl.DateTimeFormatPart[]>>()
  beforeAll(() => {
    Intl.DateTimeFormat.prototype.formatToParts = function remembered(date = Date.now()) {
      const answers = known.get(this) ?? new Map<number, Intl.DateTimeFormatPart[]>()
      known.set(this, answers)
      const parts = answers.get(Number(date)) ?? formatToParts.call(this, date)
      answers.set(Number(date), parts)
      return parts
    }
  })
  afterAll(() => {
    Intl.DateTimeFormat.prototype.formatToParts = formatToParts
  })
}
