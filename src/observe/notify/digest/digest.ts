import { latestSlotAtOrBefore, nextSlot } from '../../../domain/schedule/calendar.ts'
import type { CronRecurrence } from '../../../domain/schedule/schedule.ts'
import { describeAll } from '../../../journal/describe.ts'
import type { ReadRecord } from '../../../journal/events/registry.ts'
import type { Clock, Journal } from '../../../ports.ts'
import { inSlices } from '../../../system/slices.ts'
import type { Log } from '../../log.ts'
import type { Summary } from '../dispatch.ts'
import type { Notifier } from '../notifier.ts'
import type { OutboxPeriod } from '../outbox-file.ts'
import {
  type AccountWatch,
  addTo,
  type DaemonView,
  type Figures,
  noFigures,
} from './digest-figures.ts'
import { type DigestInput, type DriftLine, digestText } from './digest-text.ts'

const CHECK_EVERY_MS = 30_000
/** Delay after a period's end, so that its last records are on disk. */
const SETTLED_AFTER_SECONDS = 5
/** Maximum number of digests sent after a long downtime, for the newest periods. */
const LATE_MAX = 7
/** Pause between two slices of the journal: reading a busy day takes at most a fifth of a core. */
const REST_MS = 16
/** Clock corrections may place a period's records up to this long after later ones. */
const MARGIN_MS = 3_600_000
const SEARCH_SECONDS = 15 * 86_400
/** A period that ends this far ahead was recorded under a wrong clock. */
const AHEAD_SECONDS = 15 * 86_400
const TITLES = { daily: 'Daily digest', weekly: 'Weekly digest' } as const

type Readable = Pick<Journal, 'records' | 'state'>

type DigestOptions = {
  readonly account: Pick<AccountWatch, 'status'>
  readonly settings: Readonly<Partial<Record<OutboxPeriod, CronRecurrence | undefined>>>
  readonly timezone: string
  readonly notifier: Pick<Notifier, 'summarise' | 'endOf' | 'beginPeriod'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
  readonly drift: ReadDrift
}

/** Compares live trading of a period with a backtest. May take minutes; rejects if the files or the journal cannot be read. */
export type ReadDrift = (period: {
  readonly fromMs: number
  readonly untilMs: number
}) => Promise<readonly DriftLine[]>

/** A period whose digest is due. Epoch seconds; `from` belongs to the previous period. */
type DuePeriod = { readonly fromSeconds: number; readonly untilSeconds: number }

/**
 * Sends one digest per day and per week; the outbox stores the end of the last one. Periods that ended while no daemon ran
 * get their own digests if they have records.
 */
export function createDigest(options: DigestOptions) {
  const { account, settings, timezone, notifier, clock, log, drift: readDrift } = options
  const closed = new AbortController()

  async function keep(daemon: DaemonView, journal: Readable) {
    while (!closed.signal.aborted) {
      for (const period of ['daily', 'weekly'] as const) {
        const schedule = settings[period]
        if (schedule !== undefined) await sendDue(period, schedule, { daemon, journal })
      }
      await clock.sleep(CHECK_EVERY_MS, closed.signal)
    }
  }

  async function sendDue(
    period: OutboxPeriod,
    schedule: CronRecurrence,
    { daemon, journal }: { daemon: DaemonView; journal: Readable },
  ): Promise<void> {
    const nowSeconds = Math.floor(clock.now() / 1_000) - SETTLED_AFTER_SECONDS
    const last = notifier.endOf(period)
    if (last === undefined || last > nowSeconds + AHEAD_SECONDS) {
      const begun = latestSlotAtOrBefore(schedule, nowSeconds, nowSeconds - SEARCH_SECONDS)
      notifier.beginPeriod(period, begun ?? nowSeconds)
      return
    }
    const due = dueAfter(schedule, last, nowSeconds)
    for (const each of due) {
      const { untilSeconds } = each
      const figures = await figuresOf(journal, each)
      if (closed.signal.aborted) return
      // No daemon ran, so the period has nothing to show.
      if (each !== due.at(-1) && figures?.records === 0) {
        notifier.beginPeriod(period, untilSeconds)
        continue
      }
      await send(period, { ...each, figures }, daemon)
    }
  }

  async function send(
    period: OutboxPeriod,
    read: DuePeriod & Pick<DigestInput, 'figures'>,
    daemon: DaemonView,
  ): Promise<void> {
    const drift = await driftIn(period, read)
    if (closed.signal.aborted) return
    const nowMs = clock.now()
    const status = account.status(daemon, nowMs)
    const input = { title: TITLES[period], ...read, timezone, status, nowMs, drift }
    const textFor: Summary['textFor'] = (strategies) => digestText({ ...input, strategies })
    notifier.summarise({ period, untilSeconds: read.untilSeconds, textFor })
  }

  /** A day has too few slots to compare. */
  async function driftIn(
    period: OutboxPeriod,
    { fromSeconds, untilSeconds }: DuePeriod,
  ): Promise<readonly DriftLine[]> {
    if (period === 'daily') return []
    try {
      return await readDrift({ fromMs: fromSeconds * 1_000, untilMs: untilSeconds * 1_000 })
    } catch (error) {
      log.warn('live trading could not be compared with a backtest', { err: error })
      return []
    }
  }

  /** Undefined if the journal cannot be read: the digest reports that instead. */
  async function figuresOf(
    journal: Readable,
    { fromSeconds, untilSeconds }: DuePeriod,
  ): Promise<Figures | undefined> {
    const [fromMs, untilMs] = [fromSeconds * 1_000, untilSeconds * 1_000]
    const figures = noFigures()
    try {
      const read = describeAll(journal.records({ atMs: fromMs }), journal.state)
      const rest = (): Promise<void> => clock.sleep(REST_MS, closed.signal)
      for await (const each of inSlices<ReadRecord>(read, rest)) {
        const { atMs } = each.record
        if (closed.signal.aborted || atMs > untilMs + MARGIN_MS) break
        if (atMs > fromMs && atMs <= untilMs) addTo(figures, each)
      }
      return figures
    } catch (error) {
      log.warn('the journal could not be read for a digest', { err: error })
      return undefined
    }
  }

  return {
    begin(daemon: DaemonView, journal: Readable): void {
      keep(daemon, journal).catch((error: unknown) =>
        log.error('digests have stopped', { err: error }),
      )
    },
    close: () => closed.abort(),
  }
}

/** Periods that ended since the last digest, limited to the newest few. */
function dueAfter(
  schedule: CronRecurrence,
  lastSeconds: number,
  nowSeconds: number,
): readonly DuePeriod[] {
  const due: DuePeriod[] = []
  let fromSeconds = lastSeconds
  for (
    let until = nextSlot(schedule, fromSeconds);
    until !== undefined && until <= nowSeconds;
    until = nextSlot(schedule, fromSeconds)
  ) {
    due.push({ fromSeconds, untilSeconds: until })
    if (due.length > LATE_MAX) due.shift()
    fromSeconds = until
  }
  return due
}
