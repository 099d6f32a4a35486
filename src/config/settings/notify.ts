import type * as z from 'zod'
import { matchesGlob } from '../../domain/notify.ts'
import { parseCron } from '../../domain/schedule/cron.ts'
import { WEEKDAYS } from '../../domain/schedule/cron-field.ts'
import type { CronRecurrence } from '../../domain/schedule/schedule.ts'
import type { Settings } from '../../domain/settings.ts'
import type { ChannelKind, FieldText, Receiver } from '../../observe/notify/channels/channel.ts'
import { CHANNELS } from '../../observe/notify/channels/channels.ts'
import { heartbeatSchema, heartbeatTexts } from '../../observe/notify/channels/ping.ts'
import { scalar, section, timezone } from '../scalars.ts'
import { type Fault, type Tree, valueAt } from '../yaml/document.ts'

/** A time of a day or week, without the section's time zone. */
type LocalTime = Omit<CronRecurrence, 'timezone'>

function localTime(spec: { of: string; expected: string; pattern: RegExp; json?: object }) {
  return scalar<LocalTime>({
    expected: spec.expected,
    json: { type: 'string', ...spec.json },
    read(text) {
      const parts = spec.pattern.exec(text.trim().toLowerCase())?.groups ?? {}
      const { hour, minute, weekday } = parts
      const day = weekday === undefined ? '*' : WEEKDAYS.indexOf(weekday)
      const cron = `${Number(minute)} ${Number(hour)} * * ${day}`
      // Unmatched text gives NaN, which is not valid cron text.
      const parsed = parseCron(cron)
      return parsed.ok
        ? { ok: true, value: { type: 'cron', cron, pattern: parsed.pattern } }
        : { ok: false, message: `this is not a time of ${spec.of}` }
    },
  })
}

const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d)'

const timeOfDay = localTime({
  of: 'day',
  expected: 'a time of day such as "08:00"',
  pattern: new RegExp(`^${TIME}$`),
  json: { pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' },
})

const timeOfWeek = localTime({
  of: 'a week',
  expected: 'a weekday and a time such as "monday 08:00"',
  pattern: new RegExp(`^(?<weekday>${WEEKDAYS.join('|')})\\s+${TIME}$`),
})

type Channels = typeof CHANNELS
type Lists = { -readonly [Key in keyof Channels]: Channels[Key]['schema'] }

/** Schema of each channel's list, by its key. */
const lists = Object.fromEntries(
  Object.entries(CHANNELS).map(([key, { schema }]) => [key, schema]),
) as Lists

/** The `notify` section. Variables are already filled in; `writtenSecretFaults` requires that credentials come from them. */
export const notifySchema = section({
  timezone: timezone.prefault('UTC').describe('Time zone of messages and digests'),
  ...lists,
  digest: section({
    daily: timeOfDay.optional().describe('Time of the summary of the last day'),
    weekly: timeOfWeek.optional().describe('Time of the summary of the last week'),
  })
    .optional()
    .describe('Summaries for receivers with the event `digest`'),
  heartbeat: heartbeatSchema
    .optional()
    .describe("Dead man's switch: an outside monitor raises the alarm when the pings stop"),
}).transform((notify) => {
  const { timezone, digest } = notify
  const inZone = (time: LocalTime | undefined) => time && { ...time, timezone }
  return {
    ...notify,
    digest: digest && { daily: inZone(digest.daily), weekly: inZone(digest.weekly) },
  }
})

export type NotifySettings = z.output<typeof notifySchema>

/** All receivers, in the order of the channels. */
export function receiversOf(notify: NotifySettings): readonly Receiver[] {
  const keys = Object.keys(CHANNELS) as (keyof Channels)[]
  return keys.flatMap((key) => {
    const channel: ChannelKind = CHANNELS[key]
    return channel.receivers(notify[key], key)
  })
}

/** Receivers whose settings contradict each other. */
export function conflictFaults(notify: NotifySettings): readonly Fault[] {
  return receiversOf(notify).flatMap(({ path, conflict }) => {
    const fault = conflict()
    return fault === undefined ? [] : { path, ...fault }
  })
}

/** All texts of the section, each with its field, which knows its secret parts. */
export function notifyTexts(notify: NotifySettings): readonly FieldText[] {
  const { heartbeat } = notify
  const texts = receiversOf(notify).flatMap((receiver) => receiver.texts())
  return heartbeat === undefined ? texts : [...texts, ...heartbeatTexts(heartbeat)]
}

/** All secrets that give access to a receiver, for masking. */
export function notifySecrets(notify: NotifySettings): readonly string[] {
  return notifyTexts(notify).flatMap(({ field, text }) => field.secretsIn(text))
}

const FROM_VARIABLE = /(^|[^$])\$\{[A-Za-z_]/

/** Reports credentials written in the file, which is backed up and shared. `written` is the tree before interpolation. */
export function writtenSecretFaults(
  written: Tree,
  { notify, control }: Pick<Settings, 'control'> & { readonly notify: NotifySettings },
): readonly Fault[] {
  const credentials = notifyTexts(notify).filter(({ field, text }) => field.isCredential(text))
  const bot = control.telegram === undefined ? [] : [['control', 'telegram', 'token']]
  return [...credentials.map(({ path }) => path), ...bot].flatMap((path) => {
    const text = valueAt(written, path)
    if (typeof text !== 'string' || FROM_VARIABLE.test(text)) return []
    return {
      path,
      isSecret: true,
      message: `this gives access to ${path[0] === 'control' ? 'the bot' : 'the receiver'}, and must not stand in the file`,
      expected: `"\${NAME}", with the value in the environment variable NAME`,
    }
  })
}

/** Valid settings without effect. */
export function notifyWarnings(notify: NotifySettings): readonly Fault[] {
  const path = ['notify', 'digest']
  const receivers = receiversOf(notify)
  const isDue = notify.digest?.daily !== undefined || notify.digest?.weekly !== undefined
  if (notify.digest !== undefined && !isDue) {
    const expected = 'daily: "08:00", weekly: "monday 08:00", or both'
    return [{ path, message: 'no digest is ever due', expected }]
  }
  if (isDue && receivers.every(({ routing }) => !routing.on.includes('digest'))) {
    const expected =
      'a receiver with `digest` in its `on`, or without `on`; webhooks have to name it'
    return [{ path, message: 'no receiver hears of `digest`', expected }]
  }
  if (isDue) return []
  return receivers
    .filter(({ routing }) => routing.on.length === 1 && routing.on[0] === 'digest')
    .map((receiver) => ({
      path: [...receiver.path, 'on'],
      message: 'this receiver gets no messages: no digest is configured',
      expected: '`notify.digest`, such as { daily: "08:00" }',
    }))
}

/** Globs of receivers that match none of the strategies. */
export function unmatchedStrategies(notify: NotifySettings, names: readonly string[]) {
  return receiversOf(notify).flatMap(({ path: [, key, index], routing: { strategies = [] } }) =>
    strategies.flatMap((glob, at) =>
      names.some((name) => matchesGlob(glob, name))
        ? []
        : { path: `notify.${key}[${index}].strategies[${at}]`, glob },
    ),
  )
}
