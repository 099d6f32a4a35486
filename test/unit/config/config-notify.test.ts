import { describe, expect, test } from 'vitest'
import { receiversOf } from '../../../src/config/settings/notify.ts'
import { matchesGlob } from '../../../src/domain/notify.ts'
import { nextSlot } from '../../../src/domain/schedule/calendar.ts'
import { brief, CONFIG, loadText, problemsOf, settingsOf } from './config-fixture.ts'

const ENV = {
  TG: '123456:CANARY-canary_CANARY-canary_CANARYc',
  HOOK: 'https://discord.example/api/webhooks/123456789/CANARYCANARY',
  SECRET: `whsec_${Buffer.alloc(24, 7).toString('base64')}`,
  SMTP: 'smtps://me%40example.com:CANARY@mail.example.com',
  NTFY: 'tk_CANARYCANARY',
  PING: 'https://hc.example/CANARY',
}

const FULL = `${CONFIG}notify:
  timezone: Europe/Berlin
  webhooks:
    - { url: https://hooks.example/a, secret: "\${SECRET}" }
  telegram:
    - { token: "\${TG}", chat: -1001234, thread: 7, on: [failed, halted] }
  discord: [{ url: "\${HOOK}" }]
  slack: [{ url: "\${HOOK}", strategies: ["weekly-*", dip] }]
  ntfy:
    - { topic: mine, token: "\${NTFY}" }
    - { server: https://ntfy.example, topic: mine, user: me, password: "\${NTFY}" }
  email: [{ smtp: "\${SMTP}", from: bot@example.com, to: [me@example.com] }]
  digest: { daily: "08:30", weekly: "Monday 07:00" }
  heartbeat: { url: "\${PING}", every: 30s, startAndFail: true }
`

/** A config with a one-line `notify` section, in which `$NAME` stands for a variable. */
function configWith(notify: string): string {
  return `${CONFIG}notify: ${notify.replace(/\$([A-Z_]+)/g, (_, name) => `\${${name}}`)}\n`
}

/** The problems of a config with a one-line `notify` section. */
function wrong(notify: string): readonly string[] {
  return problemsOf(configWith(notify), { env: ENV }).map(brief)
}

test('receivers of every kind become settings, named by kind and index', () => {
  const { notify } = settingsOf(FULL, { env: ENV })
  expect(receiversOf(notify).map(({ name }) => name)).toEqual([
    ...['webhook-1', 'telegram-1', 'discord-1', 'slack-1', 'ntfy-1', 'ntfy-2', 'email-1'],
  ])
  expect(notify.telegram[0]).toMatchObject({
    ...{ token: ENV.TG, chat: '-1001234', thread: 7, on: ['failed', 'halted'] },
    apiRoot: 'https://api.telegram.org',
  })
  expect(notify.webhooks[0]?.on).toEqual([
    ...['filled', 'failed', 'refused', 'missed', 'halted', 'low-funds'],
  ])
  expect(notify.discord[0]?.on).toContain('digest')
  expect(notify.discord[0]?.on).not.toContain('started')
  expect(notify.ntfy[0]?.server).toBe('https://ntfy.sh')
  expect(notify.heartbeat).toEqual({ url: ENV.PING, everyMs: 30_000, startAndFail: true })
})

test('digest times follow the time zone', () => {
  const { digest } = settingsOf(FULL, { env: ENV }).notify
  const monday = Date.UTC(2026, 0, 5) / 1_000
  if (digest?.daily === undefined || digest.weekly === undefined) throw new Error('no digest')
  expect(nextSlot(digest.daily, monday)).toBe(Date.UTC(2026, 0, 5, 7, 30) / 1_000)
  expect(nextSlot(digest.weekly, monday)).toBe(Date.UTC(2026, 0, 5, 6) / 1_000)
})

test('no receiver exists without the section', () => {
  expect(receiversOf(settingsOf().notify)).toEqual([])
})

