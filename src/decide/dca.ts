import type { StrategyMemory } from '../domain/book/memory.ts'
import type { DcaStrategy, OrderSize } from '../domain/strategy.ts'
import { compareRatio, type Ratio, ratioOfText, ratioText, scaleBps } from '../domain/units.ts'
import { type Decision, type MarketView, noPrice, pairKey } from './decision.ts'
import { mostToSell, notCovered, outsideBounds, swapIntent, tradePrice } from './swap.ts'

/**
 * Dollar-cost averaging: every slot trades the same amount, unless the price or the balance says no. On a dip, a price
 * that far below the highest of the window, it trades the dip's amount instead.
 */
export function decideDca(strategy: DcaStrategy, view: MarketView): Decision {
  const answer = tradePrice(strategy, view)
  if (!answer.ok) return noPrice(answer)
  const { ratio } = answer.price
  const { sell, buy, price } = strategy
  const highs = strategy.dips.length === 0 ? undefined : highsOf(strategy, view, ratio)
  const remember = highs === undefined ? {} : { memory: memoryOf(strategy, highs) }
  const size = sizeAt(strategy, ratio, highs?.[0]?.price)
  const maxSell = mostToSell(strategy, size, ratio)
  const barred = outsideBounds(ratio, strategy) ?? notCovered(view, sell, maxSell)
  if (barred !== undefined) return { ...barred, ...remember }
  const intent = swapIntent(strategy, view, { leg: 0, sell, buy, size, maxSell, price })
  return { tag: 'trade', intents: [intent], ...remember }
}

/** The deepest dip that the price has reached decides the amount. */
function sizeAt({ size, dips }: DcaStrategy, price: Ratio, highest: Ratio | undefined): OrderSize {
  if (highest === undefined) return size
  const dip = dips.find(({ dropBps }) => compareRatio(price, scaleBps(highest, -dropBps)) <= 0)
  return dip === undefined ? size : { ...size, amount: dip.amount }
}

/** A price that nothing since has reached: the highest of the window is always the first of the list. */
type High = { readonly atSeconds: number; readonly price: Ratio }

/** More highs than this are thinned out behind the first: what is forgotten makes a later dip smaller, never larger. */
const HIGHS_MAX = 64

function highsOf(strategy: DcaStrategy, view: MarketView, price: Ratio): readonly High[] {
  const oldest = view.nowSeconds - strategy.dipWindowMs / 1000
  const before = (view.memory[keyOf(strategy)] ?? '').split(',').flatMap((text): High[] => {
    const [at = '', ratio] = text.split('@')
    const known = ratioOfText(ratio)
    return known === undefined ? [] : [{ atSeconds: Number.parseInt(at, 10), price: known }]
  })
  const standing = before.filter(
    (high) => high.atSeconds >= oldest && compareRatio(high.price, price) > 0,
  )
  if (standing.length >= HIGHS_MAX) standing.splice(1, 1)
  return [...standing, { atSeconds: view.nowSeconds, price }]
}

function memoryOf(strategy: DcaStrategy, highs: readonly High[]): StrategyMemory {
  const texts = highs.map(({ atSeconds, price }) => `${atSeconds}@${ratioText(price)}`)
  return { [keyOf(strategy)]: texts.join(',') }
}

/** Highs of another pair, from before the file was edited, are never taken for these. */
function keyOf({ sell, buy }: DcaStrategy): string {
  return `highs ${pairKey(sell.token, buy.token)}`
}
