import { assertNever } from '../../domain/errors.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import type { SigningWallets } from '../anchor.ts'
import type { FillEntry, Posting } from '../ledger/entry.ts'
import type { DaemonState } from '../state/daemon-state.ts'
import type { SlotRange } from './event.ts'
import { AUTHORIZATION_EVENTS } from './order/authorizations.ts'
import { FILL_EVENTS } from './order/fills.ts'
import { OUTCOME_EVENTS } from './order/outcomes.ts'
import { CONTRACT_EVENTS } from './state/contracts.ts'
import { STATE_IDENTITY_EVENTS } from './state/state-identity.ts'
import { TRANSACTION_EVENTS } from './state/transactions.ts'
import { WALLET_EVENTS } from './state/wallets.ts'
import { SLOT_EVENTS } from './strategy/slots.ts'
import { STOP_EVENTS } from './strategy/stops.ts'
import { STRATEGY_EVENTS } from './strategy/strategies.ts'

/** All journal events, by defining file. The compiler requires an output for each (`outputs.ts`). */
const EVENTS = [
  ...STATE_IDENTITY_EVENTS,
  ...WALLET_EVENTS,
  ...CONTRACT_EVENTS,
  ...TRANSACTION_EVENTS,
  ...STRATEGY_EVENTS,
  ...STOP_EVENTS,
  ...SLOT_EVENTS,
  ...AUTHORIZATION_EVENTS,
  ...OUTCOME_EVENTS,
  ...FILL_EVENTS,
] as const

type Module = (typeof EVENTS)[number]

/** Everything the daemon knows, in order. The state is reduced from these. */
export type JournalEvent = ReturnType<Module>

export type EventType = JournalEvent['type']

export type EventOf<Type extends EventType> = Extract<JournalEvent, { type: Type }>

/** Context of an event of that type, from the state before it. */
export type ContextOf<Type extends EventType> = ReturnType<
  Extract<Module, { readonly type: Type }>['context']
>

/** One journal line. `hash` covers `prev` and the record's text, so no line can change unnoticed. */
export type JournalRecord = {
  readonly seq: number
  readonly atMs: number
  readonly event: JournalEvent
  readonly prev: Hex
  readonly hash: Hex
}

export type RecordPlace = Pick<JournalRecord, 'seq' | 'atMs'>

type RecordedAs<Type extends EventType, Place> = {
  readonly event: EventOf<Type>
  readonly context: ContextOf<Type>
  readonly record: Place
}

/** A recorded event with its context. Every report about the journal uses these. */
export type Recorded<Place = RecordPlace> = {
  readonly [Type in EventType]: RecordedAs<Type, Place>
}[EventType]

/** The same for a record read from disk; `context` is undefined if it needs a missing record. */
export type ReadRecord<Place = JournalRecord> =
  | Recorded<Place>
  | { readonly event: JournalEvent; readonly context: undefined; readonly record: Place }

const BY_TYPE: ReadonlyMap<string, Module> = new Map(EVENTS.map((each) => [each.type, each]))

function moduleOf(event: JournalEvent): Module {
  return BY_TYPE.get(event.type) ?? assertNever(event as never)
}

/** False for a type of event that only a later version writes. */
export function isKnownEvent({ type }: Pick<JournalEvent, 'type'>): boolean {
  return BY_TYPE.has(type)
}

/** Applies one event in place. */
export function reduce(state: DaemonState, event: JournalEvent, atMs: number): void {
  moduleOf(event).reduce(state, event as never, atMs)
}

/** Applies one event in place, and returns it with its context. */
export function reduceRecorded<Place extends RecordPlace>(
  state: DaemonState,
  event: JournalEvent,
  record: Place,
): Recorded<Place> {
  const module = moduleOf(event)
  const context = module.context(state, event as never, record.atMs)
  module.reduce(state, event as never, record.atMs)
  return { event, context, record } as Recorded<Place>
}

/** Context of an event, from the state before it. Throws InvariantError if the event does not fit that state. */
export function contextOf(
  state: DaemonState,
  event: JournalEvent,
  atMs: number,
): Recorded['context'] {
  return moduleOf(event).context(state, event as never, atMs)
}

export function postingOf({ event, context, record }: Recorded): Posting {
  return moduleOf(event).posting?.(event as never, context as never, record.atMs)
}

/** The ledger entry of an executed order; undefined for other postings. */
export function fillIn(posting: Posting): FillEntry | undefined {
  if (posting?.tag !== 'entry') return undefined
  const { entry } = posting
  return entry.type === 'trade' || entry.type === 'call' ? entry : undefined
}

/** The slots that an event concerns: themselves, or by their intents or transactions. */
export function slotsOf({
  event,
  context,
}: Pick<ReadRecord, 'event' | 'context'>): readonly SlotRange[] {
  const about = moduleOf(event).about?.(event as never, context as never)
  if (about !== undefined && 'intentIds' in about) return about.intentIds.flatMap(slotOfOrder)
  if (about !== undefined) return [about]
  if ('intentId' in event) return slotOfOrder(event.intentId)
  if (!('slotSeconds' in event)) return []
  const { strategy, slotSeconds } = event
  return [{ strategy, firstSeconds: slotSeconds, lastSeconds: slotSeconds }]
}

/** Of the id of an intent, or of its attempt. */
function slotOfOrder(id: string | undefined): readonly SlotRange[] {
  const [strategy = '', slot = '', leg] = id?.split(':') ?? []
  const slotSeconds = Number.parseInt(slot, 10)
  if (leg === undefined) return []
  return [{ strategy, firstSeconds: slotSeconds, lastSeconds: slotSeconds }]
}

/** Whether an event concerns a slot: the slot itself, one of its intents, or a transaction for one. */
export function isAbout(
  read: Pick<ReadRecord, 'event' | 'context'>,
  { strategy, slotSeconds }: { readonly strategy: string; readonly slotSeconds: number },
): boolean {
  return slotsOf(read).some(
    (slots) =>
      slots.strategy === strategy &&
      slots.firstSeconds <= slotSeconds &&
      slotSeconds <= slots.lastSeconds,
  )
}

/** The strategy of an event, directly or from its intent. */
export function strategyIn(event: JournalEvent): string | undefined {
  if ('strategy' in event) return event.strategy
  return 'intentId' in event ? event.intentId.slice(0, event.intentId.indexOf(':')) : undefined
}

/** Name under which `Journal.isOnDisk` finds a record that permits a signature; undefined for other records. */
export function recordName(event: JournalEvent): string | undefined {
  return moduleOf(event).signable?.(event as never)
}

/**
 * Wallets whose anchor must reach a record before anything depends on it: records that permit or forbid signing. Later steps
 * of an authorization can be recovered from the chain.
 */
export function anchorsOf(event: JournalEvent, wallets: SigningWallets): readonly Address[] {
  const anchors = moduleOf(event).anchors?.(event as never, wallets) ?? []
  return [...new Set(anchors.filter((each) => each !== undefined))]
}