describe('mistakes', () => {
  test.each([
    [
      'an unknown event',
      '{ slack: [{ url: "$HOOK", on: [filed] }] }',
      /slack\[0\]\.on\[0\].*not known/,
    ],
    [
      'an unknown key',
      '{ telegram: [{ token: "$TG", chat: 1, cat: 2 }] }',
      /telegram\[0\]\.cat: unknown key/,
    ],
    ['an unknown channel', '{ telegramm: [] }', /telegramm: unknown key/],
    ['no events', '{ slack: [{ url: "$HOOK", on: [] }] }', /on: this list is empty/],
    [
      'an invalid chat',
      '{ telegram: [{ token: "$TG", chat: me }] }',
      /chat: this is not well formed/,
    ],
    [
      'an invalid token',
      '{ telegram: [{ token: "$PING", chat: 1 }] }',
      /token: this is not a bot token/,
    ],
    [
      'an invalid secret',
      '{ webhooks: [{ url: https://a.example, secret: "$TG" }] }',
      /secret: this is not well formed/,
    ],
    [
      'a mail address with two recipients',
      '{ email: [{ smtp: "$SMTP", from: a@b.c, to: ["a@b.c, d@e.f"] }] }',
      /to\[0\]: this is not well formed/,
    ],
    [
      'a mail address with a line break',
      '{ email: [{ smtp: "$SMTP", from: "a@b.c\\r\\nBcc: d@e.f", to: [a@b.c] }] }',
      /from: this is not well formed/,
    ],
    [
      'an invalid mail server',
      '{ email: [{ smtp: "$PING", from: a@b.c, to: [a@b.c] }] }',
      /smtp: this is not an SMTP address/,
    ],
    ['an invalid time', '{ digest: { daily: "24:00" } }', /daily: this is not a time of day/],
    [
      'an invalid weekday',
      '{ digest: { weekly: "mon 08:00" } }',
      /weekly: this is not a time of a week/,
    ],
    [
      'a heartbeat below the minimum interval',
      '{ heartbeat: { url: "$PING", every: 1s } }',
      /every: this duration is out of range/,
    ],
    [
      'half a login',
      '{ ntfy: [{ topic: mine, user: me }] }',
      /ntfy\[0\]: user and password belong together/,
    ],
    [
      'two logins',
      '{ ntfy: [{ topic: mine, token: "$NTFY", user: me, password: "$NTFY" }] }',
      /ntfy\[0\]: this has two logins/,
    ],
    [
      'an invalid strategy name',
      '{ slack: [{ url: "$HOOK", strategies: ["A B"] }] }',
      /strategies\[0\]: this is not well formed/,
    ],
    ['an unset variable', '{ slack: [{ url: "$NOT_SET" }] }', /NOT_SET is not set/],
  ])('%s is rejected', (_, notify, message) => {
    expect(wrong(notify).join('\n')).toMatch(message)
  })

  test.each([
    ['telegram[0].token', `{ telegram: [{ token: "${ENV.TG}", chat: 1 }] }`],
    ['webhooks[0].secret', `{ webhooks: [{ url: https://a.example, secret: "${ENV.SECRET}" }] }`],
    ['discord[0].url', `{ discord: [{ url: "${ENV.HOOK}" }] }`],
    ['slack[0].url', `{ slack: [{ url: "${ENV.HOOK}" }] }`],
    ['ntfy[0].token', `{ ntfy: [{ topic: mine, token: ${ENV.NTFY} }] }`],
    ['ntfy[0].password', '{ ntfy: [{ topic: mine, user: me, password: CANARY }] }'],
    ['email[0].smtp', `{ email: [{ smtp: "${ENV.SMTP}", from: a@b.c, to: [a@b.c] }] }`],
    ['heartbeat.url', `{ heartbeat: { url: "${ENV.PING}" } }`],
  ])('%s written in the file is rejected without being shown', (path, notify) => {
    const problems = problemsOf(configWith(notify), { env: ENV })
    expect(problems.map((problem) => problem.path)).toEqual([`notify.${path}`])
    expect(problems[0]?.message).toContain('must not stand in the file')
    expect(JSON.stringify(problems)).not.toContain('CANARY')
  })

  test('an address without a secret may be written in the file', () => {
    const text = `${CONFIG}notify: { slack: [{ url: "http://127.0.0.1:1/hook" }], email: [{ smtp: "smtp://127.0.0.1:25", from: a@b.c, to: [a@b.c] }] }\n`
    expect(loadText(text).ok).toBe(true)
  })

  test('a malformed secret is not shown', () => {
    const text = `${CONFIG}notify: { telegram: [{ token: "12:CANARYCANARY", chat: 1 }] }\n`
    const problems = problemsOf(text)
    expect(problems).toHaveLength(1)
    expect(JSON.stringify(problems)).not.toContain('CANARY')
  })
})

describe('warnings', () => {
  const warnings = (notify: string): readonly string[] => {
    const loaded = loadText(configWith(notify), { env: ENV })
    return loaded.ok ? loaded.warnings.map(brief) : ['not ok']
  }

  test.each([
    [
      'a digest without a receiver',
      '{ webhooks: [{ url: https://a.example }], digest: { daily: "08:00" } }',
      /no receiver hears of `digest`/,
    ],
    [
      'a digest that is never due',
      '{ slack: [{ url: "$HOOK" }], digest: {} }',
      /no digest is ever due/,
    ],
    [
      'a receiver of digests alone, without one',
      '{ slack: [{ url: "$HOOK", on: [digest] }] }',
      /this receiver gets no messages/,
    ],
  ])('%s causes a warning', (_, notify, message) => {
    expect(warnings(notify).join('\n')).toMatch(message)
  })

  test('a digest with a receiver causes no warning', () => {
    expect(warnings('{ slack: [{ url: "$HOOK" }], digest: { daily: "08:00" } }')).toEqual([])
  })
})

test.each([
  ['*', 'anything', true],
  ['weekly-*', 'weekly-eth', true],
  ['weekly-*', 'week', false],
  ['*-eth', 'weekly-eth', true],
  ['*-eth', 'weekly-ethx', false],
  ['d?p', 'dip', true],
  ['d?p', 'dp', false],
  ['a*b*c', 'axxbyyc', true],
  ['a*b*c', 'axxcyyb', false],
  ['', '', true],
  ['dip', 'dip', true],
  ['dip', 'dips', false],
  [`${'*a'.repeat(30)}b`, 'a'.repeat(63), false],
])('the glob %s matches %s: %s', (glob, name, taken) => {
  // Backtracking would take years on the last case.
  expect(matchesGlob(glob, name)).toBe(taken)
})
