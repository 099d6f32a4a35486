import type { SandboxLog } from './log.ts'
import { SANDBOX_DEFAULTS, type SandboxSettings } from './settings/sandbox-schema.ts'

/**
 * Options of `startSandbox`: the settings, all with a default, and what no setting can say. docs/sandbox.md explains the
 * settings. Times are in milliseconds, except `quoteLifetime` in seconds; `blobCost` is in wei.
 */
export type SandboxOptions = Omit<SandboxSettings, 'faults'> & {
  readonly log?: SandboxLog
  /** EVM node binary. Default: the optional npm package, then `anvil` on the PATH. */
  readonly anvilBin?: string | undefined
  /** Contents of a faults file, parsed but not validated. */
  readonly faults?: unknown
}

export type AllSettings = ReturnType<typeof settingsOf>
export type GaslessSettings = AllSettings['gasless']
export type AggregatorSettings = AllSettings['aggregator']

/** Follows the interface descriptions where deployments differ from them. */
const DESCRIBED = {
  gasless: { listDomainType: false },
  aggregator: { gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
} as const satisfies SandboxOptions

/** All settings: those given, then those that the reading implies, then the defaults. */
export function settingsOf(options: SandboxOptions) {
  const implied = options.reading === 'described' ? DESCRIBED : {}
  return merged(merged(SANDBOX_DEFAULTS, implied), options)
}

function merged<Section extends object>(base: Section, given: object): Section {
  const known = new Map<string, unknown>(Object.entries(base))
  for (const [key, value] of Object.entries(given)) {
    const before = known.get(key)
    const isSection = typeof before === 'object' && before !== null && value !== undefined
    if (value !== undefined) known.set(key, isSection ? merged(before, value) : value)
  }
  return Object.fromEntries(known) as Section
}

/** Settings of the contracts and accounts on the chains. They cannot change while the chains exist. */
export type BoundTerms = ReturnType<typeof boundTerms>

export function boundTerms(options: SandboxOptions) {
  const { chainId, gasTank, gasLimit, domain, traffic } = settingsOf(options).aggregator
  return { chainId, gasTank, gasLimit, domain, participants: traffic.participants }
}
