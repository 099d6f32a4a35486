import { addExposure } from '../../domain/book/exposures.ts'
import type { DaemonState, OpenIntent, StrategyRecord } from '../../domain/book/state.ts'

type Entries<Held> = Held extends ReadonlyMap<infer Key, infer Value> ? [Key, Value][] : Held

type StrategyImage = {
  [Field in keyof StrategyRecord]: Entries<StrategyRecord[Field]>
}

/**
 * The state at one moment, maps as entries in their order (the fold depends on it). Shares with the state only what
 * the fold never changes. The mapped type makes a new field of the state a compile error here until it is kept too;
 * the sums of exposures are made anew.
 */
export type StateImage = {
  readonly [Field in Exclude<keyof DaemonState, 'exposureSums'>]: Field extends 'strategies'
    ? [string, StrategyImage][]
    : Entries<DaemonState[Field]>
}

/** Copies what the fold changes in place, so that the image stays as it is while the state goes on. */
export function imageOf(state: DaemonState): StateImage {
  return {
    bound: state.bound,
    halted: state.halted,
    failureStreak: state.failureStreak,
    lastOrderAtMs: state.lastOrderAtMs,
    spent: [...state.spent],
    paper: [...state.paper],
    strategies: Array.from(state.strategies, ([name, record]) => [name, strategyImage(record)]),
    intents: Array.from(state.intents, ([id, open]) => [id, { ...open }]),
    exposures: [...state.exposures],
    transactions: [...state.transactions],
    endedTransactions: [...state.endedTransactions],
    directCalls: [...state.directCalls],
    deposits: [...state.deposits],
    claimedTransfers: [...state.claimedTransfers],
  }
}

/** How many entries an image of the state would hold now, but for those within a strategy. */
export function entriesOf(state: DaemonState): number {
  const { strategies, intents, exposures, transactions, endedTransactions, claimedTransfers } =
    state
  const maps = [strategies, intents, exposures, transactions, endedTransactions, claimedTransfers]
  return maps.reduce((sum, { size }) => sum + size, 0)
}

/** Makes `state` what the image holds, in place, and leaves the image usable for the next time. */
export function restoreState(state: DaemonState, image: StateImage): void {
  state.bound = image.bound
  state.halted = image.halted
  state.failureStreak = image.failureStreak
  state.lastOrderAtMs = image.lastOrderAtMs
  refill(state.spent, image.spent)
  refill(state.paper, image.paper)
  refill(
    state.strategies,
    image.strategies.map(([name, record]): [string, StrategyRecord] => [name, strategyOf(record)]),
  )
  refill(
    state.intents,
    image.intents.map(([id, open]): [OpenIntent['intent']['id'], OpenIntent] => [id, { ...open }]),
  )
  state.exposures.clear()
  state.exposureSums.clear()
  for (const [key, exposure] of image.exposures) addExposure(state, key, exposure)
  refill(state.transactions, image.transactions)
  refill(state.endedTransactions, image.endedTransactions)
  refill(state.directCalls, image.directCalls)
  refill(state.deposits, image.deposits)
  refill(state.claimedTransfers, image.claimedTransfers)
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

function refill<Key, Value>(
  map: Map<Key, Value>,
  entries: readonly (readonly [Key, Value])[],
): void {
  map.clear()
  for (const [key, value] of entries) map.set(key, value)
}
