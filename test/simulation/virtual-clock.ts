import { setMaxListeners } from 'node:events'
import type { CronRecurrence } from '../../src/domain/schedule/schedule.ts'
import type { Clock } from '../../src/ports.ts'

/**
 * Longest wait without a wake-up. The machine's clock wakes every second, which would take a simulated year too long.
 */
const HEARTBEAT_MS = 60_000
/** A wait ends this soon after the machine's clock was set, as in the real adapter. */
const STEP_SEEN_MS = 1_000
/** Timers that may fire without time passing before the simulation counts as stuck in a loop. */
const STANDSTILL_MAX = 20_000
/** Turns after which the real event loop gets to run, for example for the test runner's timers. */
const TURNS_AT_ONCE = 500

/** Owner of a timer: the simulation, a given process, or whichever process runs. */
type Owner = 'simulation' | 'any process' | object

type Timer = {
  atMs: number
  readonly owner: Owner
  readonly fire: () => void
  /** For a wait that ends early when the machine's clock is set. */
  readonly isWait?: boolean
  cancelled: boolean
}

/**
 * Time of a simulation. It stands still while anything can run and then jumps to the next timer. Timers belong to the
 * daemon's process or to the simulation around it: a crash drops the former, a stall delays them.
 */
export class VirtualClock {
  /** Wake-up requests of the daemon. There are no tasks here: exact timers replace them. */
  crons: readonly CronRecurrence[] = []
  /** The daemon gets tasks that never fire. */
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

  /** True time, epoch milliseconds. Blocks and the service use it. */
  get trueMs(): number {
    return this.#trueMs
  }

  /** How far the machine's clock is ahead of true time; an administrator or NTP changes it. */
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

  /** Runs something in the simulation at a true time, independently of the daemon. */
  schedule(atMs: number, fire: () => void): void {
    this.#insert({
      atMs: Math.max(atMs, this.#trueMs),
      owner: 'simulation',
      fire,
      cancelled: false,
    })
  }

  /**
   * Runs something at the daemon's n-th await from now (from 1): at a request to the simulation, or at its answer.
   * Nothing can happen between any other two points.
   */
  befall(awaits: number, what: () => void): void {
    this.#befalls.set(this.#awaits + awaits, what)
  }

  /** Cancels pending interruptions. */
  spare(): void {
    this.#befalls.clear()
  }

  /** A timer of a daemon's process. Returns a function that cancels it. */
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
   * Suspends a process while another may run. Returns a function that resumes it; timers that came due meanwhile fire
   * then.
   */
  freezeProcess(owner: Owner = 'any process'): () => void {
    const frozen = this.#timers.filter((timer) => isOf(timer, owner))
    this.#timers = this.#timers.filter((timer) => !isOf(timer, owner))
    return () => {
      for (const timer of frozen.splice(0))
        if (!timer.cancelled) this.#insert({ ...timer, atMs: Math.max(timer.atMs, this.#trueMs) })
    }
  }

  /** The process does not run for a while; the simulation does. */
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

  /** Runs the simulation to a true time. Everything that can happen until then has happened when it resolves. */
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
    if (timer.owner === 'simulation' || timer.atMs >= this.#stalledUntilMs) return false
    this.#insert({ ...timer, atMs: this.#stalledUntilMs })
    return true
  }

  /** An interruption comes before the awaited event, which the process may not live to see. */
  #fire(timer: Timer): void {
    const befall = timer.owner === 'simulation' ? undefined : this.#nextBefall()
    if (befall !== undefined) this.#insert(timer)
    const fire = befall ?? timer.fire
    fire()
  }

  /** Counts an await; returns the interruption there, if any. */
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
   * Resolves once every promise chain that can run has run, because there is no real I/O: a `nextTick` within a
   * microtask runs once no microtask is left, at a third of the cost of an event-loop turn.
   */
  async #turn(): Promise<void> {
    await undefined
    this.#turns += 1
    const defer = this.#turns % TURNS_AT_ONCE === 0 ? setImmediate : process.nextTick
    return new Promise((resolve) => defer(resolve))
  }
}

function isOf(timer: Timer, owner: Owner): boolean {
  if (timer.owner === 'simulation') return false
  return owner === 'any process' || timer.owner === owner || timer.owner === 'any process'
}
