import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Clock } from '../../ports.ts'
import type { Log } from '../tell/log.ts'
import { createCourier, type DeliveryResult, KEPT_MS } from './courier.ts'
import { createDispatch, type DispatchOptions, type Place, type Summary } from './dispatch.ts'
import { endedBy, type Notice, noticesOf } from './notices.ts'
import { Outbox } from './outbox.ts'
import type { OutboxFile, OutboxPeriod } from './outbox-file.ts'
import { crashedText } from './texts/daemon.ts'
import { watchTrouble } from './trouble.ts'

export type NotifierOptions = Omit<DispatchOptions, 'outbox'> & {
  readonly file: OutboxFile
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  /** From 0 to 1. */
  readonly jitter: () => number
  readonly log: Log
  readonly onResult: (channel: string, result: DeliveryResult) => void
  readonly onWaiting: (channel: string, waiting: number) => void
}

export type Notifier = {
  /**
   * Tells people what is worth it. Returns at once and never throws. Facts come with their records, in order; those that come
   * before `begin` wait for what was left untold.
   */
  observe(event: Observation, record?: RecordPlace): void
  /** From here on facts are told. `untold` gives those after a record that an earlier process recorded and may not have told. */
  begin(lastSeq: number, untold: (afterSeq: number) => AsyncIterable<Untold>): Promise<void>
  /** The process ends because of a fault. */
  crashed(fault: { readonly message: string; readonly wasRunning: boolean }): void
  /** Sends a digest, once for each period. */
  sumUp(summary: Summary): void
  /** Up to when digests were sent; undefined before the first. Epoch seconds. */
  summedUp(period: OutboxPeriod): number | undefined
  /** The first period begins here. */
  beginPeriod(period: OutboxPeriod, atSeconds: number): void
  /** Sends what can be sent until then (epoch ms), and takes nothing more; the rest is sent after the next start. */
  finish(deadlineMs: number): Promise<void>
}

/** A fact of the journal with its record; undefined where it takes older records to tell it. */
export type Untold = {
  readonly record: RecordPlace
  readonly fact: Observation | undefined
  /** What is told instead then; undefined where nothing would be told anyway. */
  readonly instead: Notice | undefined
}

const SWEEP_MS = 60_000
/** Facts that wait for what was left untold. It is read within moments, and there are seldom any. */
const HELD_MAX = 50_000
/** A daemon that is started again and again for the same fault is no news each time. */
const CRASHED_AGAIN_MS = 3_600_000
const TOPIC_LENGTH_MAX = 120

