import { acceptPath, type PricePath } from '../../domain/money/price.ts'
import { BPS, mulDivDown } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import type { Quote } from '../../domain/order/quote.ts'
import type { ChainView } from '../../ports.ts'
import { type Closing, skipped } from '../close.ts'

/** Compares the quote with the sold amount's value at feed prices, so spread, fee and price impact all count. */
export function tooCostly(
  intent: SwapIntent,
  quote: Pick<Quote, 'sellAmount' | 'buyAmount'>,
  market: { readonly view: ChainView; readonly path: PricePath | undefined },
): Closing | undefined {
  const { maxCostBps } = intent
  if (maxCostBps === undefined) return undefined
  const { view, path } = market
  const price = acceptPath(path, view.readings, view.blockTimeSeconds)
  if (!price.ok) return undefined
  const { num, den } = price.price.ratio
  const fair = mulDivDown(quote.sellAmount, den, num)
  const cost = fair - quote.buyAmount
  if (cost * BPS <= fair * BigInt(maxCostBps)) return undefined
  const bps = fair === 0n ? BPS : (cost * BPS) / fair
  const detail = `the quote costs ${bps} bps against the feed, more than the drift is worth (${maxCostBps} bps)`
  return skipped('cost-too-high', detail)
}
