import type { Skip } from '../decide/decision.ts'
import type { JournalEvent } from '../domain/book/journal.ts'
import type { MissedRun } from '../domain/schedule/due.ts'
import { attendedAtMs, dueSlots } from '../domain/schedule/due.ts'
import { anchored, type Schedule, scheduleKey } from '../domain/schedule/schedule.ts'
import { type SlotWalk, type Walked, walkSlots } from '../domain/schedule/slot-walk.ts'
import type { Strategy } from '../domain/strategy.ts'
import {
  type Considered,
  type ConsiderInput,
  consider,
  considerReply,
  type Question,
} from '../engine/slot.ts'
import { waitMs } from '../engine/waiting.ts'
import { Desk, type DeskEars } from './desk.ts'
import { type Lull, lullOf } from './lull.ts'
import type { Quiet, Reel } from './prices/reel.ts'
import { World, type WorldInput } from './world.ts'

/** Told what happens, in order. */
export type Ears = DeskEars & {
  /** A slot whose orders are under way. */
  opened(strategy: Strategy, slotSeconds: number, considered: Considered): void
  /** Slots in a row that were skipped for the same reason. */
  skipped(strategy: Strategy, walked: Walked, skip: Pick<Skip, 'reason' | 'detail'>): void
  missed(strategy: Strategy, run: MissedRun): void
  /** The world at the beginning, at every sample, and at the end. */
  sample(world: World): void
}

export type PlayInput = WorldInput & {
  readonly ears: Ears
  /** How far samples lie apart. */
  readonly sampleSeconds: number
  /** False looks at every slot by itself: slower, and nothing else may differ. */
  readonly leaps: boolean
  /** Called now and then with the share that is done; true stops it. */
  readonly progress?: (share: number) => boolean
}

/** A strategy and its slots. */
type Line = {
  readonly strategy: Strategy
  readonly schedule: Schedule
  walk: SlotWalk
  /** When its next slot is looked at; infinity where none follows. */
  dueMs: number
  /** It is looked at again: there may be more slots than the next by then. */
  isPostponed: boolean
  /** While its slots need not be looked at, with what comes of them. */
  lull: (Lull & { readonly skip: Skip }) | undefined
}

/** Events that a share is told after. */
const PROGRESS_EVERY = 4_096

/**
 * Plays strategies over the past. Time goes from one thing that is due to the next: a slot, an order that goes on, a sample.
 * Everything is decided by what the daemon decides with; see `Desk` for what becomes of orders.
 */
export class Play {
  readonly world: World
  readonly #input: PlayInput
  readonly #desk: Desk
  readonly #lines: readonly Line[]
  /** What the lulls on a feed have to stay between together. */
  readonly #bands = new Map<Reel, Quiet>()
  #nextSampleMs: number
  readonly #untilMs: number

  constructor(input: PlayInput) {
    this.#input = input
    this.world = new World(input)
    this.#desk = new Desk(this.world, input.ears, () => this.#orderEnded())
    this.#nextSampleMs = this.world.nowMs
    this.#untilMs = input.untilSeconds * 1000
    this.#enter()
    this.#lines = input.strategies.map((strategy) => this.#line(strategy))
  }

  async run(): Promise<void> {
    const { progress, fromSeconds } = this.#input
    for (let steps = 1; ; steps += 1) {
      const atMs = this.#nextMs()
      if (atMs > this.#untilMs) break
      this.world.nowMs = atMs
      this.world.board.advanceTo(this.world.nowSeconds)
      const asks = this.#doAt(atMs)
      if (asks !== undefined) await asks
      if (steps % PROGRESS_EVERY !== 0 || progress === undefined) continue
      const share = (atMs / 1000 - fromSeconds) / (this.#input.untilSeconds - fromSeconds)
      if (progress(share)) return
    }
    this.#finish()
  }

  /** The daemon starts as the period begins: whatever counts from when it is first seen counts from there. */
  #enter(): void {
    const { strategies, fromSeconds, owner } = this.#input
    this.world.apply(
      { type: 'bound', mode: 'live', chainId: 0, genesisHash: '0x', owner },
      ...strategies.map(({ name, schedule }): JournalEvent => {
        const key = scheduleKey(schedule)
        return {
          type: 'strategy-scheduled',
          strategy: name,
          scheduleKey: key,
          fromSeconds: fromSeconds - 1,
        }
      }),
    )
  }

  #line(strategy: Strategy): Line {
    const { fromSeconds, untilSeconds } = this.#input
    const schedule = anchored(strategy.schedule, fromSeconds)
    const walk = walkSlots(schedule, fromSeconds - 1, untilSeconds)
    const line = { strategy, schedule, walk, dueMs: 0, isPostponed: false, lull: undefined }
    return { ...line, dueMs: dueMs(line) }
  }