/**
 * Tells people what happens, by messages that outlive this process: what is observed goes into the outbox in the same turn, its
 * file follows beside, and one courier for each receiver brings them. What a file did not get before the process was killed is read
 * from the journal at the next start.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const { targets, file, context, clock, log, onResult, onWaiting } = options
  const closed = new AbortController()
  const trouble = watchTrouble(context, clock.now())
  const nameOf = new Map(targets.map(({ channel }) => [channel.key, channel.name]))
  const wakers = new Map<string, () => void>()
  let count = 0
  let held: (readonly [Observation, RecordPlace])[] | undefined = []

  const receivers = targets.map(({ channel }) => channel.key)
  const outbox = new Outbox({ file, clock, log, receivers, onChange: changed, onDropped: dropped })
  const dispatch = createDispatch({ ...options, outbox })
  const couriers = targets.map(({ channel }) => {
    const courier = createCourier({
      channel,
      ...{ clock, log, jitter: options.jitter },
      queue: () => outbox.queue(channel.key),
      end(id, result) {
        outbox.end(channel.key, id)
        onResult(channel.name, result)
      },
    })
    wakers.set(channel.key, courier.wake)
    return courier
  })
  for (const receiver of receivers) changed(receiver)
  void sweep()

  function changed(receiver: string): void {
    const name = nameOf.get(receiver)
    if (name !== undefined) onWaiting(name, outbox.waiting(receiver))
    wakers.get(receiver)?.()
  }

  function dropped(receiver: string, total: number): void {
    const name = nameOf.get(receiver)
    if (name === undefined) return
    onResult(name, 'failed')
    // The first one is news, and then every hundredth.
    if (total % 100 === 1)
      log.warn(`the outbox is full: ${total} messages dropped so far, fills first`, {
        event: 'notify',
      })
  }

  async function sweep(): Promise<void> {
    while (!closed.signal.aborted) {
      await clock.sleep(SWEEP_MS, closed.signal)
      if (closed.signal.aborted) return
      guarded('what is over', () => {
        const atMs = clock.now()
        for (const topic of trouble.sweep(atMs)) dispatch.over(topic, here(atMs))
      })
    }
  }

  function guarded(what: string, work: () => void): void {
    try {
      work()
    } catch (error) {
      log.error(`could not notify of ${what}`, { err: error })
    }
  }

  function here(atMs: number): Place {
    count += 1
    return { atMs, name: `${atMs}-n${count}` }
  }

  function take(event: Observation, record: RecordPlace | undefined): void {
    guarded(event.type, () => {
      const isStale = record !== undefined && clock.now() - record.atMs > KEPT_MS
      if (!isStale) tellOf(event, record)
    })
    if (record !== undefined) outbox.take(record.seq)
  }

  function tellOf(event: Observation, record: RecordPlace | undefined): void {
    const atMs = record?.atMs ?? clock.now()
    const seen = trouble.see(event, atMs)
    const own = { ended: endedBy(event), notices: noticesOf(event, context) }
    const isSilent = own.ended.length + own.notices.length === 0
    if (isSilent && seen.over.length + seen.notices.length === 0) return
    const ended = [...own.ended, ...seen.over]
    const notices = [...own.notices, ...seen.notices]
    const place = record === undefined ? here(atMs) : placeOf(record)
    for (const topic of ended) dispatch.over(topic, place)
    dispatch.tell(notices, place)
  }

  /** What an earlier process has recorded and not told. A journal that cannot be read stops nothing here. */
  async function tellUntold(all: AsyncIterable<Untold>, lastSeq: number): Promise<void> {
    try {
      for await (const { record, fact, instead } of all) {
        if (record.seq > lastSeq) break
        if (fact !== undefined) take(fact, record)
        else if (instead !== undefined) {
          guarded('a record', () => dispatch.tell([instead], placeOf(record)))
          outbox.take(record.seq)
        }
      }
    } catch (error) {
      log.warn('what was recorded before this start could not be read, to tell what was not told', {
        err: error,
      })
    }
    outbox.take(lastSeq)
  }

  return {
    observe(event, record) {
      if (closed.signal.aborted) return
      const mustWait = record !== undefined && held !== undefined && held.length < HELD_MAX
      if (mustWait) held?.push([event, record])
      else take(event, record)
    },
    async begin(lastSeq, untold) {
      const { taken } = outbox
      if (taken !== undefined && taken < lastSeq) await tellUntold(untold(taken), lastSeq)
      else if (taken !== lastSeq) {
        // At once: from here on a start knows what was not told.
        outbox.take(lastSeq)
        await outbox.commit()
      }
      if (taken !== undefined && taken > lastSeq)
        log.info('the outbox is of a state with more records: it goes on from here', {
          event: 'notify',
        })
      const waiting = held ?? []
      held = undefined
      for (const [event, record] of waiting) take(event, record)
    },
    crashed({ message, wasRunning }) {
      guarded('a fault', () => {
        const clean = String(options.scrubber.value(message))
        const topic = `crashed ${clean.slice(0, TOPIC_LENGTH_MAX)}`
        const lasting = { topic, againMs: CRASHED_AGAIN_MS }
        const text = crashedText({ message: clean, wasRunning })
        const notice: Notice = { event: 'crashed', text, lasting }
        dispatch.tell([notice], here(clock.now()))
      })
    },
    sumUp: (summary) => guarded('a digest', () => dispatch.sumUp(summary, clock.now())),
    summedUp: (period) => outbox.summedUp(period),
    beginPeriod: (period, atSeconds) => outbox.sumUp(period, atSeconds),
    async finish(deadlineMs) {
      closed.abort()
      await outbox.commit()
      const late = new AbortController()
      const done = new AbortController()
      const alarm = clock
        .sleep(Math.max(0, deadlineMs - clock.now()), done.signal)
        .then(() => late.abort())
      await Promise.all(couriers.map((courier) => courier.finish(late.signal)))
      done.abort()
      await alarm
      await outbox.close()
      await Promise.all(targets.map(({ channel }) => channel.close()))
    },
  }
}

function placeOf({ atMs, seq }: RecordPlace): Place {
  return { atMs, name: `${atMs}-${seq}` }
}
