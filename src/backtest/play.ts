import type { MissedRun } from '../domain/schedule/due.ts'
import { scheduleKey } from '../domain/schedule/schedule.ts'
import type { Walked } from '../domain/schedule/slot-walk.ts'
import {
  type Considered,
  type ConsiderInput,
  consider,
  considerReply,
  type Question,
} from '../engine/slot.ts'
import { waitMs } from '../engine/waiting.ts'
import { stateBound } from '../journal/events/state/state-identity.ts'
import {
  type SlotClosed,
  slotClosed,
  slotOpened,
  slotsMissed,
} from '../journal/events/strategy/slots.ts'
import { strategyPaused } from '../journal/events/strategy/stops.ts'
import { strategyScheduled } from '../journal/events/strategy/strategies.ts'
import type { Skip } from '../strategies/decision/decision.ts'
import type { Strategy } from '../strategies/registry.ts'
import { type FastForward, type FeedBand, fastForwardOf, WatchedFeeds } from './fast-forward.ts'
import type { PriceCursor } from './prices/price-cursor.ts'
import { type OrderListener, SimulatedBroker } from './simulated-broker.ts'
import { Simulation, type SimulationInput } from './simulation.ts'
import { dueMs, dueSlotsOf, openRun, type StrategyRun, toNextSlot } from './strategy-run.ts'

export type BacktestListener = OrderListener & {
  /** A slot whose orders have started. */
  opened?(strategy: Strategy, slotSeconds: number, considered: Considered): void
  /** Consecutive slots skipped for one reason. `bySample`: how many of them by each of the last samples. */
  skipped(
    strategy: Strategy,
    walked: Walked & { readonly bySample: readonly number[] },
    skip: Pick<Skip, 'reason' | 'detail'>,
  ): void
  missed(strategy: Strategy, run: MissedRun): void
  /** Called at the beginning, at every sample and at the end. */
  sample(sim: Simulation): void
}

export type PlayInput = SimulationInput & {
  readonly listener: BacktestListener
  readonly sampleSeconds: number
  /** False decides every slot separately: slower, with the same results. */
  readonly fastForwards: boolean
  /** Called with the share done; returns true to stop the run. */
  readonly progress?: (share: number) => boolean
}

/** Steps between progress reports. */
const PROGRESS_EVERY = 4_096

/** Plays strategies over the past, by the daemon's own decisions. `SimulatedBroker` executes orders. */
export class Play {
  readonly sim: Simulation
  readonly #input: PlayInput
  readonly #broker: SimulatedBroker
  readonly #runs: readonly StrategyRun[]
  readonly #feeds: WatchedFeeds
  /** Of the state before the current time. */
  #version = 0
  #nextSampleMs: number
  readonly #untilMs: number

  constructor(input: PlayInput) {
    this.#input = input
    this.sim = new Simulation(input)
    this.#broker = new SimulatedBroker(this.sim, input.listener, () => this.#orderEnded())
    this.#feeds = new WatchedFeeds(input.untilSeconds)
    this.#nextSampleMs = this.sim.nowMs
    this.#untilMs = input.untilSeconds * 1000
    this.#enter()
    this.#runs = input.strategies.map((strategy) => openRun(this.sim, strategy))
  }

  /** Resolves to false if it was stopped. */
  async run(): Promise<boolean> {
    const { progress, fromSeconds } = this.#input
    for (let steps = 1; ; steps += 1) {
      const atMs = this.#nextMs()
      if (atMs > this.#untilMs) break
      this.#advanceTo(atMs)
      const pending = this.#doAt(atMs)
      if (pending !== undefined) await pending
      if (steps % PROGRESS_EVERY !== 0 || progress === undefined) continue
      const share = (atMs / 1000 - fromSeconds) / (this.#input.untilSeconds - fromSeconds)
      if (progress(share)) return false
    }
    this.#finish()
    return true
  }

  /** The daemon starts when the period begins. */
  #enter(): void {
    const { strategies, fromSeconds, begins, owner } = this.#input
    const { bound, strategies: known } = this.sim.state
    if (bound === undefined)
      this.sim.apply(stateBound({ mode: 'live', chainId: 0, genesisHash: '0x', owner }))
    this.sim.apply(
      ...strategies.map(({ name: strategy, schedule }) => {
        const before = (begins?.get(strategy) ?? fromSeconds) - 1
        const last = known.get(strategy)?.lastSlotSeconds ?? before
        const begin = { scheduleKey: scheduleKey(schedule), fromSeconds: Math.max(before, last) }
        return strategyScheduled({ strategy, ...begin })
      }),
    )
  }

  /** Time of the next event, ms. Ends fast-forwards that end before it. */
  #nextMs(): number {
    for (;;) {
      const soonestMs = Math.min(this.#soonestMs(this.#runs), this.#nextSampleMs, this.#untilMs + 1)
      const { atMs, brokenBy } = this.#feeds.firstEnd(soonestMs)
      const hasWoken = this.#wakeAt(atMs, brokenBy)
      if (!hasWoken) return atMs
    }
  }

  /** The next step of an order, or the next time at which one of these strategies may be decided. */
  #soonestMs(runs: readonly StrategyRun[]): number {
    let atMs = this.#broker.nextMs
    for (const { fastForward, dueMs } of runs) atMs = Math.min(atMs, fastForward?.untilMs ?? dueMs)
    return atMs
  }

