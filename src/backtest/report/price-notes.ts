import type { Coverage } from '../prices/coverage.ts'
import type { World } from '../world.ts'
import { instant } from './curves.ts'

/** What slots before, between and after the prices of a tape have come to. */
export function priceNotes({ board, input }: World): readonly string[] {
  return input.tapes.flatMap(({ pair }) => {
    const coverage = board.coverageOf(pair)
    const feed = input.feeds.get(pair)
    if (coverage === undefined || feed === undefined) return []
    return notesOf(coverage, {
      ...input,
      maxAgeText: `the maxAge of ${feed.maxAgeSeconds} s`,
    }).map((note) => `${pair}: ${note}`)
  })
}

type Asked = {
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly maxAgeText: string
}

function notesOf(coverage: Coverage, { fromSeconds, untilSeconds, maxAgeText }: Asked): string[] {
  const { firstSeconds, lastSeconds, endsAtSeconds, gapSeconds, longestGap } = coverage
  if (firstSeconds === undefined || lastSeconds === undefined) return ['there is no price at all.']
  if (firstSeconds > untilSeconds)
    return [`no price is of this period: they begin at ${told(firstSeconds)}.`]
  if (endsAtSeconds !== undefined && endsAtSeconds < fromSeconds)
    return [`no price is of this period: they end at ${told(lastSeconds)}.`]
  const notes: string[] = []
  if (firstSeconds > fromSeconds)
    notes.push(`prices begin at ${told(firstSeconds)}; slots before that found none.`)
  if (longestGap !== undefined) {
    const share = ((100 * gapSeconds) / (untilSeconds - fromSeconds)).toFixed(1)
    const longest = `the longest from ${told(longestGap.fromSeconds)} to ${told(longestGap.untilSeconds)}`
    notes.push(
      `for ${share}% of the period the newest price was older than ${maxAgeText}, ${longest}.`,
    )
  }
  if (endsAtSeconds !== undefined)
    notes.push(
      `prices end at ${told(lastSeconds)}; slots later by more than ${maxAgeText} found none.`,
    )
  return notes
}

function told(seconds: number): string {
  return instant(seconds).replace('.000Z', 'Z')
}
