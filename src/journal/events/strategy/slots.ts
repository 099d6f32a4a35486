import { InvariantError } from '../../../domain/errors.ts'
import type { Intent, IntentId, Outcome } from '../../../domain/order/intent.ts'
import type { StrategyMemory } from '../../../domain/strategy-memory.ts'
import { projectionOf } from '../../../venues/projections.ts'
import { strategyOf } from '../../projections/order-reducer.ts'
import type { DecisionInputs } from '../../records.ts'
import type { DaemonState, StrategyRecord } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'
import type { IntentClosed } from '../order/outcomes.ts'
import { NOT_SCHEDULED } from './strategies.ts'

/** Slots: each is accounted for exactly once. */

type Decided = {
  readonly strategy: string
  readonly slotSeconds: number
  readonly inputs?: DecisionInputs | undefined
  /** Time used for the decision; undefined in older records. */
  readonly decidedAtMs?: number | undefined
  /** Terms of the strategy file, if this is the first decision under them. */
  readonly terms?: string | undefined
  /** Replaces the strategy's memory immediately. */
  readonly memory?: StrategyMemory | undefined
  /** The person's order that this slot carries out, instead of its strategy's decision. */
  readonly manual?: { readonly id: string; readonly order: string } | undefined
}

export type SlotOpened = Decided & {
  readonly type: 'slot-opened'
  readonly intents: readonly Intent[]
  /** Replaces the strategy's memory if the slot ends filled. */
  readonly memoryOnFill?: StrategyMemory | undefined
}

export const slotOpened = defineEvent<SlotOpened>({
  type: 'slot-opened',
  reduce(state, event, atMs) {
    const record = strategyOf(state, event.strategy)
    const ids = new Set<IntentId>()
    for (const intent of event.intents) {
      if (state.intents.has(intent.id) || ids.has(intent.id))
        throw new InvariantError(`intent ${intent.id} is open already`)
      if (intent.strategy !== event.strategy || intent.slotSeconds !== event.slotSeconds)
        throw new InvariantError(`intent ${intent.id} belongs to another slot`)
      ids.add(intent.id)
    }
    advanceSlot(record, event.slotSeconds)
    const { slotSeconds, memory, memoryOnFill } = event
    record.openSlots.push({ slotSeconds, memoryOnFill, ended: undefined })
    if (memory !== undefined) record.memory = memory
    if (event.terms !== undefined) record.terms = event.terms
    const base = {
      state: 'planned',
      attempt: 1,
      orderId: undefined,
      ended: undefined,
      died: undefined,
      reopened: false,
      settled: undefined,
      openedAtMs: atMs,
    } as const
    for (const intent of event.intents)
      state.intents.set(intent.id, projectionOf(intent).opened(intent, base))
  },
})

/** Ends an opened slot, or one skipped without opening. Only the latter has the fields of `Decided`. */
export type SlotClosed = Decided &
  Pick<IntentClosed, 'outcome' | 'reason' | 'detail'> & { readonly type: 'slot-closed' }

export const slotClosed = defineEvent<SlotClosed>({
  type: 'slot-closed',
  reduce(state, event) {
    const record = strategyOf(state, event.strategy)
    for (const { intent } of state.intents.of(event.strategy)) {
      if (intent.slotSeconds === event.slotSeconds)
        throw new InvariantError(`intent ${intent.id} of a slot to be closed is still open`)
    }
    const at = record.openSlots.findIndex(({ slotSeconds }) => slotSeconds === event.slotSeconds)
    const [opened] = at >= 0 ? record.openSlots.splice(at, 1) : []
    if (opened === undefined) advanceSlot(record, event.slotSeconds)
    // A used nonce counts as executed for a strategy's memory, with or without proof (rule T7).
    const isExecuted =
      event.outcome === 'filled' || (opened?.ended !== undefined && opened.isPartial === false)
    const memory = isExecuted ? opened?.memoryOnFill : event.memory
    if (memory !== undefined) record.memory = memory
    if (event.terms !== undefined) record.terms = event.terms
    countFailures(state, record, event.outcome)
  },
})

/** A run of slots that passed unhandled, each with outcome `missed`. Both ends are inclusive. */
export type SlotsMissed = {
  readonly type: 'slots-missed'
  readonly strategy: string
  readonly firstSeconds: number
  readonly lastSeconds: number
  /** Undefined if the run is too long to count. */
  readonly count: number | undefined
  /** Why, as far as the daemon knew; undefined in older records. */
  readonly detail?: string | undefined
}

export const slotsMissed = defineEvent<SlotsMissed>({
  type: 'slots-missed',
  reduce(state, run) {
    const record = strategyOf(state, run.strategy)
    if (run.firstSeconds <= record.lastSlotSeconds || run.lastSeconds < run.firstSeconds)
      throw new InvariantError(`slots ${run.firstSeconds} to ${run.lastSeconds} are accounted for`)
    advanceSlot(record, run.lastSeconds)
  },
  about: (run) => run,
})

/** The outcome of a slot, or of a run of missed slots. */
export type SlotEnd = Pick<
  SlotClosed,
  'strategy' | 'slotSeconds' | 'outcome' | 'reason' | 'detail'
> & {
  /** Last slot of a run; `slotSeconds` for a single slot. */
  readonly lastSeconds: number
  /** Above 1 only for a run; undefined if the run is too long to count. */
  readonly count: number | undefined
}

export function isSlotEnd(event: { readonly type: string }): event is SlotClosed | SlotsMissed {
  return slotClosed.is(event) || slotsMissed.is(event)
}

/** The slots ended by an event; undefined for other events. */
export function slotEndOf(event: { readonly type: string }): SlotEnd | undefined {
  if (slotClosed.is(event)) return { ...event, lastSeconds: event.slotSeconds, count: 1 }
  if (!slotsMissed.is(event)) return undefined
  return { ...event, slotSeconds: event.firstSeconds, outcome: 'missed', reason: 'missed' }
}

/** Marks every slot up to now of each scheduled strategy as missed: lost records may have handled it. */
export function passedSlots(state: DaemonState, nowSeconds: number): readonly SlotsMissed[] {
  return [...state.strategies].flatMap(([strategy, { scheduleKey, lastSlotSeconds }]) => {
    if (scheduleKey === NOT_SCHEDULED || nowSeconds <= lastSlotSeconds) return []
    const run = { firstSeconds: lastSlotSeconds + 1, lastSeconds: nowSeconds, count: undefined }
    return [slotsMissed({ strategy, ...run, detail: 'records of it may be lost' })]
  })
}

function advanceSlot(record: StrategyRecord, slotSeconds: number): void {
  if (slotSeconds <= record.lastSlotSeconds)
    throw new InvariantError(
      `slot ${slotSeconds} is not after ${record.lastSlotSeconds}, the last one accounted for`,
    )
  record.lastSlotSeconds = slotSeconds
}

const FAILURES: ReadonlySet<Outcome> = new Set(['failed', 'refused', 'expired'])

function countFailures(state: DaemonState, record: StrategyRecord, outcome: Outcome): void {
  for (const counted of [state, record]) {
    if (outcome === 'filled') counted.failureStreak = 0
    if (FAILURES.has(outcome)) counted.failureStreak += 1
  }
}

export const SLOT_EVENTS = [slotOpened, slotClosed, slotsMissed] as const