  /** When the next thing is to be done, ms. Lines whose lull ends before are awake by then. */
  #nextMs(): number {
    for (;;) {
      let atMs = Math.min(this.#desk.nextMs, this.#nextSampleMs)
      for (const line of this.#lines) atMs = Math.min(atMs, line.lull?.untilMs ?? line.dueMs)
      atMs = Math.min(atMs, this.#untilMs + 1)
      let brokenBy: Reel | undefined
      for (const [reel, band] of this.#bands) {
        const ends = reel.quietUntil(band, Math.floor(atMs / 1000))
        if (ends === undefined) continue
        atMs = Math.min(atMs, ends * 1000)
        brokenBy = reel
      }
      const hasWoken = this.#wakeAt(atMs, brokenBy)
      if (!hasWoken) return atMs
    }
  }

  /** Ends the lulls that do not last beyond a moment. Gives whether there were any. */
  #wakeAt(atMs: number, brokenBy: Reel | undefined): boolean {
    let hasWoken = false
    for (const line of this.#lines) {
      const { lull } = line
      if (lull === undefined) continue
      const reel = brokenBy && lull.quiet?.reel
      const isBroken = reel !== undefined && this.#isBrokenAt(reel, Math.floor(atMs / 1000))
      if (lull.untilMs > atMs && !isBroken) continue
      this.#wake(line, atMs)
      hasWoken = true
    }
    if (brokenBy !== undefined || hasWoken) this.#bandAgain()
    return hasWoken
  }

  #isBrokenAt(reel: Reel, seconds: number): boolean {
    const band = this.#bands.get(reel)
    return band !== undefined && reel.quietUntil(band, seconds) !== undefined
  }

