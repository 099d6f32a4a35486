import type { Address } from '../../domain/money/units.ts'
import type { SigningWallets } from '../anchor.ts'
import type { Posting } from '../ledger/entry.ts'
import type { DaemonState } from '../state/daemon-state.ts'

type TypedEvent = { readonly type: string }

/** Events that need nothing of the state before them to be reported. */
type NoContext = Readonly<Record<never, never>>

/** The slots of one strategy, or the orders, that an event is about. Both ends are inclusive. */
type About =
  | { readonly strategy: string; readonly firstSeconds: number; readonly lastSeconds: number }
  | { readonly intentIds: readonly (string | undefined)[] }

/** One type of journal event: its reducer step, and everything that others derive from it. */
type EventDefinition<Event extends TypedEvent, Context extends object> = {
  /** Frozen: journals on disk carry it. */
  readonly type: Event['type']
  /**
   * Applies the event in place. Throws InvariantError, before it changes anything, when the state table or the slot order
   * does not allow the event.
   */
  readonly reduce: (state: DaemonState, event: Event, atMs: number) => void
  /** What a report of the event needs from the state before it. Throws InvariantError for an event that does not fit. */
  readonly context: (state: DaemonState, event: Event, atMs: number) => Context
  /** Default: by `intentId`, or by `strategy` and `slotSeconds`, where the event has them. Context is undefined if unknown. */
  readonly about?: (event: Event, context: Context | undefined) => About
  /** What the event does to the ledger. */
  readonly posting?: (event: Event, context: Context, atMs: number) => Posting
  /** The name under which `Journal.isOnDisk` knows what the record permits to be signed. */
  readonly signable?: (event: Event) => string
  /** Wallets whose anchor has to reach the record before anything follows from it (rule T3). */
  readonly anchors?: (event: Event, wallets: SigningWallets) => readonly (Address | undefined)[]
}

/** A definition that makes events, and recognizes them: `slotOpened({ ... })`, `slotOpened.is(event)`. */
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
  // The type comes first: searches of the journal read it from the head of a line.
  const create = (payload: Payload<Event>): Event => ({ type, ...payload }) as unknown as Event
  const is = (event: TypedEvent): event is Event => event.type === type
  return Object.assign(create, { context: () => NO_CONTEXT, ...definition, is })
}
