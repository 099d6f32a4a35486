import { openChannel } from '../../adapters/notify/channels/open.ts'
import { createDigest } from '../../adapters/notify/digest/digest.ts'
import type { DaemonView } from '../../adapters/notify/digest/standing.ts'
import type { Target } from '../../adapters/notify/dispatch.ts'
import { createNotifier, type Notifier } from '../../adapters/notify/notifier.ts'
import { openOutboxFile } from '../../adapters/notify/outbox-file.ts'
import { createPing } from '../../adapters/notify/ping.ts'
import { testMessage } from '../../adapters/notify/test-message.ts'
import type { TextContext } from '../../adapters/notify/texts/text.ts'
import { untoldAfter } from '../../adapters/notify/untold.ts'
import type { Log } from '../../adapters/tell/log.ts'
import type { Metrics } from '../../adapters/tell/metrics.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import { type NotifySettings, type Receiver, receiversOf } from '../../domain/notify.ts'
import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Settings } from '../../domain/settings.ts'
import { ETHER } from '../../domain/token.ts'
import type { Clock, Journal } from '../../ports.ts'

const FLUSH_MS = 3_000
/** A topic that is shorter may be an ordinary word. */
const TOPIC_LENGTH_MIN = 12

/** What people are told by, and the dead man's switch. */
export type Notifying = {
  observe(event: Observation, record?: RecordPlace): void
  /** The journal is open: from here on facts are told, and first of all what an earlier process left untold. */
  tellFrom(journal: Readable, lastSeq: number): void
  /** A daemon is about to trade: digests are sent when they are due, and the heartbeat begins. */
  attend(daemon: Omit<DaemonView, 'tokens'>, journal: Readable): void
  /** The process ends because of a fault. */
  crashed(fault: { readonly message: string; readonly wasRunning: boolean }): void
  /** Sends what can be sent within a few seconds. */
  close(): Promise<void>
}

type Readable = Pick<Journal, 'records' | 'state'>

export type NotifyingParts = {
  readonly log: Log
  readonly scrubber: Scrubber
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'notifications' | 'notificationsWaiting'>
  /** Whether this process still holds the state directory. */
  readonly mayWrite: () => boolean
  /** Why the daemon is not well; nothing while its loop turns. */
  readonly ailments: () => readonly string[]
}

/** Opens the outbox where the config names receivers, and begins to send what waits in it. */
export async function openNotifying(settings: Settings, parts: NotifyingParts): Promise<Notifying> {
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
  const ping = heartbeat && createPing({ settings: heartbeat, stateDir, ailments, clock, log })
  let failed: Promise<void> | undefined
  return {
    observe(event, record) {
      notifier?.observe(event, record)
      digest?.saw(event)
    },
    tellFrom(journal, lastSeq) {
      void notifier?.begin(lastSeq, (seq) => untoldAfter(journal, seq))
    },
    attend(daemon, journal) {
      digest?.begin({ ...daemon, tokens: [...settings.tokens.values(), ETHER] }, journal)
      ping?.begin()
    },
    crashed(fault) {
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
  settings: Settings,
  receivers: readonly Receiver[],
  { log, scrubber, clock, metrics, mayWrite }: NotifyingParts,
): Promise<Notifier> {
  const { notifications, notificationsWaiting } = metrics
  return createNotifier({
    targets: await targetsOf(receivers, clock),
    file: await openOutboxFile(settings.stateDir, { log, mayWrite }),
    context: contextOf(settings),
    mode: settings.mode,
    ...{ clock, log, scrubber, jitter: Math.random },
    onResult: (channel, result) => notifications.inc({ channel, result }),
    onWaiting: (channel, waiting) => notificationsWaiting.set({ channel }, waiting),
  })
}

function targetsOf(receivers: readonly Receiver[], clock: Clock): Promise<readonly Target[]> {
  return Promise.all(
    receivers.map(async (receiver) => ({
      receiver,
      channel: await openChannel(receiver, { clock }),
    })),
  )
}

function contextOf({ notify, chains, gasless, aggregator }: Settings): TextContext {
  const chainOf = (name: string) => chains.get(name) ?? { name, explorer: undefined }
  return {
    timezone: notify.timezone,
    swapChain: chainOf(gasless.chain),
    callChain: aggregator && chainOf(aggregator.chain),
  }
}

/** What a test message to one receiver came to. */
export type Tested = {
  readonly channel: string
  readonly ok: boolean
  /** Why it did not arrive, and what may be done. */
  readonly fault: string | null
  readonly remedy: string | null
}

/** Sends each of some receivers one message, beside whatever daemon. */
export async function testReceivers(
  settings: Settings,
  receivers: readonly Receiver[],
  { clock, scrubber }: { readonly clock: Clock; readonly scrubber: Scrubber },
): Promise<readonly Tested[]> {
  for (const secret of await notifySecrets(settings.notify)) scrubber.add(secret)
  const { timezone } = settings.notify
  return Promise.all(
    receivers.map(async (receiver): Promise<Tested> => {
      const channel = await openChannel(receiver, { clock })
      const message = testMessage(receiver.name, { atMs: clock.now(), timezone })
      try {
        const sent = await channel.deliver(message, new AbortController().signal)
        if (sent.ok) return { channel: receiver.name, ok: true, fault: null, remedy: null }
        const { fault, remedy = null } = sent
        return { channel: receiver.name, ok: false, fault: scrubber.text(fault), remedy }
      } finally {
        await channel.close()
      }
    }),
  )
}

/** What gives access to receivers. */
export async function notifySecrets(notify: NotifySettings): Promise<readonly string[]> {
  const { webhooks, telegram, discord, slack, ntfy, email, heartbeat } = notify
  return [
    ...webhooks.flatMap(({ url, secret }) => [...addressSecret(url), ...signingSecrets(secret)]),
    ...(await Promise.all(telegram.map(({ token }) => secretsOfToken(token)))).flat(),
    ...telegram.flatMap(({ apiRoot }) => addressSecret(apiRoot)),
    ...[...discord, ...slack].flatMap(({ url }) => addressSecret(url)),
    ...ntfy.flatMap(({ server, topic, token, password }) => [
      ...addressSecret(server),
      ...(topic.length < TOPIC_LENGTH_MIN ? [] : [topic]),
      ...[token ?? [], password ?? []].flat(),
    ]),
    ...email.flatMap(({ smtp }) => addressSecret(smtp)),
    ...(heartbeat === undefined ? [] : addressSecret(heartbeat.url)),
  ]
}

/** The client of the bot is loaded only where there is one. */
export async function secretsOfToken(token: string): Promise<readonly string[]> {
  const { tokenSecrets } = await import('../../adapters/telegram/bot-api.ts')
  return tokenSecrets(token)
}

function signingSecrets(secret: string | undefined): readonly string[] {
  return secret === undefined ? [] : [secret, secret.slice(secret.indexOf('_') + 1)]
}

/** A bare origin is no secret; a path, a query or credentials may be. */
export function addressSecret(url: string): readonly string[] {
  const { pathname, search, username } = new URL(url)
  return pathname.length > 1 || search !== '' || username !== '' ? [url] : []
}
