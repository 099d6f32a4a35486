import { BPS, maxOf, minOf } from '../../domain/money/units.ts'
import { createRandom, type SeededRandom } from '../../domain/random.ts'
import type { SANDBOX_DEFAULTS } from '../settings/sandbox-schema.ts'
import type { SandboxToken } from '../tokens.ts'

export type Liquidity = 'own' | 'external'

type MarketSettings = Omit<typeof SANDBOX_DEFAULTS.market, 'feedInterval'> & {
  readonly seed: number
}

export type Pair = { readonly sell: SandboxToken; readonly buy: SandboxToken }

/** A snapshot that another market can resume from. */
export type MarketState = {
  /** Dollars with 18 decimals, by symbol. */
  readonly usdPrices: Readonly<Record<string, bigint>>
  /** Dollars with 18 decimals, by own pool. */
  readonly imbalances: Readonly<Record<string, bigint>>
  readonly steps: number
}

export type Market = ReturnType<typeof createMarket>

const USD = 10n ** 18n
const PPM = 1_000_000n
/** Each step, arbitrage halves a pool's imbalance. */
const REVERSION = 2n

/**
 * A geometric random walk per token against the dollar, so pair prices are consistent, with constant-product pools around
 * it. The same seed and calls give the same prices. A market resumed from `former` continues with another random sequence.
 */
export function createMarket(
  tokens: readonly SandboxToken[],
  settings: MarketSettings,
  former?: MarketState,
) {
  let steps = former?.steps ?? 0
  const seed = former === undefined ? `${settings.seed}` : `${settings.seed}@${steps}`
  const walks = new Map(
    tokens.map((token) => [
      token.symbol,
      {
        token,
        usd: former?.usdPrices[token.symbol] ?? token.startUsd,
        random: createRandom(seed).fork(`price:${token.symbol}`),
      },
    ]),
  )
  /** Excess of the pool's first token over its depth, in dollars with 18 decimals. */
  const imbalances = new Map(Object.entries(former?.imbalances ?? {}))
  const walkOf = (symbol: string) => {
    const walk = walks.get(symbol)
    if (walk === undefined) throw new Error(`the sandbox has no token ${symbol}`)
    return walk
  }
  const usdPrice = (symbol: string): bigint => walkOf(symbol).usd
  const toUsd = (token: SandboxToken, amount: bigint): bigint =>
    (amount * usdPrice(token.symbol)) / 10n ** BigInt(token.decimals)
  const fromUsd = (token: SandboxToken, usd: bigint): bigint =>
    (usd * 10n ** BigInt(token.decimals)) / usdPrice(token.symbol)

  const reserves = (from: Liquidity, pair: Pair): { sell: bigint; buy: bigint } => {
    if (from === 'external') {
      const depth = BigInt(settings.externalDepthUsd) * USD
      return { sell: depth, buy: depth }
    }
    const depth = BigInt(settings.ownDepthUsd) * USD
    const { key, sign } = poolOf(pair)
    const imbalance = (imbalances.get(key) ?? 0n) * sign
    return { sell: depth + imbalance, buy: depth - imbalance }
  }
  const spread = (from: Liquidity): bigint =>
    from === 'external' ? BigInt(settings.externalSpreadBps) : 0n
  const tooDeep = (from: Liquidity, usd: bigint, reserve: bigint): boolean =>
    from === 'own' ? usd * BPS > reserve * BigInt(settings.ownShareMaxBps) : usd * 2n > reserve

  return {
    state: (): MarketState => ({
      usdPrices: Object.fromEntries(Array.from(walks, ([symbol, { usd }]) => [symbol, usd])),
      imbalances: Object.fromEntries(imbalances),
      steps,
    }),
    /** US dollars with 18 decimals for one whole token. */
    usdPrice,
    /** `quote` units for one whole `base`, with the given decimals, rounded down. */
    pairPrice: (base: string, quote: string, decimals: number): bigint =>
      (usdPrice(base) * 10n ** BigInt(decimals)) / usdPrice(quote),
    /** Moves every price one step and halves the imbalance of the own pools. */
    step(): void {
      steps += 1
      for (const walk of walks.values()) {
        const drawn = Math.round(nextGaussian(walk.random) * walk.token.stepSigmaPpm)
        walk.usd = (walk.usd * (PPM + BigInt(drawn))) / PPM
      }
      for (const [key, imbalance] of imbalances) imbalances.set(key, imbalance / REVERSION)
    },
    setUsdPrice(symbol: string, usd: bigint): void {
      if (usd <= 0n) throw new Error('a price must be positive')
      walkOf(symbol).usd = usd
    },
    /** Base units bought for `sellAmount`; undefined beyond the depth. */
    buyAmount(from: Liquidity, pair: Pair, sellAmount: bigint): bigint | undefined {
      const reserve = reserves(from, pair)
      const usdIn = toUsd(pair.sell, sellAmount)
      if (tooDeep(from, usdIn, reserve.sell)) return undefined
      const usdOut = (reserve.buy * usdIn) / (reserve.sell + usdIn)
      return fromUsd(pair.buy, (usdOut * (BPS - spread(from))) / BPS)
    },
    /** Base units to sell for exactly `buyAmount`, rounded up; undefined beyond the depth. */
    sellAmount(from: Liquidity, pair: Pair, buyAmount: bigint): bigint | undefined {
      const reserve = reserves(from, pair)
      const usdOut = ((toUsd(pair.buy, buyAmount) + 1n) * BPS) / (BPS - spread(from)) + 1n
      if (tooDeep(from, usdOut, reserve.buy)) return undefined
      const usdIn = (reserve.sell * usdOut) / (reserve.buy - usdOut) + 1n
      return fromUsd(pair.sell, usdIn) + 1n
    },
    applyOwnFill(pair: Pair, sellAmount: bigint, buyAmount: bigint): void {
      const { key, sign } = poolOf(pair)
      const moved = (toUsd(pair.sell, sellAmount) + toUsd(pair.buy, buyAmount)) / 2n
      const limit = (BigInt(settings.ownDepthUsd) * USD) / 2n
      const imbalance = (imbalances.get(key) ?? 0n) + moved * sign
      imbalances.set(key, maxOf(-limit, minOf(limit, imbalance)))
    },
  }
}

function poolOf(pair: Pair): { key: string; sign: bigint } {
  const [a, b] = [pair.sell.symbol, pair.buy.symbol]
  return a < b ? { key: `${a}/${b}`, sign: 1n } : { key: `${b}/${a}`, sign: -1n }
}

/**
 * Nearly normal: the sum of twelve uniforms, minus six. Additions only, because engines may differ in logarithms and
 * cosines.
 */
function nextGaussian(random: SeededRandom): number {
  let sum = -6
  for (let i = 0; i < 12; i += 1) sum += random.next()
  return sum
}
