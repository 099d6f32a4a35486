import * as z from 'zod'
import {
  EVENTS_USUAL,
  NOTIFY_EVENT_NAMES,
  type NotifyEvent,
  WEBHOOK_EVENTS_USUAL,
} from '../../domain/notify.ts'
import { parseCron } from '../../domain/schedule/cron.ts'
import {
  botToken,
  duration,
  flag,
  integer,
  listOf,
  oneOf,
  scalar,
  section,
  textLike,
  timezone,
  webAddress,
} from '../scalars.ts'

/**
 * The `notify` section. What gives access is written as `${NAME}`: `notify-checks.ts` sees to that, for what variables hold
 * is put in before this schema sees it.
 */

const EVENTS = NOTIFY_EVENT_NAMES as readonly [NotifyEvent, ...NotifyEvent[]]
const TELEGRAM_API = 'https://api.telegram.org'
const NTFY_SERVER = 'https://ntfy.sh'
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

function routing(usual: readonly NotifyEvent[]) {
  return {
    on: listOf(oneOf(EVENTS), `a list of: ${EVENTS.join(', ')}`)
      .prefault([...usual])
      .describe('Events that are sent'),
    strategies: listOf(
      textLike(/^[a-z0-9*?-]{1,63}$/, 'a strategy name, in which `*` and `?` stand for others'),
      'a list of strategy names',
    )
      .optional()
      .describe(
        'Only what is about these strategies, by name or with `*`, and what is about none in particular',
      ),
  }
}

/** As `textLike`, but with no pattern for editors: what stands in the file is mostly a `${NAME}`. */
function variable(expected: string, pattern: RegExp, type: string | string[] = 'string') {
  return scalar({
    expected,
    json: { type },
    read: (text) =>
      pattern.test(text)
        ? { ok: true, value: text }
        : { ok: false, message: 'this is not well formed' },
  })
}

const webhook = section({
  url: webAddress.describe('Receives a POST for each event'),
  ...routing(WEBHOOK_EVENTS_USUAL),
  secret: variable(
    '`whsec_` and 24 to 64 bytes as base64, from a variable',
    /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/,
  )
    .optional()
    .describe('Signs what is sent, after the Standard Webhooks specification'),
})

const telegram = section({
  token: botToken.describe('Of the bot that writes'),
  chat: variable('the number of a chat, or @name of a channel', /^(-?\d{1,20}|@\w{4,64})$/, [
    'string',
    'integer',
  ]).describe('Chat that the bot writes to'),
  thread: integer({ min: 1, max: 2_147_483_647 })
    .optional()
    .describe('Topic of a group that has some'),
  apiRoot: webAddress.prefault(TELEGRAM_API).describe('A Bot API server of your own'),
  ...routing(EVENTS_USUAL),
})

const chat = section({
  url: webAddress.describe('The incoming webhook of a channel, from a variable'),
  ...routing(EVENTS_USUAL),
})

const ntfy = section({
  server: webAddress.prefault(NTFY_SERVER).describe('Address of the ntfy server'),
  topic: variable('up to 64 letters, digits, `_` or `-`', /^[A-Za-z0-9_-]{1,64}$/).describe(
    'Whoever knows it can read it, unless the server asks for a login',
  ),
  token: variable('an access token, from a variable', /^\S{8,200}$/)
    .optional()
    .describe('Login at the server, instead of user and password'),
  user: variable('a user name', /^[^\s:]{1,100}$/)
    .optional()
    .describe('Login at the server'),
  password: variable('a password, from a variable', /^[^\r\n]{1,200}$/)
    .optional()
    .describe('Its password'),
  ...routing(EVENTS_USUAL),
})

/** One plain address: nothing that could end a header line or name a second recipient. */
const MAIL_ADDRESS = /^[^\s@<>(),;:"\\[\]\p{Cc}]{1,64}@[A-Za-z0-9.-]{1,190}$/u
const mailAddress = variable('one plain mail address, such as me@example.com', MAIL_ADDRESS)

const smtpAddress = scalar({
  expected: 'smtps://USER:PASSWORD@HOST:465 or smtp://USER:PASSWORD@HOST:587, from a variable',
  read(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isSmtp = url?.protocol === 'smtp:' || url?.protocol === 'smtps:'
    if (!isSmtp || url.hostname === '') return { ok: false, message: 'this is no SMTP address' }
    if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '')
      return { ok: false, message: 'this has more than a login, a host and a port' }
    return isDecodable(url.username) && isDecodable(url.password)
      ? { ok: true, value: text }
      : { ok: false, message: 'its login is not percent-encoded as in any other address' }
  },
})

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

const email = section({
  smtp: smtpAddress.describe('Mail server with its login; always encrypted, but on this machine'),
  from: mailAddress.describe('Who the mail is from'),
  to: listOf(mailAddress, 'a list of mail addresses').describe('Who gets it'),
  ...routing(EVENTS_USUAL),
})

/** A moment of each day, as the cron text that has it. */
const timeOfDay = scalar<string>({
  expected: 'a time of day such as "08:00"',
  json: { type: 'string', pattern: '^([01]\\d|2[0-3]):[0-5]\\d$' },
  read(text) {
    const cron = cronOf(text, '*')
    return cron === undefined
      ? { ok: false, message: 'this is no time of day' }
      : { ok: true, value: cron }
  },
})

const timeOfWeek = scalar<string>({
  expected: 'a weekday and a time such as "monday 08:00"',
  json: { type: 'string' },
  read(text) {
    const [day = '', time = '', ...more] = text.trim().split(/\s+/)
    const weekday = WEEKDAYS.indexOf(day.toLowerCase())
    const cron = weekday < 0 || more.length > 0 ? undefined : cronOf(time, `${weekday}`)
    return cron === undefined
      ? { ok: false, message: 'this is no time of a week' }
      : { ok: true, value: cron }
  },
})

function cronOf(time: string, weekday: string): string | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time.trim())
  if (match === null) return undefined
  const cron = `${Number(match[2])} ${Number(match[1])} * * ${weekday}`
  return parseCron(cron).ok ? cron : undefined
}

const digest = section({
  daily: timeOfDay.optional().describe('When the summary of the last day is sent'),
  weekly: timeOfWeek.optional().describe('When the summary of the last week is sent'),
})

const heartbeat = section({
  url: webAddress.describe('Is asked for as long as the daemon is well'),
  every: duration({ min: '10s', max: '1h' }).prefault('1m').describe('How often'),
  startAndFail: flag
    .prefault('false')
    .describe('Also ask for /start and /fail below it, as healthchecks.io knows them'),
})

/** A list that may be left out. */
function receivers<Item extends z.ZodType>(item: Item, what: string) {
  return z.array(item, { error: `a list of ${what}` }).prefault([])
}

export const notifySchema = section({
  timezone: timezone.prefault('UTC').describe('Zone of the times in messages, and of the digests'),
  webhooks: receivers(webhook, 'webhooks').describe('Programs of your own'),
  telegram: receivers(telegram, 'Telegram chats').describe('Chats that a bot writes to'),
  discord: receivers(chat, 'Discord webhooks').describe('Channels of Discord'),
  slack: receivers(chat, 'Slack webhooks').describe('Channels of Slack'),
  ntfy: receivers(ntfy, 'ntfy topics').describe('Push messages by ntfy'),
  email: receivers(email, 'mailboxes').describe('Mail'),
  digest: digest.optional().describe('Summaries for receivers that hear of `digest`'),
  heartbeat: heartbeat
    .optional()
    .describe("Dead man's switch: somebody outside raises the alarm when it falls silent"),
})
