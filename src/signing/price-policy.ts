import { amountText, briefText, brokenText } from '../domain/money/amount-text.ts'
import { acceptPath, brokenBound, type FeedReading } from '../domain/money/price.ts'
import type { Pair } from '../domain/money/token.ts'
import { BPS, maxOf, mulDivUp, type Ratio } from '../domain/money/units.ts'
import type { SwapIntent } from '../domain/order/intent.ts'
import type { Permit } from '../domain/order/permit.ts'
import { lessBps } from '../domain/policy.ts'
import type { OpenSwap } from '../journal/state/daemon-state.ts'
import { readsMarket, type SwapStrategy } from '../strategies/registry.ts'
import { check, SignatureRefused, type SignerParts, strategyOf } from './policy.ts'
import { CHANGED_TERMS } from './terms.ts'
import { leastBought, mostSold } from './verify.ts'

/** Maximum age of a feed reading. An order reads the chain seconds before its signature. */
const HEARD_AGE_MS_MAX = 30_000

/**
 * Checks a permit's amounts against the feeds and the current bounds of the strategy's file. Never stricter than the
 * firewall at the same readings: it knows the permit but not the quote, so slippage widens each bound. A permit that takes
 * too little or guarantees too much is harmless.
 */
export function checkPrice(parts: SignerParts, { intent }: OpenSwap, permit: Permit): void {
  const strategy = strategyOf(parts.files, intent.strategy)
  check(readsMarket(strategy), 'strategy-changed', CHANGED_TERMS)
  const { slippageBps, priceCheck } = strategy
  const bounds = 'price' in strategy ? strategy.price : undefined
  const { size } = intent
  if (size.side === 'buy') {
    const floor = lessBps(size.amount, slippageBps)
    check(
      permit.minAmountOut >= floor,
      'minimum-output-too-low',
      () =>
        `the permit guarantees ${amountText(permit.minAmountOut, intent.buy.token)}, our own floor is ${amountText(floor, intent.buy.token)}`,
    )
  }
  if (priceCheck === 'feed') checkAgainstFeed(parts, intent, { permit, strategy })
  else check(bounds?.max !== undefined, 'price-missing', 'neither a feed nor a price.max bounds it')
  if (bounds === undefined) return
  // The largest quote for which the permit's guarantee suffices.
  const most = mulDivUp(permit.minAmountOut + 1n, BPS, BPS - BigInt(slippageBps))
  const [dearest, cheapest] =
    size.side === 'buy' ? [size.amount, size.amount] : [most, permit.minAmountOut]
  checkBound(intent, { num: permit.amount, den: dearest }, { ...bounds, min: undefined })
  checkBound(intent, { num: permit.amount, den: cheapest }, { ...bounds, max: undefined })
}

function checkBound(
  { sell, buy }: SwapIntent,
  price: Ratio,
  bounds: Parameters<typeof brokenBound>[1],
): void {
  const broken = brokenBound(price, bounds)
  const sides = { sell: sell.token, buy: buy.token }
  const detail = broken && `the permit's price is ${brokenText(price, broken, sides)}`
  check(detail === undefined, 'price-outside-bounds', detail ?? '')
}

function checkAgainstFeed(
  parts: SignerParts,
  intent: SwapIntent,
  { permit, strategy }: { readonly permit: Permit; readonly strategy: SwapStrategy },
): void {
  const fair = fairPrice(parts, intent)
  const { slippageBps } = strategy
  const maxDeviationBps = Math.min(parts.files.account.maxDeviationBps, strategy.maxDeviationBps)
  const { size, sell, buy } = intent
  if (size.side === 'buy') {
    const most = mostSold(fair, size.amount, { maxDeviationBps, slippageBps })
    check(
      permit.amount <= most,
      'price-deviation',
      () =>
        `the permit takes up to ${briefText(permit.amount, sell.token)}, by the feed it may take ${briefText(most, sell.token)}`,
    )
    return
  }
  const bought = leastBought(fair, maxOf(size.amount, permit.amount), maxDeviationBps)
  const least = lessBps(bought, slippageBps)
  check(
    permit.minAmountOut >= least,
    'price-deviation',
    () =>
      `the permit guarantees ${briefText(permit.minAmountOut, buy.token)}, by the feed it has to guarantee ${briefText(least, buy.token)}`,
  )
}

/** Sell base units per buy base unit, by the last feed readings. */
function fairPrice({ prices, clock }: SignerParts, { sell, buy }: SwapIntent): Ratio {
  const path = prices?.pathOf(sell.token, buy.token)
  const readings = new Map<Pair, FeedReading>()
  let blockTimeSeconds = 0
  for (const { feed } of path ?? []) {
    const heard = prices?.readings.get(feed.pair)
    if (heard === undefined) continue
    // Absolute distance: a clock that was set back must not make a reading look recent.
    const ageMs = Math.abs(clock.now() - heard.readAtMs)
    const age = `feed ${feed.pair} was last read ${Math.round(ageMs / 1000)} s ago`
    check(ageMs <= HEARD_AGE_MS_MAX, 'price-stale', age)
    readings.set(feed.pair, heard.reading)
    blockTimeSeconds = Math.max(blockTimeSeconds, heard.blockTimeSeconds)
  }
  const accepted = acceptPath(path, readings, blockTimeSeconds)
  if (accepted.ok) return accepted.price.ratio
  const { reason, pair } = accepted
  throw new SignatureRefused(
    reason,
    pair === undefined ? 'no feed gives its price' : `feed ${pair}`,
  )
}
