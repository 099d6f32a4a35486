import { describe, expect, test } from 'vitest'
import { ETHER } from '../../../../src/domain/money/token.ts'
import { baseUnits } from '../../../../src/domain/money/units.ts'
import { parseCron } from '../../../../src/domain/schedule/cron.ts'
import type { CronRecurrence } from '../../../../src/domain/schedule/schedule.ts'
import type { AccountLimits } from '../../../../src/domain/settings.ts'
import { NO_CAPS } from '../../../../src/domain/strategy.ts'
import {
  type JournalEvent,
  type JournalRecord,
  reduce,
} from '../../../../src/journal/events/registry.ts'
import { emptyState } from '../../../../src/journal/state/state-image.ts'
import { createDigest } from '../../../../src/observe/notify/digest/digest.ts'
import { createAccountWatch } from '../../../../src/observe/notify/digest/digest-figures.ts'
import type { Summary } from '../../../../src/observe/notify/dispatch.ts'
import type { Strategy } from '../../../../src/strategies/registry.ts'
import { VirtualClock } from '../../../simulation/virtual-clock.ts'
import { captureLog } from '../../../support/capture-log.ts'
import {
  BOUND,
  bytes32,
  exposed,
  filledSlot,
  intentOf,
  opened,
  scheduled,
} from '../../../support/state/journal-events.ts'

const HOUR_MS = 3_600_000
const ZONE = 'Europe/Berlin'

function cron(text: string, timezone = ZONE): CronRecurrence {
  const parsed = parseCron(text)
  if (!parsed.ok) throw new Error(parsed.message)
  return { type: 'cron', cron: text, pattern: parsed.pattern, timezone }
}

const DAILY = { daily: cron('0 8 * * *') }

/** A journal in memory and the summaries, both of which outlive a daemon. */
class DigestRig {
  readonly clock: VirtualClock
  readonly records: JournalRecord[] = []
  readonly state = emptyState()
  readonly sent: Summary[] = []
  readonly ends = new Map<string, number>()
  /** Count of records read by all digests. */
  read = 0
  isBroken = false
  /** Periods compared with a backtest; undefined if that fails. */
  compared: { readonly fromMs: number; readonly untilMs: number }[] | undefined = []
  #close: () => void = () => undefined

  constructor(startMs: number) {
    this.clock = new VirtualClock(startMs)
    this.record(BOUND, scheduled())
  }

  record(...events: readonly JournalEvent[]): void {
    for (const event of events) {
      const atMs = this.clock.trueMs
      reduce(this.state, event, atMs)
      const seq = this.records.length + 1
      this.records.push({ seq, atMs, event, prev: bytes32(1), hash: bytes32(2) })
    }
  }

