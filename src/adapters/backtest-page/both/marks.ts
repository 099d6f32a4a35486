import { fillAt, type PackedFills } from './fills.ts'
import { amountText, priceOf } from './words.ts'

/** A fill on the chart of a feed. */
export type Mark = {
  readonly atSeconds: number
  readonly side: 'buy' | 'sell'
  /** Whole quote per whole base; undefined where it was paid in something else: then it lies on the feed's own line. */
  readonly price: number | undefined
  /** Which of the fills it is. */
  readonly index: number
}

/** The chain's own coin is priced as what it is wrapped into. */
function wrapped(token: string): string {
  return token === 'ETH' ? 'WETH' : token
}

/** Fills in which the base of a feed, such as the WETH of WETH/USDC, was bought or sold, in the order of their time. */
export function marksOn(feed: string, fills: PackedFills): readonly Mark[] {
  const [base, quote] = feed.split('/').map(wrapped)
  const marks: Mark[] = []
  for (let index = 0; index < fills.at.length; index += 1) {
    const { atSeconds, paid, received, price } = fillAt(fills, index)
    const [from, to] = [wrapped(paid.token), wrapped(received.token)]
    if (from === to || (from !== base && to !== base)) continue
    const side = to === base ? 'buy' : 'sell'
    const other = side === 'buy' ? from : to
    marks.push({
      atSeconds,
      side,
      index,
      price: other === quote ? quotePerBase(side, price) : undefined,
    })
  }
  return marks
}

/** `paid 25 USDC for 0.0083 WETH at 3,011.24 USDC per WETH`. */
export function markText(fills: PackedFills, { index }: Mark): string {
  const { paid, received, price } = fillAt(fills, index)
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token })
  return `paid ${amountText(paid)} for ${amountText(received)} at ${number} ${unit}`
}

function quotePerBase(side: Mark['side'], price: number): number | undefined {
  if (side === 'buy') return price
  return price > 0 ? 1 / price : undefined
}

/** How many were bought and sold, without what it takes to draw them. */
export function sidesOn(marks: readonly Mark[]): {
  readonly bought: number
  readonly sold: number
} {
  const bought = marks.filter(({ side }) => side === 'buy').length
  return { bought, sold: marks.length - bought }
}
