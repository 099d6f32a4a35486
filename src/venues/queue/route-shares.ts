import type { AggregatorRoute, GaslessRoute } from '../../domain/observation.ts'

/** At most `cap` starts in any span of `windowMs`. */
export type StartWindow = { readonly cap: number; readonly windowMs: number }

/**
 * Shares of a service's ceiling by route, in percent. Each route owns its share, so that a flood of quotes cannot keep an
 * order from being submitted or an exposed permit from being watched. Quotes and submissions have the same: each order
 * takes one of both, and a quote that is asked for sooner than it can be used only grows old.
 */
export type Shares<Route extends string> = Readonly<Record<Route, number>>

export const GASLESS_SHARES: Shares<GaslessRoute> = { quote: 30, poll: 35, submit: 30, tokens: 5 }

export const AGGREGATOR_SHARES: Shares<AggregatorRoute> = {
  sendRawTransaction: 35,
  getTransactionReceipt: 30,
  accountInfo: 15,
  transactionStatus: 10,
  getBatchedTransactionReceipt: 5,
  sendBundle: 5,
}

/** One process does not reach this rate; above it, counting starts would only cost time. */
const COUNTED_PER_SECOND_MAX = 10_000

/**
 * Splits a ceiling of requests per second among routes. From one a second and route on, the caps are whole numbers whose
 * sum is at most the ceiling, over a sliding second: no second sees more requests than the operator allowed. Below
 * that there is no whole request for each route and second, so each route gets one per `routes / ceiling` seconds.
 */
export function routeWindows<Route extends string>(
  shares: Shares<Route>,
  requestsPerSecond: number,
): Readonly<Record<Route, StartWindow>> {
  if (!(requestsPerSecond > 0)) throw new RangeError('requestsPerSecond must be above 0')
  const routes = routesOf(shares)
  if (requestsPerSecond > COUNTED_PER_SECOND_MAX)
    return forEachRoute(shares, () => ({ cap: Number.POSITIVE_INFINITY, windowMs: 0 }))
  if (requestsPerSecond < routes.length) {
    const windowMs = (routes.length * 1000) / requestsPerSecond
    return forEachRoute(shares, () => ({ cap: 1, windowMs }))
  }
  const caps = wholeShares(shares, Math.floor(requestsPerSecond))
  return forEachRoute(shares, (route) => ({ cap: caps[route], windowMs: 1000 }))
}

/** One for each route, then one at a time to the route that is furthest below its share. */
function wholeShares<Route extends string>(
  shares: Shares<Route>,
  total: number,
): Record<Route, number> {
  const routes = routesOf(shares)
  const caps = forEachRoute(shares, () => 1)
  const deficit = (route: Route): number => (shares[route] * total) / 100 - caps[route]
  for (let left = total - routes.length; left > 0; left--) {
    const neediest = routes.reduce((best, route) => (deficit(route) > deficit(best) ? route : best))
    caps[neediest] += 1
  }
  return caps
}

/** The routes of a service, in the order of its shares. */
export function routesOf<Route extends string>(shares: Shares<Route>): readonly Route[] {
  return Object.keys(shares) as Route[]
}

/** A value of its own for every route. */
export function forEachRoute<Route extends string, Value>(
  shares: Shares<Route>,
  make: (route: Route) => Value,
): Record<Route, Value> {
  const made = routesOf(shares).map((route) => [route, make(route)] as const)
  return Object.fromEntries(made) as Record<Route, Value>
}