  /** Accounts for the slots that came before a moment, and looks at the next one again. */
  #wake(line: Line, atMs: number): void {
    const { lull } = line
    if (lull === undefined) return
    line.lull = undefined
    this.#passUntil(line, lull.skip, Math.ceil(atMs / 1000))
    line.dueMs = dueMs(line)
  }

  #passUntil(line: Line, skip: Skip, seconds: number): void {
    const walked = line.walk.passUntil(seconds)
    if (walked === undefined) return
    const { strategy } = line
    const { reason, detail } = skip
    this.world.applyUnseen({
      type: 'slot-closed',
      strategy: strategy.name,
      slotSeconds: walked.last,
      outcome: 'skipped',
      reason,
      detail,
    })
    this.#input.ears.skipped(strategy, walked, skip)
  }

  #bandAgain(): void {
    this.#bands.clear()
    for (const { lull } of this.#lines) {
      if (lull?.quiet === undefined) continue
      const { reel, band } = lull.quiet
      const other = this.#bands.get(reel)
      if (other === undefined) this.#bands.set(reel, band)
      else
        this.#bands.set(reel, {
          low: Math.max(band.low, other.low),
          high: Math.min(band.high, other.high),
          maxAgeSeconds: Math.min(band.maxAgeSeconds, other.maxAgeSeconds),
        })
    }
  }

  /** Orders go on first, then come the slots, then who looks at what came of them. */
  #doAt(atMs: number): Promise<void> | undefined {
    // What goes on with an order changes the books: slots before it are accounted for before it.
    if (this.#desk.nextMs <= atMs) this.#wakeAll(atMs)
    while (this.#desk.step());
    const { version } = this.world
    let asks: Promise<void> | undefined
    for (const line of this.#lines) {
      // Who comes after somebody that changed the books looks at them, and who came before him has not seen it.
      if (this.world.version !== version) this.#wake(line, atMs)
      if (line.lull !== undefined || line.dueMs > atMs) continue
      const asking = this.#attend(line)
      if (asking !== undefined) asks = asks === undefined ? asking : asks.then(() => asking)
    }
    if (this.world.version !== version) this.#wakeAll(atMs + 1)
    if (this.#nextSampleMs <= atMs) {
      this.#input.ears.sample(this.world)
      this.#nextSampleMs += this.#input.sampleSeconds * 1000
    }
    return asks
  }

  #wakeAll(atMs: number): void {
    for (const line of this.#lines) this.#wake(line, atMs)
    this.#bands.clear()
  }

  /** Looks at what is due of a strategy now. Resolves once its module has answered, where it has one. */
  #attend(line: Line): Promise<void> | undefined {
    const { slots, missed } = this.#due(line)
    const { ears } = this.#input
    if (missed !== undefined) {
      this.world.apply({ type: 'slots-missed', strategy: line.strategy.name, ...missed })
      ears.missed(line.strategy, missed)
    }
    for (const slotSeconds of slots) {
      const input = this.#considerInput(line.strategy, slotSeconds)
      const considered = consider(input)
      if ('asks' in considered) {
        // The others after it, by what the market is then.
        line.dueMs = Number.POSITIVE_INFINITY
        return this.#ask(line, input, considered)
      }
      if (!this.#record(line, slotSeconds, considered)) break
    }
    this.#next(line)
    return undefined
  }

  async #ask(line: Line, input: ConsiderInput, question: Question): Promise<void> {
    const reply = await this.#input.modules.decide(question.asks, question.view)
    this.#record(line, input.slotSeconds, considerReply(input, question, reply))
    this.#next(line)
  }

  #due(line: Line): { slots: readonly number[]; missed: MissedRun | undefined } {
    const { strategy, schedule, walk } = line
    const { nowMs, state } = this.world
    const { next } = walk
    if (!line.isPostponed && schedule.jitterMs === 0) {
      walk.pass()
      return { slots: [next], missed: undefined }
    }
    const lastSlotSeconds = state.strategies.get(strategy.name)?.lastSlotSeconds ?? next - 1
    const startedAtMs = this.#input.fromSeconds * 1000
    const due = dueSlots({ strategy: strategy.name, schedule, lastSlotSeconds, nowMs, startedAtMs })
    return { slots: due.attend, missed: due.missed }
  }

  /** Records what was made of a slot. False where it is left as it is, and looked at again. */
  #record(line: Line, slotSeconds: number, considered: Considered): boolean {
    const { strategy, schedule } = line
    const { decision, inputs } = considered
    const { nowMs } = this.world
    if (decision.tag === 'trade') {
      const { intents, memory, memoryOnFill } = decision
      const { name } = strategy
      this.world.apply({
        type: 'slot-opened',
        strategy: name,
        slotSeconds,
        intents,
        inputs,
        memory,
        memoryOnFill,
      })
      this.#input.ears.opened(strategy, slotSeconds, considered)
      this.#desk.launch(intents.map(({ id }) => id))
      return true
    }
    const waits = waitMs({ strategy, schedule, slotSeconds, nowMs, skip: decision })
    if (waits !== undefined) {
      line.dueMs = nowMs + waits
      line.isPostponed = true
      return false
    }
    this.#skip(line, slotSeconds, considered, decision)
    return true
  }

  #skip(line: Line, slotSeconds: number, { alongside }: Considered, skip: Skip): void {
    const { strategy } = line
    const { reason, detail, memory } = skip
    const { ears } = this.#input
    const closed = {
      type: 'slot-closed',
      strategy: strategy.name,
      slotSeconds,
      outcome: 'skipped',
      reason,
      detail,
      memory,
    } as const
    if (alongside.length === 0) this.world.applyUnseen(closed)
    else this.world.apply(closed, ...alongside)
    for (const event of alongside) if (event.type === 'strategy-paused') ears.paused(event)
    ears.skipped(strategy, { count: 1, first: slotSeconds, last: slotSeconds }, skip)
    if (!this.#input.leaps) return
    const lull = lullOf(this.world, line, skip)
    if (lull === undefined) return
    line.lull = { ...lull, skip }
    this.#bandAgain()
  }

  #next(line: Line): void {
    const { strategy, schedule } = line
    if (line.isPostponed || schedule.jitterMs > 0) {
      const isLeft = line.dueMs > this.world.nowMs && line.isPostponed
      if (isLeft) return
      const last = this.world.state.strategies.get(strategy.name)?.lastSlotSeconds ?? 0
      line.walk = walkSlots(schedule, last, this.#input.untilSeconds)
      line.isPostponed = false
    }
    line.dueMs = dueMs(line)
  }

  /** A slot that waits for others' orders is looked at as one ends. */
  #orderEnded(): void {
    for (const line of this.#lines)
      if (line.isPostponed) line.dueMs = Math.min(line.dueMs, this.world.nowMs)
  }

  /** Slots that nobody had to look at up to the end are accounted for, too. */
  #finish(): void {
    this.world.nowMs = this.#untilMs
    this.world.board.advanceTo(this.#input.untilSeconds)
    for (const line of this.#lines) {
      const { lull } = line
      if (lull !== undefined) this.#passUntil(line, lull.skip, this.#input.untilSeconds + 1)
    }
    this.#input.ears.sample(this.world)
  }

  #considerInput(strategy: Strategy, slotSeconds: number): ConsiderInput {
    const { state, nowMs, input } = this.world
    const { pricePath, account, owner, caller } = input
    return {
      strategy,
      slotSeconds,
      view: this.world.view(),
      nowMs,
      mode: 'live',
      pricePath,
      account,
      state,
      owner,
      caller,
    }
  }
}

function dueMs({ strategy, schedule, walk }: Pick<Line, 'strategy' | 'schedule' | 'walk'>): number {
  const { next } = walk
  return Number.isFinite(next) ? attendedAtMs(strategy.name, schedule, next) : next
}
