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

/** The projection of the venue that an intent, open or not, goes to. */
export function projectionOf({ venue }: { readonly venue: VenueName }): AnyProjection {
  return PROJECTIONS[venue]
}

/** Ways of all fills, by the name that records, metrics and outputs have for them. */
export const ROUTES = byRoute(({ routes }, name) => routes[name] as Route)
export const ROUTE_NAMES = Object.keys(ROUTES) as readonly RouteName[]

/** A value for each way of fills. */
export function byRoute<Value>(
  valueFor: (projection: AnyProjection, route: RouteName) => Value,
): Readonly<Record<RouteName, Value>> {
  const all = Object.values<AnyProjection>(PROJECTIONS).flatMap((projection) =>
    Object.keys(projection.routes).map((name) => [name, valueFor(projection, name as RouteName)]),
  )
  return Object.fromEntries(all)
}

/** A value for each venue. */
export function byVenue<Value>(
  valueFor: (projection: AnyProjection, venue: VenueName) => Value,
): Readonly<Record<VenueName, Value>> {
  const names = Object.keys(PROJECTIONS) as VenueName[]
  const values = names.map((venue) => [venue, valueFor(PROJECTIONS[venue], venue)] as const)
  return Object.fromEntries(values) as Record<VenueName, Value>
}

/** What the authorization on record counts against caps while it may be live, in base units. */
export function heldBy(open: OpenIntent): { readonly token: Token; readonly amount: bigint } {
  const projection = projectionOf(open)
  const { token } = projection.mostOf(open.intent)
  return { token, amount: projection.authorizationOf(open)?.amount ?? 0n }
}

/** When the live authorization of an order ends, epoch seconds; undefined where nothing says so. */
export function deadlineOf(open: OpenIntent): number | undefined {
  return projectionOf(open).authorizationOf(open)?.deadlineSeconds
}

/** What the fill of an order moved; nothing where it is not known. */
export function movedBy(open: OpenIntent): Moved {
  const nothing = { paid: baseUnits(0n), received: baseUnits(0n) }
  return projectionOf(open).movedOf(open.intent, swapOf(open)?.fill ?? nothing)
}
