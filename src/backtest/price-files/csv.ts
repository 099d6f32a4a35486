import { type PriceSeries, type Rounds, RoundsPacker } from '../../domain/money/price-series.ts'
import type { Pair } from '../../domain/money/token.ts'
import { blocksOf } from './blocks.ts'
import { answerOf, microsOf } from './cell-text.ts'
import { type Layout, type LayoutOptions, layoutOf } from './layout.ts'
import { badTime, named, type Placed, PriceFileError } from './price-file-error.ts'
import { placedAt, type Row, rowsOf } from './price-rows.ts'

/** Larger answers are not exact as two doubles; see `Rounds`. */
const ANSWER_BELOW = 2n ** 106n
const MICROS = 1_000_000

/**
 * A CSV file of past prices. Reads its beginning at once, and the rest block by block with the series, so that memory does
 * not grow with the file. Throws PriceFileError, also while the series is read.
 *
 * Only the close of a bar counts (files with a column `close`, or with six columns and no header), and it is known when the
 * bar ends. Bars usually carry their opening time, so they appear in the series when the next one begins, and at the latest
 * one bar length after their own time. Otherwise a backtest would trade on prices from the future. Highs and lows are never
 * used, because their times are unknown.
 */
export function csvSeries(options: LayoutOptions & { readonly pair: Pair }): PriceSeries {
  const { file, pair } = options
  const layout = layoutOf(options)
  return { pair, decimals: layout.decimals, source: file, rounds: () => readRounds(layout) }
}

function* readRounds(layout: Layout): Generator<Rounds> {
  const { file, blockBytes, delimiter, columns } = layout
  const packer = new RoundsPacker()
  const series = recorderInto(packer, layout)
  let skipped = columns.hasHeader ? 1 : 0
  for (const block of blocksOf(file, blockBytes)) {
    const rows = rowsOf(block, file, delimiter)
    for (const [index, row] of rows.entries()) {
      if (skipped > 0) skipped -= 1
      else series.add(row, () => placedAt(index, { file, block, delimiter }))
    }
    if (packer.size > 0) yield packer.take()
  }
  series.end()
  if (packer.size > 0) yield packer.take()
}

type Round = { readonly at: number; readonly answer: bigint }

function recorderInto(packer: RoundsPacker, { columns, form, decimals, barMicros }: Layout) {
  /** The last row, whose bar may not have ended; `at` in microseconds. */
  let last: (Round & { readonly text: string }) | undefined
  /** The last known price; a later price of the same second replaces it. `at` in seconds. */
  let round: Round | undefined

  /** Records the last row at its bar's end, but no later than `next`, rounded up to seconds. */
  function close(next: number): void {
    if (last === undefined) return
    const at = Math.ceil(Math.min(last.at + barMicros, next) / MICROS)
    if (round !== undefined && round.at < at) packer.add(round.at, round.answer)
    round = { at, answer: last.answer }
  }

  return {
    /** Throws PriceFileError for a row that cannot follow. `place` is costly, so it is called only then. */
    add(row: Row, place: () => Placed): void {
      const text = row[columns.time] ?? ''
      const at = microsOf(text, form)
      if (at === undefined) throw badTime(text, place())
      const price = row[columns.price] ?? ''
      const answer = answerOf(price, decimals)
      if (answer === undefined || answer === 0n || answer >= ANSWER_BELOW)
        throw badPrice({ price, answer, decimals }, place())
      if (last !== undefined && at <= last.at) {
        if (at === last.at && answer === last.answer) return
        throw badOrder({ before: last.text, text, isSame: at === last.at }, place())
      }
      close(at)
      last = { at, answer, text }
    },
    /** Ends the last bar. */
    end(): void {
      close(Number.POSITIVE_INFINITY)
      if (round !== undefined) packer.add(round.at, round.answer)
    },
  }
}

function badPrice(
  found: { readonly price: string; readonly answer: bigint | undefined; readonly decimals: number },
  place: Placed,
): PriceFileError {
  const { price, answer, decimals } = found
  const remedy = 'a number above 0 such as 3520.25 or 1e-7, with a point before its decimals'
  const text = named(price)
  if (answer === undefined)
    return new PriceFileError({ ...place, detail: `${text} is no price`, remedy })
  const why = answer === 0n ? `nothing with ${decimals} decimal places` : 'too large'
  return new PriceFileError({ ...place, detail: `the price ${text} is ${why}`, remedy })
}

function badOrder(
  { before, text, isSame }: { before: string; text: string; isSame: boolean },
  place: Placed,
): PriceFileError {
  const detail = isSame
    ? `the time ${named(text)} is there twice, with two prices`
    : `the time ${named(text)} comes after ${named(before)}: times run backwards`
  const remedy = isSame
    ? 'one price at a time'
    : 'the oldest row first; sort the rows by their times'
  return new PriceFileError({ ...place, detail, remedy })
}
