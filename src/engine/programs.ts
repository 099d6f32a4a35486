import { programKey, unsoldOf } from '../decide/twap.ts'
import { promisedBy } from '../domain/book/swaps.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import type { TwapStrategy } from '../domain/strategy.ts'
import type { Ports } from '../ports.ts'
import { isEntered, type Upcoming } from './upcoming.ts'
import { scheduleOf } from './view.ts'

/**
 * Programs of slices that are over: no slice is left, and nothing is in flight. What one has not sold is journaled once, so
 * that no shortfall passes for an end like any other. Asked of the books and not of the last slice, which may be missed, skipped,
 * failed, or be none of this process.
 */
export class Programs {
  readonly #ports: Pick<Ports, 'journal' | 'observe'>
  readonly #upcoming: Upcoming
  readonly #shown = new Map<string, bigint>()

  constructor(ports: Pick<Ports, 'journal' | 'observe'>, upcoming: Upcoming) {
    this.#ports = ports
    this.#upcoming = upcoming
  }

  /** Tells of those that are over by now. */
  async tell(): Promise<void> {
    for (const strategy of this.#upcoming.strategies)
      if (strategy.kind === 'twap') await this.#tellOf(strategy)
  }

  async #tellOf(strategy: TwapStrategy): Promise<void> {
    const { journal, observe } = this.#ports
    const { name, sell, total, unsold: rule } = strategy
    const record = journal.state.strategies.get(name)
    if (!isEntered(record, strategy) || record.openSlots.length > 0) return
    // By the calendar: what is left alone while one of its slots is decided has not come to its end.
    if (nextSlot(scheduleOf(journal.state, strategy), record.lastSlotSeconds) !== undefined) return
    if (promisedBy(journal.state, sell.token, name) > 0n) return
    const { address, symbol: token, decimals } = sell.token
    const { memory, lastSlotSeconds: slotSeconds } = record
    const unsold = unsoldOf(strategy, { memory, spent: record.spent.get(address) ?? 0n })
    if (this.#shown.get(name) !== unsold)
      observe({ type: 'unsold', strategy: name, token, amount: unsold, decimals })
    this.#shown.set(name, unsold)
    const program = programKey(strategy)
    if (unsold === 0n || record.endedProgram === program) return
    const ended = { program, token: sell.token, total, unsold, rule }
    await journal.append({ type: 'program-ended', strategy: name, slotSeconds, ...ended })
  }
}
