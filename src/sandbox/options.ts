import type { Hex } from 'viem'
import type { SandboxLog } from './log.ts'
import type { sandboxOptionsOf } from './settings/options.ts'

/** Options of `startSandbox`, all with a default; docs/sandbox.md explains the settings. Times in milliseconds unless named otherwise. */
export type SandboxOptions = ReturnType<typeof sandboxOptionsOf> & {
  readonly log?: SandboxLog
  /** EVM node binary. Default: the optional npm package, then `anvil` on the PATH. */
  readonly anvilBin?: string | undefined
  /** Parsed but unchecked contents of a faults file. */
  readonly faults?: unknown
  /** Default: a fresh one. */
  readonly traderKey?: Hex
  /** Default: a fresh one. */
  readonly operatorKey?: Hex
}

/** What the sandbox follows where deployments differ from the interface descriptions. */
export type SandboxReading = NonNullable<SandboxOptions['reading']>

const DESCRIBED = {
  listDomainType: false,
  aggregator: { gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
} as const satisfies SandboxOptions

/** The options with the settings that their reading implies, unless they are given. */
export function withReading(options: SandboxOptions): SandboxOptions {
  if (options.reading !== 'described') return options
  return {
    ...DESCRIBED,
    ...options,
    aggregator: { ...DESCRIBED.aggregator, ...options.aggregator },
  }
}
