import type { Token } from '../domain/money/token.ts'
import { baseUnits } from '../domain/money/units.ts'
import type { Intent } from '../domain/order/intent.ts'
import type { Moved, Route, VenueProjection } from '../journal/projections/order-reducer.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { CALLS } from './call/call-projection.ts'
import { SWAPS, swapOf } from './swap/swap-projection.ts'

export type VenueName = Intent['venue']

const PROJECTIONS = { gasless: SWAPS, aggregated: CALLS } as const satisfies {
  readonly [Name in VenueName]: VenueProjection<
    Extract<Intent, { venue: Name }>,
    Extract<OpenIntent, { venue: Name }>
  >
}

export type RouteName = keyof (typeof SWAPS.routes & typeof CALLS.routes)

type AnyProjection = VenueProjection<Intent, OpenIntent>

/** The projection of an intent's venue. */
export function projectionOf({ venue }: { readonly venue: VenueName }): AnyProjection {
  return PROJECTIONS[venue]
}

/** All routes of fills, by their names in records, metrics and outputs. */
export const ROUTES = byRoute(({ routes }, name) => routes[name] as Route)
export const ROUTE_NAMES = Object.keys(ROUTES) as readonly RouteName[]

export function byRoute<Value>(
  valueFor: (projection: AnyProjection, route: RouteName) => Value,
): Readonly<Record<RouteName, Value>> {
  const all = Object.values<AnyProjection>(PROJECTIONS).flatMap((projection) =>
    Object.keys(projection.routes).map((name) => [name, valueFor(projection, name as RouteName)]),
  )
  return Object.fromEntries(all)
}

export function byVenue<Value>(
  valueFor: (projection: AnyProjection, venue: VenueName) => Value,
): Readonly<Record<VenueName, Value>> {
  const names = Object.keys(PROJECTIONS) as VenueName[]
  const values = names.map((venue) => [venue, valueFor(PROJECTIONS[venue], venue)] as const)
  return Object.fromEntries(values) as Record<VenueName, Value>
}

/** Amount of the recorded authorization that counts against caps while it may be live, in base units. */
export function heldBy(open: OpenIntent): { readonly token: Token; readonly amount: bigint } {
  const projection = projectionOf(open)
  const { token } = projection.mostOf(open.intent)
  return { token, amount: projection.authorizationOf(open)?.amount ?? 0n }
}

/** Deadline of an order's authorization, epoch seconds; undefined without one. */
export function deadlineOf(open: OpenIntent): number | undefined {
  return projectionOf(open).authorizationOf(open)?.deadlineSeconds
}

/** Amounts that an order's fill moved; zero if unknown. */
export function movedBy(open: OpenIntent): Moved {
  const nothing = { paid: baseUnits(0n), received: baseUnits(0n) }
  return projectionOf(open).movedOf(open.intent, swapOf(open)?.fill ?? nothing)
}
