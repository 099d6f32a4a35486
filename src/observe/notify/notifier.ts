import { describeAll } from '../../journal/describe.ts'
import { briefNoticeOf, logNameOf, noticesOf, topicsEndedBy } from '../../journal/events/outputs.ts'
import type { ReadRecord, Recorded, RecordPlace } from '../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Notice } from '../../journal/wording/notice.ts'
import type { Clock, Journal } from '../../ports.ts'
import { inSlices } from '../../system/slices.ts'
import type { Log } from '../log.ts'
import { noticesOfRuntime, topicsEndedByRuntime } from '../observe.ts'
import { createDeliveryWorker, type DeliveryResult, KEPT_MS } from './delivery-worker.ts'
import { createDispatch, type DispatchOptions, type Origin, type Summary } from './dispatch.ts'
import { watchIncidents } from './incidents.ts'
import { type Crash, crashedText } from './message.ts'
import { createOutbox } from './outbox.ts'
import type { OutboxFile, OutboxPeriod } from './outbox-file.ts'

type NotifierOptions = Omit<DispatchOptions, 'outbox'> & {
  readonly file: OutboxFile
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly jitter: () => number
  readonly log: Log
  readonly onResult: (channel: string, result: DeliveryResult) => void
  readonly onWaiting: (channel: string, waiting: number) => void
}

export type Notifier = ReturnType<typeof createNotifier>

type Unsent = ReadRecord<RecordPlace>

const SWEEP_MS = 60_000
/** Records held until unsent ones are read, which takes moments. */
const HELD_MAX = 50_000
/** Minimum time between reports of the same fault in a daemon that restarts repeatedly. */
const CRASHED_AGAIN_MS = 3_600_000
const TOPIC_LENGTH_MAX = 120

/**
 * Notifies people with messages that outlive this process. Messages are in the outbox in the same turn, its file follows,
 * and one delivery worker per receiver sends them. If the process is killed, the next start reads missing messages from the
 * journal.
 */
