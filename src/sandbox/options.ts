import type { Hex } from 'viem'
import type { SandboxLog } from './log.ts'
import type { sandboxOptionsOf } from './settings/options.ts'

/**
 * Options of `startSandbox`, all with a default; docs/sandbox.md explains the settings. Times are in milliseconds unless the
 * name has another unit.
 */
export type SandboxOptions = ReturnType<typeof sandboxOptionsOf> & {
  readonly log?: SandboxLog
  /** EVM node binary. Default: the optional npm package, then `anvil` on the PATH. */
  readonly anvilBin?: string | undefined
  /** Contents of a faults file, parsed but not validated. */
  readonly faults?: unknown
  /** Default: a fresh key. */
  readonly traderKey?: Hex
  /** Default: a fresh key. */
  readonly operatorKey?: Hex
}

/** Which behaviour the sandbox follows where deployments differ from the interface descriptions. */
export type SandboxReading = NonNullable<SandboxOptions['reading']>

const DESCRIBED = {
  listDomainType: false,
  aggregator: { gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
} as const satisfies SandboxOptions

/** Adds the settings that the reading implies. Given settings take precedence. */
export function withReading(options: SandboxOptions): SandboxOptions {
  if (options.reading !== 'described') return options
  return {
    ...DESCRIBED,
    ...options,
    aggregator: { ...DESCRIBED.aggregator, ...options.aggregator },
  }
}
