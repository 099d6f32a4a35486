import type { Clock } from '../../ports.ts'
import type { Log } from '../tell/log.ts'
import type { Channel, Delivery, FailedDelivery } from './channels/channel.ts'
import type { Waiting } from './outbox.ts'

/** What became of a message for one receiver; what had no room counts as failed. */
export type DeliveryResult = 'delivered' | 'failed' | 'expired'

/** So long a message is tried. Who hears of something a day later knows it already, or never will. */
export const KEPT_MS = 24 * 3_600_000
const PAUSE_MS_MIN = 1_000
/** A receiver that is back hears of everything this much later at most. */
const PAUSE_MS_MAX = 5 * 60_000
/** Whatever a channel does: nobody waits for it longer. */
const DELIVERY_MS_MAX = 60_000
/** Refusals of one message, by a receiver that answers, after which others get their turn first. */
const REFUSALS_AT_ONCE = 8
/** What is refused for good is told once in this time, and counted. */
const REFUSED_TOLD_MS = 60_000

export type CourierOptions = {
  readonly channel: Channel
  /** What waits for it, oldest first. */
  readonly queue: () => Iterable<Waiting>
  /** It has arrived, or never will. */
  readonly end: (id: string, result: DeliveryResult) => void
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** From 0 to 1. */
  readonly jitter: () => number
  readonly log: Log
}

export type Courier = {
  /** Something waits. */
  wake(): void
  /** Tries what is left once more and resolves when it rests, or the signal is aborted, which ends it. */
  finish(signal: AbortSignal): Promise<void>
}

/**
 * Brings messages to one receiver, one after the other, beside everything else. A receiver that does not take one is left alone
 * for growing pauses, and as long as it asks for; a message is given up after a day.
 */
export function createCourier(options: CourierOptions): Courier {
  const { channel, queue, end, clock, jitter, log } = options
  const { name } = channel
  const startedAtMs = clock.now()
  const stop = new AbortController()
  let woken = new AbortController()
  let failures = 0
  let nextAtMs = 0
  let isFinishing = false
  let working: Promise<void> | undefined
  let refusedToldMs = Number.NEGATIVE_INFINITY
  let refusedUntold = 0

  function wake(): void {
    if (stop.signal.aborted) return
    working ??= work()
  }

  async function work(): Promise<void> {
    // So that whoever woke it knows that it works before it may have ended.
    await undefined
    for (let next = take(); next !== undefined; next = take()) if (!(await bring(next))) break
    // In the same turn: what comes in from now on has to begin anew.
    working = undefined
  }

  /** Whether it goes on after this one. */
  async function bring(next: Waiting): Promise<boolean> {
    const paceMs = nextAtMs - clock.now()
    // A clock that was set must not make a pause of it.
    if (paceMs > 0) await clock.sleep(Math.min(paceMs, channel.paceMs), stop.signal)
    const outcome = await attempt(next)
    if (outcome.ok) arrived(next)
    else if (stop.signal.aborted) return false
    else if (outcome.final) refused(next, outcome)
    else if (isFinishing) return false
    else await pause(notTaken(next, outcome))
    return true
  }

  /** The next message to be tried. */
  function take(): Waiting | undefined {
    if (stop.signal.aborted) return undefined
    expire()
    let first: Waiting | undefined
    for (const waiting of queue())
      if (first === undefined || roundOf(waiting) < roundOf(first)) first = waiting
    return first
  }

  /**
   * A clock that was set ahead makes messages old at once: they are not given up while the receiver takes what it is given,
   * unless they were old at the start.
   */
  function expire(): void {
    const nowMs = clock.now()
    const old = [...queue()].filter(({ message: { atMs } }) => {
      const isOld = nowMs - atMs > KEPT_MS
      return isOld && (failures > 0 || startedAtMs - atMs > KEPT_MS)
    })
    for (const { message } of old) end(message.id, 'expired')
    if (old.length === 0) return
    const many = old.length === 1 ? '1 message' : `${old.length} messages`
    log.error(`${name} did not take ${many} within a day: given up`, { event: 'notify' })
  }

  async function attempt({ message }: Waiting): Promise<Delivery> {
    const over = new AbortController()
    const onStop = (): void => over.abort()
    stop.signal.addEventListener('abort', onStop, { once: true })
    const late = clock.sleep(DELIVERY_MS_MAX, over.signal).then((): Delivery => {
      const isLate = !over.signal.aborted
      over.abort()
      return notAnswered(isLate ? 'no answer in time' : 'the daemon ended')
    })
    try {
      return await Promise.race([channel.deliver(message, over.signal), late])
    } catch {
      return notAnswered('a fault of the channel')
    } finally {
      stop.signal.removeEventListener('abort', onStop)
      over.abort()
    }
  }

  function arrived({ message }: Waiting): void {
    if (failures > 0) log.info(`${name} takes messages again`, { event: 'notify' })
    failures = 0
    end(message.id, 'delivered')
    nextAtMs = clock.now() + channel.paceMs
  }

  function refused({ message }: Waiting, { fault }: FailedDelivery): void {
    end(message.id, 'failed')
    const nowMs = clock.now()
    refusedUntold += 1
    if (Math.abs(nowMs - refusedToldMs) < REFUSED_TOLD_MS) return
    const many = refusedUntold === 1 ? '' : ` (${refusedUntold} messages)`
    log.warn(`${name} refused a "${message.event}" message: ${fault}${many}`, { event: 'notify' })
    refusedToldMs = nowMs
    refusedUntold = 0
  }

  function notTaken(
    waiting: Waiting,
    { answered, fault, retryAfterMs = 0 }: FailedDelivery,
  ): number {
    if (answered) waiting.refusals += 1
    if (failures === 0)
      log.warn(`${name} does not take messages: ${fault}; they are tried again for a day`, {
        event: 'notify',
      })
    failures += 1
    const grown = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(failures - 1, 20))
    const own = grown * (0.75 + jitter() / 2)
    return Math.max(own, Math.min(retryAfterMs, KEPT_MS))
  }

  function pause(ms: number): Promise<void> {
    woken = new AbortController()
    return clock.sleep(ms, AbortSignal.any([woken.signal, stop.signal]))
  }

  return {
    wake,
    async finish(signal) {
      isFinishing = true
      const end = (): void => stop.abort()
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      // Whoever pauses tries once more.
      woken.abort()
      wake()
      await working
      stop.abort()
      signal.removeEventListener('abort', end)
    },
  }
}

function roundOf({ refusals }: Waiting): number {
  return Math.floor(refusals / REFUSALS_AT_ONCE)
}

function notAnswered(fault: string): Delivery {
  return { ok: false, final: false, answered: false, fault }
}
