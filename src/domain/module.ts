import type { StrategyMemory } from './book/memory.ts'

/** How long a module may take to answer for one slot. */
export const MODULE_ANSWER_MS = 2_000

/**
 * What a module's `decide` is asked with; its params are added where it runs. Amounts are bigint base units, prices exact
 * ratios of base units.
 */
export type ModuleView = {
  readonly slotSeconds: number
  readonly nowSeconds: number
  /** By the name of the token: what is free, and its decimal places. */
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

/** What came back: whatever its `decide` returned, not a part of it believed yet, or in words why nothing did. */
export type ModuleReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly detail: string }

/** What is wrong with a module or with the params that its strategy gives it. */
export type ModuleFault = {
  /** Where in the strategy's file: `module`, or somewhere in `params`. */
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly expected: string
}

/** What came of starting a module. The version tells one text of it, with all that it imports, from another. */
export type ModuleStarted =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly faults: readonly ModuleFault[] }
