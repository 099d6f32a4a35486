import type { OpenIntent } from '../domain/book/state.ts'
import type { VenueName } from '../domain/book/venues.ts'
import { CALL_VENUE } from './call/venue.ts'
import { SWAP_VENUE } from './swap/venue.ts'
import type { Venue } from './venue.ts'

const VENUES: {
  readonly [Name in VenueName]: Venue<Extract<OpenIntent, { venue: Name }>>
} = { gasless: SWAP_VENUE, aggregated: CALL_VENUE }

/** The venue that an open intent goes to. */
export function venueOf({ venue }: OpenIntent): Venue<OpenIntent> {
  return VENUES[venue]
}
