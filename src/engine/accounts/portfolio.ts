import type { Holding } from '../../domain/money/holding.ts'
import { acceptPath, type PriceFeed, type PricePath } from '../../domain/money/price.ts'
import { ETHER, NATIVE_TOKEN, type Token, wrappedEther } from '../../domain/money/token.ts'
import { type Address, mulDivDown } from '../../domain/money/units.ts'
import type { ChainView } from '../../ports.ts'

type PricePaths = (sell: Token, buy: Token) => PricePath | undefined

/** The value token: the most frequent quote token of the feeds; the first named wins a tie. */
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

type Portfolio = {
  readonly valueToken: Token | undefined
  readonly holdings: readonly Holding[]
}

/** Holdings of a wallet: ETH first, then the given tokens. `paper`: balance changes of a dry run. */
export function portfolioOf(
  view: ChainView,
  files: {
    readonly tokens: readonly Token[]
    readonly feeds: readonly PriceFeed[]
    readonly pricePath: PricePaths
    readonly paper: ReadonlyMap<Address, bigint> | undefined
  },
): Portfolio {
  const { tokens, feeds, pricePath, paper } = files
  const heldOf = (amount: bigint | undefined, token: Token): bigint | undefined =>
    amount === undefined ? undefined : amount + (paper?.get(token.address) ?? 0n)
  const erc20 = tokens
    .filter(({ address }) => address !== NATIVE_TOKEN)
    .map((token) => ({
      token,
      isNative: false,
      amount: heldOf(view.balances.get(token.address), token),
    }))
  const native = {
    token: wrappedEther(tokens) ?? ETHER,
    isNative: true,
    amount: heldOf(view.nativeBalance, ETHER),
  }
  const valueToken = valueTokenOf(feeds)
  return {
    valueToken,
    holdings: holdingsOf(view, { held: [native, ...erc20], valueToken, pricePath }),
  }
}

/** Values holdings in `valueToken`, rounded down. ETH is valued as WETH. */
function holdingsOf(
  view: ChainView,
  {
    held,
    valueToken,
    pricePath,
  }: {
    readonly held: readonly {
      readonly token: Token
      readonly isNative: boolean
      readonly amount: bigint | undefined
    }[]
    readonly valueToken: Token | undefined
    readonly pricePath: PricePaths
  },
): readonly Holding[] {
  return held.map(({ token, isNative, amount }) => {
    const { symbol, decimals, address } = token
    const known = { token: isNative ? 'ETH' : symbol, decimals, amount, address }
    const unpriced = { value: undefined, pricedAtSeconds: undefined, price: undefined }
    if (valueToken === undefined) return { ...known, ...unpriced }
    if (token.address === valueToken.address)
      return { ...known, ...unpriced, value: amount, price: { num: 1n, den: 1n } }
    const path = pricePath(valueToken, token)
    const answer = acceptPath(path, view.readings, view.blockTimeSeconds)
    if (!answer.ok) return { ...known, ...unpriced }
    const { ratio, updatedAtSeconds } = answer.price
    const value = amount === undefined ? undefined : mulDivDown(amount, ratio.num, ratio.den)
    return { ...known, value, pricedAtSeconds: updatedAtSeconds, price: ratio }
  })
}
