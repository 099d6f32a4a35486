import { type Told, tellAll } from '../../../domain/book/tell.ts'
import type { DigestSettings } from '../../../domain/notify.ts'
import type { Observation } from '../../../domain/observation.ts'
import { latestSlotAtOrBefore, nextSlot } from '../../../domain/schedule/calendar.ts'
import type { CronRecurrence } from '../../../domain/schedule/schedule.ts'
import type { Clock, Journal } from '../../../ports.ts'
import type { Log } from '../../tell/log.ts'
import type { Notifier } from '../notifier.ts'
import type { OutboxPeriod } from '../outbox-file.ts'
import { inSlices } from '../slices.ts'
import { digestText } from './digest-text.ts'
import { addTo, type Figures, noFigures } from './figures.ts'
import { createOnlooker, type DaemonView } from './standing.ts'

const LOOK_EVERY_MS = 30_000
/** After its end, so that what was recorded at that very moment is on disk. */
const SETTLED_AFTER_SECONDS = 5
/** Periods that are made up for after a long time without a daemon, the newest. */
const LATE_MAX = 7
/** Between two slices of the journal: reading a busy day takes part of one core's time, a fifth at the most. */
const REST_MS = 16
/** Clocks are corrected: records of a period may stand a little after later ones. */
const MARGIN_MS = 3_600_000
const SEARCH_SECONDS = 15 * 86_400
/** A period that ends this far ahead was counted by a clock that was wrong. */
const AHEAD_SECONDS = 15 * 86_400
const TITLES = { daily: 'Daily digest', weekly: 'Weekly digest' } as const

export type DigestOptions = {
  readonly settings: DigestSettings
  readonly timezone: string
  readonly notifier: Pick<Notifier, 'sumUp' | 'summedUp' | 'beginPeriod'>
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly log: Log
}

export type Digest = {
  /** Remembers what is only told as it happens. */
  saw(event: Observation): void
  /** From here on digests are sent when they are due. */
  begin(daemon: DaemonView, journal: Pick<Journal, 'records' | 'state'>): void
  close(): void
}

/** One period that a digest is owed for. Epoch seconds; `from` belongs to the one before. */
type Owed = { readonly fromSeconds: number; readonly untilSeconds: number }

/**
 * Sums up each day and each week, once: the outbox remembers up to when. Periods that ended while no daemon ran are made up for,
 * each as itself, where anything happened in them.
 */
export function createDigest(options: DigestOptions): Digest {
  const { settings, timezone, notifier, clock, log } = options
  const closed = new AbortController()
  const onlooker = createOnlooker()

  async function keep(daemon: DaemonView, journal: Pick<Journal, 'records' | 'state'>) {
    while (!closed.signal.aborted) {
      for (const period of ['daily', 'weekly'] as const) {
        const schedule = settings[period]
        if (schedule !== undefined) await attend(period, schedule, { daemon, journal })
      }
      await clock.sleep(LOOK_EVERY_MS, closed.signal)
    }
  }

  async function attend(
    period: OutboxPeriod,
    schedule: CronRecurrence,
    { daemon, journal }: { daemon: DaemonView; journal: Pick<Journal, 'records' | 'state'> },
  ): Promise<void> {
    const nowSeconds = Math.floor(clock.now() / 1_000) - SETTLED_AFTER_SECONDS
    const last = notifier.summedUp(period)
    if (last === undefined || last > nowSeconds + AHEAD_SECONDS) {
      const begun = latestSlotAtOrBefore(schedule, nowSeconds, nowSeconds - SEARCH_SECONDS)
      notifier.beginPeriod(period, begun ?? nowSeconds)
      return
    }
    const owed = owedAfter(schedule, last, nowSeconds)
    for (const [index, each] of owed.entries()) {
      const figures = await figuresOf(journal, each)
      if (closed.signal.aborted) return
      const isLast = index === owed.length - 1
      // Nobody ran: there is nothing to tell of that period.
      if (!isLast && figures?.records === 0) notifier.beginPeriod(period, each.untilSeconds)
      else send(period, each, { daemon, figures })
    }
  }

  function send(
    period: OutboxPeriod,
    owed: Owed,
    { daemon, figures }: { daemon: DaemonView; figures: Figures | undefined },
  ): void {
    const nowMs = clock.now()
    const standing = onlooker.standing(daemon, nowMs)
    const input = { title: TITLES[period], ...owed, timezone, figures, standing, nowMs }
    notifier.sumUp({
      period,
      untilSeconds: owed.untilSeconds,
      textFor: (strategies) => digestText({ ...input, strategies }),
    })
  }

  /** Undefined where the journal cannot be read: that is told in place of the figures. */
  async function figuresOf(
    journal: Pick<Journal, 'records' | 'state'>,
    { fromSeconds, untilSeconds }: Owed,
  ): Promise<Figures | undefined> {
    const [fromMs, untilMs] = [fromSeconds * 1_000, untilSeconds * 1_000]
    const figures = noFigures()
    try {
      const told = tellAll(journal.records({ atMs: fromMs }), journal.state)
      const rest = (): Promise<void> => clock.sleep(REST_MS, closed.signal)
      for await (const each of inSlices<Told>(told, rest)) {
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
    saw: onlooker.saw,
    begin(daemon, journal) {
      keep(daemon, journal).catch((error: unknown) =>
        log.error('no more digests are sent', { err: error }),
      )
    },
    close: () => closed.abort(),
  }
}

/** Periods that have ended since the last that was told, the newest few. */
function owedAfter(
  schedule: CronRecurrence,
  lastSeconds: number,
  nowSeconds: number,
): readonly Owed[] {
  const owed: Owed[] = []
  let fromSeconds = lastSeconds
  for (
    let until = nextSlot(schedule, fromSeconds);
    until !== undefined && until <= nowSeconds;
    until = nextSlot(schedule, fromSeconds)
  ) {
    owed.push({ fromSeconds, untilSeconds: until })
    if (owed.length > LATE_MAX) owed.shift()
    fromSeconds = until
  }
  return owed
}
