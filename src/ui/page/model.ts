/**
 * The page's data as JSON. Amounts are decimal text with their token's symbol; times are epoch milliseconds unless a name
 * says otherwise. Null means unknown or not applicable, never zero.
 */

export type Amount = { readonly amount: string; readonly token: string }

type Stopped = { readonly sinceMs: number; readonly cause: string; readonly detail: string }

type SlotEnd = {
  readonly slotSeconds: number
  /** `open` until it has one of the six outcomes. */
  readonly outcome: string
  readonly reason: string | null
  readonly detail: string | null
}

export type StrategyRow = {
  readonly name: string
  readonly kind: string
  readonly state: 'active' | 'finished' | 'paused' | 'disabled' | 'removed'
  readonly does: string
  readonly schedule: string
  readonly nextSlotSeconds: number | null
  readonly paused: Stopped | null
  /** Why the due slot waits. */
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
  /** Trade or call, as text. */
  readonly what: string
  readonly state: string
  readonly attempt: number
  readonly openedAtMs: number
  readonly deadlineSeconds: number | null
  readonly doing: string
  /** True if past its deadline and finality. */
  readonly overdue: boolean
}

export type LimitRow = {
  /** Null for the account's own limits. */
  readonly strategy: string | null
  readonly token: string
  readonly window: 'hour' | 'day' | 'week' | 'total'
  readonly used: string
  readonly cap: string
  /** Above 1 if a file lowered the cap. */
  readonly share: number
  /** When use begins to fall; null if time does not reduce it. */
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
  /** Positive if better than the feed. */
  readonly vsFeedBps: number | null
  readonly charged: Amount | null
  readonly txHash: string | null
  readonly explorerUrl: string | null
  /** Undone by a reorganisation. */
  readonly undone: boolean
}

/** A slot, or a run of missed slots, that ended without a fill. */
export type UnfilledRow = {
  readonly strategy: string
  /** The last slot of a run. */
  readonly slotSeconds: number
  readonly atMs: number
  readonly outcome: string
  readonly reason: string | null
  readonly detail: string | null
  /** Above 1 for a run; null if it is too long to count. */
  readonly count: number | null
}

export type UnfilledPage = {
  /** Newest first; a bounded search may find fewer, or none. */
  readonly slots: readonly UnfilledRow[]
  /** The `before` of the next older page; null if there are none. */
  readonly next: string | null
}

export type FillsPage = {
  /** Newest first. A search that reaches its bound finds fewer fills, or none; `next` continues it. */
  readonly fills: readonly FillRow[]
  /** The `before` for the next older fills; null if there are none. */
  readonly next: string | null
}

export type Holding = {
  /** Unique: `WETH`, or `ETH (operator)` for a wallet other than the trading wallet. */
  readonly token: string
  /** Null if not read. */
  readonly amount: string | null
  /** In the overview's `valueToken`; null without a usable price. */
  readonly value: string | null
  /** Time of the token's oldest price, as of the last reading of the wallet. Epoch ms. */
  readonly pricedAtMs: number | null
}

