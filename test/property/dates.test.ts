import fc from 'fast-check'
import { expect, test } from 'vitest'
import { microsOf } from '../../src/backtest/price-files/cell-text.ts'
import { moment, since } from '../../src/cli/arguments.ts'
import { instant } from '../../src/config/scalars.ts'

/** Every reader of dates. Returns epoch ms, or undefined when it refuses. */
const READERS: Readonly<Record<string, (day: string, time: string) => number | undefined>> = {
  'the start of a TWAP schedule': (day, time) => {
    const read = instant.safeParse(`${day}T${time}Z`)
    return read.success ? read.data * 1_000 : undefined
  },
  '--from and --to': (day, time) => given(moment, `${day}T${time}`),
  '--since': (day, time) => given(since, `${day}T${time}Z`),
  'a price file': (day, time) => {
    const micros = microsOf(`${day} ${time}`, 'iso')
    return micros === undefined ? undefined : micros / 1_000
  },
}

function given(read: (text: string) => number, text: string): number | undefined {
  try {
    return read(text)
  } catch {
    return undefined
  }
}

const digits = (value: number, places: number) => String(value).padStart(places, '0')
const dates = fc
  .record({
    year: fc.oneof(fc.integer({ min: 1970, max: 2420 }), fc.constantFrom(2000, 2100, 2400)),
    month: fc.oneof(fc.constant(2), fc.integer({ min: 0, max: 13 })),
    day: fc.oneof(fc.integer({ min: 28, max: 32 }), fc.integer({ min: 0, max: 32 })),
  })
  .map(({ year, month, day }) => `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`)
const times = fc
  .record({
    hour: fc.oneof(fc.constantFrom(0, 23, 24, 25), fc.integer({ min: 0, max: 23 })),
    minute: fc.oneof(fc.constantFrom(0, 59, 60), fc.integer({ min: 0, max: 59 })),
    second: fc.oneof(fc.constantFrom(0, 59, 60), fc.integer({ min: 0, max: 59 })),
  })
  .map(({ hour, minute, second }) => [hour, minute, second].map((of) => digits(of, 2)).join(':'))

/** Epoch ms by the runtime's calendar; undefined when that yields another day or time than the text. */
function shownAt(day: string, time: string): number | undefined {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const [hour, minute, second] = time.split(':').map(Number)
  const at = new Date(Date.UTC(year, month - 1, date, hour, minute, second))
  return at.toISOString() === `${day}T${time}.000Z` ? at.getTime() : undefined
}

test.each(Object.entries(READERS))('%s accepts exactly the times of the calendar', (_, read) => {
  let refused = 0
  fc.assert(
    fc.property(dates, times, (day, time) => {
      const wanted = shownAt(day, time)
      if (wanted === undefined) refused += 1
      expect(read(day, time), `${day} ${time}`).toBe(wanted)
    }),
    { numRuns: 2_000 },
  )
  expect(refused).toBeGreaterThan(200)
})

test('a day without a time is accepted exactly when it is in the calendar', () => {
  fc.assert(
    fc.property(dates, (day) => {
      const wanted = shownAt(day, '00:00:00')
      const read = [given(moment, day), given(since, day), microsOf(day, 'iso')]
      const micros = wanted === undefined ? undefined : wanted * 1_000
      expect(read).toEqual([wanted, wanted, micros])
    }),
    { numRuns: 1_000 },
  )
})
