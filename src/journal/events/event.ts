import type { Address } from '../../domain/money/units.ts'
import type { SigningWallets } from '../anchor.ts'
import type { Posting } from '../ledger/entry.ts'
import type { DaemonState } from '../state/daemon-state.ts'

type TypedEvent = { readonly type: string }

/** Events whose report needs no context from the state. */
type NoContext = Readonly<Record<never, never>>

/** Slots of one strategy in a row; both ends are inclusive. */
export type SlotRange = {
  readonly strategy: string
  readonly firstSeconds: number
  readonly lastSeconds: number
}

/** The slots, or the orders, that an event concerns. */
type About = SlotRange | { readonly intentIds: readonly (string | undefined)[] }

/** One type of journal event: its reducer, and everything derived from it. */
type EventDefinition<Event extends TypedEvent, Context extends object> = {
  /** Frozen: journals on disk contain it. */
  readonly type: Event['type']
  /**
   * Applies the event in place. Throws InvariantError, before it changes anything, when the state table or the slot order
   * does not allow the event.
   */
  readonly reduce: (state: DaemonState, event: Event, atMs: number) => void
  /** A report's context, from the state before the event. Throws InvariantError if the event does not fit it. */
  readonly context: (state: DaemonState, event: Event, atMs: number) => Context
  /** Default: by `intentId`, or by `strategy` and `slotSeconds`, if present. `context` is undefined if unknown. */
  readonly about?: (event: Event, context: Context | undefined) => About
  /** The event's change to the ledger. */
  readonly posting?: (event: Event, context: Context, atMs: number) => Posting
  /** Name under which `Journal.isOnDisk` finds the record that permits a signature. */
  readonly signable?: (event: Event) => string
  /** Wallets whose anchor must reach the record before anything depends on it (rule T3). */
  readonly anchors?: (event: Event, wallets: SigningWallets) => readonly (Address | undefined)[]
}

/** A definition that creates and recognizes events: `slotOpened({ ... })`, `slotOpened.is(event)`. */
type EventModule<Event extends TypedEvent, Context extends object> = EventDefinition<
  Event,
  Context
> & {
  (payload: Payload<Event>): Event
  is(event: TypedEvent): event is Event
}

type Payload<Event> = Event extends unknown ? Omit<Event, 'type'> : never

const NO_CONTEXT: NoContext = {}

export function defineEvent<Event extends TypedEvent>(
  definition: Omit<EventDefinition<Event, NoContext>, 'context'>,
): EventModule<Event, NoContext>
export function defineEvent<Event extends TypedEvent, Context extends object>(
  definition: EventDefinition<Event, Context>,
): EventModule<Event, Context>
export function defineEvent<Event extends TypedEvent>(
  definition: Omit<EventDefinition<Event, NoContext>, 'context'>,
): EventModule<Event, NoContext> {
  const { type } = definition
  // `type` comes first: journal searches read it from the start of a line.
  const create = (payload: Payload<Event>): Event => ({ type, ...payload }) as unknown as Event
  const is = (event: TypedEvent): event is Event => event.type === type
  return Object.assign(create, { context: () => NO_CONTEXT, ...definition, is })
}
