import { nextSlot } from '../domain/schedule/calendar.ts'
import { attendedAtMs, type Due, dueSlots } from '../domain/schedule/due.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Ports } from '../ports.ts'
import { scheduleOf, type Wanted, wantedBy } from './view.ts'

/** A strategy's next slot, and when it is attended, epoch ms. */
type Next = { readonly slot: SlotSeconds; readonly dueMs: number }

/** What a strategy owes at a moment. */
export type Owed = { readonly strategy: Strategy; readonly due: Due }

/** The next slot of every strategy, by the calendar and by what the journal has accounted for. */
export class Upcoming {
  readonly #ports: Pick<Ports, 'journal' | 'observe'>
  readonly #startedAtMs: number
  readonly #next = new Map<string, Next>()
  #soonestMs: number | undefined
  #strategies: readonly Strategy[] = []
  #tokens: Wanted['tokens'] = []

  constructor(input: {
    readonly ports: Pick<Ports, 'journal' | 'observe'>
    readonly strategies: readonly Strategy[]
    readonly startedAtMs: number
  }) {
    this.#ports = input.ports
    this.#startedAtMs = input.startedAtMs
    this.replace(input.strategies)
  }

  get strategies(): readonly Strategy[] {
    return this.#strategies
  }

  /** Every token that one of them trades. */
  get tokens(): Wanted['tokens'] {
    return this.#tokens
  }

  replace(strategies: readonly Strategy[]): void {
    this.#strategies = strategies
    this.#tokens = wantedBy(strategies).tokens
    this.#next.clear()
    this.#soonestMs = undefined
    for (const strategy of strategies) this.refresh(strategy)
  }

  /** Looks at the calendar again, after slots were accounted for. */
  refresh(strategy: Strategy): void {
    const { journal, observe } = this.#ports
    const record = journal.state.strategies.get(strategy.name)
    const after = record?.lastSlotSeconds ?? Math.floor(this.#startedAtMs / 1000)
    const slot = nextSlot(scheduleOf(journal.state, strategy), after)
    this.#soonestMs = undefined
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

  /** Everything that is owed at a moment, by calendar alone. */
  dueAt(nowMs: number): readonly Owed[] {
    if (nowMs < this.soonestMs()) return []
    const { state } = this.#ports.journal
    const startedAtMs = this.#startedAtMs
    return this.#strategies.flatMap((strategy): readonly Owed[] => {
      const next = this.#next.get(strategy.name)
      if (next === undefined || next.dueMs > nowMs) return []
      const lastSlotSeconds = state.strategies.get(strategy.name)?.lastSlotSeconds ?? next.slot - 1
      const schedule = scheduleOf(state, strategy)
      const due = dueSlots({
        strategy: strategy.name,
        schedule,
        lastSlotSeconds,
        nowMs,
        startedAtMs,
      })
      return [{ strategy, due }]
    })
  }

  /** When the next slot of any strategy is due, epoch ms; infinity when there is none. */
  soonestMs(): number {
    if (this.#soonestMs === undefined) {
      this.#soonestMs = Number.POSITIVE_INFINITY
      for (const { dueMs } of this.#next.values())
        this.#soonestMs = Math.min(this.#soonestMs, dueMs)
    }
    return this.#soonestMs
  }
}
