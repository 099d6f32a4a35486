import type { Holding } from '../domain/holding.ts'
import { acceptPath, type PriceFeed, type PricePath } from '../domain/price.ts'
import { ETHER, NATIVE_TOKEN, type Token, WETH_BASE_ADDRESS } from '../domain/token.ts'
import { type Address, mulDivDown } from '../domain/units.ts'
import type { ChainView } from '../ports.ts'

/** Where prices lead from one token to another. */
type PricePaths = (sell: Token, buy: Token) => PricePath | undefined

/** The token that most feeds quote in, of several the one that is named first: everything is valued in it. */
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

/** What a wallet holds, and what that is worth in the value token. */
export type Portfolio = {
  /** Undefined where no feed is configured. */
  readonly valueToken: Token | undefined
  readonly holdings: readonly Holding[]
}

/** What a read shows of a wallet: its ETH first, then the tokens that are named. `paper`: what dry-run has traded. */
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

/** Values what was read in `valueToken`, rounded down. ETH is worth what WETH is. */
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

/** The token by whose price ETH is valued. */
function wrappedEther(tokens: readonly Token[]): Token | undefined {
  return tokens.find(({ address }) => address === WETH_BASE_ADDRESS)
}
