import type { Holding } from '../../domain/money/holding.ts'
import { acceptPath, type PriceFeed, type PricePath } from '../../domain/money/price.ts'
import { ETHER, NATIVE_TOKEN, type Token, wrappedEther } from '../../domain/money/token.ts'
import { type Address, mulDivDown } from '../../domain/money/units.ts'
import type { ChainView } from '../../ports.ts'

/** The value token: the most frequent quote token of the feeds. The first one wins a tie. */
export function valueTokenOf(feeds: Iterable<PriceFeed>): Token | undefined {
  const counts = new Map<string, { readonly token: Token; count: number }>()
  for (const { quote } of feeds) {
    const known = counts.get(quote.address)
    if (known === undefined) counts.set(quote.address, { token: quote, count: 1 })
    else known.count += 1
  }
  let most: { readonly token: Token; readonly count: number } | undefined
  for (const each of counts.values()) if (each.count > (most?.count ?? 0)) most = each
  return most?.token
}

/**
 * Holdings of a wallet in the value token, rounded down: ETH first, valued as WETH, then the given tokens. `paper`: balance
 * changes of a dry run.
 */
export function portfolioOf(
  view: ChainView,
  files: {
    readonly tokens: readonly Token[]
    readonly feeds: readonly PriceFeed[]
    readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
    readonly paper: ReadonlyMap<Address, bigint> | undefined
  },
): { readonly valueToken: Token | undefined; readonly holdings: readonly Holding[] } {
  const { tokens, feeds, pricePath, paper } = files
  const valueToken = valueTokenOf(feeds)

  function holdingOf(held: Token, read: bigint | undefined, token = held): Holding {
    const { decimals, address } = token
    const amount = read === undefined ? undefined : read + (paper?.get(held.address) ?? 0n)
    const known = { token: held.symbol, decimals, amount, address }
    const unpriced = { value: undefined, pricedAtSeconds: undefined, price: undefined }
    if (valueToken === undefined) return { ...known, ...unpriced }
    if (address === valueToken.address)
      return { ...known, ...unpriced, value: amount, price: { num: 1n, den: 1n } }
    const path = pricePath(valueToken, token)
    const answer = acceptPath(path, view.readings, view.blockTimeSeconds)
    if (!answer.ok) return { ...known, ...unpriced }
    const { ratio, updatedAtSeconds } = answer.price
    const value = amount === undefined ? undefined : mulDivDown(amount, ratio.num, ratio.den)
    return { ...known, value, pricedAtSeconds: updatedAtSeconds, price: ratio }
  }

  const erc20 = tokens.filter(({ address }) => address !== NATIVE_TOKEN)
  return {
    valueToken,
    holdings: [
      holdingOf(ETHER, view.nativeBalance, wrappedEther(tokens)),
      ...erc20.map((token) => holdingOf(token, view.balances.get(token.address))),
    ],
  }
}
