import { InvariantError } from '../errors.ts'
import { type IntentId, type Outcome, worseEnd } from '../intent.ts'
import type { EventOf } from './journal.ts'
import { NO_MEMORY } from './memory.ts'
import { strategyOf } from './orders.ts'
import type { DaemonState, OpenIntent, OpenSlot, StrategyRecord } from './state.ts'
import { bookOf } from './venues.ts'

/** Strategies and their slots, each of which is accounted for once. */

/** The schedule key of a strategy that is known to the journal but not attended. */
export const NOT_SCHEDULED = 'none'

/** The terms of a strategy that has decided nothing yet. */
export const UNJUDGED = 'none'

export function scheduleStrategy(state: DaemonState, event: EventOf<'strategy-scheduled'>): void {
  const known = state.strategies.get(event.strategy)
  if (known !== undefined) {
    if (event.fromSeconds < known.lastSlotSeconds)
      throw new InvariantError(
        `${event.strategy}: slots up to ${known.lastSlotSeconds} are accounted for`,
      )
    known.scheduleKey = event.scheduleKey
    known.lastSlotSeconds = event.fromSeconds
    if (event.scheduleKey !== NOT_SCHEDULED && event.scheduleKey !== known.anchor.scheduleKey)
      known.anchor = anchorOf(event)
    return
  }
  state.strategies.set(event.strategy, {
    scheduleKey: event.scheduleKey,
    anchor: anchorOf(event),
    lastSlotSeconds: event.fromSeconds,
    openSlots: [],
    memory: NO_MEMORY,
    terms: event.isFirst === true ? UNJUDGED : undefined,
    paused: undefined,
    resumedAtMs: undefined,
    failureStreak: 0,
    fills: 0,
    lastOrderAtMs: undefined,
    lastFillAtMs: undefined,
    spent: new Map(),
  })
}

function anchorOf({ scheduleKey, fromSeconds }: EventOf<'strategy-scheduled'>) {
  return { scheduleKey, fromSeconds }
}

export function openSlot(state: DaemonState, event: EventOf<'slot-opened'>, atMs: number): void {
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
    state.intents.set(intent.id, bookOf(intent).opened(intent, base))
}

/** Ends a slot that was opened, or one that never opened because it was skipped at once. */
export function closeSlot(state: DaemonState, event: EventOf<'slot-closed'>): void {
  const record = strategyOf(state, event.strategy)
  for (const { intent } of state.intents.values()) {
    if (intent.strategy === event.strategy && intent.slotSeconds === event.slotSeconds)
      throw new InvariantError(`intent ${intent.id} of a slot to be closed is still open`)
  }
  const at = record.openSlots.findIndex(({ slotSeconds }) => slotSeconds === event.slotSeconds)
  const [opened] = at >= 0 ? record.openSlots.splice(at, 1) : []
  if (opened === undefined) advanceSlot(record, event.slotSeconds)
  const memory = isExecuted(event.outcome, opened) ? opened?.memoryOnFill : event.memory
  if (memory !== undefined) record.memory = memory
  if (event.terms !== undefined) record.terms = event.terms
  countFailures(state, record, event.outcome)
}

export function missSlots(record: StrategyRecord, run: EventOf<'slots-missed'>): void {
  if (run.firstSeconds <= record.lastSlotSeconds || run.lastSeconds < run.firstSeconds)
    throw new InvariantError(`slots ${run.firstSeconds} to ${run.lastSeconds} are accounted for`)
  advanceSlot(record, run.lastSeconds)
}

/** A program that may still sell something is not over. */
export function endProgram(record: StrategyRecord, event: EventOf<'program-ended'>): void {
  if (record.openSlots.length > 0)
    throw new InvariantError(`${event.strategy}: a program with slots in flight is not over`)
  record.endedProgram = event.program
}

/** Remembers the worst end of a slot's intents until the last of them closes the slot. */
export function noteEnd(
  state: DaemonState,
  open: OpenIntent,
  event: EventOf<'intent-closed'>,
): void {
  const { strategy, slotSeconds } = open.intent
  const slots = strategyOf(state, strategy).openSlots
  const slot = slots.find((each) => each.slotSeconds === slotSeconds)
  if (slot === undefined) return
  const end = { outcome: event.outcome, reason: event.reason }
  const isUsed = event.outcome === 'filled' || open.died === 'cancelled'
  slot.isPartial = !isUsed || (slot.ended !== undefined && slot.isPartial !== false)
  slot.ended = slot.ended === undefined ? end : worseEnd(slot.ended, end)
}

function advanceSlot(record: StrategyRecord, slotSeconds: number): void {
  if (slotSeconds <= record.lastSlotSeconds)
    throw new InvariantError(
      `slot ${slotSeconds} is not after ${record.lastSlotSeconds}, the last one accounted for`,
    )
  record.lastSlotSeconds = slotSeconds
}

/** A used nonce counts as executed for what a strategy remembers, whatever can be proven of it (rule T7). */
function isExecuted(outcome: Outcome, opened: OpenSlot | undefined): boolean {
  return outcome === 'filled' || (opened?.ended !== undefined && opened.isPartial === false)
}

const FAILURES: ReadonlySet<Outcome> = new Set(['failed', 'refused', 'expired'])

function countFailures(state: DaemonState, record: StrategyRecord, outcome: Outcome): void {
  for (const counted of [state, record]) {
    if (outcome === 'filled') counted.failureStreak = 0
    if (FAILURES.has(outcome)) counted.failureStreak += 1
  }
}