  async start(settings: Parameters<typeof createDigest>[0]['settings']): Promise<void> {
    const owner = {}
    const watch = createAccountWatch()
    const digest = createDigest({
      account: watch,
      settings,
      timezone: ZONE,
      notifier: {
        endOf: (period) => this.ends.get(period),
        beginPeriod: (period, at) => void this.ends.set(period, at),
        summarise: (summary) => {
          this.sent.push(summary)
          this.ends.set(summary.period, summary.untilSeconds)
        },
      },
      clock: this.clock.asPort(owner),
      log: (await captureLog()).log,
      drift: async (period) => {
        if (this.compared === undefined) throw new Error('a strategy file has a mistake')
        this.compared.push(period)
        const line = 'weekly-eth: 9 of 10 slots as expected'
        return [{ strategy: 'weekly-eth', line }]
      },
    })
    const { state } = this
    const read = this.#read.bind(this)
    const account = { perDay: new Map([[intentOf(1).sell.token.address, baseUnits(30_000_000n)]]) }
    const none = { perOrder: NO_CAPS, perHour: NO_CAPS, perWeek: NO_CAPS, total: NO_CAPS }
    watch.observe({
      ...{ type: 'wallet-balance', wallet: 'trader', token: 'USDC', amount: 250_100_000n },
      decimals: 6,
    })
    watch.observe({
      ...{
        type: 'gas-tank',
        account: 'operator',
        balance: 5n * 10n ** 16n,
        outstanding: 10n ** 16n,
      },
      ...{ runwaySeconds: 12 * 86_400, alertBelow: undefined, isLow: false },
    })
    watch.observe({
      ...{ type: 'profit', valueToken: intentOf(1).sell.token, held: [], cost: 6_000_000_000n },
      ...{
        realised: -12_500_000n,
        unrealised: 400_000_000n,
        proceedsOfUnknownCost: 0n,
        strategies: new Map(),
        days: [],
      },
    })
    digest.begin(
      {
        state,
        strategies: (): readonly Strategy[] => [],
        account: { ...none, ...account } as unknown as AccountLimits,
        tokens: [intentOf(1).sell.token, intentOf(1).buy.token, ETHER],
      },
      { records: read, state },
    )
    this.#close = () => {
      digest.close()
      this.clock.forgetProcess(owner)
    }
  }

  stop(): void {
    this.#close()
  }

  async *#read(): AsyncGenerator<JournalRecord> {
    if (this.isBroken) throw new Error('a file is gone')
    for (const record of this.records) {
      this.read += 1
      yield record
    }
  }

  async until(atMs: number): Promise<void> {
    await this.clock.runUntil(atMs)
  }

  texts(strategies?: readonly string[]): readonly (readonly string[])[] {
    return this.sent.map(({ textFor }) => {
      const { subject, lines } = textFor(strategies)
      return [subject, ...lines]
    })
  }
}

/** A Tuesday, 12:00 in Berlin. */
const NOON = Date.UTC(2026, 0, 6, 11)
const at = (day: number, hour: number, minute = 0): number => Date.UTC(2026, 0, day, hour, minute)

test('the daily digest lists fills, other outcomes with reasons, paused strategies, open orders, holdings and nearly used caps', async () => {
  const w = new DigestRig(NOON)
  await w.start(DAILY)
  await w.until(NOON + HOUR_MS)
  w.record(...filledSlot(2_000))
  await w.until(NOON + 2 * HOUR_MS)
  w.record(...filledSlot(2_001))
  for (let slot = 2_002; slot < 2_005; slot += 1)
    w.record({
      ...{ type: 'slot-closed', strategy: 'weekly-eth', slotSeconds: slot },
      ...{ outcome: 'skipped', reason: slot === 2_002 ? 'cooldown' : 'price-outside-bounds' },
    })
  w.record(scheduled('dip'))
  w.record({
    ...{ type: 'slots-missed', strategy: 'dip', firstSeconds: 2_000, lastSeconds: 2_009 },
    count: 10,
  })
  w.record({
    ...{ type: 'strategy-paused', strategy: 'dip', cause: 'failure-streak' },
    detail: 'three in a row',
  })
  w.record({
    ...{ type: 'strategy-held', strategy: 'dip', terms: 'aa' },
    detail: 'below 2600 fires at once',
  })
  await w.until(at(7, 3))
  const open = intentOf(3_000)
  w.record(opened(open), exposed(open))
  await w.until(at(7, 7, 1))
  expect(w.texts()).toEqual([
    [
      'Daily digest: 2 fills',
      'From Tue 6 Jan, 08:00 to Wed 7 Jan, 08:00 (Europe/Berlin).',
      'weekly-eth: 2 fills, sold 49.8 USDC, bought 0.0122 WETH, 4,081.96 USDC per WETH on average',
      'dip: 10 missed',
      'weekly-eth: 3 skipped (the price is outside its bounds)',
      'dip is paused since Tue 6 Jan, 14:00: three in a row',
      'dip waits for your approval since Tue 6 Jan, 14:00: below 2600 fires at once',
      '1 order open, the oldest for 4h: `tranched status`',
      'Wallet trader: 250.1 USDC',
      'GasTank: 0.04 ETH, enough for about 12d',
      'Profit since the first order: -12.5 USDC realised, 400 USDC unrealised; holdings cost 6,000 USDC',
      'Cap of the account, a day: 25 of 30 USDC is used (83 %)',
    ],
  ])
})

