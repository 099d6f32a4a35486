import { afterAll, beforeAll } from 'vitest'

/**
 * Makes `Intl.DateTimeFormat.formatToParts` format each moment once for the tests of a file. A reference that formats
 * millions of moments, many of them repeatedly, spends nearly all of its time there; its answers stay the same.
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
