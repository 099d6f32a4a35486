import type { Hex } from 'viem'
import type { AggregatorOptions } from './aggregator/settings.ts'
import type { Route } from './faults.ts'
import type { RateLimit, ResetStyle } from './http/rate-limit.ts'
import type { SandboxLog } from './log.ts'
import type { MarketSettings } from './market/market.ts'

/**
 * Where the interface descriptions and deployments of them differ, whom the sandbox follows: real deployments, or the plain
 * words of the descriptions.
 */
export type SandboxReading = 'deployed' | 'described'

/** What a sandbox can be told; everything has a default. */
export type SandboxOptions = {
  /** Default deployed. What it stands for can also be set one by one, and then counts. */
  readonly reading?: SandboxReading
  readonly log?: SandboxLog
  /** Seed of the price process. Default 1. */
  readonly seed?: number
  /** EVM node binary. Default: the optional npm package, then `anvil` on the PATH. */
  readonly anvilBin?: string | undefined
  /** Loopback ports; default 0, any free one. */
  readonly ports?: {
    readonly rpc?: number
    readonly gasless?: number
    readonly admin?: number
    readonly sepoliaRpc?: number
    readonly aggregator?: number
  }
  /** Time between market steps, each pushed to the feeds. Default 1000; 0 leaves stepping to the admin port. */
  readonly feedIntervalMs?: number
  /** A block at least so often on both chains, so that their time moves on. Default 1000; 0: with a transaction only. */
  readonly blockIntervalMs?: number
  readonly market?: Partial<Omit<MarketSettings, 'seed'>>
  /** Seconds a quote and its permit live. Default 60. */
  readonly quoteLifetimeSeconds?: number
  /** Default 5. */
  readonly feeBps?: number
  /** Whether quotes list EIP712Domain among the types, which wallet software needs. Default true, unless described. */
  readonly listDomainType?: boolean
  /** `logoURI` of every listed token, `{symbol}` replaced. Default none. */
  readonly logoURI?: string
  /** Per route; default 600 requests in 10 s each. */
  readonly rateLimits?: Partial<Readonly<Record<Route, RateLimit>>>
  /** Default epoch. */
  readonly rateLimitReset?: ResetStyle
  /** Words on the wire; default the neutral ones. */
  readonly routingWords?: { readonly preferOwn?: string; readonly onlyOwn?: string }
  readonly settlement?: {
    /** Default 8. */
    readonly ordersPerTransaction?: number
    /** Default true; false makes each owner's transfers in a transaction those of one order. */
    readonly sameOwnerInTransaction?: boolean
  }
  /** Contents of a faults file, parsed but not checked. */
  readonly faults?: unknown
  /** Default: a fresh one. */
  readonly traderKey?: Hex
  /** Default: a fresh one. */
  readonly operatorKey?: Hex
  readonly aggregator?: AggregatorOptions
}

/** What the plain reading of the descriptions changes. */
const DESCRIBED = {
  listDomainType: false,
  aggregator: { gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
} as const satisfies SandboxOptions

/** The options with their reading spelled out in the settings that it stands for; what is set by itself stays. */
export function withReading(options: SandboxOptions): SandboxOptions {
  if (options.reading !== 'described') return options
  return {
    ...DESCRIBED,
    ...options,
    aggregator: { ...DESCRIBED.aggregator, ...options.aggregator },
  }
}
