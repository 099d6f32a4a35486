import type { IntentId } from '../domain/order/intent.ts'
import { type SlotInput, type Taken, takeSlot } from './slot.ts'
import type { Upcoming } from './upcoming.ts'

type PendingRequestsInput = {
  readonly upcoming: Pick<Upcoming, 'hold' | 'refresh' | 'postpone'>
  /** Called for each intent of a slot once it is recorded. */
  readonly launch: (id: IntentId) => void
  readonly wake: () => void
}

/** Slots that custom modules decide, beside ticks. A strategy is not due until its slot is on disk. */
export class PendingRequests {
  readonly #input: PendingRequestsInput
  readonly #slots = new Map<string, Promise<unknown>>()

  constructor(input: PendingRequestsInput) {
    this.#input = input
  }

  has(strategy: string): boolean {
    return this.#slots.has(strategy)
  }

  async settled(): Promise<void> {
    await Promise.all(this.#slots.values())
  }

  /** Takes one slot and launches its intents. Rejects on a bug or a dead journal. */
  take(slot: SlotInput): Promise<Taken> {
    const { name } = slot.strategy
    const taken = this.#take(slot)
    const ended = taken.catch(() => undefined).then(() => this.#slots.delete(name))
    this.#slots.set(name, ended)
    return taken
  }

  async #take(slot: SlotInput): Promise<Taken> {
    const { strategy } = slot
    const { upcoming, launch, wake } = this.#input
    upcoming.hold(strategy)
    let waitsMs: number | undefined
    try {
      const slotTaken = await takeSlot(slot)
      waitsMs = slotTaken.waitsMs
      for (const id of slotTaken.intents) launch(id)
      // An operator who triggered the slot gets the answer only once the slot is on disk.
      await slot.context.ports.journal.append()
      return slotTaken
    } finally {
      upcoming.refresh(strategy)
      if (waitsMs !== undefined)
        upcoming.postpone(strategy, { nowMs: slot.context.ports.clock.now(), ms: waitsMs })
      wake()
    }
  }
}
