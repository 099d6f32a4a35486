import type { AggregatorRoute, GaslessRoute } from '../../journal/runtime-event.ts'

/** At most `cap` starts in any span of `windowMs`. */
export type StartWindow = { readonly cap: number; readonly windowMs: number }

/**
 * Percentage of a service's rate per route. Separate shares keep a flood of quotes from delaying submissions or the polling
 * of exposed permits. Quotes and submissions have equal shares: each order needs one of both, and a quote requested too
 * early only ages.
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

/** The same with calls submitted as bundles. */
export const BUNDLE_SHARES: Shares<AggregatorRoute> = {
  ...AGGREGATOR_SHARES,
  sendRawTransaction: AGGREGATOR_SHARES.sendBundle,
  sendBundle: AGGREGATOR_SHARES.sendRawTransaction,
}

/** One process does not reach this rate; counting above it would only cost time. */
const COUNTED_PER_SECOND_MAX = 10_000

/**
 * Splits requests per second among routes. With at least one per route and second, the caps are whole numbers that sum to at
 * most the total in any sliding second. Below that, each route gets one request per `routes / requestsPerSecond` seconds.
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

/** One for each route, then one at a time to the route furthest below its share. */
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

/** Routes in the order of the shares. */
export function routesOf<Route extends string>(shares: Shares<Route>): readonly Route[] {
  return Object.keys(shares) as Route[]
}

export function forEachRoute<Route extends string, Value>(
  shares: Shares<Route>,
  make: (route: Route) => Value,
): Record<Route, Value> {
  const made = routesOf(shares).map((route) => [route, make(route)] as const)
  return Object.fromEntries(made) as Record<Route, Value>
}
