/**
 * The page's data as JSON. Amounts are decimal text with the symbol of their token, times are epoch milliseconds unless a name says
 * otherwise. Null is unknown or not applicable, and never zero.
 */

export type Amount = { readonly amount: string; readonly token: string }

type Stopped = { readonly sinceMs: number; readonly cause: string; readonly detail: string }

type SlotEnd = {
  readonly slotSeconds: number
  /** `open` while it has none of the six outcomes. */
  readonly outcome: string
  readonly reason: string | null
  readonly detail: string | null
}

export type StrategyRow = {
  readonly name: string
  readonly kind: string
  readonly state: 'active' | 'paused' | 'disabled' | 'removed'
  readonly does: string
  readonly schedule: string
  readonly nextSlotSeconds: number | null
  readonly paused: Stopped | null
  /** Why the slot that is due waits. */
  readonly waits: string | null
  readonly lastSlot: SlotEnd | null
  readonly lastSkip: (Omit<SlotEnd, 'outcome'> & { readonly reason: string }) | null
  readonly fills: number
  readonly lastFillAtMs: number | null
}

export type OrderRow = {
  readonly intentId: string
  readonly strategy: string
  readonly slotSeconds: number
  readonly venue: string
  /** Trade or call, in words. */
  readonly what: string
  readonly state: string
  readonly attempt: number
  readonly openedAtMs: number
  readonly deadlineSeconds: number | null
  readonly doing: string
  /** Past its deadline and finality. */
  readonly overdue: boolean
}

export type LimitRow = {
  /** Null for the account's own. */
  readonly strategy: string | null
  readonly token: string
  readonly window: 'hour' | 'day' | 'week' | 'total'
  readonly used: string
  readonly cap: string
  /** Above 1 if a file was changed since. */
  readonly share: number
  /** When it begins to free; null if time frees nothing. */
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
  /** Above zero is better than the feed. */
  readonly vsFeedBps: number | null
  readonly charged: Amount | null
  readonly txHash: string | null
  readonly explorerUrl: string | null
  /** Taken back by a reorganisation. */
  readonly undone: boolean
}

export type FillsPage = {
  /** Newest first. A search that reaches its bound finds fewer, or none: `next` continues it. */
  readonly fills: readonly FillRow[]
  /** The `before` of the next older ones; null if there are none. */
  readonly next: string | null
}

export type Holding = {
  /** Unique: `WETH`, or `ETH (operator)` for a wallet other than the one that trades. */
  readonly token: string
  /** Null if it was not read. */
  readonly amount: string | null
  /** In the overview's `valueToken`; null without a usable price. */
  readonly value: string | null
  /** Age of its oldest price when the wallet was last read, about once a minute. */
  readonly priceAgeSeconds: number | null
}

/** What orders bought and is still held, at average cost, and the profit since the first order in the journal. */
export type ProfitRow = {
  readonly token: string
  readonly cost: string
  readonly realised: string
  /** Null if anything held has no price. */
  readonly unrealised: string | null
  readonly held: readonly {
    readonly token: string
    readonly amount: string
    readonly cost: string
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
  readonly unknown: string | null
}

export type Overview = {
  readonly revision: number
  readonly atMs: number
  readonly version: string
  readonly mode: string
  readonly startedAtMs: number
  readonly ready: { readonly ok: boolean; readonly reasons: readonly string[] }
  readonly halted: Stopped | null
  readonly stale: { readonly files: number; readonly detail: string } | null
  readonly wallets: readonly {
    readonly name: string
    readonly address: string
    readonly explorerUrl: string | null
  }[]
  readonly valueToken: string | null
  /** Of the priced holdings of the wallet that trades; null if any of them was not read. */
  readonly totalValue: string | null
  readonly holdings: readonly Holding[]
  /** Null until the journal was read back, and without a price feed. */
  readonly profit: ProfitRow | null
  readonly gasTank: GasTankRow | null
  /** The account's, then the fullest of the strategies': at most 60. */
  readonly limits: readonly LimitRow[]
  /** Overdue ones first, then the oldest: at most 100. `counts.unresolved` counts all. */
  readonly orders: readonly OrderRow[]
  readonly counts: Readonly<
    Record<'strategies' | 'active' | 'paused' | 'fills' | 'unresolved' | 'overdue', number>
  >
}

/** All arrays have the length of `atSeconds`, oldest first. */
export type HoldingsSeries = {
  readonly valueToken: string | null
  readonly atSeconds: readonly number[]
  /** Null if any part was unknown. */
  readonly value: readonly (number | null)[]
  readonly tokens: readonly {
    readonly token: string
    readonly amounts: readonly (number | null)[]
  }[]
}

export type HoldingsRange = 'day' | 'week' | 'month' | 'year'

/** Oldest first. */
export type Why = {
  readonly slot: string
  /** False if the search reached its bound, or older files are gone. */
  readonly whole: boolean
  readonly lines: readonly {
    readonly atMs: number
    readonly title: string
    readonly sentences: readonly string[]
    readonly facts: readonly (readonly [string, string])[]
  }[]
}

/** Sent after changes, at most once a second. Rows replace those of the same name. */
export type Change = {
  readonly overview: Overview
  readonly strategies: readonly StrategyRow[]
  /** New and undone ones, newest first. At most 100: with as many, load the newest page. */
  readonly fills: readonly FillRow[]
}

/**
 * The paths served, all by GET:
 *
 * - `/`, `/page.js`, `/page.css`: the page
 * - `/api/overview`: Overview
 * - `/api/strategies`: StrategyRow[], all of them
 * - `/api/fills?limit=100&before=CURSOR&strategy=NAME`: FillsPage
 * - `/api/holdings?range=day`: HoldingsSeries
 * - `/api/why?slot=STRATEGY:SECONDS`: Why, or 404 with `{ "error": "..." }`
 * - `/events?since=REVISION`: server-sent events, `change` with a Change; a comment every 15 s while nothing changes. The first
 *   comes at once and holds the changes since that revision of an overview (everything, if it was another process's);
 *   without `since` it holds no rows. The event's id is its revision, so that a broken connection resumes there
 *
 * Errors are `{ "error": "..." }`: 400 for an invalid query, 503 for too many requests at once.
 */
export type PageRoute =
  | '/api/overview'
  | '/api/strategies'
  | '/api/fills'
  | '/api/holdings'
  | '/api/why'
  | '/events'
