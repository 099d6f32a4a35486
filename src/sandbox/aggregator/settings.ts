import type { RateLimit } from '../http/rate-limit.ts'
import type { GasLimitScope, GasTankGeneration, ProposerDomain } from './chain/deploy.ts'

/** Ids of the networks that the service is on. */
export type AggregatorChainId = 1 | 11_155_111

/** How the aggregation service behaves. Times in milliseconds. */
export type AggregatorSettings = {
  /** Chain id of the local node, which stands in for that network. Default 11155111, Sepolia. */
  readonly chainId: AggregatorChainId
  /**
   * Which GasTank is deployed. `balances` (default): `deposit(address)` and `balances(address)`, and charges never leave the
   * contract. `balanceOf`: `deposit()` and `balanceOf(address)`, and charges are taken out.
   */
  readonly gasTank: GasTankGeneration
  /** What a signed gasLimit bounds: the whole `onCall` (default), or the call to the target alone. */
  readonly gasLimit: GasLimitScope
  /** What the TrustlessProposer's EIP-712 domain names. Default `account`. */
  readonly domain: ProposerDomain
  /** Wei of blob gas that each aggregated call is charged for, as if its transaction used blob data. Default 0. */
  readonly blobCostWei: bigint
  /** How long a call waits for others to share its transaction. Default 300. */
  readonly windowMs: number
  /** Default 16. */
  readonly callsPerBatch: number
  /** The service's part of what aggregation saved. Default 1000, 10 %. */
  readonly feeBps: number
  /** From a deposit's block to its appearance in the account. Default 2000. */
  readonly indexingDelayMs: number
  /** Time between settlements of accrued charges in the GasTank. Default 5000; 0 leaves them to the admin port. */
  readonly settleEveryMs: number
  readonly traffic: {
    /** Accounts of strangers that use the service too. Default 3. */
    readonly participants: number
    /** Time between their calls. Default 1000; 0 for none. */
    readonly everyMs: number
    /** How long a stranger's call waits for company. Default 3000. */
    readonly patienceMs: number
  }
  /** Default 600 requests in 10 s. */
  readonly rateLimit: RateLimit
  /** The operator's own words on the wire. */
  readonly wire: { readonly methodPrefix: string; readonly signatureHeader: string }
}

/** Every setting may be left out; those of `traffic` and `wire` one by one. */
export type AggregatorOptions = Partial<Omit<AggregatorSettings, 'traffic' | 'wire'>> & {
  readonly traffic?: Partial<AggregatorSettings['traffic']>
  readonly wire?: Partial<AggregatorSettings['wire']>
}

export const AGGREGATOR_DEFAULTS: AggregatorSettings = {
  chainId: 11_155_111,
  gasTank: 'balances',
  gasLimit: 'whole',
  domain: 'account',
  blobCostWei: 0n,
  windowMs: 300,
  callsPerBatch: 16,
  feeBps: 1_000,
  indexingDelayMs: 2_000,
  settleEveryMs: 5_000,
  traffic: { participants: 3, everyMs: 1_000, patienceMs: 3_000 },
  rateLimit: { limit: 600, windowMs: 10_000 },
  wire: { methodPrefix: 'agg_', signatureHeader: 'X-Relay-Signature' },
}

/** The defaults with the given options in their place. */
export function aggregatorSettings(options: AggregatorOptions = {}): AggregatorSettings {
  return {
    ...AGGREGATOR_DEFAULTS,
    ...options,
    traffic: { ...AGGREGATOR_DEFAULTS.traffic, ...options.traffic },
    wire: { ...AGGREGATOR_DEFAULTS.wire, ...options.wire },
  }
}
