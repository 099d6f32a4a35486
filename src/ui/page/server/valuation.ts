import type { Holding as SeenHolding } from '../../domain/holding.ts'
import { createPricePaths, type PriceFeed } from '../../domain/price.ts'
import { ETHER, type Pair, type Token, WETH_BASE_ADDRESS } from '../../domain/token.ts'
import { formatAmount } from '../../domain/units.ts'
import type { Holding } from './model.ts'
import type { SeenBalance, SeenPortfolio } from './sightings.ts'

/** What was read longer ago than this says nothing of now: a wallet is looked at once a minute. */
const READ_MS_MAX = 10 * 60_000

/** What the operator's files say of what holdings are worth. */
export type ValuationFiles = {
  /** The wallet that trades. */
  readonly wallet: string
  readonly tokens: ReadonlyMap<string, Token>
  readonly prices: ReadonlyMap<Pair, PriceFeed>
}

/** What was seen, and when it is now. */
export type SeenHoldings = {
  readonly portfolio: SeenPortfolio | undefined
  /** By wallet, then by token symbol. */
  readonly balances: ReadonlyMap<string, ReadonlyMap<string, SeenBalance>>
  readonly nowMs: number
}

export type Valued = {
  readonly valueToken: string | null
  readonly totalValue: string | null
  /** The most valuable first, then by name. */
  readonly holdings: readonly Holding[]
}

/** Holdings as they are shown. Nothing that was not read is taken for zero. */
export function createValuation(files: ValuationFiles): (seen: SeenHoldings) => Valued {
  const { wallet, tokens, prices } = files
  const pathTo = createPricePaths(prices.values())
  const weth = [...tokens.values()].find(({ address }) => address === WETH_BASE_ADDRESS)
  /** Whether a feed is configured that could say what it is worth. */
  const hasPrice = (symbol: string, quote: Token): boolean => {
    const token = symbol === ETHER.symbol ? weth : tokens.get(symbol)
    if (token === undefined) return false
    return token.address === quote.address || pathTo(quote, token) !== undefined
  }
  return ({ portfolio, balances, nowMs }) => {
    const quote = portfolio?.valueToken
    const isRead = portfolio !== undefined && isRecent(portfolio.atMs, nowMs)
    const own = (portfolio?.holdings ?? []).map((held) => ({
      held: isRead ? held : { ...held, amount: undefined, value: undefined },
      value: isRead ? worthOf(held) : undefined,
    }))
    const valued = own.filter(({ held }) => quote !== undefined && hasPrice(held.token, quote))
    return {
      valueToken: quote?.symbol ?? null,
      totalValue: quote === undefined ? null : totalOf(valued, quote),
      holdings: [
        ...own.sort(byWorth).map((each) => ownHolding(each, quote, portfolio?.atMs ?? nowMs)),
        ...otherHoldings(balances, { except: wallet, nowMs }),
      ],
    }
  }
}

type Own = { readonly held: SeenHolding; readonly value: bigint | undefined }

/** Of nothing no price has to be known. */
function worthOf({ amount, value }: SeenHolding): bigint | undefined {
  return amount === 0n ? 0n : value
}

function totalOf(valued: readonly Own[], { decimals }: Token): string | null {
  if (valued.length === 0) return null
  let total = 0n
  for (const { value } of valued) {
    if (value === undefined) return null
    total += value
  }
  return formatAmount(total, decimals)
}

/** Ages are as of the look: one that grew by the second would be sent by the second. */
function ownHolding({ held, value }: Own, quote: Token | undefined, lookedAtMs: number): Holding {
  const { token, decimals, amount, pricedAtSeconds } = held
  return {
    token,
    amount: amount === undefined ? null : formatAmount(amount, decimals),
    value: value === undefined || quote === undefined ? null : formatAmount(value, quote.decimals),
    priceAgeSeconds:
      pricedAtSeconds === undefined
        ? null
        : Math.max(0, Math.floor(lookedAtMs / 1000) - pricedAtSeconds),
  }
}

/** Of wallets on another chain: what they hold is worth there no feed of this one says. */
function otherHoldings(
  balances: SeenHoldings['balances'],
  { except, nowMs }: { readonly except: string; readonly nowMs: number },
): readonly Holding[] {
  return [...balances]
    .filter(([wallet]) => wallet !== except)
    .flatMap(([wallet, held]) =>
      [...held].map(([symbol, { amount, decimals, atMs }]) => ({
        token: `${symbol} (${wallet})`,
        amount:
          amount === undefined || !isRecent(atMs, nowMs) ? null : formatAmount(amount, decimals),
        value: null,
        priceAgeSeconds: null,
      })),
    )
}

function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) <= READ_MS_MAX
}

function byWorth(a: Own, b: Own): number {
  const [one, other] = [a.value ?? -1n, b.value ?? -1n]
  if (one !== other) return one > other ? -1 : 1
  return a.held.token < b.held.token ? -1 : 1
}
