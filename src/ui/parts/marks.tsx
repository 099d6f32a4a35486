import { count } from './wording/amounts.ts'

export type Mark = {
  readonly atSeconds: number
  readonly side: 'buy' | 'sell'
  /** Whole quote per whole base; undefined if paid in another token: then the mark lies on the feed's line. */
  readonly price: number | undefined
  readonly index: number
}

/** Ether has the price of its wrapped token. */
function wrapped(token: string): string {
  return token === 'ETH' ? 'WETH' : token
}

/** Fills that bought or sold the base of a feed, such as the WETH of WETH/USDC, oldest first. */
export function marksOn(feed: string, fills: readonly Marked[]): readonly Mark[] {
  const [base, quote] = feed.split('/').map(wrapped)
  return fills.flatMap(({ atSeconds, paid, received, price }, index): Mark[] => {
    const [from, to] = [wrapped(paid.token), wrapped(received.token)]
    if (from === to || (from !== base && to !== base)) return []
    const side = to === base ? 'buy' : 'sell'
    const inverse = price > 0 ? 1 / price : undefined
    const own = side === 'buy' ? price : inverse
    const isQuoted = (side === 'buy' ? from : to) === quote
    return [{ atSeconds, side, index, price: isQuoted ? own : undefined }]
  })
}

type Marked = {
  readonly atSeconds: number
  readonly paid: { readonly token: string }
  readonly received: { readonly token: string }
  /** Whole paid tokens per received token. */
  readonly price: number
}

const SIDES = [
  { side: 'buy', shape: 'M10 0.5 15 9.5H5Z', name: 'purchase' },
  { side: 'sell', shape: 'M10 9.5 15 0.5H5Z', name: 'sale' },
] as const

/** Entries of a legend. */
export function MarkEntries({ marks }: { marks: readonly Mark[] }) {
  return SIDES.map(({ side, shape, name }) => {
    const of = marks.filter((mark) => mark.side === side).length
    if (of === 0) return null
    return (
      <li key={side}>
        <span class="entry">
          <svg class="swatch" viewBox="0 0 20 10" aria-hidden="true">
            <path d={shape} fill={`var(--mark-${side})`} />
          </svg>
          <span class="name">
            {count(of)} {of === 1 ? name : `${name}s`}
          </span>
        </span>
      </li>
    )
  })
}
