import type { Intent } from '../intent.ts'
import type { Token } from '../token.ts'
import { CALLS } from './calls.ts'
import type { VenueBook } from './orders.ts'
import type { OpenIntent } from './state.ts'
import { SWAPS } from './swaps.ts'

export type VenueName = Intent['venue']

const BOOKS: {
  readonly [Name in VenueName]: VenueBook<
    Extract<Intent, { venue: Name }>,
    Extract<OpenIntent, { venue: Name }>
  >
} = { gasless: SWAPS, aggregated: CALLS }

/** The books of the venue that an intent, open or not, goes to. */
export function bookOf({ venue }: { readonly venue: VenueName }): VenueBook<Intent, OpenIntent> {
  return BOOKS[venue]
}

/** What the authorization on record counts against caps while it may be live, in base units. */
export function heldBy(open: OpenIntent): { readonly token: Token; readonly amount: bigint } {
  const book = bookOf(open)
  const { token } = book.mostOf(open.intent)
  return { token, amount: book.authorizationOf(open)?.amount ?? 0n }
}

/** When the live authorization of an order ends, epoch seconds; undefined where nothing says so. */
export function deadlineOf(open: OpenIntent): number | undefined {
  return bookOf(open).authorizationOf(open)?.deadlineSeconds
}
