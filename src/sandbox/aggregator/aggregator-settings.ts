import { type SandboxOptions, withReading } from '../options.ts'

export type AggregatorOptions = NonNullable<SandboxOptions['aggregator']>

/** All settings of the aggregation service. */
export type AggregatorSettings = Required<Omit<AggregatorOptions, 'traffic' | 'wire'>> & {
  readonly traffic: Required<NonNullable<AggregatorOptions['traffic']>>
  readonly wire: Required<NonNullable<AggregatorOptions['wire']>>
}

export const AGGREGATOR_DEFAULTS: AggregatorSettings = {
  chainId: 11_155_111,
  gasTank: 'balances',
  gasLimit: 'whole',
  domain: 'account',
  blobCostWei: 0n,
  passthrough: false,
  windowMs: 300,
  callsPerBatch: 16,
  feeBps: 1_000,
  indexingDelayMs: 2_000,
  settleEveryMs: 5_000,
  traffic: { participants: 3, everyMs: 1_000, patienceMs: 3_000 },
  rateLimit: { limit: 600, windowMs: 10_000 },
  wire: { methodPrefix: 'agg_', signatureHeader: 'X-Relay-Signature' },
}

export function aggregatorSettings(options: AggregatorOptions = {}): AggregatorSettings {
  return {
    ...AGGREGATOR_DEFAULTS,
    ...options,
    traffic: { ...AGGREGATOR_DEFAULTS.traffic, ...options.traffic },
    wire: { ...AGGREGATOR_DEFAULTS.wire, ...options.wire },
  }
}

/** Settings of the contracts and accounts on the chains. They cannot change while the chains exist. */
export type BoundTerms = ReturnType<typeof boundTerms>

export function boundTerms(options: SandboxOptions) {
  const settings = aggregatorSettings(withReading(options).aggregator)
  const { chainId, gasTank, gasLimit, domain, traffic } = settings
  return { chainId, gasTank, gasLimit, domain, participants: traffic.participants }
}
