import { receiversOf } from '../../../domain/notify.ts'
import { withClock } from '../../compose/clock.ts'
import { type Tested, testReceivers } from '../../compose/notifying.ts'
import { openScrubber } from '../../compose/telling.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { NotifyTestData } from '../../json/operate.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load.ts'

export type NotifyTestOptions = ConfigOptions & {
  /** Kind and place of one receiver, such as `telegram-1`. */
  readonly channel?: string
}

/**
 * `tranched notify test`: one message to each receiver, past the outbox and beside whatever daemon. Needs the config alone. Fails
 * where one did not arrive, and says what to do about it.
 */
export async function notifyTest(options: NotifyTestOptions, io: Io): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const receivers = receiversOf(settings.notify)
  const names = receivers.map(({ name }) => name)
  if (names.length === 0)
    return printFailure(io, options, { message: 'the config names no receiver under `notify`' })
  const { channel } = options
  if (channel !== undefined && !names.includes(channel)) {
    const message = `no receiver is called ${channel}; there are: ${names.join(', ')}`
    return printFailure(io, options, { message })
  }
  const wanted = receivers.filter(({ name }) => channel === undefined || name === channel)
  const tested = await withClock((clock) =>
    testReceivers(settings, wanted, { clock, scrubber: openScrubber() }),
  )
  const ok = tested.every((each) => each.ok)
  if (options.json) printJson<NotifyTestData>(io, { ok, receivers: tested, problems: [] })
  else for (const each of tested) (each.ok ? io.stdout : io.stderr).write(`${lineOf(each)}\n`)
  return ok ? EXIT.done : EXIT.failed
}

function lineOf({ channel, ok, fault, remedy }: Tested): string {
  if (ok) return `${channel}: sent`
  return `${channel}: NOT SENT, ${fault}${remedy === null ? '' : `. ${remedy}`}`
}
