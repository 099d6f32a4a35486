import type { Address } from './units.ts'

/** An ERC-20 token that the operator's config names. */
export type Token = {
  readonly symbol: string
  readonly chain: string
  readonly chainId: number
  readonly address: Address
  readonly decimals: number
}

/** One side of a trade. `native` means the strategy names ETH: WETH is traded, wrapped before or unwrapped after. */
export type Asset = { readonly token: Token; readonly native: boolean }

/** WETH on chain 8453, fixed by the service's interface. */
export const WETH_BASE_ADDRESS: Address = '0x4200000000000000000000000000000000000006'

/** `base/quote`, the key of a price feed in the config. */
export type Pair = `${string}/${string}`

/** Stands for the chain's own coin where amounts are kept by token. */
export const NATIVE_TOKEN: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** The chain's own coin, where a token is asked for. It stands for no chain: caps on it hold over all of them. */
export const ETHER: Token = {
  symbol: 'ETH',
  chain: '',
  chainId: 0,
  address: NATIVE_TOKEN,
  decimals: 18,
}
