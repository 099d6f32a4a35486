import type { Holding as ObservedHolding } from '../../../domain/money/holding.ts'
import { createPricePaths } from '../../../domain/money/price.ts'
import { ETHER, type Token, wrappedEther } from '../../../domain/money/token.ts'
import { formatAmount } from '../../../domain/money/units.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Holding, Overview } from '../model.ts'
import type { ObservedBalance, ObservedPortfolio } from './observations.ts'

/** The wallet is read once a minute; an older reading is not current. */
const READ_MS_MAX = 10 * 60_000

export type ObservedHoldings = {
  readonly portfolio: ObservedPortfolio | undefined
  readonly balances: ReadonlyMap<string, ReadonlyMap<string, ObservedBalance>>
  readonly nowMs: number
}

/** Sorted by value, then by name. */
export type Valued = Pick<Overview, 'valueToken' | 'totalValue' | 'holdings' | 'readAtMs'>

/** Unread amounts never count as zero. */
export function createValuation(
  of: Pick<Settings, 'tokens' | 'prices'> & { readonly wallet: string },
): (seen: ObservedHoldings) => Valued {
  const { wallet, tokens, prices } = of
  const pathTo = createPricePaths(prices.values())
  const weth = wrappedEther(tokens.values())
  const hasPrice = (symbol: string, quote: Token): boolean => {
    const token = symbol === ETHER.symbol ? weth : tokens.get(symbol)
    if (token === undefined) return false
    return token.address === quote.address || pathTo(quote, token) !== undefined
  }
  return ({ portfolio, balances, nowMs }) => {
    const quote = portfolio?.valueToken
    const isRead = portfolio !== undefined && isRecent(portfolio.atMs, nowMs)
    const own = (portfolio?.holdings ?? []).map((held) => ({
      ...held,
      amount: isRead ? held.amount : undefined,
      value: isRead ? worthOf(held) : undefined,
    }))
    const valued = own.filter(({ token }) => quote !== undefined && hasPrice(token, quote))
    return {
      valueToken: quote?.symbol ?? null,
      totalValue: quote === undefined ? null : totalOf(valued, quote),
      holdings: [
        ...own.sort(byWorth).map((each) => ownHolding(each, quote)),
        ...[...balances]
          .filter(([name]) => name !== wallet)
          .flatMap(([name, held]) => otherHoldings(name, held, nowMs)),
      ],
      readAtMs: portfolio?.atMs ?? null,
    }
  }
}

/** A zero balance is worth zero even without a price. */
function worthOf({ amount, value }: ObservedHolding): bigint | undefined {
  return amount === 0n ? 0n : value
}

function totalOf(valued: readonly ObservedHolding[], { decimals }: Token): string | null {
  let total = valued.length === 0 ? undefined : 0n
  for (const { value } of valued)
    total = total === undefined || value === undefined ? undefined : total + value
  return decimalText(total, decimals)
}

/** Null for an unknown amount. */
export function decimalText(amount: bigint | undefined, decimals: number): string | null {
  return amount === undefined ? null : formatAmount(amount, decimals)
}

function ownHolding(held: ObservedHolding, quote: Token | undefined): Holding {
  const { token, decimals, amount, value, pricedAtSeconds } = held
  return {
    token,
    amount: decimalText(amount, decimals),
    value: quote === undefined ? null : decimalText(value, quote.decimals),
    pricedAtMs: pricedAtSeconds === undefined ? null : pricedAtSeconds * 1_000,
  }
}

/** Holdings of other wallets. They are on another chain, whose tokens this chain's feeds cannot value. */
function otherHoldings(wallet: string, held: ReadonlyMap<string, ObservedBalance>, nowMs: number) {
  return [...held].map(([symbol, { amount, decimals, atMs }]) => ({
    token: `${symbol} (${wallet})`,
    amount: isRecent(atMs, nowMs) ? decimalText(amount, decimals) : null,
    value: null,
    pricedAtMs: null,
  }))
}

function isRecent(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) <= READ_MS_MAX
}

function byWorth(a: ObservedHolding, b: ObservedHolding): number {
  const [one, other] = [a.value ?? -1n, b.value ?? -1n]
  if (one !== other) return one > other ? -1 : 1
  return a.token < b.token ? -1 : 1
}
