import type { Route } from '../../domain/observation.ts'

/** At most `cap` starts in any span of `windowMs`. */
export type StartWindow = { readonly cap: number; readonly windowMs: number }

export const ROUTES: readonly Route[] = ['quote', 'poll', 'submit', 'tokens']

/**
 * Shares of the ceiling, in percent. Each route owns its share, so that a flood of quotes cannot keep an order
 * from being submitted or an exposed permit from being watched.
 */
const SHARE_PERCENT: Readonly<Record<Route, number>> = {
  quote: 40,
  poll: 30,
  submit: 25,
  tokens: 5,
}

/** One process does not reach this rate; above it, counting starts would only cost time. */
const COUNTED_PER_SECOND_MAX = 10_000

/**
 * Splits a ceiling of requests per second among the routes. From 4 a second on, the caps are whole numbers whose
 * sum is at most the ceiling, over a sliding second: no second sees more requests than the operator allowed. Below
 * that there is no whole request for each route and second, so each route gets one per `4 / ceiling` seconds.
 */
export function routeWindows(requestsPerSecond: number): Readonly<Record<Route, StartWindow>> {
  if (!(requestsPerSecond > 0)) throw new RangeError('requestsPerSecond must be above 0')
  if (requestsPerSecond > COUNTED_PER_SECOND_MAX)
    return forEachRoute(() => ({ cap: Number.POSITIVE_INFINITY, windowMs: 0 }))
  if (requestsPerSecond < ROUTES.length)
    return forEachRoute(() => ({ cap: 1, windowMs: (ROUTES.length * 1000) / requestsPerSecond }))
  const caps = wholeShares(Math.floor(requestsPerSecond))
  return forEachRoute((route) => ({ cap: caps[route], windowMs: 1000 }))
}

/** One for each route, then one at a time to the route that is furthest below its share. */
function wholeShares(total: number): Record<Route, number> {
  const caps: Record<Route, number> = { quote: 1, poll: 1, submit: 1, tokens: 1 }
  const deficit = (route: Route): number => (SHARE_PERCENT[route] * total) / 100 - caps[route]
  for (let left = total - ROUTES.length; left > 0; left--) {
    const neediest = ROUTES.reduce((best, route) => (deficit(route) > deficit(best) ? route : best))
    caps[neediest] += 1
  }
  return caps
}

/** A value of its own for every route. */
export function forEachRoute<Value>(make: (route: Route) => Value): Record<Route, Value> {
  return {
    quote: make('quote'),
    poll: make('poll'),
    submit: make('submit'),
    tokens: make('tokens'),
  }
}
