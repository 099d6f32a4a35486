import { sumAgain } from '../projections/exposures.ts'
import type { DaemonState, StrategyRecord } from './daemon-state.ts'

type Entries<Held> = Held extends ReadonlyMap<infer Key, infer Value> ? [Key, Value][] : Held

type StrategyImage = {
  [Field in keyof StrategyRecord]: Entries<StrategyRecord[Field]>
}

/** Every field of the state but the sums of exposures, which follow from the exposures. */
type StateField = Exclude<keyof DaemonState, 'exposureSums'>

/**
 * The state at one moment. Shares with the state only what reducers never change in place. The order of entries matters to
 * them.
 */
export type StateImage = {
  readonly [Field in StateField]: Field extends 'strategies'
    ? [string, StrategyImage][]
    : Entries<DaemonState[Field]>
}

/** How a field begins, what an image keeps of it, and how it becomes that again. */
type Kept<Held, Image> = {
  empty(): Held
  imageOf(held: Held): Image
  /** A map is refilled in place. */
  restored(held: Held, image: Image): Held
}

/** The one list of the fields of the state: how each begins, and how a snapshot keeps and restores it. */
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
  // Reducers change these in place, so that image and state need their own.
  intents: map(
    (open) => ({ ...open }),
    (open) => ({ ...open }),
  ),
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
  const fields = STATE_FIELDS.map((field) => [field, FIELDS[field].empty()])
  return { ...Object.fromEntries(fields), exposureSums: new Map() }
}

/** Stays as it is while the state goes on. */
export function imageOf(state: DaemonState): StateImage {
  return Object.fromEntries(
    STATE_FIELDS.map((field) => [field, fieldImage(state, field)]),
  ) as StateImage
}

/** Makes `state` what the image holds, in place, and leaves the image usable for the next time. */
export function restoreState(state: DaemonState, image: StateImage): void {
  for (const field of STATE_FIELDS) restoreField(state, image, field)
  sumAgain(state)
}

/** Fields that an image of another version of this program lacks: its state cannot be restored. */
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

/** Entries in their order, each as `keep` makes it for an image and `take` out of one. */
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
      // A snapshot from before there was this field has none of it.
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
