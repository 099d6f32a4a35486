import { type Rounds, RoundsPacker, type Tape } from '../../domain/tape.ts'
import type { Pair } from '../../domain/token.ts'
import { blocksOf } from './blocks.ts'
import { type Layout, type LayoutOptions, layoutOf } from './layout.ts'
import { badTime, named, type Placed, PriceFileError } from './price-file-error.ts'
import { answerOf } from './price-text.ts'
import { placedAt, type Row, rowsOf } from './rows.ts'
import { microsOf } from './times.ts'

/** Beyond, an answer and its rest together are not exact; see `Rounds`. */
const ANSWER_BELOW = 2n ** 106n
const MICROS = 1_000_000

/**
 * A CSV file of past prices. Its beginning is read at once, the rest block by block while the tape is read, so that memory does
 * not grow with the file. Throws PriceFileError, here and while it is read, with the line and what would be right.
 *
 * Bars (files with a column `close`, and those of six columns without names) count by their close alone, and a close is known
 * only when its bar is over. Their times are mostly those at which the bars began, so that a bar appears on the tape a whole bar
 * later: when the next one begins, and at the latest as long after its own time as bars of this file last. Without that, a
 * backtest would trade on prices that nobody knew yet. Highs and lows are never used, as nobody knows when they were.
 */
export function csvTape(options: LayoutOptions & { readonly pair: Pair }): Tape {
  const { file, pair } = options
  const layout = layoutOf(options)
  return { pair, decimals: layout.decimals, source: file, rounds: () => readRounds(layout) }
}

function* readRounds(layout: Layout): Generator<Rounds> {
  const { file, blockBytes, delimiter, columns } = layout
  const tape = new Recorder(layout)
  let skipped = columns.hasHeader ? 1 : 0
  for (const block of blocksOf(file, blockBytes)) {
    const rows = rowsOf(block, file, delimiter)
    for (const [index, row] of rows.entries()) {
      if (skipped > 0) skipped -= 1
      else tape.add(row, () => placedAt(index, { file, block, delimiter }))
    }
    if (tape.size > 0) yield tape.take()
  }
  tape.end()
  if (tape.size > 0) yield tape.take()
}

type Round = { readonly at: number; readonly answer: bigint }

/** Puts rows on a tape, in the order of the file. */
class Recorder {
  readonly #layout: Layout
  readonly #packer = new RoundsPacker()
  /** The row before, whose bar may not be over; `at` is the row's own, microseconds. */
  #row: (Round & { readonly text: string }) | undefined
  /** What was known last, which another of the same second takes the place of; `at` in seconds. */
  #round: Round | undefined

  constructor(layout: Layout) {
    this.#layout = layout
  }

  get size(): number {
    return this.#packer.size
  }

  /** Throws PriceFileError for a row that cannot follow. `place` is asked only then. */
  add(row: Row, place: () => Placed): void {
    const { columns, form, decimals } = this.#layout
    const text = row[columns.time] ?? ''
    const at = microsOf(text, form)
    if (at === undefined) throw badTime(text, place())
    const price = row[columns.price] ?? ''
    const answer = answerOf(price, decimals)
    if (answer === undefined || answer === 0n || answer >= ANSWER_BELOW)
      throw badPrice({ price, answer, decimals }, place())
    const before = this.#row
    if (before !== undefined && at <= before.at) {
      if (at === before.at && answer === before.answer) return
      throw badOrder({ before: before.text, text, isSame: at === before.at }, place())
    }
    this.#close(at)
    this.#row = { at, answer, text }
  }

  /** The last bar is over as well. */
  end(): void {
    this.#close(Number.POSITIVE_INFINITY)
    this.#row = undefined
    if (this.#round !== undefined) this.#packer.add(this.#round.at, this.#round.answer)
    this.#round = undefined
  }

  take(): Rounds {
    return this.#packer.take()
  }

  /** The row before is known from its bar's end on, which is no later than `next`; whole seconds, never early. */
  #close(next: number): void {
    if (this.#row === undefined) return
    const { at: began, answer } = this.#row
    const at = Math.ceil(Math.min(began + this.#layout.barMicros, next) / MICROS)
    const round = this.#round
    if (round !== undefined && round.at < at) this.#packer.add(round.at, round.answer)
    this.#round = { at, answer }
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
  return isSame
    ? new PriceFileError({
        ...place,
        detail: `the time ${named(text)} is there twice, with two prices`,
        remedy: 'one price at a time',
      })
    : new PriceFileError({
        ...place,
        detail: `the time ${named(text)} comes after ${named(before)}: times run backwards`,
        remedy: 'the oldest row first; sort the rows by their times',
      })
}
