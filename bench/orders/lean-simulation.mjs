/** The small market of the lean service: one wallet, two tokens, one price, a Permit2. Addresses in lower case. */
export const PRIVATE_KEY = '0x4646464646464646464646464646464646464646464646464646464646464646'
export const OWNER = '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f'
export const CHAIN_ID = 8453
export const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'
export const WETH = '0x4200000000000000000000000000000000000006'
export const PERMIT2 = '0x000000000022d473030f116ddee9f6b43ac78ba3'
export const SETTLEMENT = '0x5e771e5e771e5e771e5e771e5e771e5e771e5e77'
export const FEED = '0x71041dddad3595f9ced3dcccfbe3d1f4b0a16bb7'
export const SEQUENCER_FEED = '0xbcf85224fc0756b9fa45aa7892530b47e10b6433'
export const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'
/** USDC per WETH. */
export const PRICE = 2_500n
export const FEED_DECIMALS = 8
const FEE_BPS = 5n
const BPS = 10_000n

/** Base units of WETH that an amount of USDC buys after the service's fee. */
export function buyAmountOf(sellAmount) {
  return (((sellAmount * 10n ** 12n) / PRICE) * (BPS - FEE_BPS)) / BPS
}

export function minimumOf(buyAmount, slippageBps) {
  return (buyAmount * (BPS - BigInt(slippageBps))) / BPS
}

/** A number as a 32-byte word, without 0x. */
export function word(value) {
  return value.toString(16).padStart(64, '0')
}

export function addressWord(address) {
  return address.slice(2).padStart(64, '0')
}

/** A config file's content for this market. */
export function leanConfig({ gaslessUrl, rpcUrl }) {
  return {
    chains: { base: { chainId: CHAIN_ID, rpcUrls: [rpcUrl] } },
    gasless: {
      baseUrl: gaslessUrl,
      chain: 'base',
      wallet: 'trader',
      permit2: PERMIT2,
      spenders: [SETTLEMENT],
      maxQuoteLifetime: '10m',
      requestsPerSecond: 1000,
    },
    tokens: {
      USDC: { chain: 'base', address: USDC, decimals: 6 },
      WETH: { chain: 'base', address: WETH, decimals: 18 },
    },
    prices: {
      'WETH/USDC': { feed: FEED, chain: 'base', maxAge: '1h', sequencerFeed: SEQUENCER_FEED },
    },
    limits: { maxDeviationBps: 200, perOrder: { USDC: '25000' } },
  }
}
