import type { Clock } from '../../ports.ts'
import type { Log } from '../log.ts'
import type { Channel, Delivery, FailedDelivery } from './channels/channel.ts'
import type { Waiting } from './outbox.ts'

/** A message dropped for lack of room counts as failed. */
export type DeliveryResult = 'delivered' | 'failed' | 'expired'

/** Messages are retried for this long; after that they are outdated. */
export const KEPT_MS = 24 * 3_600_000
const PAUSE_MS_MIN = 1_000
/** Maximum delay for a receiver that has recovered. */
const PAUSE_MS_MAX = 5 * 60_000
/** Maximum time of one attempt, whatever the channel does. */
const DELIVERY_MS_MAX = 60_000
/** After this many refusals by a receiver that answers, other messages go first. */
const REFUSALS_AT_ONCE = 8
/** Final refusals are logged at most once in this time, with their number. */
const REFUSAL_LOGGED_MS = 60_000

type WorkerOptions = {
  readonly channel: Channel
  readonly queue: () => Iterable<Waiting>
  readonly end: (id: string, result: DeliveryResult) => void
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly jitter: () => number
  readonly log: Log
}

/**
 * Delivers messages to one receiver in the background, one at a time. Pauses between failed attempts grow, or follow the
 * receiver's request; a message is given up after a day.
 */
export function createDeliveryWorker(options: WorkerOptions) {
  const { channel, queue, end, clock, jitter, log } = options
  const { name } = channel
  const startedAtMs = clock.now()
  const stop = new AbortController()
  let woken = new AbortController()
  let failures = 0
  let nextAtMs = 0
  let isFinishing = false
  let working: Promise<void> | undefined
  let refusalLoggedMs = Number.NEGATIVE_INFINITY
  let refusalsUnlogged = 0

  function wake(): void {
    if (stop.signal.aborted) return
    working ??= work()
  }

  async function work(): Promise<void> {
    // Sets `working` before the work can end.
    await undefined
    for (let next = take(); next !== undefined; next = take()) if (!(await deliver(next))) break
    // In the same turn: a later wake must start new work.
    working = undefined
  }

  /** @returns whether to continue */
  async function deliver(next: Waiting): Promise<boolean> {
    const paceMs = nextAtMs - clock.now()
    // A clock change must not extend the pause.
    if (paceMs > 0) await clock.sleep(Math.min(paceMs, channel.paceMs), stop.signal)
    const outcome = await attempt(next)
    if (outcome.ok) arrived(next)
    else if (stop.signal.aborted) return false
    else if (outcome.final) refused(next, outcome)
    else if (isFinishing) return false
    else await pause(notTaken(next, outcome))
    return true
  }

  function take(): Waiting | undefined {
    if (stop.signal.aborted) return undefined
    expire()
    let first: Waiting | undefined
    for (const waiting of queue())
      if (first === undefined || roundOf(waiting) < roundOf(first)) first = waiting
    return first
  }

  /** A clock set ahead ages all messages: those not yet old at the start are kept while the receiver accepts messages. */
  function expire(): void {
    const nowMs = clock.now()
    const old = [...queue()].filter(({ message: { atMs } }) => {
      const isOld = nowMs - atMs > KEPT_MS
      return isOld && (failures > 0 || startedAtMs - atMs > KEPT_MS)
    })
    for (const { message } of old) end(message.id, 'expired')
    if (old.length === 0) return
    const many = old.length === 1 ? '1 message' : `${old.length} messages`
    log.error(`${name} did not accept ${many} within a day: given up`, { event: 'notify' })
  }

  async function attempt({ message }: Waiting): Promise<Delivery> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stop.signal])
    const late = clock
      .sleep(DELIVERY_MS_MAX, signal)
      .then(() => notAnswered(stop.signal.aborted ? 'the daemon ended' : 'no answer in time'))
    try {
      return await Promise.race([channel.deliver(message, signal), late])
    } catch {
      return notAnswered('a fault of the channel')
    } finally {
      over.abort()
    }
  }

  function arrived({ message }: Waiting): void {
    if (failures > 0) log.info(`${name} accepts messages again`, { event: 'notify' })
    failures = 0
    end(message.id, 'delivered')
    nextAtMs = clock.now() + channel.paceMs
  }

  function refused({ message }: Waiting, { fault }: FailedDelivery): void {
    end(message.id, 'failed')
    const nowMs = clock.now()
    refusalsUnlogged += 1
    if (Math.abs(nowMs - refusalLoggedMs) < REFUSAL_LOGGED_MS) return
    const many = refusalsUnlogged === 1 ? '' : ` (${refusalsUnlogged} messages)`
    log.warn(`${name} refused a "${message.event}" message: ${fault}${many}`, { event: 'notify' })
    refusalLoggedMs = nowMs
    refusalsUnlogged = 0
  }

  function notTaken(
    waiting: Waiting,
    { answered, fault, retryAfterMs = 0 }: FailedDelivery,
  ): number {
    if (answered) waiting.refusals += 1
    if (failures === 0)
      log.warn(`${name} does not accept messages: ${fault}; retrying for a day`, {
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
    /** Tries the remaining messages once more. Resolves when idle, or when the signal aborts, which ends the worker. */
    async finish(signal: AbortSignal): Promise<void> {
      isFinishing = true
      const end = (): void => stop.abort()
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      // Ends a pause for one more try.
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
