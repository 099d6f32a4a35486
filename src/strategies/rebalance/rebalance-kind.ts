import type { RebalanceStrategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import { BPS, baseUnits, formatAmount, minOf, mulDivDown, type Ratio } from '../domain/units.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  skip,
  unreadable,
  withinOrderCap,
} from './decision.ts'
import { settle } from './settlement.ts'
import { NO_BOUNDS, swapIntent } from './swap.ts'

/** One token of the portfolio, valued in base units of the quote token. */
type Position = {
  readonly token: Token
  readonly held: bigint
  readonly value: bigint
  readonly weightBps: bigint
  /** Quote base units per base unit of the token. */
  readonly price: Ratio
}

/**
 * Restores target weights with the fewest orders once one of them has drifted out of its band. Everything is valued by
 * the feeds; each order sells an exact amount of what there is too much of, rounded down.
 */
export function decideRebalance(strategy: RebalanceStrategy, view: MarketView): Decision {
  const valued = valuePortfolio(strategy, view)
  if ('tag' in valued) return valued
  const { positions, total } = valued
  const band = BigInt(strategy.bandBps)
  const outside = positions.filter((each) => driftOf(each, total) > band * total)
  if (total === 0n) return skip('insufficient-balance', 'the wallet holds none of its tokens')
  if (outside.length === 0) return skip('inside-band', worstText(positions, total, strategy))
  const wanted = strategy.to === 'target' ? onTarget(positions, total) : onEdge(strategy, valued)
  const transfers = settle(
    positions.map((position, index) => ({
      member: position,
      delta: position.value - (wanted[index] ?? position.value),
    })),
    strategy.minTrade,
  ).filter(({ value }) => value >= strategy.minTrade)
  const orders = transfers.flatMap(({ from, to, value }) => {
    const whole = mulDivDown(value, from.price.den, from.price.num)
    // Of a token with few decimals a base unit may be worth more than what is too much.
    const amount = baseUnits(withinOrderCap(view, from.token, whole))
    return amount === 0n ? [] : [{ from, to, amount }]
  })
  if (orders.length === 0)
    return skip(
      'below-minimum',
      `${worstText(positions, total, strategy)}, less than minTrade or a base unit off`,
    )
  const intents = orders.map(({ from, to, amount }, leg) => {
    const asset = (token: Token) => ({ token, native: false })
    return swapIntent(strategy, view, {
      leg,
      sell: asset(from.token),
      buy: asset(to.token),
      size: { side: 'sell', amount },
      maxSell: amount,
      price: NO_BOUNDS,
      maxCostBps: strategy.maxCostBps,
    })
  })
  return { tag: 'trade', intents }
}

type Portfolio = { readonly positions: readonly Position[]; readonly total: bigint }

function valuePortfolio(strategy: RebalanceStrategy, view: MarketView): Portfolio | Decision {
  const positions: Position[] = []
  for (const { token, weightBps } of strategy.targets) {
    const price = quotePrice(strategy, view, token)
    if (!price.ok) return noPrice(price)
    const asset = { token, native: false }
    const free = availableOf(view, asset)
    if (free === undefined) return unreadable(asset)
    const held = free > 0n ? free : 0n
    const { ratio } = price.price
    const value = mulDivDown(held, ratio.num, ratio.den)
    positions.push({ token, held, value, weightBps: BigInt(weightBps), price: ratio })
  }
  return { positions, total: positions.reduce((sum, { value }) => sum + value, 0n) }
}

const PAR: Ratio = { num: 1n, den: 1n }

function quotePrice({ quote }: RebalanceStrategy, view: MarketView, token: Token) {
  if (token.address !== quote.address) return priceOf(view, quote, token)
  return { ok: true, price: { ratio: PAR, updatedAtSeconds: view.nowSeconds, pairs: [] } } as const
}

/** How far a weight is from its target, in basis points of the portfolio times its value. */
function driftOf({ value, weightBps }: Position, total: bigint): bigint {
  const drift = value * BPS - weightBps * total
  return drift < 0n ? -drift : drift
}

function onTarget(positions: readonly Position[], total: bigint): readonly bigint[] {
  return positions.map(({ weightBps }) => mulDivDown(total, weightBps, BPS))
}

/**
 * Brings what is outside its band just inside; what that frees or takes goes to or comes from those with the most
 * room within theirs.
 */
function onEdge({ bandBps }: RebalanceStrategy, { positions, total }: Portfolio): bigint[] {
  // One basis point inside, so that roundings do not leave a weight outside by a base unit.
  const room = BigInt(Math.max(0, bandBps - 1))
  const edges = positions.map(({ weightBps }) => ({
    low: mulDivDown(total, weightBps > room ? weightBps - room : 0n, BPS),
    high: mulDivDown(total, weightBps + room, BPS),
  }))
  const wanted = positions.map(({ value }, index) => {
    const { low, high } = edges[index] ?? { low: value, high: value }
    if (value < low) return low
    return minOf(value, high)
  })
  let rest = positions.reduce((sum, { value }, index) => sum + value - (wanted[index] ?? value), 0n)
  const roomOf = (index: number): bigint => {
    const at = wanted[index] ?? 0n
    const { low, high } = edges[index] ?? { low: at, high: at }
    return rest > 0n ? high - at : at - low
  }
  const byRoom = positions.map((_, index) => index).sort((a, b) => (roomOf(a) < roomOf(b) ? 1 : -1))
  for (const index of byRoom) {
    const open = roomOf(index)
    const size = rest < 0n ? -rest : rest
    const moved = minOf(open, size)
    wanted[index] = (wanted[index] ?? 0n) + (rest > 0n ? moved : -moved)
    rest += rest > 0n ? -moved : moved
  }
  return wanted
}

/** The token that is furthest off, for the log. */
function worstText(
  positions: readonly Position[],
  total: bigint,
  { bandBps, quote }: RebalanceStrategy,
): string {
  const worst = positions.reduce((a, b) => (driftOf(b, total) > driftOf(a, total) ? b : a))
  const percent = (bps: bigint): string => `${formatAmount(bps, 2)}%`
  const weight = (worst.value * BPS) / (total === 0n ? 1n : total)
  const whole = formatAmount(total, quote.decimals)
  return `${worst.token.symbol} is ${percent(weight)} of ${whole} ${quote.symbol}, its target is ${percent(worst.weightBps)} and the band ${percent(BigInt(bandBps))}`
}
