import { acceptPath, type PriceFeed, type PricePath } from '../../domain/money/price.ts'
import { compareRatio } from '../../domain/money/units.ts'
import type { SwapIntent } from '../../domain/order/intent.ts'
import type { ChainView } from '../../ports.ts'
import { type Closing, skipped } from '../close.ts'
import type { OrderContext } from '../context.ts'

export function triggerPath(
  { trigger }: SwapIntent,
  pricePath: OrderContext['pricePath'],
): PricePath | undefined {
  return trigger === undefined ? undefined : pricePath(trigger.quote, trigger.base)
}

export function feedsOf(...paths: readonly (PricePath | undefined)[]): readonly PriceFeed[] {
  const feeds = paths.flatMap((path = []) => path.map(({ feed }) => feed))
  return feeds.length > 1 ? [...new Set(feeds)] : feeds
}

/** Skips an order whose trigger price no longer holds, or is unknown, because it may have waited for minutes. */
export function notTriggered(
  intent: SwapIntent,
  view: ChainView,
  pricePath: OrderContext['pricePath'],
): Closing | undefined {
  const { trigger } = intent
  if (trigger === undefined) return undefined
  const path = triggerPath(intent, pricePath)
  const answer = acceptPath(path, view.readings, view.blockTimeSeconds)
  if (!answer.ok) {
    const feed = answer.pair === undefined ? 'no feed' : `feed ${answer.pair}`
    return skipped(answer.reason, `whether its price still triggers it is unknown: ${feed}`)
  }
  const { ratio } = answer.price
  const { atLeast, atMost } = trigger
  const holds =
    (atLeast === undefined || compareRatio(ratio, atLeast) >= 0) &&
    (atMost === undefined || compareRatio(ratio, atMost) <= 0)
  return holds
    ? undefined
    : skipped('not-triggered', `${trigger.pair} came back before the order could be signed`)
}
