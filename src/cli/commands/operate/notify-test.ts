import type { ConfigSettings } from '../../../config/settings/build.ts'
import { notifySecrets, receiversOf } from '../../../config/settings/notify.ts'
import { localTimeInZone } from '../../../journal/wording/time.ts'
import type { Receiver } from '../../../observe/notify/channels/channel.ts'
import { type Message, testText } from '../../../observe/notify/message.ts'
import type { Clock } from '../../../ports.ts'
import { createScrubber } from '../../../system/scrubber.ts'
import { withClock } from '../../compose/state.ts'
import type { NotifyTestData } from '../../json/operate-outputs.ts'
import { type ConfigOptions, settingsForReading } from '../../load-files.ts'
import { EXIT, type ExitCode, type Io, printJson } from '../../process/io.ts'
import { orRefuse, Refusal } from '../../process/refusal.ts'

type Tested = NotifyTestData['receivers'][number]

export type NotifyTestOptions = ConfigOptions & {
  /** Kind and position of one receiver, such as `telegram-1`. */
  readonly channel?: string
}

/** `tranched notify test`: sends one message to each receiver, without the outbox. Fails with a remedy if one is lost. */
export async function notifyTest(options: NotifyTestOptions, io: Io): Promise<ExitCode> {
  const { settings } = orRefuse(settingsForReading(options, io))
  const receivers = receiversOf(settings.notify)
  const names = receivers.map(({ name }) => name)
  if (names.length === 0) throw new Refusal('the config names no receiver under `notify`')
  const { channel } = options
  if (channel !== undefined && !names.includes(channel))
    throw new Refusal(`no receiver is called ${channel}; the config has: ${names.join(', ')}`)
  const wanted = receivers.filter(({ name }) => channel === undefined || name === channel)
  const tested = await withClock((clock) => testReceivers(settings, wanted, clock))
  const ok = tested.every((each) => each.ok)
  if (options.json) printJson<NotifyTestData>(io, { ok, receivers: tested, problems: [] })
  else for (const each of tested) (each.ok ? io.stdout : io.stderr).write(`${lineOf(each)}\n`)
  return ok ? EXIT.done : EXIT.failed
}

async function testReceivers(
  settings: ConfigSettings,
  receivers: readonly Receiver[],
  clock: Clock,
): Promise<readonly Tested[]> {
  const scrubber = createScrubber()
  for (const secret of notifySecrets(settings.notify)) scrubber.add(secret)
  const { timezone } = settings.notify
  return Promise.all(
    receivers.map(async (receiver): Promise<Tested> => {
      const channel = await receiver.open({ clock })
      const message = testMessage(receiver.name, clock.now(), timezone)
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

/** A message without an event: no receiver can subscribe to `test`. */
function testMessage(receiver: string, atMs: number, timezone: string): Message {
  const text = testText(receiver)
  return {
    id: `${atMs}-test`,
    event: 'test',
    severity: 'warning',
    atMs,
    when: localTimeInZone(atMs, timezone),
    ...text,
    text: [text.subject, ...text.lines].join('\n'),
    details: {},
  }
}

function lineOf({ channel, ok, fault, remedy }: Tested): string {
  if (ok) return `${channel}: sent`
  return `${channel}: NOT SENT, ${fault}${remedy === null ? '' : `. ${remedy}`}`
}