export function createNotifier(options: NotifierOptions) {
  const { channels, file, context, clock, log, onResult, onWaiting } = options
  const closed = new AbortController()
  const incidents = watchIncidents(context, clock.now())
  const nameOf = new Map(channels.map(({ key, name }) => [key, name]))
  const wakers = new Map<string, () => void>()
  let count = 0
  let held: Recorded[] | undefined = []

  const receivers = channels.map(({ key }) => key)
  const outbox = createOutbox({ file, clock, receivers, onChange: changed, onDropped: dropped })
  const dispatch = createDispatch({ ...options, outbox })
  const workers = channels.map((channel) => {
    const worker = createDeliveryWorker({
      channel,
      clock,
      log,
      jitter: options.jitter,
      queue: () => outbox.queue(channel.key),
      end(id, result) {
        outbox.end(channel.key, id)
        onResult(channel.name, result)
      },
    })
    wakers.set(channel.key, worker.wake)
    return worker
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
    // Logs the first, then every hundredth.
    if (total % 100 === 1)
      log.warn(`the outbox is full: ${total} messages dropped so far, fills first`, {
        event: 'notify',
      })
  }

  async function sweep(): Promise<void> {
    while (!closed.signal.aborted) {
      await clock.sleep(SWEEP_MS, closed.signal)
      if (closed.signal.aborted) return
      guarded('ended incidents', () => {
        const atMs = clock.now()
        for (const topic of incidents.sweep(atMs)) dispatch.end(topic, here(atMs))
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

  function here(atMs: number): Origin {
    count += 1
    return { atMs, name: `${atMs}-n${count}` }
  }

  function take(entry: Recorded): void {
    const { event, record } = entry
    guarded(logNameOf(event), () => {
      if (clock.now() - record.atMs > KEPT_MS) return
      send({ ended: topicsEndedBy(event), notices: noticesOf(entry, context) }, () =>
        originOf(record),
      )
    })
    outbox.take(record.seq)
  }

  function send(
    { ended, notices }: { readonly ended: readonly string[]; readonly notices: readonly Notice[] },
    originate: () => Origin,
  ): void {
    if (ended.length + notices.length === 0) return
    const origin = originate()
    for (const topic of ended) dispatch.end(topic, origin)
    dispatch.notify(notices, origin)
  }

  /** Reports records that an earlier process did not report. An unreadable journal stops nothing here. */
  async function sendUnsent(all: AsyncIterable<Unsent>, lastSeq: number): Promise<void> {
    try {
      for await (const each of all) {
        const { event, record } = each
        if (record.seq > lastSeq) break
        if (each.context !== undefined) {
          take(each)
          continue
        }
        const brief = briefNoticeOf(event)
        if (brief === undefined) continue
        guarded('a record', () => dispatch.notify([brief], originOf(record)))
        outbox.take(record.seq)
      }
    } catch (error) {
      const text = 'earlier records could not be read: notifications that were not sent are lost'
      log.warn(text, { err: error })
    }
    outbox.take(lastSeq)
  }

  return {
    /** Returns immediately and never throws. */
    observe(event: RuntimeEvent): void {
      if (closed.signal.aborted) return
      guarded(event.type, () => {
        const atMs = clock.now()
        const seen = incidents.observe(event, atMs)
        const ended = [...topicsEndedByRuntime(event), ...seen.over]
        const notices = [...noticesOfRuntime(event, context), ...seen.notices]
        send({ ended, notices }, () => here(atMs))
      })
    },
    /** The same for records, in order. Records before `begin` wait for unsent earlier ones. */
    recorded(entry: Recorded): void {
      if (closed.signal.aborted) return
      if (held !== undefined && held.length < HELD_MAX) held.push(entry)
      else take(entry)
    },
    /** Starts reporting records. `unsent` reads records that an earlier process wrote and may not have reported. */
    async begin(
      lastSeq: number,
      unsent: (afterSeq: number) => AsyncIterable<Unsent>,
    ): Promise<void> {
      const { taken } = outbox
      if (taken !== undefined && taken < lastSeq) await sendUnsent(unsent(taken), lastSeq)
      else if (taken !== lastSeq) {
        // Committed immediately, so that later starts know what was not sent.
        outbox.take(lastSeq)
        await outbox.commit()
      }
      const ahead =
        'the outbox belongs to a state with more records: it continues from the present one'
      if (taken !== undefined && taken > lastSeq) log.info(ahead, { event: 'notify' })
      const waiting = held ?? []
      held = undefined
      for (const entry of waiting) take(entry)
    },
    crashed({ message, wasRunning }: Crash): void {
      guarded('a fault', () => {
        const clean = String(options.scrubber.value(message))
        const topic = `crashed ${clean.slice(0, TOPIC_LENGTH_MAX)}`
        const lasting = { topic, againMs: CRASHED_AGAIN_MS }
        const text = crashedText({ message: clean, wasRunning })
        const notice: Notice = { event: 'crashed', text, lasting }
        dispatch.notify([notice], here(clock.now()))
      })
    },
    summarise: (summary: Summary) =>
      guarded('a digest', () => dispatch.summarise(summary, clock.now())),
    /** Epoch seconds; undefined before the first digest. */
    endOf: (period: OutboxPeriod) => outbox.endOf(period),
    beginPeriod: (period: OutboxPeriod, atSeconds: number) => outbox.endPeriod(period, atSeconds),
    /** Sends what it can until the deadline (epoch ms) and accepts nothing more; the next start sends the rest. */
    async finish(deadlineMs: number): Promise<void> {
      closed.abort()
      await outbox.commit()
      const late = new AbortController()
      const done = new AbortController()
      const alarm = clock
        .sleep(Math.max(0, deadlineMs - clock.now()), done.signal)
        .then(() => late.abort())
      await Promise.all(workers.map((worker) => worker.finish(late.signal)))
      done.abort()
      await alarm
      await outbox.close()
      await Promise.all(channels.map((channel) => channel.close()))
    },
  }
}

function originOf({ atMs, seq }: RecordPlace): Origin {
  return { atMs, name: `${atMs}-${seq}` }
}

/** Records after one, oldest first. Orders that began more than a file earlier are described without their amounts. */
export async function* recordsAfter(
  journal: Pick<Journal, 'records' | 'state'>,
  seq: number,
): AsyncGenerator<ReadRecord> {
  const read = describeAll(journal.records({ seq: seq + 1 }), journal.state)
  for await (const each of inSlices(read)) {
    if (each.record.seq > seq) yield each
  }
}
