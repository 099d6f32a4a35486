import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { eventTable } from '../../scripts/schema/event-table.ts'
import { loadSettings } from '../../src/config/settings/load-settings.ts'
import { receiversOf } from '../../src/config/settings/notify.ts'
import { NOTIFY_EVENT_NAMES } from '../../src/domain/notify.ts'
import { MESSAGE } from '../support/notify/messages.ts'
import { openReceiver } from '../support/notify/open-receiver.ts'
import { ROOT } from '../support/process/cli.ts'
import { startScriptedServer } from '../support/process/scripted-server.ts'
import { CONFIG } from './config/config-fixture.ts'

const DOCS = readFileSync(join(ROOT, 'docs/notifications.md'), 'utf8')

function blocks(language: string): readonly string[] {
  const found = DOCS.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return [...found].map(([, text = '']) => text)
}

const ENV = {
  TRANCHED_WEBHOOK_URL: 'https://hooks.example/tranched',
  TRANCHED_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  TRANCHED_BOT_TOKEN: '123456:abcdefghijklmnopqrstuvwxyz',
  DISCORD_WEBHOOK_URL: 'https://discord.example/api/webhooks/1/a',
  SLACK_WEBHOOK_URL: 'https://slack.example/services/T/B/a',
  NTFY_TOKEN: 'tk_abcdefgh',
  SMTP_URL: 'smtps://me:secret@mail.example.com',
  HEARTBEAT_URL: 'https://hc.example/a',
}

function load(text: string) {
  return loadSettings({ file: '/c.yaml', env: ENV, readFile: () => text })
}

test('the examples in the documentation are valid configs', () => {
  const examples = blocks('yaml')
  expect(examples).toHaveLength(3)
  const loaded = examples.map((example) => load(CONFIG + example))
  for (const each of loaded) expect(each.ok ? [] : each.problems).toEqual([])
  const [first] = loaded
  const names = first?.ok ? receiversOf(first.settings.notify).map(({ name }) => name) : []
  expect(names).toEqual([
    ...['webhook-1', 'telegram-1', 'discord-1', 'slack-1', 'ntfy-1', 'email-1'],
  ])
})

test('the commented notify section of the example config is valid', () => {
  const text = readFileSync(join(ROOT, 'config/live.example.yaml'), 'utf8')
  const lines = text.split('\n')
  const from = lines.indexOf('# notify:')
  const section = lines.slice(from, lines.indexOf('', from)).map((line) => line.slice(2))
  const { notify } = parse(section.join('\n'))
  const loaded = load(CONFIG + stringify({ notify }))
  expect(loaded.ok ? loaded.warnings : loaded.problems).toEqual([])
})

test('the table of events matches the program', () => {
  expect(DOCS).toContain(eventTable())
  for (const event of NOTIFY_EVENT_NAMES) expect(DOCS).toContain(`| \`${event}\` |`)
})

test('the documented verification accepts only genuine webhook requests', async () => {
  const [code = ''] = blocks('js')
  const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  const server = await startScriptedServer()
  const secret = ENV.TRANCHED_WEBHOOK_SECRET
  const receiver = { url: server.url, secret, on: ['filled'] }
  const channel = await openReceiver('webhooks', receiver, { clock: { now: Date.now } })
  server.answerWith(() => ({ status: 200 }))
  await channel.deliver(MESSAGE, new AbortController().signal)
  const [request] = server.requests
  await channel.close()
  await server.close()
  const { headers, body = '' } = request ?? {}
  const genuine = isGenuine(headers, body, secret)
  expect(genuine).toBe(true)
  expect(isGenuine(headers, `${body} `, secret)).toBe(false)
  expect(isGenuine({ ...headers, 'webhook-id': 'x' }, body, secret)).toBe(false)
  expect(isGenuine(headers, body, `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(false)
  expect(isGenuine(headers, body, secret, Date.now() / 1_000 + 3_600)).toBe(false)
  expect(isGenuine({ ...headers, 'webhook-signature': 'v1,' }, body, secret)).toBe(false)
})