  /** Ends the fast-forwards that end by a time. Returns true if there were any. */
  #wakeAt(atMs: number, brokenBy: readonly PriceCursor[]): boolean {
    let hasWoken = false
    for (const run of this.#runs) {
      const { fastForward } = run
      if (fastForward === undefined) continue
      const { untilMs, bands } = fastForward
      const isBroken = ({ cursor, band }: FeedBand) =>
        brokenBy.includes(cursor) && cursor.endsToo(band)
      if (untilMs > atMs && !bands.some(isBroken)) continue
      this.#wake(run, atMs)
      hasWoken = true
    }
    if (brokenBy.length > 0 || hasWoken) this.#bandAgain()
    return hasWoken
  }

  /** Accounts for the slots before a time, and decides the next slot again. */
  #wake(run: StrategyRun, atMs: number): void {
    const { fastForward } = run
    if (fastForward === undefined) return
    this.#passUntil(run, fastForward, Math.ceil(atMs / 1000))
    run.fastForward = undefined
    run.dueMs = dueMs(run)
    const { lastSeconds, skip, remembers } = fastForward
    if (lastSeconds === undefined) return
    const memory = remembers?.memory()
    this.sim.applyUnseen(skippedSlot(run.strategy, lastSeconds, { ...skip, memory }))
  }

  /** Ends a fast-forward that no longer holds after a change. */
  #check(run: StrategyRun, atMs: number): void {
    if (run.fastForward?.holds?.() !== true) this.#wake(run, atMs)
  }

  /** Slots that remember prices pass before time advances beyond them. */
  #advanceTo(atMs: number): void {
    for (const run of this.#runs)
      if (run.fastForward?.remembers !== undefined)
        this.#passUntil(run, run.fastForward, Math.floor(atMs / 1000))
    this.sim.nowMs = atMs
    this.sim.board.advanceTo(this.sim.nowSeconds)
  }

  #passUntil({ strategy, walk }: StrategyRun, fastForward: FastForward, seconds: number): void {
    const { remembers, skip } = fastForward
    const first = walk.next
    let [count, last] = [0, first]
    const pass = (before: number): void => {
      const walked = remembers?.passUntil(walk, before) ?? walk.passUntil(before)
      if (walked === undefined) return
      count += walked.count
      last = walked.last
    }
    const bySample = this.#samplesFrom(first).map((sampleSeconds) => {
      pass(Math.min(sampleSeconds + 1, seconds))
      return count
    })
    pass(seconds)
    if (count === 0) return
    fastForward.lastSeconds = last
    this.#input.listener.skipped(strategy, { count, first, last, bySample }, skip)
  }

  /** Times of past samples from a second on. */
  #samplesFrom(seconds: number): readonly number[] {
    const { fromSeconds, sampleSeconds } = this.#input
    const times: number[] = []
    const before = Math.max(0, Math.ceil((seconds - fromSeconds) / sampleSeconds))
    const next = this.#nextSampleMs / 1000
    for (let at = fromSeconds + before * sampleSeconds; at < next; at += sampleSeconds)
      times.push(at)
    return times
  }

  #bandAgain(): void {
    this.#feeds.watch(this.#runs.map(({ fastForward }) => fastForward))
  }

  /** Runs orders first, then slots, then the sample. */
  #doAt(atMs: number): Promise<void> | undefined {
    const { version } = this.sim
    this.#version = version
    if (this.#broker.nextMs <= atMs) this.#stepOrders(atMs)
    const asks = this.#doSlots(atMs)
    if (this.sim.version !== version) {
      for (const run of this.#runs) this.#check(run, atMs + 1)
      this.#bandAgain()
    }
    if (this.#nextSampleMs <= atMs) {
      this.#input.listener.sample(this.sim)
      this.#nextSampleMs += this.#input.sampleSeconds * 1000
    }
    return asks
  }

  #stepOrders(atMs: number): void {
    // A slot that is reported with an order's end comes after its strategy's earlier slots.
    for (const run of this.#runs) if (run.fastForward?.holds === undefined) this.#wake(run, atMs)
    while (this.#broker.step());
  }

  #doSlots(atMs: number): Promise<void> | undefined {
    let asks: Promise<void> | undefined
    for (const run of this.#runs) {
      // Strategies after one that changed the state see the change; those before it do not.
      if (this.sim.version !== this.#version) this.#check(run, atMs)
      if (run.fastForward !== undefined || run.dueMs > atMs) continue
      const pending = this.#handle(run)
      if (pending !== undefined) asks = asks === undefined ? pending : asks.then(() => pending)
    }
    return asks
  }

  /** Decides a strategy's due slots. Resolves once its module, if any, has answered. */
  #handle(run: StrategyRun): Promise<void> | undefined {
    const { slots, missed } = dueSlotsOf(this.sim, run)
    const { listener } = this.#input
    if (missed !== undefined) {
      this.sim.apply(slotsMissed({ strategy: run.strategy.name, ...missed }))
      listener.missed(run.strategy, missed)
    }
    for (const slotSeconds of slots) {
      const input = this.sim.considerInput(run.strategy, slotSeconds)
      const considered = this.#consider(run, input)
      if ('asks' in considered) return this.#ask(run, input, considered)
      if (!this.#record(run, slotSeconds, considered)) break
    }
    toNextSlot(this.sim, run)
    return undefined
  }

  #consider(run: StrategyRun, input: ConsiderInput): Considered | Question {
    const considered = consider(input)
    if (!('asks' in considered)) return considered
    const reply = run.asker.known(input.slotSeconds)
    return reply === undefined ? considered : considerReply(input, considered, reply)
  }

  async #ask(run: StrategyRun, input: ConsiderInput, question: Question): Promise<void> {
    // The market at that time decides later slots.
    run.dueMs = Number.POSITIVE_INFINITY
    run.isAsking = true
    const { slotSeconds } = input
    const reply = await run.asker.ask(slotSeconds, question, this.#untilOthersMs(run))
    run.isAsking = false
    this.#record(run, slotSeconds, considerReply(input, question, reply))
    toNextSlot(this.sim, run)
  }

  /** Time before which only this strategy can change the state or the wallet. */
  #untilOthersMs(run: StrategyRun): number {
    const others = this.#runs.filter((each) => each !== run)
    const { sim } = this
    const mayChange = sim.version !== this.#version || others.some(({ isAsking }) => isAsking)
    if (mayChange || run.isPostponed) return sim.nowMs
    return this.#feeds.firstEnd(this.#soonestMs(others)).atMs
  }

  /** Records the decision of a slot. Returns false if the slot is postponed. */
  #record(run: StrategyRun, slotSeconds: number, considered: Considered): boolean {
    const { strategy, schedule } = run
    const { decision } = considered
    const { nowMs } = this.sim
    if (decision.tag === 'trade') {
      const { intents, memory, memoryOnFill } = decision
      const slot = { strategy: strategy.name, slotSeconds }
      this.sim.apply(slotOpened({ ...slot, intents, memory, memoryOnFill }))
      this.#input.listener.opened?.(strategy, slotSeconds, considered)
      this.#broker.launch(intents.map(({ id }) => id))
      return true
    }
    const waits = waitMs({ strategy, schedule, slotSeconds, nowMs, skip: decision })
    if (waits !== undefined) {
      run.dueMs = nowMs + waits
      run.isPostponed = true
      return false
    }
    this.#skip(run, slotSeconds, considered, decision)
    return true
  }

  #skip(run: StrategyRun, slotSeconds: number, considered: Considered, skip: Skip): void {
    const { strategy } = run
    const { listener } = this.#input
    const { alongside, market } = considered
    const closed = skippedSlot(strategy, slotSeconds, skip)
    if (alongside.length === 0) this.sim.applyUnseen(closed)
    else this.sim.apply(closed, ...alongside)
    for (const event of alongside) if (strategyPaused.is(event)) listener.paused(event)
    // A slot that waited is decided after its time.
    const bySample = this.#samplesFrom(slotSeconds).map(() => 1)
    listener.skipped(strategy, { count: 1, first: slotSeconds, last: slotSeconds, bySample }, skip)
    if (!this.#input.fastForwards) return
    run.fastForward = fastForwardOf(this.sim, run, { skip, market })
    if (run.fastForward !== undefined) this.#bandAgain()
  }

  /** A slot that waits for other orders is decided again when one ends. */
  #orderEnded(): void {
    for (const run of this.#runs)
      if (run.isPostponed) run.dueMs = Math.min(run.dueMs, this.sim.nowMs)
  }

  /** Accounts for fast-forwarded slots up to the end. */
  #finish(): void {
    this.#advanceTo(this.#untilMs)
    for (const run of this.#runs) this.#wake(run, this.#untilMs + 1)
    this.#input.listener.sample(this.sim)
  }
}

function skippedSlot(
  { name: strategy }: Strategy,
  slotSeconds: number,
  { reason, detail, memory }: Pick<Skip, 'reason' | 'detail' | 'memory'>,
): SlotClosed {
  return slotClosed({ strategy, slotSeconds, outcome: 'skipped', reason, detail, memory })
}
