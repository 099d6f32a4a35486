import type { SeededRandom } from '../../src/domain/random.ts'
import type { Clock } from '../../src/ports.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** Thrown into code that still runs in the instant its process died. Nothing catches it. */
export class ProcessDied extends Error {
  override readonly name = 'ProcessDied'
}

/**
 * The daemon's operating-system process: it dies in an instant, and from then on neither receives nor does anything. A
 * request that it sent before still arrives.
 */
export class SimulatedProcess {
  #alive = true
  readonly #clock: VirtualClock
  readonly #random: SeededRandom

  constructor(clock: VirtualClock, random: SeededRandom) {
    this.#clock = clock
    this.#random = random
  }

  get alive(): boolean {
    return this.#alive
  }

  die(): void {
    this.#alive = false
    this.#clock.forgetProcess(this)
  }

  /** Sends a request: `answer` runs where it arrives, the promise resolves when the reply is back. */
  ask<Answer>(
    answer: () => Answer,
    latencyMsMax: number,
    random: SeededRandom = this.#random,
  ): Promise<Answer> {
    if (!this.#alive) return never()
    const thereMs = random.between(1, latencyMsMax)
    const backMs = random.between(1, latencyMsMax)
    const sentAtMs = this.#clock.trueMs
    return new Promise((resolve) => {
      let reply: { readonly value: Answer } | undefined
      this.#clock.schedule(sentAtMs + thereMs, () => {
        reply = { value: answer() }
      })
      this.timer(thereMs + backMs, () => {
        if (reply !== undefined) resolve(reply.value)
      })
    })
  }

  /** Waits inside the process. */
  after<Value>(ms: number, value: () => Value): Promise<Value> {
    if (!this.#alive) return never()
    return new Promise((resolve) => {
      this.timer(ms, () => resolve(value()))
    })
  }

  /** A timer that dies with the process. Returns a function that cancels it. */
  timer(delayMs: number, fire: () => void): () => void {
    return this.#clock.processTimer(delayMs, fire, this)
  }

  /** The machine's clock, as the process sees it. */
  clock(): Clock {
    return this.#clock.asPort(this)
  }

  /** Suspends it; returns a function that resumes it. */
  freeze(): () => void {
    return this.#clock.freezeProcess(this)
  }

  requireAlive(): void {
    if (!this.#alive) throw new ProcessDied()
  }
}

/** A promise that never resolves, for a dead process. */
export function never<Value>(): Promise<Value> {
  return new Promise(() => undefined)
}
