import type { ModuleReply, ModuleView } from '../domain/module.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import { walkSlots } from '../domain/schedule/slot-walk.ts'
import { consider, type Question } from '../engine/slot.ts'
import type { PlayedStrategy } from './fast-forward.ts'
import type { Simulation } from './simulation.ts'

/** Slots of one exchange with a module, at most. */
const SLOTS_MAX = 256

const NO_REPLY: ModuleReply = { ok: false, detail: 'it did not answer' }

type SlotReply = { readonly slotSeconds: SlotSeconds; readonly reply: ModuleReply }
type SlotView = { readonly slotSeconds: SlotSeconds; readonly view: ModuleView }

/**
 * Asks a strategy's module about slots to come together with the one that is due, because an exchange with another process
 * costs more than a decision. Only as far as nothing else can change the state or the wallet, and each view holds the prices
 * of its own slot, so that the module sees what it would see slot by slot.
 */
export class ModuleAsker {
  readonly #sim: Simulation
  readonly #played: PlayedStrategy
  readonly #replies: SlotReply[] = []
  /** Slots to ask about: fewer after orders, which end an exchange. */
  #slots = 2

  constructor(sim: Simulation, played: PlayedStrategy) {
    this.#sim = sim
    this.#played = played
  }

  /** A reply from an earlier exchange. */
  known(slotSeconds: SlotSeconds): ModuleReply | undefined {
    const [first] = this.#replies
    return first?.slotSeconds === slotSeconds ? this.#replies.shift()?.reply : undefined
  }

  /** Asks about a slot, and about later ones before a time. */
  async ask(
    slotSeconds: SlotSeconds,
    { asks, view }: Question,
    beforeMs: number,
  ): Promise<ModuleReply> {
    const { modules } = this.#sim.input
    const later = modules.decideAhead ? this.#viewsAfter(slotSeconds, beforeMs) : []
    const views = [view, ...later.map((each) => each.view)]
    const replies = later.length === 0 ? undefined : await modules.decideAhead?.(asks, views)
    const [first = NO_REPLY, ...rest] = replies ?? [await modules.decide(asks, view)]
    for (const [index, reply] of rest.entries()) {
      const at = later[index]?.slotSeconds
      if (at !== undefined) this.#replies.push({ slotSeconds: at, reply })
    }
    const isWhole = rest.length === later.length
    this.#slots = isWhole ? Math.min(SLOTS_MAX, 2 * this.#slots) : rest.length + 2
    return first
  }

  #viewsAfter(slotSeconds: SlotSeconds, beforeMs: number): readonly SlotView[] {
    const sim = this.#sim
    const { strategy, schedule, feeds } = this.#played
    const views: SlotView[] = []
    if (schedule.jitterMs > 0) return views
    const untilSeconds = Math.min(sim.input.untilSeconds, Math.ceil(beforeMs / 1000) - 1)
    const walk = walkSlots(schedule, slotSeconds, untilSeconds)
    for (; views.length < this.#slots - 1 && Number.isFinite(walk.next); walk.pass()) {
      const seconds = walk.next
      const readings = sim.board.readingsAt(seconds, feeds)
      if (readings === undefined) break
      const block = { blockNumber: BigInt(seconds), blockTimeSeconds: seconds, readings }
      const view = { ...sim.view(), ...block }
      const input = { ...sim.considerInput(strategy, seconds), nowMs: seconds * 1000, view }
      const question = consider(input)
      if (!('asks' in question)) break
      views.push({ slotSeconds: seconds, view: question.view })
    }
    return views
  }
}
