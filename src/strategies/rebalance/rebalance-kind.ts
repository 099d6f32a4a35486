import { amountText } from '../../domain/money/amount-text.ts'
import type { Asset, Token } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  formatAmount,
  maxOf,
  minOf,
  mulDivDown,
  PAR,
  type Ratio,
} from '../../domain/money/units.ts'
import type { SwapBase } from '../../domain/strategy.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  priceOf,
  skip,
  unreadable,
  withinOrderCap,
} from '../decision/decision.ts'
import { byHoldings, exactly, NO_BOUNDS, swapIntent } from '../decision/swap.ts'
import type { StrategyKind } from '../kind.ts'
import { settle } from './settlement.ts'

export type RebalanceTarget = { readonly token: Token; readonly weightBps: number }

export type RebalanceStrategy = SwapBase & {
  readonly kind: 'rebalance'
  /** At least two, summing to 10,000. */
  readonly targets: readonly RebalanceTarget[]
  /** Tolerated drift of a weight, basis points of the portfolio. */
  readonly bandBps: number
  /** Trade back to the edge of the band, or to the target. */
  readonly to: 'edge' | 'target'
  readonly quote: Token
  /** Minimum value of an order, `quote` base units. */
  readonly minTrade: BaseUnits
  /** Maximum cost of an order against the feed, basis points of its value. */
  readonly maxCostBps: number | undefined
}

export const rebalance: StrategyKind<RebalanceStrategy> = {
  ...byHoldings,
  decision: { by: 'market', decide: decideRebalance },
  describe: ({ targets }) =>
    `rebalance ${targets.map(({ token, weightBps }) => `${weightBps / 100}% ${token.symbol}`).join(', ')}`,
  assets: heldAssets,
  sells: heldAssets,
  pairs: ({ targets, quote }) =>
    targets
      .filter(({ token }) => token !== quote)
      .map(({ token }) => ({ sell: quote, buy: token })),
  shapesNoOrder: [],
  marks: ({ targets, bandBps }) => ({ weights: targets.map((each) => ({ ...each, bandBps })) }),
  portfolio: (strategy) => ({ quote: strategy.quote, assets: heldAssets(strategy) }),
  quiet(strategy, view, reason) {
    const valued = valuePortfolio(strategy, view)
    if (reason !== 'inside-band' || 'tag' in valued || valued.total < TOTAL_MIN) return undefined
    return { bands: quietBands(strategy, valued), needsBalances: true }
  },
}

function heldAssets({ targets }: RebalanceStrategy): readonly Asset[] {
  return targets.map(({ token }) => plain(token))
}

function plain(token: Token): Asset {
  return { token, native: false }
}

/** `value` in quote base units. */
type Position = {
  readonly token: Token
  readonly value: bigint
  readonly weightBps: bigint
  /** Quote base units per base unit of the token. */
  readonly price: Ratio
}

/** Restores the weights with the fewest orders once one is outside its band. Orders sell exact amounts, rounded down. */
export function decideRebalance(strategy: RebalanceStrategy, view: MarketView): Decision {
  const valued = valuePortfolio(strategy, view)
  if ('tag' in valued) return valued
  const { positions, total } = valued
  const band = BigInt(strategy.bandBps)
  const outside = positions.filter((each) => driftOf(each, total) > band * total)
  if (total === 0n) return skip('insufficient-balance', 'the wallet holds none of its tokens')
  if (outside.length === 0) return skip('inside-band', worstText(positions, total, strategy))
  const wanted =
    strategy.to === 'target'
      ? positions.map(({ weightBps }) => mulDivDown(total, weightBps, BPS))
      : onEdge(strategy, valued)
  const transfers = settle(
    positions.map((position, index) => ({
      member: position,
      delta: position.value - (wanted[index] ?? position.value),
    })),
    strategy.minTrade,
  ).filter(({ value }) => value >= strategy.minTrade)
  const orders = transfers.flatMap(({ from, to, value }) => {
    const whole = mulDivDown(value, from.price.den, from.price.num)
    // A base unit of a token with few decimals may exceed the surplus.
    const amount = baseUnits(withinOrderCap(view, from.token, whole))
    return amount === 0n ? [] : [{ from, to, amount }]
  })
  if (orders.length === 0)
    return skip(
      'below-minimum',
      `${worstText(positions, total, strategy)}, less than minTrade or a base unit off`,
    )
  const { maxCostBps } = strategy
  const intents = orders.map(({ from, to, amount }, leg) => {
    const [sell, buy] = [plain(from.token), plain(to.token)]
    const wanted = { leg, sell, buy, ...exactly(amount), price: NO_BOUNDS, maxCostBps }
    return swapIntent(strategy, view, wanted)
  })
  return { tag: 'trade', intents }
}

