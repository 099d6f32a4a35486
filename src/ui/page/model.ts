/**
 * What the page is told, as JSON. Amounts are decimal text with the symbol of their token, times are epoch milliseconds unless a
 * name says otherwise, and null stands for what is not known or does not apply: it is never zero.
 */

export type Amount = { readonly amount: string; readonly token: string }

export type StrategyState = 'active' | 'paused' | 'disabled' | 'removed'

/** One strategy, as a row. */
export type StrategyRow = {
  readonly name: string
  readonly kind: string
  readonly state: StrategyState
  /** In words: what it does. */
  readonly does: string
  readonly schedule: string
  readonly nextSlotSeconds: number | null
  /** Why it is paused, and since when. */
  readonly paused: {
    readonly sinceMs: number
    readonly cause: string
    readonly detail: string
  } | null
  /** Why its next slot waits although it is due. */
  readonly waits: string | null
  readonly lastSlot: {
    readonly slotSeconds: number
    /** `open` while it has none of the six outcomes. */
    readonly outcome: string
    readonly reason: string | null
    readonly detail: string | null
  } | null
  /** The last slot that was skipped, and why. */
  readonly lastSkip: {
    readonly slotSeconds: number
    readonly reason: string
    readonly detail: string | null
  } | null
  readonly fills: number
  readonly lastFillAtMs: number | null
}

/** An order that is not closed. */
export type OrderRow = {
  readonly intentId: string
  readonly strategy: string
  readonly slotSeconds: number
  readonly venue: string
  /** In words: what is sold for what, or which call is made. */
  readonly what: string
  readonly state: string
  readonly attempt: number
  readonly openedAtMs: number
  readonly deadlineSeconds: number | null
  /** What is being done about it, in words. */
  readonly doing: string
  /** Whether it has outlived its deadline and finality: somebody should look. */
  readonly overdue: boolean
}

export type LimitRow = {
  /** Null for the account's own. */
  readonly strategy: string | null
  readonly token: string
  readonly window: 'hour' | 'day' | 'week' | 'total'
  readonly used: string
  readonly cap: string
  /** From 0 on; above 1 where a file was changed since. */
  readonly share: number
  /** When what fills it begins to free; null where time frees nothing. */
  readonly freesAtMs: number | null
}

export type FillRow = {
  /** `STRATEGY:SLOT:LEG`. */
  readonly intentId: string
  readonly strategy: string
  readonly slotSeconds: number
  readonly atMs: number
  readonly venue: string
  readonly paper: boolean
  /** Null for a call. */
  readonly sold: Amount | null
  readonly bought: Amount | null
  readonly call: string | null
  /** How much better than the feed, in basis points; below zero where it was worse. */
  readonly vsFeedBps: number | null
  /** What a call was charged. */
  readonly charged: Amount | null
  readonly txHash: string | null
  readonly explorerUrl: string | null
  /** Whether a reorganisation took it back since. */
  readonly undone: boolean
}

export type FillsPage = {
  /** Newest first. Fewer than were asked for, or none, where a search came to its bound before: `next` goes on from there. */
  readonly fills: readonly FillRow[]
  /** To be given as `before` for the next older ones; null where there are none. */
  readonly next: string | null
}

export type Holding = {
  /** `WETH`, or `ETH (operator)` for what another wallet than the one that trades holds. No two are alike. */
  readonly token: string
  /** Null where it was not read. */
  readonly amount: string | null
  /** In the overview's `valueToken`; null where there is no usable price. */
  readonly value: string | null
  /** How old the oldest price in it was when the wallet was last looked at, about once a minute. */
  readonly priceAgeSeconds: number | null
}

/** What orders bought that is still held, what it cost by the average, and the profit since the first order in the journal. */
export type ProfitRow = {
  readonly token: string
  readonly cost: string
  readonly realised: string
  /** Null while something held has no price. */
  readonly unrealised: string | null
  readonly held: readonly {
    readonly token: string
    readonly amount: string
    readonly cost: string
    /** Null without a price. */
    readonly value: string | null
  }[]
}