/** Tokens bought by orders and still held, at average cost, and the profit since the journal's first order. */
export type ProfitRow = {
  readonly token: string
  readonly cost: string
  readonly realised: string
  /** Null if a held token has no price. */
  readonly unrealised: string | null
  readonly held: readonly {
    readonly token: string
    readonly amount: string
    /** A sentence about the part of unknown cost; empty for none. `cost` and `profit` are of the rest, null without one. */
    readonly unknownCost: string
    readonly cost: string | null
    readonly profit: string | null
  }[]
  /** The last 90 UTC days with trades, oldest first. */
  readonly days: readonly {
    /** `2026-11-26`. */
    readonly day: string
    readonly fills: number
    readonly realised: string
    /** Gain or loss of the trades against the feeds at signing, fees included; null if unknown. */
    readonly againstFeed: string | null
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
  /** Whether commands are accepted, with their token. */
  readonly control: boolean
  readonly stale: { readonly files: number; readonly detail: string } | null
  readonly wallets: readonly {
    readonly name: string
    readonly address: string
    readonly explorerUrl: string | null
  }[]
  readonly valueToken: string | null
  /** Value of the trading wallet's priced holdings; null if any of them was not read. */
  readonly totalValue: string | null
  readonly holdings: readonly Holding[]
  /** When the trading wallet and its prices were last read. */
  readonly readAtMs: number | null
  /** Null until the journal is read back, and without a price feed. */
  readonly profit: ProfitRow | null
  readonly gasTank: GasTankRow | null
  /** The account's limits, then the strategies' fullest: at most 60. */
  readonly limits: readonly LimitRow[]
  /** Overdue orders first, then the oldest: at most 100. `counts.unresolved` counts all. */
  readonly orders: readonly OrderRow[]
  /** What this UTC day's trades gained or lost against the feeds, up to the last reading of the wallet; null if unknown. */
  readonly tradedToday: string | null
  /** `limits.maxDeviationBps`: a fill that is worse against the feed is marked. */
  readonly maxDeviationBps: number
  readonly counts: Readonly<
    Record<
      'strategies' | 'active' | 'finished' | 'paused' | 'fills' | 'unresolved' | 'overdue',
      number
    >
  >
}

/** All arrays have the length of `atSeconds`, oldest first. */
export type HoldingsSeries = {
  readonly valueToken: string | null
  readonly atSeconds: readonly number[]
  /** Null if any part is unknown. */
  readonly value: readonly (number | null)[]
  readonly tokens: readonly {
    readonly token: string
    readonly amounts: readonly (number | null)[]
  }[]
}

export type HoldingsRange = 'day' | 'week' | 'month' | 'year'

/** What one strategy's dialog shows beside its row. */
export type StrategyDetail = {
  /** Undefined figures are unknown. Null before the journal is read back, and without a price feed. */
  readonly profit: {
    readonly realised: Amount
    /** Of `held` at the price now. */
    readonly unrealised: Amount | null
  } | null
  /** All fills, by pair. */
  readonly traded: readonly {
    readonly fills: number
    readonly sold: Amount
    readonly bought: Amount
    /** Average, in the sold token per bought token. */
    readonly price: string | null
  }[]
  /** Its purchases that it did not sell, if it only buys. */
  readonly held: {
    readonly amount: Amount
    readonly cost: Amount
    readonly price: string | null
  } | null
  /** Null for a removed strategy. */
  readonly file: {
    readonly name: string
    /** With secrets masked; null if unreadable. */
    readonly text: string | null
    /** True if `text` is only the beginning. */
    readonly isCut: boolean
    /** The daemon trades by other content. */
    readonly differs: boolean
    /** Why the content on disk is refused. */
    readonly problems: readonly {
      readonly line: number
      readonly path: string
      readonly message: string
      readonly expected: string
      /** Source lines with a caret. */
      readonly frame: string
    }[]
  } | null
  readonly chart: PriceChart | null
  /** For kinds with a contract call. */
  readonly call: {
    readonly target: string
    readonly explorerUrl: string | null
    readonly function: string
    readonly value: Amount
    /** Average of the calls of the last 30 days. */
    readonly charge: Amount | null
    readonly calls: number
  } | null
}

/** Prices are whole quote per whole base. */
export type PriceChart = {
  /** `WETH/USDC`. */
  readonly pair: string
  /** Pairs to choose from. */
  readonly pairs: readonly string[]
  /** Both of one length, oldest first. */
  readonly atSeconds: readonly number[]
  readonly prices: readonly number[]
  /** False if the search for prices and fills stopped early. */
  readonly whole: boolean
  /** In the range, oldest first: at most 500. */
  readonly fills: readonly FillRow[]
  readonly levels: readonly {
    readonly name: string
    readonly price: number
    readonly kind: 'trade' | 'ready' | 'bound'
    /** From the last price, in percent; negative below. */
    readonly awayPercent: number | null
    /** Whether the last price is at or beyond a level that trades. */
    readonly isReached: boolean
  }[]
  /** Index in `levels` of one that is reached, otherwise of the nearest at which it trades. */
  readonly next: number | null
  /** Shares of a portfolio, in percent. */
  readonly weights: readonly {
    readonly token: string
    readonly target: number
    readonly band: number
    readonly now: number | null
  }[]
}

/** Oldest first. */
export type Why = {
  readonly slot: string
  /** False if the search reached its bound, or older files are missing. */
  readonly whole: boolean
  readonly lines: readonly {
    readonly atMs: number
    readonly title: string
    readonly sentences: readonly string[]
    readonly facts: readonly (readonly [string, string])[]
  }[]
}

/** Sent after changes, at most once a second. Rows replace those with the same name. */
export type Change = {
  readonly overview: Overview
  readonly strategies: readonly StrategyRow[]
  /** New and undone fills, newest first. At most 100: if there are as many, load the newest page. */
  readonly fills: readonly FillRow[]
}

/**
 * Served paths, all but the last by GET:
 *
 * - `/`, `/page.js`, `/page.css`: the page
 * - `/api/overview`: Overview
 * - `/api/strategies`: StrategyRow[], all of them
 * - `/api/fills?limit=100&before=CURSOR&strategy=NAME`: FillsPage
 * - `/api/unfilled?limit=100&before=CURSOR&strategy=NAME&skipped=yes`: UnfilledPage; skips only if asked for
 * - `/api/holdings?range=day`: HoldingsSeries
 * - `/api/strategy?name=NAME&range=day&pair=WETH/USDC`: StrategyDetail, or 404; the first of its pairs by default
 * - `/api/why?slot=STRATEGY:SECONDS`: Why, or 404 with `{ "error": "..." }`
 * - `/events?since=REVISION`: server-sent events, `change` with a Change; a comment every 15 s without changes. The first
 *   event comes at once, with the changes since that overview's revision (all rows, if the revision is another process's);
 *   without `since` it has no rows. Its id is its revision, so that a broken connection resumes there
 *
 * - `/api/control`, by POST with a token: a command; see `control/http/page-control.ts`
 *
 * Errors are `{ "error": "..." }`: 400 for an invalid query, 401 without the token that the config asks for, 503 for too many
 * requests at once.
 */
export type PageRoute =
  | '/api/overview'
  | '/api/strategies'
  | '/api/fills'
  | '/api/unfilled'
  | '/api/holdings'
  | '/api/strategy'
  | '/api/why'
  | '/api/control'
  | '/events'
