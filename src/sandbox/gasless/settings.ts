import type { Faults, Route } from '../faults.ts'
import type { RateLimit, ResetStyle } from '../http/rate-limit.ts'
import type { Market } from '../market/market.ts'
import type { SandboxToken } from '../tokens.ts'
import type { Order, OrderBook } from './orders.ts'
import type { QuoteSettings } from './quotes.ts'

/** How the REST service behaves. */
export type GaslessSettings = QuoteSettings & {
  readonly rateLimits: Readonly<Record<Route, RateLimit>>
  readonly rateLimitReset: ResetStyle
  /** `logoURI` of every token, `{symbol}` in it replaced; undefined lists none. */
  readonly logoURI: string | undefined
  /** The operator's own words for the two neutral ones. */
  readonly routingWords: { readonly preferOwn: string; readonly onlyOwn: string }
}

/** What the REST service works on. */
export type GaslessDeps = {
  readonly tokens: readonly SandboxToken[]
  readonly market: Market
  readonly book: OrderBook
  readonly faults: Faults
  /** Hands an accepted order to whoever settles it. */
  readonly onAccepted: (order: Order) => void
}
