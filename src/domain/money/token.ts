import type { Address } from './units.ts'

export type Token = {
  readonly symbol: string
  readonly chain: string
  readonly chainId: number
  readonly address: Address
  readonly decimals: number
}

/** One side of a trade. `native`: the strategy names ETH, so WETH is traded, wrapped before or unwrapped after. */
export type Asset = { readonly token: Token; readonly native: boolean }

/** Base: the gasless service settles only there. */
export const GASLESS_CHAIN_ID = 8453
/** WETH on chain 8453, fixed by the service's interface. */
export const WETH_BASE_ADDRESS: Address = '0x4200000000000000000000000000000000000006'

/** `base/quote`, the key of a price feed in the config. */
export type Pair = `${string}/${string}`

/** Key of the native coin in maps by token. */
export const NATIVE_TOKEN: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** The native coin as a token. It has no chain: its caps hold across all chains. */
export const ETHER: Token = {
  symbol: 'ETH',
  chain: '',
  chainId: 0,
  address: NATIVE_TOKEN,
  decimals: 18,
}

/** The token that ETH trades as; undefined if not configured. */
export function wrappedEther(tokens: Iterable<Token>): Token | undefined {
  return [...tokens].find(({ address }) => address === WETH_BASE_ADDRESS)
}

/** The token that an asset is displayed and counted as: ether if the file names ETH. */
export function shownToken({ token, native }: Asset): Token {
  return native ? ETHER : token
}
