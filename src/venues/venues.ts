import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { CALL_VENUE } from './call/call-venue.ts'
import type { VenueName } from './projections.ts'
import { SWAP_VENUE } from './swap/swap-venue.ts'
import type { Venue } from './venue.ts'

const VENUES: {
  readonly [Name in VenueName]: Venue<Extract<OpenIntent, { venue: Name }>>
} = { gasless: SWAP_VENUE, aggregated: CALL_VENUE }

export function venueOf({ venue }: OpenIntent): Venue<OpenIntent> {
  return VENUES[venue]
}
