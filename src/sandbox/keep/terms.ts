import { type AggregatorSettings, aggregatorSettings } from '../aggregator/aggregator-settings.ts'
import { type SandboxOptions, withReading } from '../options.ts'

/** Settings of the contracts and accounts on the chains: fixed for as long as the chains live. */
export type BoundTerms = Pick<AggregatorSettings, 'chainId' | 'gasTank' | 'gasLimit' | 'domain'> & {
  readonly participants: number
}

export function boundTerms(options: SandboxOptions): BoundTerms {
  const settings = aggregatorSettings(withReading(options).aggregator)
  const { chainId, gasTank, gasLimit, domain, traffic } = settings
  return { chainId, gasTank, gasLimit, domain, participants: traffic.participants }
}
