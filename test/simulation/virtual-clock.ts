import { setMaxListeners } from 'node:events'
import type { CronRecurrence } from '../../src/domain/schedule/schedule.ts'
import type { Clock } from '../../src/ports.ts'

/** Longest wait without a wake-up. The machine's clock wakes every second, which would take a simulated year too long. */
const HEARTBEAT_MS = 60_000
/** A wait ends this soon after the machine's clock was set, as there. */
const STEP_SEEN_MS = 1_000
/** Timers that may fire without time passing before the world counts as stuck in a loop. */
const STANDSTILL_MAX = 20_000
/** Turns between which the machine's own event loop gets to run: timers of whoever drives the world, for one. */
const TURNS_AT_ONCE = 500

/** Of the world around it, of a process, or of whichever process runs. */
type Owner = 'world' | 'any process' | object

type Timer = {
  atMs: number
  readonly owner: Owner
  readonly fire: () => void
  /** Of a wait that ends early when the machine's clock is set. */
  readonly isWait?: boolean
  cancelled: boolean
}

/**
 * Time of a simulated world. It stands still while anything can run and then jumps to the next timer. Timers belong to
 * the daemon's process or to the world around it: a crash forgets the former, a stall delays them.
 */
export class VirtualClock {
  /** What the daemon wants to be woken at. There are no tasks here: exact timers do that. */
  crons: readonly CronRecurrence[] = []
  /** The daemon is told that there are tasks, and none ever fires. */
  losesCronTasks = false
  #trueMs: number
  #offsetMs = 0
  #stalledUntilMs = Number.NEGATIVE_INFINITY
  #timers: Timer[] = []
  #turns = 0
  #awaits = 0
  readonly #befalls = new Map<number, () => void>()

  constructor(startMs: number) {
    this.#trueMs = startMs
  }

  /** True time, epoch milliseconds. Blocks and the service go by it. */
  get trueMs(): number {
    return this.#trueMs
  }

  /** What the machine's clock shows ahead of true time; what an administrator or NTP changes. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  set offsetMs(ms: number) {
    if (ms === this.#offsetMs) return
    this.#offsetMs = ms
    const atMs = this.#trueMs + STEP_SEEN_MS
    const isLater = (timer: Timer): boolean => timer.isWait === true && timer.atMs > atMs
    const later = this.#timers.filter(isLater)
    this.#timers = this.#timers.filter((timer) => !isLater(timer))
    for (const timer of later) this.#insert(Object.assign(timer, { atMs }))
  }

  /** Runs something in the world at a true time, whatever becomes of the daemon. */
  schedule(atMs: number, fire: () => void): void {
    this.#insert({ atMs: Math.max(atMs, this.#trueMs), owner: 'world', fire, cancelled: false })
  }

  /**
   * Something befalls the daemon at its n-th await from now (from 1): where it asks the world for anything, or where an
   * answer comes back to it. There is nothing else between which anything could happen to it.
   */
  befall(awaits: number, what: () => void): void {
    this.#befalls.set(this.#awaits + awaits, what)
  }

  /** Nothing more befalls it. */
  spare(): void {
    this.#befalls.clear()
  }

  /** A timer of a daemon's process. Returns what cancels it. */
  processTimer(
    delayMs: number,
    fire: () => void,
    owner: Owner = 'any process',
    isWait = false,
  ): () => void {
    const atMs = this.#trueMs + Math.max(0, delayMs)
    const timer: Timer = { atMs, owner, fire, isWait, cancelled: false }
    this.#insert(timer)
    this.#nextBefall()?.()
    return () => {
      timer.cancelled = true
    }
  }

  /** A process is gone: none of its timers fires any more. */
  forgetProcess(owner: Owner = 'any process'): void {
    this.#timers = this.#timers.filter((timer) => !isOf(timer, owner))
    this.#stalledUntilMs = Number.NEGATIVE_INFINITY
  }

  /**
   * A process is stopped where it is, and another may run meanwhile. Gives what lets it run on: whatever came due for it
   * happens then.
   */
  freezeProcess(owner: Owner = 'any process'): () => void {
    const frozen = this.#timers.filter((timer) => isOf(timer, owner))
    this.#timers = this.#timers.filter((timer) => !isOf(timer, owner))
    return () => {
      for (const timer of frozen.splice(0))
        if (!timer.cancelled) this.#insert({ ...timer, atMs: Math.max(timer.atMs, this.#trueMs) })
    }
  }

  /** The process does not run for a while; the world does. */
  stall(ms: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.#trueMs + ms)
  }

  /** The port that a daemon sees: local time, monotonic sleeps. */
  asPort(owner: Owner = 'any process'): Clock {
    const now = (): number => this.#trueMs + this.offsetMs
    return {
      now,
      sleep: (ms, signal) => this.#sleep(ms, { signal, owner, isWait: false }),
      wake: (atMs, signal) =>
        this.#sleep(Math.min(HEARTBEAT_MS, atMs - now()), { signal, owner, isWait: true }),
      schedule: (crons) => {
        this.crons = crons
      },
      wakesAt: () => this.losesCronTasks,
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
      this.#fire(timer)
      await this.#turn()
    }
    this.#trueMs = Math.max(this.#trueMs, untilMs)
  }

  #postponed(timer: Timer): boolean {
    if (timer.owner === 'world' || timer.atMs >= this.#stalledUntilMs) return false
    this.#insert({ ...timer, atMs: this.#stalledUntilMs })
    return true
  }

  /** What befalls the process comes before what it waits for, which it may not live to see. */
  #fire(timer: Timer): void {
    const befall = timer.owner === 'world' ? undefined : this.#nextBefall()
    if (befall !== undefined) this.#insert(timer)
    const fire = befall ?? timer.fire
    fire()
  }

  /** Counts an await; gives what befalls the daemon there. */
  #nextBefall(): (() => void) | undefined {
    this.#awaits += 1
    const what = this.#befalls.get(this.#awaits)
    this.#befalls.delete(this.#awaits)
    return what
  }

  #sleep(
    ms: number,
    {
      signal,
      owner,
      isWait,
    }: { readonly signal: AbortSignal | undefined; readonly owner: Owner; isWait: boolean },
  ): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    if (signal !== undefined) setMaxListeners(0, signal)
    return new Promise((resolve) => {
      const cancel = this.processTimer(
        ms,
        () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
        owner,
        isWait,
      )
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

function isOf(timer: Timer, owner: Owner): boolean {
  if (timer.owner === 'world') return false
  return owner === 'any process' || timer.owner === owner || timer.owner === 'any process'
}
