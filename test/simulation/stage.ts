import type { GasLimits } from '../../src/domain/money/gas.ts'
import type { PriceFeed } from '../../src/domain/money/price.ts'
import { type Token, WETH_BASE_ADDRESS } from '../../src/domain/money/token.ts'
import { type Address, baseUnits } from '../../src/domain/money/units.ts'
import type { AccountLimits, GaslessSettings } from '../../src/domain/settings.ts'
import { everyCap, NO_CAPS } from '../../src/domain/strategy.ts'

/** The tokens, feed, contracts and wallet of every simulation. */

export const SIMULATED_CHAIN_ID = 8453

const base = { chain: 'base', chainId: SIMULATED_CHAIN_ID } as const

export const USDC: Token = {
  ...base,
  symbol: 'USDC',
  address: '0x00000000000000000000000000000000000a0001',
  decimals: 6,
}
export const WETH: Token = { ...base, symbol: 'WETH', address: WETH_BASE_ADDRESS, decimals: 18 }

export const WETH_USDC: PriceFeed = {
  pair: 'WETH/USDC',
  base: WETH,
  quote: USDC,
  feed: '0x00000000000000000000000000000000000f0001',
  maxAgeSeconds: 3_600,
  sequencerFeed: undefined,
}

export const PERMIT2: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'
export const SPENDER: Address = '0x00000000000000000000000000000000005e7713'
export const WALLET: Address = '0x00000000000000000000000000000000000000aa'

export const GASLESS: GaslessSettings = {
  baseUrl: 'http://service.invalid',
  chain: 'base',
  wallet: 'trader',
  permit2: PERMIT2,
  spenders: [SPENDER],
  slippageBps: 50,
  routingPreference: 'auto',
  approval: 'budget',
  maxQuoteLifetimeMs: 600_000,
  requestsPerSecond: 5,
  wire: { preferOwn: 'preferOwn', onlyOwn: 'onlyOwn' },
}

/** A hundred times the usual gas price here, and the daily cost of a thousand expensive transactions. */
export const GAS: GasLimits = {
  maxFeePerGas: 10n ** 9n,
  maxPriorityFeePerGas: 10n ** 9n,
  perTransaction: 10n ** 14n,
  perDay: 10n ** 15n,
}

export const ACCOUNT: AccountLimits = {
  maxDeviationBps: 200,
  ...everyCap(() => NO_CAPS),
  perOrder: new Map([[USDC.address, baseUnits(250_000_000n)]]),
  perDay: new Map([[USDC.address, baseUnits(1_000_000_000n)]]),
  cooldownMs: 0,
  maxOpenIntents: undefined,
  maxFailures: undefined,
}
