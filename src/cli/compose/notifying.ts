import type { ConfigSettings } from '../../config/settings/build.ts'
import { receiversOf } from '../../config/settings/notify.ts'
import { ETHER } from '../../domain/money/token.ts'
import type { Recorded } from '../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { TextContext } from '../../journal/wording/text.ts'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Receiver } from '../../observe/notify/channels/channel.ts'
import { createPing } from '../../observe/notify/channels/ping.ts'
import { createDigest } from '../../observe/notify/digest/digest.ts'
import type { DaemonView } from '../../observe/notify/digest/digest-figures.ts'
import { createNotifier, type Notifier, recordsAfter } from '../../observe/notify/notifier.ts'
import { openOutboxFile } from '../../observe/notify/outbox-file.ts'
import type { Clock, Journal } from '../../ports.ts'
import type { Scrubber } from '../../system/scrubber.ts'

const FLUSH_MS = 3_000

type Readable = Pick<Journal, 'records' | 'state'>

export type NotifyingParts = {
  readonly log: Log
  readonly scrubber: Scrubber
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'notifications' | 'notificationsWaiting'>
  /** Whether this process still holds the state directory. */
  readonly mayWrite: () => boolean
  /** Why the daemon is unhealthy; empty while its loop turns. */
  readonly ailments: () => readonly string[]
}

/** Notifications and the dead man's switch. Opens the outbox if the config names receivers, and sends what waits in it. */
export async function openNotifying(settings: ConfigSettings, parts: NotifyingParts) {
  const { log, clock } = parts
  const { heartbeat, digest: digestSettings, timezone } = settings.notify
  const { stateDir } = settings
  const receivers = receiversOf(settings.notify)
  const notifier =
    receivers.length === 0 ? undefined : await openNotifier(settings, receivers, parts)
  const digest =
    notifier &&
    digestSettings &&
    createDigest({ settings: digestSettings, timezone, notifier, clock, log })
  const { ailments } = parts
  const ping =
    heartbeat && (await createPing({ settings: heartbeat, stateDir, ailments, clock, log }))
  let failed: Promise<void> | undefined
  return {
    observe(event: RuntimeEvent) {
      notifier?.observe(event)
      digest?.observe(event)
    },
    recorded: (entry: Recorded) => notifier?.recorded(entry),
    /** Called once the journal is open: notifies of its records, unsent ones of an earlier process first. */
    notifyFrom(journal: Readable, lastSeq: number) {
      void notifier?.begin(lastSeq, (seq) => recordsAfter(journal, seq))
    },
    /** Called before trading begins: starts digests and the heartbeat. */
    begin(daemon: Omit<DaemonView, 'tokens'>, journal: Readable) {
      digest?.begin({ ...daemon, tokens: [...settings.tokens.values(), ETHER] }, journal)
      ping?.begin()
    },
    /** The process ends because of a fault. */
    crashed(fault: { readonly message: string; readonly wasRunning: boolean }) {
      notifier?.crashed(fault)
      failed = ping?.failed(fault.message)
    },
    async close() {
      digest?.close()
      const done = new AbortController()
      const late = clock.sleep(FLUSH_MS, done.signal)
      await Promise.all([notifier?.finish(clock.now() + FLUSH_MS), Promise.race([failed, late])])
      done.abort()
      await ping?.close()
    },
  }
}

async function openNotifier(
  settings: ConfigSettings,
  receivers: readonly Receiver[],
  { log, scrubber, clock, metrics, mayWrite }: NotifyingParts,
): Promise<Notifier> {
  const { notifications, notificationsWaiting } = metrics
  return createNotifier({
    channels: await Promise.all(receivers.map((receiver) => receiver.open({ clock }))),
    file: await openOutboxFile(settings.stateDir, { log, mayWrite }),
    context: contextOf(settings),
    mode: settings.mode,
    clock,
    log,
    scrubber,
    jitter: Math.random,
    onResult: (channel, result) => notifications.inc({ channel, result }),
    onWaiting: (channel, waiting) => notificationsWaiting.set({ channel }, waiting),
  })
}

function contextOf({ notify, chains, gasless, aggregator }: ConfigSettings): TextContext {
  const chainOf = (name: string) => chains.get(name) ?? { name, explorer: undefined }
  return {
    timezone: notify.timezone,
    swapChain: chainOf(gasless.chain),
    callChain: aggregator && chainOf(aggregator.chain),
  }
}
