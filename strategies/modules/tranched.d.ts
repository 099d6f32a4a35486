// What a module of `kind: custom` is given, and what it may give back: docs/modules.md says more of each.
// `jsconfig.json` beside it has editors check modules by these types; so does `npx -p typescript tsc -p jsconfig.json`.

/** Handed to a `schema`, or a default export, that is a function. Without zod's own types, here or above, `z` is anything. */
export type Given = { readonly z: typeof import('zod') }

/** Reads the `params` of a strategy's file, in which every number is a text. zod's schemas are such; synchronous. */
export type Schema<Params> = {
  safeParse(
    params: unknown,
  ):
    | { readonly success: true; readonly data: Params }
    | { readonly success: false; readonly error: unknown }
}

/** What is free of a token, in base units. */
export type Balance = { readonly amount: bigint; readonly decimals: number }

/** num / den base units of the token that is sold for one base unit of the token that is bought, exact. */
export type Price = { readonly num: bigint; readonly den: bigint; readonly updatedAtSeconds: number }

/** Texts by name: at most 64, of up to 4,096 characters. */
export type Memory = Readonly<Record<string, string>>

/** What one slot is decided by; frozen. `Tokens` are the names under `tokens` in the strategy's file. */
export type View<Params = unknown, Tokens extends string = string> = {
  /** The slot, in epoch seconds. */
  readonly slotSeconds: number
  /** Time of the block that was read, in epoch seconds. */
  readonly nowSeconds: number
  readonly params: Params
  readonly balances: { readonly [Token in Tokens]: Balance }
  /** By `SELL/BUY`; a pair without a usable price is not there. */
  readonly prices: { readonly [Pair in `${Tokens}/${Tokens}`]?: Price }
  /** As the last slots left it; empty at the first. */
  readonly memory: Memory
}

/** Exact input: `amount` is what is sold, in base units, and positive. */
export type Order<Tokens extends string = string> = {
  readonly sell: Tokens
  readonly buy: Tokens
  readonly amount: bigint
}

/** At most 8 orders, filled as one slot. */
export type Orders<Tokens extends string = string> = {
  readonly orders: readonly Order<Tokens>[]
  /** Replaces what is remembered, whatever becomes of the orders. */
  readonly memory?: Memory
  /** Replaces it once every order is filled. */
  readonly memoryOnFill?: Memory
  readonly skip?: never
}

/** Why nothing is traded. */
export type Skip = { readonly skip: string; readonly memory?: Memory; readonly orders?: never }

/** What `decide` gives back; it is pure and synchronous. */
export type Answer<Tokens extends string = string> = Orders<Tokens> | Skip

declare global {
  /** All of it goes to the daemon's log at level `debug`. */
  const console: Readonly<
    Record<
      'debug' | 'log' | 'info' | 'warn' | 'error' | 'trace' | 'dir',
      (...words: readonly unknown[]) => void
    >
  >
}
