import { nextSlot } from '../domain/schedule/calendar.ts'
import { formatInstant } from '../domain/schedule/civil-date.ts'
import { type Due, dueSlots, type MissedRun, opensAtMs } from '../domain/schedule/due.ts'
import { type Schedule, type SlotSeconds, scheduleKey } from '../domain/schedule/schedule.ts'
import { durationText } from '../domain/text/duration.ts'
import type { StrategyRecord } from '../journal/state/daemon-state.ts'
import type { Clock, Ports } from '../ports.ts'
import type { Strategy } from '../strategies/registry.ts'
import { scheduleOf } from '../strategies/spending/slots-ahead.ts'

const START_RETRY_MS = 10_000
/** Delay of the fallback timer behind a cron task, which may be lost. Half of the smallest `maxLateness`. */
export const CRON_GRACE_MS = 500
/** Timers, including cron tasks, may fire this much early. */
const EARLY_MS = 10
const FAR = Number.POSITIVE_INFINITY

type UpcomingPorts = Pick<Ports, 'journal' | 'observe'> & { readonly clock: Pick<Clock, 'wakesAt'> }

/** When a slot is handled, and when a timer must wake the loop for it, epoch ms. */
type Times = { readonly dueMs: number; readonly wakeMs: number }

type Next = Times & { readonly slot: SlotSeconds }

/** The earliest times; `first` are due at `dueMs`, all others not before `laterMs`. Known before thousands are due at once. */
type Soonest = Times & { readonly laterMs: number; readonly first: readonly Strategy[] }

/** Since when a slot waits for its chain or its clocks, epoch ms, and the cause as a clause. */
type Unready = { readonly slot: SlotSeconds; readonly sinceMs: number; readonly why: string }

/** Epoch ms. */
type Pause = { readonly sinceMs: number; readonly untilMs: number }

/** Slots that a strategy owes at a time, epoch ms. */
export type Owed = { readonly strategy: Strategy; readonly due: Due; readonly atMs: number }

/** True if the journal counts the strategy's slots by its current schedule. */
export function isEntered(
  record: StrategyRecord | undefined,
  { schedule }: Strategy,
): record is StrategyRecord {
  return record?.scheduleKey === scheduleKey(schedule)
}

/** Each strategy's next slot, from the calendar and the journal's handled slots. */
export class Upcoming {
  readonly #ports: UpcomingPorts
  readonly #startedAtMs: () => number | undefined
  readonly #lastSeenMs: number | undefined
  readonly #unready = new Map<string, Unready>()
  readonly #next = new Map<string, Next>()
  readonly #postponed = new Map<string, Pause>()
  #soonest: Soonest | undefined
  #strategies: readonly Strategy[] = []

  constructor(input: {
    readonly ports: UpcomingPorts
    readonly strategies: readonly Strategy[]
    /** Epoch ms; undefined until known. */
    readonly startedAtMs: () => number | undefined
    readonly lastSeenMs?: number | undefined
  }) {
    this.#ports = input.ports
    this.#lastSeenMs = input.lastSeenMs
    this.#startedAtMs = input.startedAtMs
    this.replace(input.strategies)
  }

  get strategies(): readonly Strategy[] {
    return this.#strategies
  }

  replace(strategies: readonly Strategy[]): void {
    this.#strategies = strategies
    this.#next.clear()
    this.#postponed.clear()
    this.#unready.clear()
    this.#soonest = undefined
    for (const strategy of strategies) this.refresh(strategy)
  }

