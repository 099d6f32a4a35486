import { vi } from 'vitest'
import type { JournalRecord, Recorded } from '../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../src/journal/runtime-event.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { createLog } from '../../src/observe/log.ts'
import { stateReadings } from '../../src/observe/metrics/readings.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createDigest } from '../../src/observe/notify/digest/digest.ts'
import { createAccountWatch } from '../../src/observe/notify/digest/digest-figures.ts'
import { createNotifier } from '../../src/observe/notify/notifier.ts'
import { createObserver } from '../../src/observe/observe.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import { createScrubber } from '../../src/system/scrubber.ts'
import { ACCOUNT, USDC, WETH } from '../simulation/stage.ts'
import { VirtualClock } from '../simulation/virtual-clock.ts'
import { aSchedule } from '../support/builders.ts'
import { FakeReceiver, OutboxDisk } from '../support/notify/notifier-rig.ts'

/** A runtime event or a record, and when it was observed. */
export type Seen = {
  readonly atMs: number
  /** Time by the machine's clock, which may be wrong. */
  readonly nowMs: number
  readonly event: RuntimeEvent | Recorded
}

export type Journaled = {
  readonly records: readonly JournalRecord[]
  readonly state: DaemonState
  readonly strategies: readonly Strategy[]
}

/** Output of the observers. */
export type Printed = {
  readonly json: string
  readonly people: string
  readonly metrics: string
  readonly messages: string
}

const DAY_MS = 86_400_000
const TOKENS = [USDC, WETH]

/**
 * Replays observations into the observers of a daemon, wired as `cli/compose` wires them: both log formats, metrics, notifier and
 * digest. Every clock shows the time of the current observation.
 */
export async function observed(
  seen: readonly Seen[],
  { records, state, strategies }: Journaled,
  level: 'debug' | 'info',
): Promise<Printed> {
  const clock = new VirtualClock(seen[0]?.atMs ?? 0)
  let nowMs = clock.trueMs
  vi.stubEnv('TZ', 'UTC')
  const spies = [
    vi.spyOn(Date, 'now').mockImplementation(() => nowMs),
    vi.spyOn(performance, 'now').mockImplementation(() => clock.trueMs),
  ]
  try {
    const scrubber = createScrubber()
    const logTo = (lines: string[], format: 'json' | 'pretty') =>
      createLog({ level, format, scrubber, destination: { write: (text) => lines.push(text) } })
    const [json, people]: [string[], string[]] = [[], []]
    const [log, peopleLog] = [logTo(json, 'json'), logTo(people, 'pretty')]

    const receiver = new FakeReceiver()
    const metrics = createMetrics({ version: '0.0.0', channels: [receiver.name] })
    metrics.registerStrategies(strategies)
    const not = (): undefined => undefined
    metrics.add(
      ...stateReadings({
        state,
        strategies: () => strategies,
        account: ACCOUNT,
        tokens: TOKENS,
        blocks: { lock: not, anchor: not, 'halt-file': not },
        turnedAtMs: () => nowMs,
        stateBytes: () => [['journal', 12_345]],
        feedUpdated: metrics.feedUpdated,
        now: () => nowMs,
      }),
    )
    const owner = {}
    const port = clock.asPort(owner)
    const notifier = createNotifier({
      channels: [receiver.channel(clock, () => true)],
      file: new OutboxDisk(clock).open(() => true),
      context: {
        timezone: 'UTC',
        swapChain: { name: 'base', explorer: 'https://basescan.org' },
        callChain: { name: 'sepolia', explorer: undefined },
      },
      mode: 'live',
      clock: port,
      jitter: () => 0.5,
      log,
      scrubber,
      onResult: (channel, result) => metrics.notifications.inc({ channel, result }),
      onWaiting: (channel, waiting) => metrics.notificationsWaiting.set({ channel }, waiting),
    })
    await notifier.begin(0, async function* () {})
    const schedule = aSchedule('0 */12 * * *')
    const account = createAccountWatch()
    const digest = createDigest({
      account,
      settings: { daily: schedule },
      timezone: 'UTC',
      notifier,
      clock: port,
      log,
      drift: async () => [],
    })
    const daemon = { state, strategies: () => strategies, account: ACCOUNT, tokens: TOKENS }
    digest.begin(daemon, {
      state,
      async *records({ atMs = 0 } = {}) {
        yield* records.filter((record) => record.atMs >= atMs)
      },
    })

    const observers = [
      createObserver({ log, metrics }),
      createObserver({ log: peopleLog, metrics: createMetrics({ version: '0.0.0' }) }),
    ]
    for (const each of seen) {
      if (each.atMs > clock.trueMs) await clock.runUntil(each.atMs)
      nowMs = each.nowMs
      const { event } = each
      for (const observer of [...observers, notifier]) {
        if ('record' in event) observer.recorded(event)
        else observer.observe(event)
      }
      if (!('record' in event)) account.observe(event)
    }
    await clock.runUntil(clock.trueMs + DAY_MS)
    digest.close()
    const text = (await metrics.render()).split('\n')
    const machine = /(process|nodejs)_/
    return {
      json: json.join(''),
      people: people.join(''),
      metrics: text.filter((line) => !machine.test(line)).join('\n'),
      messages: receiver.got
        .map(({ message }) => `${JSON.stringify(message, undefined, 1)}\n`)
        .join(''),
    }
  } finally {
    for (const spy of spies) spy.mockRestore()
    vi.unstubAllEnvs()
  }
}
