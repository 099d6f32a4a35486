import type { Address } from '../domain/money/units.ts'

/**
 * First block of Base, which tells it from a local chain with the same id. Source: `mainnet/base.toml` of the
 * superchain-registry.
 */
export const BASE_GENESIS = '0xf712aa9241cc24369b143cf6dce85f0902a9731e70d66818a3a5845b296c73dd'

/** A token of Base and its Chainlink feed in US dollars. */
export type KnownToken = {
  readonly symbol: string
  readonly address: Address
  readonly decimals: number
  /** Its name in the feeds' descriptions, if not the symbol. As a quote, a stablecoin counts as its currency. */
  readonly feedName?: string
  readonly feed: Address
  /** Above the feed's heartbeat: 20 minutes or a day. */
  readonly maxAge: string
}

/**
 * As of November 2026. Tokens: the issuers' pages (docs.base.org, Circle, Sky, Coinbase, Aerodrome). Feeds: Chainlink's list
 * for Base (docs.chain.link/data-feeds/price-feeds/addresses), heartbeats as in its hourly copy of 8 October 2026
 * (github.com/bactory-tech/oracle-watch). That list has replaced ETH / USD by variants of it; this one, which most
 * contracts read, still answered in September 2026.
 */
export const BASE_TOKENS: readonly KnownToken[] = [
  {
    ...{ symbol: 'WETH', address: '0x4200000000000000000000000000000000000006', decimals: 18 },
    ...{ feedName: 'ETH', feed: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70', maxAge: '1h' },
  },
  {
    ...{ symbol: 'USDC', address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', decimals: 6 },
    ...{ feedName: 'USD', feed: '0x7e860098F58bBFC8648a4311b374B1D669a2bc6B', maxAge: '25h' },
  },
  {
    ...{ symbol: 'DAI', address: '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb', decimals: 18 },
    ...{ feedName: 'USD', feed: '0x591e79239a7d679378eC8c847e5038150364C78F', maxAge: '25h' },
  },
  {
    ...{ symbol: 'cbBTC', address: '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf', decimals: 8 },
    ...{ feedName: 'BTC', feed: '0x07DA0E54543a844a80ABE69c8A12F22B3aA59f9D', maxAge: '1h' },
  },
  {
    ...{ symbol: 'AERO', address: '0x940181a94A35A4569E4529A3CDfB74e38FD98631', decimals: 18 },
    ...{ feed: '0x4EC5970fC728C5f65ba413992CD5fF6FD70fcfF0', maxAge: '25h' },
  },
]

/** Chainlink's L2 sequencer uptime feed. */
export const BASE_SEQUENCER_FEED: Address = '0xBCF85224fc0756B9Fa45aA7892530B47e10b6433'