export type GasTankRow = {
  readonly account: string
  readonly balance: string | null
  readonly outstanding: string | null
  readonly available: string | null
  readonly runwaySeconds: number | null
  readonly alertBelow: string | null
  /** Why nothing is known of it. */
  readonly unknown: string | null
}

export type Overview = {
  /** Grows with each change. */
  readonly revision: number
  readonly atMs: number
  readonly version: string
  readonly mode: string
  readonly startedAtMs: number
  readonly ready: { readonly ok: boolean; readonly reasons: readonly string[] }
  readonly halted: {
    readonly sinceMs: number
    readonly cause: string
    readonly detail: string
  } | null
  /** Files that were refused when they were read again, in words. */
  readonly stale: { readonly files: number; readonly detail: string } | null
  readonly wallets: readonly {
    readonly name: string
    readonly address: string
    readonly explorerUrl: string | null
  }[]
  readonly valueToken: string | null
  /** Of what the wallet that trades holds and a feed has a price for; null where something of that was not read. */
  readonly totalValue: string | null
  readonly holdings: readonly Holding[]
  /** Null until the journal was read back, and where no price feed is configured. */
  readonly profit: ProfitRow | null
  readonly gasTank: GasTankRow | null
  /** The account's, then the fullest of the strategies': at most 60 in all. */
  readonly limits: readonly LimitRow[]
  /** Those that are overdue first, then the oldest: at most 100. `counts.unresolved` has all of them. */
  readonly orders: readonly OrderRow[]
  readonly counts: {
    readonly strategies: number
    readonly active: number
    readonly paused: number
    readonly fills: number
    readonly unresolved: number
    readonly overdue: number
  }
}

/** Holdings and their value over time. All arrays have the length of `atSeconds`, oldest first. */
export type HoldingsSeries = {
  readonly valueToken: string | null
  readonly atSeconds: readonly number[]
  /** Total value; null where something of it was not known. */
  readonly value: readonly (number | null)[]
  readonly tokens: readonly {
    readonly token: string
    readonly amounts: readonly (number | null)[]
  }[]
}

export type HoldingsRange = 'day' | 'week' | 'month' | 'year'

/** What the journal holds about one slot, oldest first. */
export type Why = {
  readonly slot: string
  /** Whether it is all that there is: false where the search came to its bound, or files are not here any more. */
  readonly whole: boolean
  readonly lines: readonly {
    readonly atMs: number
    readonly title: string
    /** What it means, in sentences. */
    readonly sentences: readonly string[]
    /** The record's own fields. */
    readonly facts: readonly (readonly [string, string])[]
  }[]
}

/** What is sent when something changed, at most once a second. Rows replace those of the same name. */
export type Change = {
  readonly overview: Overview
  readonly strategies: readonly StrategyRow[]
  /** Newest first. New ones, and those that were undone; at most 100: where there are as many, ask for the newest page. */
  readonly fills: readonly FillRow[]
}

/**
 * What is served, GET alone:
 *
 * - `/`, `/page.js`, `/page.css`: the page
 * - `/api/overview`: Overview
 * - `/api/strategies`: StrategyRow[], all of them
 * - `/api/fills?limit=100&before=CURSOR&strategy=NAME`: FillsPage
 * - `/api/holdings?range=day`: HoldingsSeries
 * - `/api/why?slot=STRATEGY:SECONDS`: Why, or 404 with `{ "error": "..." }`
 * - `/events?since=REVISION`: server-sent events, `change` with a Change; a comment every 15 s while nothing changes. The first
 *   comes at once and holds what changed after that revision of an overview (everything, where that was another process's);
 *   without `since` it holds no rows. Each has its revision as the event's id, so that a connection that broke goes on
 *   from there by itself
 *
 * Whatever goes wrong is `{ "error": "..." }` in a few words: 400 for a query that nobody understands, 503 while too many ask.
 */
export type PageRoute =
  | '/api/overview'
  | '/api/strategies'
  | '/api/fills'
  | '/api/holdings'
  | '/api/why'
  | '/events'
