import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { notifySchema, receiversOf } from '../../../../src/config/settings/notify.ts'
import { EVENTS_USUAL } from '../../../../src/domain/notify.ts'
import type { Channel, FailedDelivery } from '../../../../src/observe/notify/channels/channel.ts'
import type { Message } from '../../../../src/observe/notify/message.ts'
import { HOSTILE, MESSAGE } from '../../../support/notify/messages.ts'
import { openReceiver } from '../../../support/notify/open-receiver.ts'
import {
  type ScriptedReply,
  type ScriptedServer,
  startScriptedServer,
} from '../../../support/process/scripted-server.ts'

const NOW = Date.now()
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`
const TOKEN = '123456:CANARY-canary_CANARY-canary_CANARYc'
const CANARY = /CANARY|whsec|127\.0\.0\.1|http:/i

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

type Kind = 'webhook' | 'telegram' | 'discord' | 'slack' | 'ntfy'
const KINDS: readonly Kind[] = ['webhook', 'telegram', 'discord', 'slack', 'ntfy']

/** Opens a receiver of each kind at the server's address. */
function openAt(
  url: string,
  kind: Kind,
  { extra = {}, ...options }: { readonly extra?: object; readonly timeoutMs?: number } = {},
): Promise<Channel> {
  const given = { clock: { now: () => NOW }, ...options }
  const on = { on: EVENTS_USUAL, ...extra }
  const secretUrl = `${url}/services/T0CANARY/B0CANARY`
  switch (kind) {
    case 'webhook':
      return openReceiver('webhooks', { url: secretUrl, ...on }, given)
    case 'telegram':
      return openReceiver(kind, { token: TOKEN, chat: '-100123', apiRoot: url, ...on }, given)
    case 'discord':
    case 'slack':
      return openReceiver(kind, { url: secretUrl, ...on }, given)
    case 'ntfy': {
      const settings = { server: url, topic: 'tranched-CANARY', token: 'tk_CANARY_CANARY', ...on }
      return openReceiver(kind, settings, given)
    }
  }
}

async function rig(kind: Kind, extra: object = {}, timeoutMs = 60_000) {
  const server = await startScriptedServer()
  const channel = await openAt(server.url, kind, { extra, timeoutMs })
  opened.push(server.close, channel.close)
  return { server, channel }
}

function send(channel: Channel, message: Message = MESSAGE) {
  return channel.deliver(message, new AbortController().signal)
}

function bodyOf(server: ScriptedServer) {
  return JSON.parse(server.requests[0]?.body ?? 'null')
}

/** The reply of each service that accepts a message. */
const TAKEN: Readonly<Record<Kind, ScriptedReply>> = {
  webhook: { status: 200, body: 'thanks' },
  telegram: { body: { ok: true, result: { message_id: 1, chat: { id: 7 } } } },
  discord: { status: 204, body: '' },
  slack: { status: 200, body: 'ok' },
  ntfy: { status: 200, body: { id: 'x' } },
}

/** The reply of each service that refuses with the given status. */
function refusal(kind: Kind, status: number, body: object = {}): ScriptedReply {
  if (kind !== 'telegram') return { status, body }
  return { status, body: { ok: false, error_code: status, description: 'no', ...body } }
}

describe.each(KINDS)('%s', (kind) => {
  test('delivers a message with one POST', async () => {
    const { server, channel } = await rig(kind)
    server.willReply(TAKEN[kind])
    expect(await send(channel)).toEqual({ ok: true })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'tranched' },
    })
  })

  test.each([400, 403, 404])('status %s is final, with a remedy', async (status) => {
    const { server, channel } = await rig(kind)
    server.willReply(refusal(kind, status))
    const failed = (await send(channel)) as FailedDelivery
    expect(failed).toMatchObject({ ok: false, final: true, answered: true })
    expect(failed.remedy).toBeTruthy()
    expect(failed.fault).not.toMatch(CANARY)
  })

  test.each([500, 502, 503])('status %s is retried', async (status) => {
    const { server, channel } = await rig(kind)
    server.willReply(refusal(kind, status))
    expect(await send(channel)).toMatchObject({ ok: false, final: false, answered: true })
  })

  test('too many requests is retried after the delay of the reply', async () => {
    const { server, channel } = await rig(kind)
    const parameters =
      kind === 'discord' ? { retry_after: 7.5 } : { parameters: { retry_after: 7 } }
    const reply = { ...refusal(kind, 429, parameters), headers: { 'retry-after': '7' } }
    server.willReply(reply)
    const after = kind === 'discord' ? 7_500 : 7_000
    expect(await send(channel)).toMatchObject({ ok: false, final: false, retryAfterMs: after })
  })

  test.each([
    ['silence', { delayMs: 3_600_000 }],
    ['a broken connection', { drop: 'before-headers' }],
  ] as const)('%s is retried, and delivery ends at the time limit', async (_, reply) => {
    const { server, channel } = await rig(kind, {}, 300)
    server.willReply(reply)
    const failed = await send(channel)
    expect(failed).toMatchObject({ ok: false, final: false, answered: false })
    expect(JSON.stringify(failed)).not.toMatch(CANARY)
  })

  test('a refused connection is retried', async () => {
    const { server, channel } = await rig(kind)
    await server.close()
    const failed = await send(channel)
    expect(failed).toMatchObject({
      ok: false,
      final: false,
      answered: false,
      fault: 'ECONNREFUSED',
    })
  })

  test('a redirect is not followed', async () => {
    const { server, channel } = await rig(kind)
    server.willReply({ status: 302, headers: { location: `${server.url}/elsewhere` }, body: '' })
    expect(await send(channel)).toMatchObject({ ok: false })
    expect(server.requests).toHaveLength(1)
  })

  test('an endless response is not read to its end', async () => {
    const { server, channel } = await rig(kind)
    server.willReply({ status: 200, body: 'x'.repeat(3_000_000) })
    // The start of the response counts: a status, or, for Telegram, no valid reply.
    expect(await send(channel)).toMatchObject({ ok: kind !== 'telegram' })
  })

  test('text of any length is cut to the limit of the service', async () => {
    const { server, channel } = await rig(kind)
    server.answerWith(() => TAKEN[kind])
    const long = {
      ...MESSAGE,
      subject: 's'.repeat(500),
      lines: Array(200).fill('\u{1f6a8}'.repeat(60)),
    }
    expect(await send(channel, long)).toEqual({ ok: true })
    const { body } = server.requests[0] ?? { body: '' }
    // A split surrogate pair would become another character.
    expect(Buffer.from(body).includes('\ufffd')).toBe(false)
    const shown = JSON.parse(body)
    if (kind === 'telegram') expect(shown.text.length).toBeLessThanOrEqual(4_096)
    if (kind === 'discord') expect(shown.embeds[0].description.length).toBeLessThanOrEqual(4_096)
    if (kind === 'discord') expect(shown.embeds[0].title.length).toBeLessThanOrEqual(256)
    if (kind === 'slack') expect(shown.blocks[0].text.text.length).toBeLessThanOrEqual(150)
    if (kind === 'slack') expect(shown.blocks[1].text.text.length).toBeLessThanOrEqual(3_000)
    if (kind === 'ntfy') expect(Buffer.byteLength(shown.message)).toBeLessThanOrEqual(4_096)
  })

  test('no payload contains a credential', async () => {
    const { server, channel } = await rig(kind)
    server.answerWith(() => TAKEN[kind])
    await send(channel, HOSTILE)
    const { body } = server.requests[0] ?? { body: '' }
    // The topic names the receiver, so the receiver knows it.
    expect(body.replace('tranched-CANARY', '')).not.toMatch(/CANARY|whsec/)
  })
})

describe('a webhook', () => {
  test('gets the established fields, under its requested event', async () => {
    const { server, channel } = await rig('webhook')
    server.answerWith(() => TAKEN.webhook)
    await send(channel)
    expect(bodyOf(server)).toEqual({
      version: 1,
      id: MESSAGE.id,
      event: 'filled',
      at: '2026-01-05T08:00:00.000Z',
      text: MESSAGE.text,
      content: MESSAGE.text,
      strategy: 'weekly-eth',
      intentId: 'weekly-eth:1767600000:0',
      details: { paid: '25', received: '0.00998' },
    })
    expect(server.requests[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  test.each([
    [['failed'], 'failed'],
    [['failed', 'unsold'], 'unsold'],
  ])('subscribed to %s gets an unsold TWAP as %s', async (on, event) => {
    const { server, channel } = await rig('webhook', { on })
    server.answerWith(() => TAKEN.webhook)
    await send(channel, { ...MESSAGE, event: 'unsold' })
    expect(bodyOf(server).event).toBe(event)
  })

  test('with a secret is signed per the Standard Webhooks specification', async () => {
    const { server, channel } = await rig('webhook', { secret: SECRET })
    server.answerWith(() => TAKEN.webhook)
    await send(channel)
    const [request] = server.requests
    const headers = request?.headers as Record<string, string>
    expect(headers['webhook-id']).toBe(MESSAGE.id)
    const verifier = new Webhook(SECRET)
    expect(verifier.verify(request?.body ?? '', headers)).toMatchObject({ id: MESSAGE.id })
    expect(() => verifier.verify(`${request?.body} `, headers)).toThrow()
    expect(() => verifier.verify(request?.body ?? '', { ...headers, 'webhook-id': 'x' })).toThrow()
  })

  test('sends credentials of its address as basic auth', async () => {
    const server = await startScriptedServer()
    const url = server.url.replace('http://', 'http://me:p%40ss@')
    const channel = await openAt(url, 'webhook')
    opened.push(server.close, channel.close)
    server.answerWith(() => TAKEN.webhook)
    await send(channel)
    const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    expect(server.requests[0]?.headers.authorization).toBe(basic)
  })
})

test("Telegram gets HTML with only the program's own tags, silently for good news", async () => {
  const { server, channel } = await rig('telegram', { thread: '5' })
  server.answerWith(() => TAKEN.telegram)
  await send(channel)
  await send(channel, HOSTILE)
  const [fill, alarm] = server.requests.map(({ body }) => JSON.parse(body))
  expect(fill).toMatchObject({
    chat_id: -100_123,
    message_thread_id: 5,
    parse_mode: 'HTML',
    disable_notification: true,
    link_preview_options: { is_disabled: true },
  })
  expect(fill.text.split('\n')).toEqual([
    '<b>weekly-eth traded 25 USDC for 0.00998 WETH</b>',
    '2504.97 USDC per WETH.',
    'The full timeline: <code>tranched why weekly-eth:1767600000</code>',
    expect.stringMatching(
      /^<i>Mon 5 Jan, 08:00 \(UTC\), <a href="https:\/\/basescan.org\/tx\/0x\w+">transaction<\/a><\/i>$/,
    ),
  ])
  expect(alarm.disable_notification).toBe(false)
  const tags = [...alarm.text.matchAll(/<[^>]*>/g)].map(([tag]) => tag)
  expect(tags).toEqual(['<b>', '</b>', '<code>', '</code>', '<i>', '</i>'])
})

test("Discord gets an embed without mentions and with no link but the program's", async () => {
  const { server, channel } = await rig('discord')
  server.answerWith(() => TAKEN.discord)
  await send(channel)
  await send(channel, HOSTILE)
  const [fill, alarm] = server.requests.map(({ body }) => JSON.parse(body))
  expect(fill).toEqual({
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: 'weekly-eth traded 25 USDC for 0.00998 WETH',
        description:
          '2504.97 USDC per WETH.\nThe full timeline: `tranched why weekly-eth:1767600000`',
        color: 0x2e9e5b,
        timestamp: '2026-01-05T08:00:00.000Z',
        footer: { text: 'Mon 5 Jan, 08:00 (UTC)' },
        url: MESSAGE.link,
      },
    ],
  })
  expect(alarm.embeds[0].title).toContain('\\[link\\](https://evil.example)')
  expect(alarm.embeds[0].description).toContain('\\<@123\\> `code` \\_it\\_ \\~s\\~')
  expect(alarm.allowed_mentions).toEqual({ parse: [] })
})

test("Slack gets blocks without links or mentions but the program's", async () => {
  const { server, channel } = await rig('slack')
  server.answerWith(() => TAKEN.slack)
  await send(channel)
  await send(channel, HOSTILE)
  const [fill, alarm] = server.requests.map(({ body }) => JSON.parse(body))
  expect(fill.blocks.map(({ type }: { type: string }) => type)).toEqual([
    'header',
    'section',
    'context',
  ])
  expect(fill.blocks[2].elements[0].text).toBe(
    `Mon 5 Jan, 08:00 (UTC)  <${MESSAGE.link}|transaction>`,
  )
  expect(alarm.text).not.toMatch(/[<>]/)
  expect(alarm.blocks[1].text).toMatchObject({ type: 'mrkdwn', verbatim: true })
  expect(alarm.blocks[1].text.text).not.toMatch(/[<>]/)
  expect(alarm.blocks[1].text.text).toContain('&lt;@123&gt;')
  expect(alarm.blocks[0].text.type).toBe('plain_text')
})

test('ntfy gets title, priority, tags and a link, with its token or user', async () => {
  const { server, channel } = await rig('ntfy')
  server.answerWith(() => TAKEN.ntfy)
  await send(channel)
  expect(server.requests[0]).toMatchObject({
    path: '/',
    headers: { authorization: 'Bearer tk_CANARY_CANARY' },
  })
  expect(bodyOf(server)).toEqual({
    topic: 'tranched-CANARY',
    title: MESSAGE.subject,
    message: [...MESSAGE.lines, MESSAGE.when].join('\n'),
    priority: 2,
    tags: ['white_check_mark'],
    click: MESSAGE.link,
  })
  const login = { token: undefined, user: 'me', password: 'secret' }
  const other = await rig('ntfy', login)
  other.server.answerWith(() => TAKEN.ntfy)
  await send(other.channel, HOSTILE)
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`
  expect(other.server.requests[0]?.headers.authorization).toBe(basic)
  expect(bodyOf(other.server)).toMatchObject({ priority: 5 })
})

test("a receiver's key follows its recipient, not its index or exchangeable secrets", async () => {
  const at = async (extra: object, index = 0): Promise<string> => {
    const settings = { token: TOKEN, chat: '-100123', ...extra }
    const list = Array(index + 1).fill(settings)
    const receiver = receiversOf(notifySchema.parse({ telegram: list }))[index]
    const channel = await receiver?.open({ clock: { now: () => NOW } })
    if (channel === undefined) throw new Error('no receiver')
    opened.push(channel.close)
    return channel.key
  }
  const key = await at({})
  expect(key).toMatch(/^telegram-[0-9a-f]{16}$/)
  expect(await at({}, 3)).toBe(key)
  expect(await at({ token: '123456:another-secret-another-secret-x' })).toBe(key)
  expect(await at({ chat: '-100124' })).not.toBe(key)
})