test('each period is summarised once, regardless of restarts', async () => {
  const w = new DigestRig(NOON)
  for (let hour = 0; hour < 24 * 4; hour += 1) {
    await w.start(DAILY)
    if (hour % 5 === 0) w.record(...filledSlot(2_000 + hour))
    await w.until(NOON + (hour + 1) * HOUR_MS)
    w.stop()
  }
  expect(w.sent.map(({ untilSeconds }) => new Date(untilSeconds * 1_000).toISOString())).toEqual([
    '2026-01-07T07:00:00.000Z',
    '2026-01-08T07:00:00.000Z',
    '2026-01-09T07:00:00.000Z',
    '2026-01-10T07:00:00.000Z',
  ])
  const fills = w.texts().map(([subject]) => Number(/(\d+) fill/.exec(subject ?? '')?.[1]))
  expect(fills.reduce((sum, count) => sum + count, 0)).toBe(
    w.records.filter(
      ({ event, atMs }) => event.type === 'fill-proven' && atMs <= Date.UTC(2026, 0, 10, 7),
    ).length,
  )
})

test('periods that ended without a daemon are summarised late, one by one, without empty days', async () => {
  const w = new DigestRig(NOON)
  await w.start(DAILY)
  await w.until(NOON + HOUR_MS)
  w.record(...filledSlot(2_000))
  w.stop()
  await w.until(at(11, 6))
  await w.start(DAILY)
  await w.until(at(11, 6, 5))
  expect(w.texts().map(([subject, period]) => [subject, period])).toEqual([
    [
      'Daily digest: 1 fill',
      'From Tue 6 Jan, 08:00 to Wed 7 Jan, 08:00 (Europe/Berlin); late, because the daemon was not running.',
    ],
    [
      'Daily digest: nothing was traded',
      'From Fri 9 Jan, 08:00 to Sat 10 Jan, 08:00 (Europe/Berlin); late, because the daemon was not running.',
    ],
  ])
  await w.until(at(11, 8))
  expect(w.sent).toHaveLength(3)
})

test('after months without a daemon only the newest periods are summarised', async () => {
  const w = new DigestRig(NOON)
  await w.start(DAILY)
  await w.until(NOON + HOUR_MS)
  w.stop()
  for (let day = 0; day < 60; day += 1) {
    await w.until(NOON + day * 24 * HOUR_MS + 2 * HOUR_MS)
    w.record({ type: 'begun-anew', detail: 'something was recorded' })
  }
  await w.start(DAILY)
  await w.until(NOON + 61 * 24 * HOUR_MS)
  expect(w.sent.length).toBeLessThanOrEqual(9)
})

test.each([
  ['shorter', Date.UTC(2027, 2, 27, 12), 'From Sat 27 Mar, 08:00 to Sun 28 Mar, 08:00', 23],
  ['longer', Date.UTC(2027, 9, 30, 12), 'From Sat 30 Oct, 08:00 to Sun 31 Oct, 08:00', 25],
])('a day that is an hour %s is one period', async (_, startMs, period, hours) => {
  const w = new DigestRig(startMs)
  await w.start(DAILY)
  await w.until(startMs + 48 * HOUR_MS)
  const ends = w.sent.map(({ untilSeconds }) => untilSeconds)
  expect(ends).toHaveLength(2)
  expect(w.texts()[0]?.[1]).toContain(period)
  const before = w.ends.get('daily') ?? 0
  expect(before - (ends[0] ?? 0)).toBe(24 * 3_600)
  // The first period ends this many hours after the previous 08:00.
  const begun = new Date(startMs)
  begun.setUTCHours(startMs < Date.UTC(2027, 5) ? 7 : 6, 0, 0, 0)
  expect(((ends[0] ?? 0) * 1_000 - begun.getTime()) / HOUR_MS).toBe(hours)
})

