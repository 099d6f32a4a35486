import type { StrategyRecord } from '../domain/book/state.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import { attendedAtMs, type Due, dueSlots } from '../domain/schedule/due.ts'
import { type SlotSeconds, scheduleKey } from '../domain/schedule/schedule.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Ports } from '../ports.ts'
import { scheduleOf } from './view.ts'

/** Pause before it is asked again when this process began. */
const START_LOOK_MS = 10_000
const FAR = Number.POSITIVE_INFINITY

/** A strategy's next slot, and when it is attended, epoch ms. */
type Next = { readonly slot: SlotSeconds; readonly dueMs: number }

/** While a strategy is left alone, epoch ms. */
type Pause = { readonly sinceMs: number; readonly untilMs: number }

/** What a strategy owes at a moment. */
export type Owed = { readonly strategy: Strategy; readonly due: Due }

/** Whether the journal counts the slots of a strategy as its file has them now. */
export function isEntered(
  record: StrategyRecord | undefined,
  { schedule }: Strategy,
): record is StrategyRecord {
  return record?.scheduleKey === scheduleKey(schedule)
}

/** The next slot of every strategy, by the calendar and by what the journal has accounted for. */
export class Upcoming {
  readonly #ports: Pick<Ports, 'journal' | 'observe'>
  readonly #startedAtMs: () => number | undefined
  readonly #next = new Map<string, Next>()
  readonly #postponed = new Map<string, Pause>()
  #soonestMs: number | undefined
  #strategies: readonly Strategy[] = []

  constructor(input: {
    readonly ports: Pick<Ports, 'journal' | 'observe'>
    readonly strategies: readonly Strategy[]
    /** When this process began, epoch ms; undefined until that is known. */
    readonly startedAtMs: () => number | undefined
  }) {
    this.#ports = input.ports
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
    this.#soonestMs = undefined
    for (const strategy of strategies) this.refresh(strategy)
  }

  /** Looks at the calendar again, after slots were accounted for. A strategy that is not entered yet has none. */
  refresh(strategy: Strategy): void {
    const { journal, observe } = this.#ports
    const record = journal.state.strategies.get(strategy.name)
    const slot = isEntered(record, strategy)
      ? nextSlot(scheduleOf(journal.state, strategy), record.lastSlotSeconds)
      : undefined
    this.#soonestMs = undefined
    this.#postponed.delete(strategy.name)
    if (slot === undefined) this.#next.delete(strategy.name)
    else
      this.#next.set(strategy.name, {
        slot,
        dueMs: attendedAtMs(strategy.name, strategy.schedule, slot),
      })
    observe({
      type: 'next-slot',
      strategy: strategy.name,
      nextSlotSeconds: slot,
      lastFillAtMs: record?.lastFillAtMs,
      paused: record?.paused !== undefined,
      held: record?.held !== undefined,
    })
  }

  /** Owes nothing until it is refreshed: one of its slots is being decided. */
  hold(strategy: Strategy): void {
    this.#next.delete(strategy.name)
    this.#soonestMs = undefined
  }

  nextOf(strategy: string): SlotSeconds | undefined {
    return this.#next.get(strategy)?.slot
  }

  /** Leaves what a strategy owes alone for a while: it stays owed. */
  postpone(
    { name }: Strategy,
    { nowMs, ms }: { readonly nowMs: number; readonly ms: number },
  ): void {
    this.#postponed.set(name, { sinceMs: nowMs, untilMs: nowMs + ms })
    this.#soonestMs = undefined
  }

  /** Looks at what is left alone at once. Gives whether there is any. */
  releaseAll(): boolean {
    const isAny = this.#postponed.size > 0
    this.#postponed.clear()
    if (isAny) this.#soonestMs = undefined
    return isAny
  }

  /**
   * The strategies that owe anything at a moment, by calendar alone, but for what is left alone. No calendar is walked for it: the
   * moment may be one that no clock but this machine's knows of.
   */
  dueAt(nowMs: number): readonly Strategy[] {
    this.#release(nowMs)
    if (nowMs < this.soonestMs()) return []
    return this.#strategies.filter((strategy) => {
      const { name } = strategy
      if (this.#postponed.has(name) || (this.#next.get(name)?.dueMs ?? FAR) > nowMs) return false
      if (this.#canBeAttended(strategy)) return true
      this.postpone(strategy, { nowMs, ms: START_LOOK_MS })
      return false
    })
  }

  /** What is from before this start is not made up for under `missed: skip`, so that its time has to be known. */
  #canBeAttended({ schedule }: Strategy): boolean {
    return schedule.missed !== 'skip' || this.#startedAtMs() !== undefined
  }

  /** A pause that was made by a clock which has since been set back would last for as long. */
  #release(nowMs: number): void {
    for (const [name, { sinceMs, untilMs }] of this.#postponed) {
      if (nowMs >= sinceMs && nowMs < untilMs) continue
      this.#postponed.delete(name)
      this.#soonestMs = undefined
    }
  }

  /** What one strategy owes at a moment; undefined where it owes nothing. */
  dueOf(strategy: Strategy, nowMs: number): Owed | undefined {
    const { state } = this.#ports.journal
    const { name } = strategy
    const next = this.#next.get(name)
    if (next === undefined || next.dueMs > nowMs) return undefined
    const lastSlotSeconds = state.strategies.get(name)?.lastSlotSeconds ?? next.slot - 1
    const schedule = scheduleOf(state, strategy)
    const startedAtMs = this.#startedAtMs() ?? nowMs
    const due = dueSlots({ strategy: name, schedule, lastSlotSeconds, nowMs, startedAtMs })
    return { strategy, due }
  }

  /** When the next slot of any strategy is looked at, epoch ms; infinity when there is none. */
  soonestMs(): number {
    if (this.#soonestMs === undefined) {
      this.#soonestMs = FAR
      for (const [name, { dueMs }] of this.#next)
        this.#soonestMs = Math.min(this.#soonestMs, this.#postponed.get(name)?.untilMs ?? dueMs)
    }
    return this.#soonestMs
  }
}
