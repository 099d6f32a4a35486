import { isoInstant } from '../../domain/schedule/civil-date.ts'
import type { Coverage, Period } from '../prices/price-board.ts'
import type { Simulation } from '../simulation.ts'

/** Notes on periods without prices. */
export function priceNotes({ board, input }: Simulation): readonly string[] {
  return input.priceSeries.flatMap(({ pair }) => {
    const coverage = board.coverageOf(pair)
    const feed = input.feeds.get(pair)
    if (coverage === undefined || feed === undefined) return []
    const maxAgeText = `the maxAge of ${feed.maxAgeSeconds} s`
    return notesOf(coverage, input, maxAgeText).map((note) => `${pair}: ${note}`)
  })
}

function notesOf(coverage: Coverage, { fromSeconds, untilSeconds }: Period, maxAgeText: string) {
  const { firstSeconds, lastSeconds, endsAtSeconds, gapSeconds, longestGap } = coverage
  if (firstSeconds === undefined || lastSeconds === undefined) return ['there is no price at all.']
  if (firstSeconds > untilSeconds)
    return [`no price is of this period: they begin at ${isoInstant(firstSeconds)}.`]
  if (endsAtSeconds !== undefined && endsAtSeconds < fromSeconds)
    return [`no price is of this period: they end at ${isoInstant(lastSeconds)}.`]
  const notes: string[] = []
  if (firstSeconds > fromSeconds)
    notes.push(`prices begin at ${isoInstant(firstSeconds)}; slots before that found none.`)
  if (longestGap !== undefined) {
    const share = ((100 * gapSeconds) / (untilSeconds - fromSeconds)).toFixed(1)
    const longest = `the longest from ${isoInstant(longestGap.fromSeconds)} to ${isoInstant(longestGap.untilSeconds)}`
    notes.push(
      `for ${share}% of the period the newest price was older than ${maxAgeText}, ${longest}.`,
    )
  }
  if (endsAtSeconds !== undefined)
    notes.push(
      `prices end at ${isoInstant(lastSeconds)}; slots later by more than ${maxAgeText} found none.`,
    )
  return notes
}
