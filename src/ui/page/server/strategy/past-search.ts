import type { Token } from '../../../../domain/money/token.ts'
import type { Ratio } from '../../../../domain/money/units.ts'
import { slotClosed, slotOpened } from '../../../../journal/events/strategy/slots.ts'
import { decodeRecord } from '../../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../../store/file/journal-search.ts'
import { pairKey } from '../../../../strategies/decision/decision.ts'
import type { FillOnRecord } from '../fill-rows.ts'
import { createFillSearch, FILES_MAX, SEARCH_MS_MAX } from '../fill-search.ts'

const FILLS_MAX = 500
/** Prices of a chart, evenly spread. */
const POINTS_MAX = 400

/** Price in base units of `quote` per base unit of `base`. */
export type ChartPair = { readonly base: Token; readonly quote: Token }

/** A period, epoch ms. */
export type Period = { readonly fromMs: number; readonly untilMs: number }

/** Prices over a period: of each stretch of it only the newest. */
export class PricePoints {
  readonly #points = new Map<number, { readonly atMs: number; readonly price: Ratio }>()
  readonly #period: Period

  constructor(period: Period) {
    this.#period = period
  }

  /** Whether a price of this time would be new. */
  lacks(atMs: number): boolean {
    const { fromMs } = this.#period
    return atMs >= fromMs && atMs > (this.#points.get(this.#placeOf(atMs))?.atMs ?? 0)
  }

  add(atMs: number, price: Ratio): void {
    if (this.lacks(atMs)) this.#points.set(this.#placeOf(atMs), { atMs, price })
  }

  /** Oldest first. */
  get all() {
    return [...this.#points.values()].sort((a, b) => a.atMs - b.atMs)
  }

  #placeOf(atMs: number): number {
    const { fromMs, untilMs } = this.#period
    return Math.floor(((atMs - fromMs) * POINTS_MAX) / Math.max(1, untilMs - fromMs))
  }
}

/**
 * Fills of a strategy, newest first, and prices of a pair as decisions of any strategy saw them. Searches backwards and stops
 * at the period's start, or at its bound of files and time.
 */
export async function searchPast(
  journal: JournalPlace,
  query: { readonly strategy: string; readonly pair: ChartPair | undefined } & Period,
): Promise<{
  readonly entries: readonly FillOnRecord[]
  readonly points: PricePoints
  readonly whole: boolean
}> {
  const { strategy, pair, fromMs } = query
  const search = new BackwardSearch({ ...journal, filesMax: FILES_MAX })
  const fills = createFillSearch({ limit: FILLS_MAX, before: undefined, strategy })
  const points = new PricePoints(query)
  const untilMs = performance.now() + SEARCH_MS_MAX
  let isReached = false
  for await (const { lines } of search.batches()) {
    fills.take(lines)
    if (pair !== undefined) addPrices(points, lines, pair)
    isReached = (lines.at(-1)?.atMs ?? fromMs) < fromMs
    if (isReached || performance.now() > untilMs) break
  }
  return {
    entries: fills.entries().filter(({ atMs }) => atMs >= fromMs),
    points,
    whole: (isReached || search.isWhole) && !fills.isFull(),
  }
}

function addPrices(points: PricePoints, lines: readonly RecordLine[], pair: ChartPair): void {
  for (const line of lines) {
    const price = points.lacks(line.atMs) ? priceIn(line, pair) : undefined
    if (price !== undefined) points.add(line.atMs, price)
  }
}

/** Checks the line's text first, so that few lines are parsed. */
function priceIn({ type, line }: RecordLine, { base, quote }: ChartPair) {
  if (!slotOpened.is({ type }) && !slotClosed.is({ type })) return undefined
  const [key, inverse] = [pairKey(quote, base), pairKey(base, quote)]
  if (!line.includes(`"${key}":`) && !line.includes(`"${inverse}":`)) return undefined
  const { event } = decodeRecord(line)
  const prices = slotOpened.is(event) || slotClosed.is(event) ? event.inputs?.prices : undefined
  const own = prices?.[key]
  if (own !== undefined && !('refused' in own)) return { num: own.num, den: own.den }
  const other = prices?.[inverse]
  if (other === undefined || 'refused' in other) return undefined
  return { num: other.den, den: other.num }
}
