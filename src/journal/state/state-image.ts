import { projectionOf } from '../../venues/projections.ts'
import { sumAgain } from '../projections/exposures.ts'
import type { DaemonState, StrategyRecord } from './daemon-state.ts'
import { OpenIntents } from './open-intents.ts'

type Entries<Held> = Held extends ReadonlyMap<infer Key, infer Value> ? [Key, Value][] : Held

type StrategyImage = {
  [Field in keyof StrategyRecord]: Entries<StrategyRecord[Field]>
}

type StateField = keyof DaemonState

/**
 * The state at one moment. Shares with the state only values that reducers never change in place. Reducers depend on the
 * order of entries.
 */
export type StateImage = {
  readonly [Field in StateField]: Field extends 'strategies'
    ? [string, StrategyImage][]
    : Entries<DaemonState[Field]>
}

/** A field's initial value, its image, and its restoration from the image. */
type Kept<Held, Image> = {
  empty(): Held
  imageOf(held: Held): Image
  /** Maps are refilled in place. */
  restored(held: Held, image: Image): Held
}

/** The only list of the state's fields: their initial values, snapshots and restoration. */
const FIELDS: { readonly [Field in StateField]: Kept<DaemonState[Field], StateImage[Field]> } = {
  bound: value(undefined),
  stateId: value(undefined),
  anchored: map(),
  halted: value(undefined),
  failureStreak: value(0),
  lastOrderAtMs: value(undefined),
  spent: map(),
  paper: map(),
  purchases: map(),
  strategies: map(strategyImage, strategyOf),
  // Reducers change these in place, so image and state need separate copies.
  intents: {
    empty: () => new OpenIntents((intent) => projectionOf(intent).mostOf(intent)),
    imageOf: (held) => Array.from(held, ([id, open]) => [id, { ...open }]),
    restored(held, image) {
      held.clear()
      for (const [id, open] of image) held.set(id, { ...open })
      return held
    },
  },
  exposures: map(),
  transactions: map(),
  endedTransactions: map(),
  directCalls: map(),
  deposits: map(),
  charges: map(),
  delegationCharges: map(),
  delegation: value(undefined),
  usedNonces: map(),
  spokenFor: map(),
  sights: map(),
  minedNonces: map(),
  unfinalTransactions: map(),
  gasCharges: map(),
  claimedTransfers: map(),
  unfinal: map(),
  contracts: map(),
}

export const STATE_FIELDS = Object.keys(FIELDS) as readonly StateField[]

export function emptyState(): DaemonState {
  return Object.fromEntries(
    STATE_FIELDS.map((field) => [field, FIELDS[field].empty()]),
  ) as DaemonState
}

/** Unaffected by later changes of the state. */
export function imageOf(state: DaemonState): StateImage {
  return Object.fromEntries(
    STATE_FIELDS.map((field) => [field, fieldImage(state, field)]),
  ) as StateImage
}

/** Restores `state` from the image in place. The image stays usable. */
export function restoreState(state: DaemonState, image: StateImage): void {
  for (const field of STATE_FIELDS) restoreField(state, image, field)
  sumAgain(state)
}

/** Fields that an image from another version of this program lacks: its state cannot be restored. */
export function fieldsMissingIn(image: StateImage): readonly StateField[] {
  const empty = imageOf(emptyState())
  return STATE_FIELDS.filter((field) => image[field] === undefined && empty[field] !== undefined)
}

function fieldImage<Field extends StateField>(state: DaemonState, field: Field): StateImage[Field] {
  return FIELDS[field].imageOf(state[field])
}

function restoreField<Field extends StateField>(
  state: { -readonly [Each in keyof DaemonState]: DaemonState[Each] },
  image: StateImage,
  field: Field,
): void {
  const kept = FIELDS[field]
  const imageOfField: StateImage[Field] | undefined = image[field]
  state[field] = kept.restored(state[field], imageOfField ?? kept.imageOf(kept.empty()))
}

function value<Value>(initial: Value): Kept<Value, Value> {
  return { empty: () => initial, imageOf: (held) => held, restored: (_, image) => image }
}

/** Ordered entries: `keep` converts values for an image, `take` converts them back. */
function map<Key, Value>(): Kept<Map<Key, Value>, [Key, Value][]>
function map<Key, Value, Image>(
  keep: (value: Value) => Image,
  take: (image: Image) => Value,
): Kept<Map<Key, Value>, [Key, Image][]>
function map<Key>(
  keep: (value: unknown) => unknown = (held) => held,
  take: (image: unknown) => unknown = (kept) => kept,
): Kept<Map<Key, unknown>, [Key, unknown][]> {
  return {
    empty: () => new Map(),
    imageOf: (held) => Array.from(held, ([key, each]) => [key, keep(each)]),
    restored(held, image) {
      held.clear()
      // A snapshot older than the field has no entries for it.
      for (const [key, each] of image ?? []) held.set(key, take(each))
      return held
    },
  }
}

function strategyImage(record: StrategyRecord): StrategyImage {
  return {
    ...record,
    openSlots: record.openSlots.map((slot) => ({ ...slot })),
    spent: [...record.spent],
  }
}

function strategyOf(image: StrategyImage): StrategyRecord {
  return {
    ...image,
    openSlots: image.openSlots.map((slot) => ({ ...slot })),
    spent: new Map(image.spent),
  }
}
