import PQueue from 'p-queue'
import { Pacer } from './pacer.ts'
import type { StartWindow } from './route-shares.ts'

type Waiter = {
  /** Resolves to true if it used the turn, false if it sent nothing. Never rejects. */
  readonly run: () => Promise<boolean>
  /** Called after `run`, when the turn has ended or is free again. Must call `proceed`. */
  readonly onEnd: () => void
}

type TurnsOptions = {
  /** No limit on starts if `windowMs` is 0. */
  readonly window: StartWindow
  readonly concurrency: number
  readonly monotonicMs: () => number
  /** Called if tasks wait and no turn is available for `ms`; call `proceed` after that time. */
  readonly onClosed: (ms: number) => void
}

/** A start that p-queue allowed. It counts in the window until `overMs`; `end` completes p-queue's task. */
type Turn = { readonly overMs: number; readonly end: () => void }

/** p-queue counts whole milliseconds. */
const ROUNDING_MS = 2

/**
 * A route's turns, first come, first served. p-queue limits concurrency and starts per window; the pacer tightens both.
 * There is no timeout: an abandoned request would have an unknown outcome, so only its own deadline ends it.
 *
 * A returned turn stays available while it counts in the window. If it is used late, p-queue stops counting it too early, so
 * no turn starts from then until a whole window after its use.
 */
export class Turns {
  readonly pacer: Pacer
  readonly #options: TurnsOptions
  readonly #windowMs: number
  readonly #now: () => number
  readonly #waiters = new Set<Waiter>()
  #queue: PQueue
  readonly #free: Turn[] = []
  #closed: readonly { readonly fromMs: number; readonly untilMs: number }[] = []

  constructor(options: TurnsOptions) {
    this.#options = options
    this.#windowMs = options.window.windowMs
    this.#now = options.monotonicMs
    this.pacer = new Pacer(this.#now)
    this.#queue = queueOf(options)
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Time until a turn behind `ahead` others. Exact if the window allows one start, otherwise accurate to one window. */
  forecastMs(ahead: number): number {
    const spacingMs = this.#windowMs / this.#options.window.cap
    const opensMs = Math.max(0, this.pacer.lastStartMs + spacingMs - this.#now())
    return Math.max(opensMs + ahead * spacingMs, this.pacer.delayMs(ahead))
  }

  /** Starts the task at once if a turn is free. */
  add(waiter: Waiter): void {
    this.#waiters.add(waiter)
    this.proceed()
  }

  /** Call `proceed` afterwards. */
  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter)
  }

  /** Starts waiting tasks, and requests one turn from p-queue per waiting task. */
  proceed(): void {
    this.#handOut()
    if (this.#isOpen()) this.#queue.start()
    else this.#queue.pause()
    if (this.#queue.size > 2 * this.#waiters.size) this.#queue.clear()
    while (this.#queue.size + this.#free.length < this.#waiters.size)
      void this.#queue.add(() => new Promise<void>((end) => this.#open(end)))
  }

  /** Restarts p-queue's count after a wall clock step, once all earlier starts have left the window. */
  restart(): void {
    if (this.#windowMs === 0) return
    for (const { end } of this.#free.splice(0)) end()
    this.#closed = [{ fromMs: 0, untilMs: this.pacer.lastStartMs + this.#windowMs }]
    this.#queue.clear()
    this.#queue = queueOf(this.#options)
    this.proceed()
  }

  #isOpen(): boolean {
    const nowMs = this.#now()
    let closedMs = this.pacer.delayMs()
    for (const { fromMs, untilMs } of this.#closed)
      if (fromMs <= nowMs) closedMs = Math.max(closedMs, untilMs - nowMs)
    if (closedMs > 0 && this.#waiters.size > 0) this.#options.onClosed(closedMs)
    return closedMs === 0
  }

  #open(end: () => void): void {
    const overMs = this.#windowMs === 0 ? Number.POSITIVE_INFINITY : this.#now() + this.#windowMs
    this.#free.push({ overMs, end })
    this.#handOut()
  }

  #handOut(): void {
    for (;;) {
      const [turn] = this.#free
      if (turn === undefined) return
      const [waiter] = this.#waiters
      const isOver = this.#windowMs === 0 ? waiter === undefined : this.#now() >= turn.overMs
      if (!isOver && (waiter === undefined || !this.#isOpen())) return
      this.#free.shift()
      if (isOver || waiter === undefined) turn.end()
      else {
        this.#waiters.delete(waiter)
        void this.#take(turn, waiter)
      }
    }
  }

  async #take(turn: Turn, { run, onEnd }: Waiter): Promise<void> {
    const start = this.pacer.started()
    const late = { fromMs: turn.overMs - ROUNDING_MS, untilMs: start.atMs + this.#windowMs }
    if (late.untilMs >= turn.overMs + 1)
      this.#closed = [...this.#closed.filter(({ untilMs }) => untilMs > start.atMs), late]
    if (await run()) {
      this.pacer.finished()
      turn.end()
    } else {
      this.pacer.unused(start)
      this.#closed = this.#closed.filter((each) => each !== late)
      this.#free.push(turn)
    }
    onEnd()
  }
}

function queueOf({ window, concurrency }: TurnsOptions): PQueue {
  const { cap: intervalCap, windowMs: interval } = window
  if (interval === 0) return new PQueue({ concurrency })
  return new PQueue({ concurrency, intervalCap, interval, strict: true })
}