  /** Re-reads the calendar after slots were handled. Unregistered strategies have none. */
  refresh(strategy: Strategy): void {
    const { journal, observe, clock } = this.#ports
    const { name, schedule } = strategy
    const record = journal.state.strategies.get(name)
    const slot = isEntered(record, strategy)
      ? nextSlot(scheduleOf(journal.state, strategy), record.lastSlotSeconds)
      : undefined
    this.#soonest = undefined
    this.#postponed.delete(name)
    if (this.#unready.get(name)?.slot !== slot) this.#unready.delete(name)
    if (slot === undefined) this.#next.delete(name)
    else {
      const dueMs = opensAtMs(name, schedule, slot)
      // Slots with jitter do not match a cron text.
      const isWoken = schedule.type === 'cron' && schedule.jitterMs === 0 && clock.wakesAt(schedule)
      this.#next.set(name, { slot, dueMs, wakeMs: isWoken ? dueMs + CRON_GRACE_MS : dueMs })
    }
    observe({
      type: 'next-slot',
      strategy: name,
      nextSlotSeconds: slot,
      lastFillAtMs: record?.lastFillAtMs,
      paused: record?.paused !== undefined,
      held: record?.held !== undefined,
    })
  }

  /** A slot is being decided: the strategy owes nothing until refreshed. */
  hold(strategy: Strategy): void {
    this.#next.delete(strategy.name)
    this.#soonest = undefined
  }

  nextOf(strategy: string): SlotSeconds | undefined {
    return this.#next.get(strategy)?.slot
  }

  /** When the next slot opens, after its jitter, epoch seconds. */
  opensOf(strategy: string): number | undefined {
    const next = this.#next.get(strategy)
    return next && Math.ceil(next.dueMs / 1000)
  }

  /** Defers owed slots for a while. `unready`: their chain or clocks cannot be used, in words. */
  postpone(
    { name }: Strategy,
    on: { readonly nowMs: number; readonly ms: number; readonly unready?: string },
  ): void {
    const { nowMs, ms, unready: why } = on
    const slot = this.nextOf(name)
    if (why === undefined || slot === undefined) this.#unready.delete(name)
    else if (!this.#unready.has(name)) this.#unready.set(name, { slot, sinceMs: nowMs, why })
    this.#postponed.set(name, { sinceMs: nowMs, untilMs: nowMs + ms })
    this.#soonest = undefined
  }

  /** Ends all deferrals. Returns true if there were any. */
  releaseAll(): boolean {
    const isAny = this.#postponed.size > 0
    this.#postponed.clear()
    if (isAny) this.#soonest = undefined
    return isAny
  }

  /** Strategies that owe a slot and are not deferred. Does not walk the calendar, because the time may be wrong. */
  dueAt(nowMs: number): readonly Strategy[] {
    this.#release(nowMs)
    const { dueMs, laterMs, first } = this.#times()
    if (nowMs < dueMs) return []
    const due =
      nowMs < laterMs ? first : this.#strategies.filter(({ name }) => this.#owes(name, nowMs))
    if (this.#startedAtMs() !== undefined) return due
    return due.filter((strategy) => {
      // `missed: skip` drops slots from before the process start, so that time must be known.
      if (strategy.schedule.missed !== 'skip') return true
      this.postpone(strategy, { nowMs, ms: START_RETRY_MS })
      return false
    })
  }

  #owes(name: string, nowMs: number): boolean {
    return !this.#postponed.has(name) && (this.#next.get(name)?.dueMs ?? FAR) <= nowMs
  }

  /** Ends deferrals set by a clock that has since been set back. */
  #release(nowMs: number): void {
    for (const [name, { sinceMs, untilMs }] of this.#postponed) {
      if (nowMs >= sinceMs && nowMs < untilMs) continue
      this.#postponed.delete(name)
      this.#soonest = undefined
    }
  }

  dueOf(strategy: Strategy, nowMs: number): Owed | undefined {
    const { state } = this.#ports.journal
    const { name } = strategy
    const next = this.#next.get(name)
    if (next === undefined || next.dueMs > nowMs) return undefined
    const lastSlotSeconds = state.strategies.get(name)?.lastSlotSeconds ?? next.slot - 1
    const schedule = scheduleOf(state, strategy)
    const startedAtMs = this.#startedAtMs() ?? nowMs
    if (lastSlotSeconds < next.slot && isAlone(schedule, next.slot, { nowMs, startedAtMs }))
      return { strategy, due: { missed: undefined, open: [next.slot] }, atMs: nowMs }
    const due = dueSlots({ strategy: name, schedule, lastSlotSeconds, nowMs, startedAtMs })
    if (due.missed === undefined) return { strategy, due, atMs: nowMs }
    const detail = `${this.#causeOf(name, due.missed, nowMs)}; ${ruleText(schedule, due, this.#startedAtMs())}`
    return { strategy, due: { ...due, missed: { ...due.missed, detail } }, atMs: nowMs }
  }

  /** Why slots were not handled in time, from what this process observed. */
  #causeOf(name: string, { firstSeconds, lastSeconds }: MissedRun, nowMs: number): string {
    const startedMs = this.#startedAtMs() ?? 0
    const seenMs = this.#lastSeenMs
    const causes: string[] = []
    const [it, them] = firstSeconds === lastSeconds ? ['it', 'it'] : ['the last', 'them']
    if (firstSeconds * 1000 < startedMs) {
      const seen = seenMs === undefined ? '' : `last seen ${at(seenMs)}, `
      const earlier = lastSeconds * 1000 < (seenMs ?? 0)
      const what = earlier ? `an earlier run did not handle ${them}` : 'the daemon was down'
      causes.push(`${what}: ${seen}started ${at(startedMs)}`)
    }
    if (lastSeconds * 1000 >= startedMs) {
      const unready = this.#unready.get(name)
      const late = `the daemon came to ${it} only at ${at(nowMs)}, ${durationText(nowMs - lastSeconds * 1000)} late`
      causes.push(unready ? `${unready.why} from ${at(unready.sinceMs)} to ${at(nowMs)}` : late)
    }
    return causes.join(', then ')
  }

