import type { SwapIntent } from '../../domain/intent.ts'
import { acceptPath, type PricePath } from '../../domain/price.ts'
import type { Quote } from '../../domain/quote.ts'
import { BPS, mulDivDown } from '../../domain/units.ts'
import type { ChainView } from '../../ports.ts'
import { type Closing, skipped } from '../close.ts'

/**
 * Skips an order that costs more than it is worth: what the quote brings is compared with what the sold amount is worth
 * by the feeds, so that spread, fee and price impact all count.
 */
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
