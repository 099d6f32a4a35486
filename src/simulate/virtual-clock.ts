import { setMaxListeners } from 'node:events'
import type { Clock, CronText } from '../ports.ts'

/** Longest time without a wake-up, as of the real clock. */
const HEARTBEAT_MS = 60_000
/** Timers that may fire without time passing before the world counts as stuck in a loop. */
const STANDSTILL_MAX = 20_000
/** Turns between which the machine's own event loop gets to run: timers of whoever drives the world, for one. */
const TURNS_AT_ONCE = 500

type Owner = 'process' | 'world'

type Timer = {
  readonly atMs: number
  readonly owner: Owner
  readonly fire: () => void
  cancelled: boolean
}

/**
 * Time of a simulated world. It stands still while anything can run and then jumps to the next timer. Timers belong to
 * the daemon's process or to the world around it: a crash forgets the former, a stall delays them.
 */
export class VirtualClock {
  /** What the machine's clock shows ahead of true time; what an administrator or NTP changes. */
  offsetMs = 0
  /** What the daemon wants to be woken at. Time here wakes it anyway. */
  cronTexts: readonly CronText[] = []
  #trueMs: number
  #stalledUntilMs = Number.NEGATIVE_INFINITY
  #timers: Timer[] = []
  #turns = 0

  constructor(startMs: number) {
    this.#trueMs = startMs
  }

  /** True time, epoch milliseconds. Blocks and the service go by it. */
  get trueMs(): number {
    return this.#trueMs
  }

  /** Runs something in the world at a true time, whatever becomes of the daemon. */
  schedule(atMs: number, fire: () => void): void {
    this.#insert({ atMs: Math.max(atMs, this.#trueMs), owner: 'world', fire, cancelled: false })
  }

  /** A timer of the daemon's process. Returns what cancels it. */
  processTimer(delayMs: number, fire: () => void): () => void {
    const atMs = this.#trueMs + Math.max(0, delayMs)
    const timer: Timer = { atMs, owner: 'process', fire, cancelled: false }
    this.#insert(timer)
    return () => {
      timer.cancelled = true
    }
  }

  /** The process is gone: none of its timers fires any more. */
  forgetProcess(): void {
    this.#timers = this.#timers.filter(({ owner }) => owner === 'world')
    this.#stalledUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * The process is stopped where it is, and another may run meanwhile. Gives what lets it run on: whatever came due for it
   * happens then.
   */
  freezeProcess(): () => void {
    const frozen = this.#timers.filter(({ owner }) => owner === 'process')
    this.#timers = this.#timers.filter(({ owner }) => owner === 'world')
    return () => {
      for (const timer of frozen.splice(0))
        if (!timer.cancelled) this.#insert({ ...timer, atMs: Math.max(timer.atMs, this.#trueMs) })
    }
  }

  /** The process does not run for a while; the world does. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#trueMs + ms)
  }

  /** The port that the daemon sees: local time, monotonic sleeps. */
  asPort(): Clock {
    const now = (): number => this.#trueMs + this.offsetMs
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> => this.#sleep(ms, signal)
    return {
      now,
      sleep,
      wake: (atMs, signal) => sleep(Math.min(HEARTBEAT_MS, atMs - now()), signal),
      schedule: (texts) => {
        this.cronTexts = texts
      },
    }
  }

  /** Lets the world run to a true time. Everything that can happen until then has happened when it resolves. */
  async runUntil(untilMs: number): Promise<void> {
    await this.#turn()
    let standstill = 0
    for (;;) {
      const timer = this.#timers[0]
      if (timer === undefined || timer.atMs > untilMs) break
      this.#timers.shift()
      if (timer.cancelled || this.#postponed(timer)) continue
      standstill = timer.atMs > this.#trueMs ? 0 : standstill + 1
      if (standstill > STANDSTILL_MAX)
        throw new Error(`simulation does not advance at ${this.#trueMs}: a loop without a pause`)
      this.#trueMs = Math.max(this.#trueMs, timer.atMs)
      timer.fire()
      await this.#turn()
    }
    this.#trueMs = Math.max(this.#trueMs, untilMs)
  }

  #postponed(timer: Timer): boolean {
    if (timer.owner === 'world' || timer.atMs >= this.#stalledUntilMs) return false
    this.#insert({ ...timer, atMs: this.#stalledUntilMs })
    return true
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    if (signal !== undefined) setMaxListeners(0, signal)
    return new Promise((resolve) => {
      const cancel = this.processTimer(ms, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      const onAbort = (): void => {
        cancel()
        resolve()
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Keeps the timers in order of time, those of one time in order of arrival. */
  #insert(timer: Timer): void {
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = this.#timers[middle]
      if (other !== undefined && other.atMs <= timer.atMs) low = middle + 1
      else high = middle
    }
    this.#timers.splice(low, 0, timer)
  }

  /**
   * Every promise chain that can run has run when it resolves, for there is no real I/O: what `nextTick` is given within
   * a microtask runs once no microtask is left, at a third of what a turn of the event loop costs.
   */
  async #turn(): Promise<void> {
    await undefined
    this.#turns += 1
    const defer = this.#turns % TURNS_AT_ONCE === 0 ? setImmediate : process.nextTick
    return new Promise((resolve) => defer(resolve))
  }
}