  /** Next timer, epoch ms, or infinity. A cron task does not fire again for a past slot, nor after firing early. */
  wakeMs(nowMs: number): number {
    const { dueMs, wakeMs } = this.#times()
    return dueMs - nowMs <= EARLY_MS ? dueMs : wakeMs
  }

  #times(): Soonest {
    if (this.#soonest !== undefined) return this.#soonest
    let dueMs = FAR
    let laterMs = FAR
    let wakeMs = FAR
    let first: Strategy[] = []
    for (const strategy of this.#strategies) {
      const next = this.#next.get(strategy.name)
      if (next === undefined) continue
      const untilMs = this.#postponed.get(strategy.name)?.untilMs
      const ownMs = untilMs ?? next.dueMs
      wakeMs = Math.min(wakeMs, untilMs ?? next.wakeMs)
      if (ownMs === dueMs) first.push(strategy)
      else if (ownMs > dueMs) laterMs = Math.min(laterMs, ownMs)
      else {
        laterMs = dueMs
        dueMs = ownMs
        first = [strategy]
      }
    }
    this.#soonest = { dueMs, laterMs, wakeMs, first }
    return this.#soonest
  }
}

/** True for a due slot that is neither late nor followed by another: the usual case, without a walk of the calendar. */
function isAlone(
  schedule: Schedule,
  slot: SlotSeconds,
  { nowMs, startedAtMs }: { readonly nowMs: number; readonly startedAtMs: number },
): boolean {
  const { missed, jitterMs, maxLatenessMs } = schedule
  if (jitterMs > 0 || nowMs - slot * 1000 > maxLatenessMs) return false
  if (missed === 'skip' && slot * 1000 < startedAtMs) return false
  return nowMs - slot * 1000 < 1_000 || (nextSlot(schedule, slot) ?? FAR) * 1000 > nowMs
}

function at(ms: number): string {
  return formatInstant(Math.floor(ms / 1000))
}

/** The rule of the strategy's file by which a run of slots is not handled late. */
function ruleText(
  { missed, maxLatenessMs }: Schedule,
  { missed: run, open }: Due,
  startedAtMs = 0,
): string {
  if (missed === 'skip' && run !== undefined && run.lastSeconds * 1000 < startedAtMs)
    return '`missed: skip` runs no slot from before the start'
  if (missed !== 'all' && open.length > 0) return `\`missed: ${missed}\` runs only the newest slot`
  return `its maxLateness is ${durationText(maxLatenessMs)}`
}
