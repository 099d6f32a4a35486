import {
  matchesGlob,
  type NotifySettings,
  type Receiver,
  receiversOf,
} from '../../domain/notify.ts'
import { parseCron } from '../../domain/schedule/cron.ts'
import type { CronRecurrence } from '../../domain/schedule/schedule.ts'
import type { Settings } from '../../domain/settings.ts'
import { type Fault, type Tree, valueAt } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'
import { isLoopback } from './loopback.ts'
import type { SettingsInput } from './schema.ts'

type Report = (fault: Fault) => void

/** The section as settings, with what is wrong with it beyond single values. */
export function buildNotify({ notify }: SettingsInput, report: Report): NotifySettings {
  const { timezone, digest, heartbeat, ...receivers } = notify
  const settings: NotifySettings = {
    timezone,
    ...receivers,
    digest: digest && {
      daily: recurrenceOf(digest.daily, timezone),
      weekly: recurrenceOf(digest.weekly, timezone),
    },
    heartbeat: heartbeat && {
      url: heartbeat.url,
      everyMs: heartbeat.every,
      startAndFail: heartbeat.startAndFail,
    },
  }
  for (const receiver of receiversOf(settings)) checkLogin(receiver, report)
  return settings
}

function recurrenceOf(cron: string | undefined, timezone: string): CronRecurrence | undefined {
  const parsed = cron === undefined ? undefined : parseCron(cron)
  return parsed?.ok
    ? { type: 'cron', cron: cron ?? '', pattern: parsed.pattern, timezone }
    : undefined
}

function checkLogin({ kind, index, routing }: Receiver, report: Report): void {
  if (kind !== 'ntfy') return
  const { token, user, password } = routing
  const path = ['notify', 'ntfy', index]
  if ((user === undefined) !== (password === undefined))
    report({ path, message: 'user and password belong together', expected: 'both, or a token' })
  else if (token !== undefined && user !== undefined)
    report({ path, message: 'this has two logins', expected: 'a token, or user and password' })
}

/** Values of the section that give access to something, by their paths. */
function secretPaths(notify: NotifySettings): readonly (readonly [Path, string | undefined])[] {
  const at = (section: string, index: number, key: string): Path => ['notify', section, index, key]
  return [
    ...notify.webhooks.map(({ secret }, i) => [at('webhooks', i, 'secret'), secret] as const),
    ...notify.telegram.map(({ token }, i) => [at('telegram', i, 'token'), token] as const),
    ...notify.discord.map(({ url }, i) => [at('discord', i, 'url'), beyondHere(url)] as const),
    ...notify.slack.map(({ url }, i) => [at('slack', i, 'url'), beyondHere(url)] as const),
    ...notify.ntfy.flatMap(({ token, password }, i) => [
      [at('ntfy', i, 'token'), token] as const,
      [at('ntfy', i, 'password'), password] as const,
    ]),
    ...notify.email.map(({ smtp }, i) => [at('email', i, 'smtp'), withLogin(smtp)] as const),
    [['notify', 'heartbeat', 'url'], notify.heartbeat && beyondHere(notify.heartbeat.url)] as const,
  ]
}

/** On this machine an address is no secret. */
function beyondHere(url: string): string | undefined {
  return isLoopback(new URL(url).hostname) ? undefined : url
}

function withLogin(smtp: string): string | undefined {
  return new URL(smtp).password === '' ? undefined : smtp
}

const FROM_VARIABLE = /(^|[^$])\$\{[A-Za-z_]/

/** Faults of secrets that stand in the file itself, which gets backed up and shared. `written` is the tree before variables. */
export function writtenSecretFaults(
  written: Tree,
  { notify, control }: Pick<Settings, 'notify' | 'control'>,
): readonly Fault[] {
  const bot = [['control', 'telegram', 'token'], control.telegram?.token] as const
  return [...secretPaths(notify), bot].flatMap(([path, secret]) => {
    const text = valueAt(written, path)
    if (secret === undefined || typeof text !== 'string' || FROM_VARIABLE.test(text)) return []
    return [
      {
        path,
        isSecret: true,
        message: `this gives access to ${path[0] === 'control' ? 'the bot' : 'the receiver'}, and must not stand in the file`,
        expected: `"\${NAME}", with the value in the environment variable NAME`,
      },
    ]
  })
}

/** Web addresses of the section, by their paths. */
export function notifyAddresses(notify: NotifySettings): readonly (readonly [Path, string])[] {
  const of = (section: string, urls: readonly string[], key: string) =>
    urls.map((url, index) => [['notify', section, index, key], url] as const)
  const { webhooks, telegram, discord, slack, ntfy, heartbeat } = notify
  return [
    ...of(
      'webhooks',
      webhooks.map(({ url }) => url),
      'url',
    ),
    ...of(
      'telegram',
      telegram.map(({ apiRoot }) => apiRoot),
      'apiRoot',
    ),
    ...of(
      'discord',
      discord.map(({ url }) => url),
      'url',
    ),
    ...of(
      'slack',
      slack.map(({ url }) => url),
      'url',
    ),
    ...of(
      'ntfy',
      ntfy.map(({ server }) => server),
      'server',
    ),
    ...(heartbeat === undefined ? [] : [[['notify', 'heartbeat', 'url'], heartbeat.url] as const]),
  ]
}

/** What is well-formed and does nothing. */
export function notifyWarnings(notify: NotifySettings): readonly Fault[] {
  const receivers = receiversOf(notify)
  const takers = receivers.filter(({ routing }) => routing.on.includes('digest'))
  const isDue = notify.digest?.daily !== undefined || notify.digest?.weekly !== undefined
  if (notify.digest !== undefined && !isDue)
    return [
      {
        path: ['notify', 'digest'],
        message: 'no digest is ever due',
        expected: 'daily: "08:00", weekly: "monday 08:00", or both',
      },
    ]
  if (isDue && takers.length === 0)
    return [
      {
        path: ['notify', 'digest'],
        message: 'no receiver hears of `digest`',
        expected: 'a receiver with `digest` in its `on`, or without `on`; webhooks have to name it',
      },
    ]
  if (isDue) return []
  return receivers
    .filter(({ routing }) => routing.on.length === 1 && routing.on[0] === 'digest')
    .map(({ section, index }) => ({
      path: ['notify', section, index, 'on'],
      message: 'this receiver hears of nothing: no digest is asked for',
      expected: '`notify.digest`, such as { daily: "08:00" }',
    }))
}

/** Receivers that wait for strategies of which there are none. */
export function unmatchedStrategies(
  notify: NotifySettings,
  names: readonly string[],
): readonly { readonly path: string; readonly glob: string }[] {
  return receiversOf(notify).flatMap(({ section, index, routing }) =>
    (routing.strategies ?? []).flatMap((glob, at) =>
      names.some((name) => matchesGlob(glob, name))
        ? []
        : [{ path: `notify.${section}[${index}].strategies[${at}]`, glob }],
    ),
  )
}