test('a time skipped by a clock change is used right after it, and a repeated time once', async () => {
  for (const startMs of [Date.UTC(2027, 2, 27, 12), Date.UTC(2027, 9, 30, 12)]) {
    const w = new DigestRig(startMs)
    await w.start({ daily: cron('30 2 * * *') })
    await w.until(startMs + 48 * HOUR_MS)
    expect(w.sent).toHaveLength(2)
  }
})

test('a weekly digest is sent on its day, beside the daily digests', async () => {
  const w = new DigestRig(NOON)
  await w.start({ ...DAILY, weekly: cron('0 8 * * 1') })
  for (let day = 0; day < 14; day += 1) {
    w.record(...filledSlot(2_000 + day))
    await w.until(NOON + (day + 1) * 24 * HOUR_MS)
  }
  const weekly = w.texts().filter(([subject]) => subject?.startsWith('Weekly'))
  expect(weekly.map(([subject, period]) => [subject, period])).toEqual([
    ['Weekly digest: 6 fills', 'From Mon 5 Jan, 08:00 to Mon 12 Jan, 08:00 (Europe/Berlin).'],
    ['Weekly digest: 7 fills', 'From Mon 12 Jan, 08:00 to Mon 19 Jan, 08:00 (Europe/Berlin).'],
  ])
  expect(w.sent).toHaveLength(14 + 2)
})

test('a weekly digest compares its week with a backtest, which a failure only omits', async () => {
  const w = new DigestRig(NOON)
  await w.start({ ...DAILY, weekly: cron('0 8 * * 1') })
  await w.until(at(12, 8))
  const line = 'Against a backtest, weekly-eth: 9 of 10 slots as expected'
  const withLine = (texts: readonly (readonly string[])[]) =>
    texts.filter((lines) => lines.includes(line)).map(([subject]) => subject)
  expect(withLine(w.texts())).toEqual([expect.stringMatching(/^Weekly digest/)])
  expect(withLine(w.texts(['other']))).toEqual([])
  expect(w.compared).toEqual([{ fromMs: at(5, 7), untilMs: at(12, 7) }])
  w.compared = undefined
  await w.until(at(19, 8))
  const weekly = w.texts().filter(([subject]) => subject?.startsWith('Weekly'))
  expect(weekly).toHaveLength(2)
  expect(weekly[1]).not.toContain(line)
})

test('a receiver for some strategies gets a digest of those only', async () => {
  const w = new DigestRig(NOON)
  await w.start(DAILY)
  await w.until(NOON + HOUR_MS)
  w.record(...filledSlot(2_000), scheduled('other'), ...filledSlot(2_000, 'other'))
  await w.until(at(7, 8))
  expect(w.texts(['oth*'])[0]?.[0]).toBe('Daily digest: 1 fill')
  expect(w.texts(['oth*']).flat().join('\n')).not.toContain('weekly-eth')
})

test('an unreadable journal is reported once in place of the figures', async () => {
  const w = new DigestRig(NOON)
  await w.start(DAILY)
  await w.until(NOON + HOUR_MS)
  w.isBroken = true
  await w.until(at(7, 12))
  expect(w.texts().map(([subject]) => subject)).toEqual([
    'Daily digest: the journal could not be read',
  ])
})

describe('clocks', () => {
  test('a clock that was days ahead is ignored', async () => {
    const w = new DigestRig(NOON)
    w.ends.set('daily', Math.floor(NOON / 1_000) + 400 * 86_400)
    await w.start(DAILY)
    await w.until(at(7, 8))
    expect(w.sent).toHaveLength(1)
  })

  test('a clock set back sends no digest again', async () => {
    const w = new DigestRig(NOON)
    await w.start(DAILY)
    await w.until(at(7, 8))
    w.clock.offsetMs = -5 * HOUR_MS
    await w.until(at(7, 20))
    expect(w.sent).toHaveLength(1)
  })
})