type Portfolio = { readonly positions: readonly Position[]; readonly total: bigint }

function valuePortfolio(strategy: RebalanceStrategy, view: MarketView): Portfolio | Decision {
  const positions: Position[] = []
  for (const { token, weightBps } of strategy.targets) {
    const price = quotePrice(strategy, view, token)
    if (!price.ok) return noPrice(price)
    const free = availableOf(view, plain(token))
    if (free === undefined) return unreadable(plain(token))
    const { ratio } = price.price
    const value = mulDivDown(maxOf(0n, free), ratio.num, ratio.den)
    positions.push({ token, value, weightBps: BigInt(weightBps), price: ratio })
  }
  return { positions, total: positions.reduce((sum, { value }) => sum + value, 0n) }
}

function quotePrice({ quote }: RebalanceStrategy, view: MarketView, token: Token) {
  if (token.address !== quote.address) return priceOf(view, quote, token)
  return { ok: true, price: { ratio: PAR, updatedAtSeconds: view.nowSeconds, pairs: [] } } as const
}

/** Distance of a weight from its target, in basis points times the portfolio's value. */
function driftOf({ value, weightBps }: Position, total: bigint): bigint {
  const drift = value * BPS - weightBps * total
  return drift < 0n ? -drift : drift
}

/** Base units of a portfolio below which rounding could move a weight noticeably. */
const TOTAL_MIN = 1_000_000n
/** Factors have this many parts, and are at most the largest. */
const PARTS = 1e9
const FACTOR_MAX = 1e6

/**
 * Prices between which every weight stays inside its band. Several prices may move against each other, so each has the square
 * root of the least room of all.
 */
function quietBands(strategy: RebalanceStrategy, portfolio: Portfolio) {
  const { quote } = strategy
  const { positions } = portfolio
  const rooms = positions.map((position) => ({
    position,
    ...roomOf(strategy, portfolio, position),
  }))
  const moving = rooms.filter(({ position: { token } }) => token.address !== quote.address)
  const least = Math.sqrt(Math.min(...rooms.flatMap(({ up, down }) => [up, down])))
  return moving.map((own) => {
    const one = (side: 'up' | 'down', other: 'up' | 'down') =>
      Math.min(...rooms.map((room) => room[room === own ? side : other]))
    const [up, down] = moving.length > 1 ? [least, least] : [one('up', 'down'), one('down', 'up')]
    const { token, price } = own.position
    const high = Math.floor(Math.min(up, FACTOR_MAX) * PARTS)
    const low = Math.ceil(PARTS / Math.min(Math.max(down, 1 / FACTOR_MAX), FACTOR_MAX))
    return { sell: quote, buy: token, low: scaled(price, low), high: scaled(price, high) }
  })
}

function scaled({ num, den }: Ratio, parts: number): Ratio {
  return { num: num * BigInt(parts), den: den * BigInt(PARTS) }
}

/** Factors by which a position's value may rise and fall against all others' before its weight leaves the band. */
function roomOf(
  { bandBps }: RebalanceStrategy,
  { positions, total }: Portfolio,
  { value, weightBps }: Position,
) {
  const parts = (part: bigint, whole: bigint): number =>
    Number.parseFloat(((part * 10n ** 15n) / whole).toString()) / 1e15
  const [share, wanted, band] = [parts(value, total), parts(weightBps, BPS), bandBps / 10_000]
  // Each value is rounded by up to a base unit, now and later; so are these fractions, far less than a thousandth of a bps.
  const doubt = parts(4n * BigInt(positions.length), total) + 1e-9
  const odds = share / (1 - share)
  const [most, least] = [wanted + band - doubt, wanted - band + doubt]
  return {
    up: most >= 1 ? Number.POSITIVE_INFINITY : most / (1 - most) / odds,
    down: least <= 0 ? Number.POSITIVE_INFINITY : odds / (least / (1 - least)),
  }
}

/** Moves weights just inside their bands; the positions with the most room absorb the difference. */
function onEdge({ bandBps }: RebalanceStrategy, { positions, total }: Portfolio): bigint[] {
  // One basis point inside, to allow for rounding.
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

/** The token with the largest drift, for the log. */
function worstText(
  positions: readonly Position[],
  total: bigint,
  { bandBps, quote }: RebalanceStrategy,
): string {
  const worst = positions.reduce((a, b) => (driftOf(b, total) > driftOf(a, total) ? b : a))
  const percent = (bps: bigint): string => `${formatAmount(bps, 2)}%`
  const weight = (worst.value * BPS) / (total === 0n ? 1n : total)
  return `${worst.token.symbol} is ${percent(weight)} of ${amountText(total, quote)}, its target is ${percent(worst.weightBps)} and the band ${percent(BigInt(bandBps))}`
}
