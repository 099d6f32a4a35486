import type { Asset } from './money/token.ts'
import type { SwapBase } from './strategy.ts'
import type { StrategyMemory } from './strategy-memory.ts'

export const MODULE_ANSWER_MS = 2_000

export type ModuleStrategy = SwapBase & {
  /** Absolute path. */
  readonly module: string
  /** The only assets it may trade, by the name that the module uses. */
  readonly assets: ReadonlyMap<string, Asset>
  /** As in the file; parsed by the module's own schema where the module runs. */
  readonly params: unknown
}

/** Input of a module's `decide`, without its params. Amounts: bigint base units; prices: exact ratios of base units. */
export type ModuleView = {
  readonly slotSeconds: number
  readonly nowSeconds: number
  /** By token name: free balance, and decimals. */
  readonly balances: Readonly<
    Record<string, { readonly amount: bigint; readonly decimals: number }>
  >
  /** By `SELL/BUY`: sell base units per buy base unit; absent without a usable price. */
  readonly prices: Readonly<
    Record<
      string,
      { readonly num: bigint; readonly den: bigint; readonly updatedAtSeconds: number }
    >
  >
  readonly memory: StrategyMemory
}

/** The unvalidated result of `decide`, or why there is none. */
export type ModuleReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly detail: string }

export type ModuleFault = {
  /** Location in the strategy's file: `module`, or a path within `params`. */
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly expected: string
}

/** Result of starting a module. The version identifies its source including all imports. */
export type ModuleStarted =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly faults: readonly ModuleFault[] }
