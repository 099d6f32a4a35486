import { expect, test } from 'vitest'
import { botToken, integer, webAddress } from '../../../../src/config/scalars.ts'
import { notifySchema, notifyTexts, receiversOf } from '../../../../src/config/settings/notify.ts'
import { EVENTS_USUAL } from '../../../../src/domain/notify.ts'
import {
  defineChannel,
  plain,
  routing,
  secret,
  secretAddress,
} from '../../../../src/observe/notify/channels/channel.ts'
import type { CHANNELS } from '../../../../src/observe/notify/channels/channels.ts'

const common = {
  kind: 'pager',
  list: { of: 'pagers', about: 'Pagers' },
  identity: () => [],
  paceMs: 0,
  open: async () => ({
    deliver: async () => ({ ok: true }) as const,
    close: async () => undefined,
  }),
}
const fields = { token: secret(botToken), line: plain(integer({ min: 1, max: 9 })) }

test('a channel compiles only if each setting declares its secrecy', () => {
  const undeclared = { token: botToken, ...routing([]) }
  // @ts-expect-error a bare schema is not a field
  const bare = () => defineChannel({ ...common, fields: () => undeclared })
  // @ts-expect-error masked values must be text
  const number = () => secret(integer({ min: 1, max: 9 }))
  // @ts-expect-error an address must be text
  const list = () => secretAddress(webAddress.array())
  const { identity: _, ...nameless } = common
  // @ts-expect-error the outbox could not distinguish its receivers
  const same = () => defineChannel({ ...nameless, fields: () => ({ ...fields, ...routing([]) }) })
  // @ts-expect-error its events could not be chosen
  const deaf = () => defineChannel({ ...common, fields: () => fields })
  expect([bare, number, list, same, deaf]).toHaveLength(5)
})

test('settings arrive with the types of their fields', () => {
  const pager = defineChannel({
    ...common,
    fields: () => ({ ...fields, ...routing(EVENTS_USUAL) }),
    identity: ({ token, line }) => {
      const typed: readonly [string, number] = [token, line]
      return typed
    },
  })
  const list = pager.schema.parse([{ token: '123456:abcdefgh', line: '7' }])
  const [receiver] = pager.receivers(list, 'pagers')
  expect(receiver).toMatchObject({ name: 'pager-1', path: ['notify', 'pagers', 0] })
  expect(receiver?.routing.on).toEqual(EVENTS_USUAL)
  expect(receiver?.texts().map(({ path }) => path)).toEqual([['notify', 'pagers', 0, 'token']])
})

const URL = 'https://hooks.example/CANARY'
const LOGIN = 'CANARY-of-a-login'

/** Every channel with all its settings. */
const EVERYTHING: Readonly<Record<keyof typeof CHANNELS, Readonly<Record<string, unknown>>>> = {
  webhooks: { url: URL, secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}` },
  telegram: { token: '123456:CANARY-CANARY', chat: '1', thread: '2', apiRoot: URL },
  discord: { url: URL },
  slack: { url: URL },
  ntfy: { server: URL, topic: 'CANARY-topic-CANARY', token: LOGIN, user: 'me', password: LOGIN },
  email: { smtp: 'smtps://me:CANARY@mail.example', from: 'a@b.c', to: ['a@b.c'] },
}

/** Keys of messages in outboxes on disk. */
const KEYS: Readonly<Record<keyof typeof CHANNELS, string>> = {
  webhooks: 'webhook-56d9a9436896244c',
  telegram: 'telegram-5e5bb020ef81e4ab',
  discord: 'discord-8f4a32e31efdbaf6',
  slack: 'slack-739172d7ca3a5a9d',
  ntfy: 'ntfy-7004bdac0944fe0a',
  email: 'email-d946b9363e811a5a',
}

test('messages of an older outbox still find their receivers', async () => {
  for (const [key, settings] of Object.entries(EVERYTHING)) {
    const [receiver] = receiversOf(notifySchema.parse({ [key]: [settings] }))
    const channel = await receiver?.open({ clock: { now: Date.now } })
    expect([key, channel?.key]).toEqual([key, KEYS[key as keyof typeof CHANNELS]])
    await channel?.close()
  }
})

test.each(Object.entries(EVERYTHING))('%s masks every credential', (key, settings) => {
  const notify = notifySchema.parse({ [key]: [settings] })
  expect(receiversOf(notify).map(({ path }) => path)).toEqual([['notify', key, 0]])
  const texts = notifyTexts(notify)
  const masked = texts.filter(({ field, text }) => field.secretsIn(text).includes(text))
  const open = texts.filter((each) => !masked.includes(each)).map(({ path }) => path[3])
  expect(open).toEqual(Object.keys(settings).filter((name) => /^(chat|user|from)$/.test(name)))
  expect(texts.some(({ field, text }) => field.isCredential(text))).toBe(true)
})
