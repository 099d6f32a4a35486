import type { Hex } from 'viem'

type TokenSpec = {
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  /** US dollars with 18 decimals. */
  readonly startUsd: bigint
  /** Standard deviation of one step, in millionths. */
  readonly stepSigmaPpm: number
}

export type SandboxToken = TokenSpec & { readonly address: Hex }

const cents = (count: bigint): bigint => count * 10n ** 16n

/** Prices are round figures, not those of a particular day. USDC is the unit of account and never moves. */
export const TOKEN_SPECS: readonly TokenSpec[] = [
  { symbol: 'USDC', name: 'Sandbox USD Coin', decimals: 6, startUsd: cents(100n), stepSigmaPpm: 0 },
  {
    symbol: 'WETH',
    name: 'Wrapped Ether',
    decimals: 18,
    startUsd: cents(300_000n),
    stepSigmaPpm: 150,
  },
  { symbol: 'DAI', name: 'Sandbox Dai', decimals: 18, startUsd: cents(100n), stepSigmaPpm: 5 },
  { symbol: 'AERO', name: 'Sandbox Aero', decimals: 18, startUsd: cents(125n), stepSigmaPpm: 400 },
]

/** Pairs with an on-chain feed. The answer is units of the second token per unit of the first. */
export const FEED_PAIRS: readonly (readonly [string, string])[] = [
  ['WETH', 'USDC'],
  ['WETH', 'DAI'],
  ['DAI', 'USDC'],
  ['AERO', 'USDC'],
  ['AERO', 'WETH'],
]
export const FEED_DECIMALS = 8
