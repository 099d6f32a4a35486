import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type BotApi, createBotApi } from '../../../../src/control/telegram/bot-api.ts'
import {
  type ScriptedReply,
  type ScriptedServer,
  startScriptedServer,
} from '../../../support/process/scripted-server.ts'
import { waitFor } from '../../../support/wait-for.ts'

const TOKEN = '123456:CANARY-canary_CANARY-canary_CANARYc'
const SECRET = TOKEN.slice('123456:'.length)
const MESSAGE = { chat_id: 7, text: 'filled weekly-eth' }

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function rig(
  options: { readonly path?: string; readonly timeoutMs?: number } = {},
): Promise<{ readonly api: BotApi; readonly telegram: ScriptedServer }> {
  const telegram = await startScriptedServer()
  const { path = '', timeoutMs = 60_000 } = options
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.url + path, timeoutMs })
  opened.push(telegram.close, api.close)
  return { api, telegram }
}

/** The outcome of a message that gets the given reply. */
async function sentTo(reply: ScriptedReply) {
  const { api, telegram } = await rig()
  telegram.willReply(reply)
  return api.sendMessage(MESSAGE)
}

function refusal(code: number, description: string, parameters?: object): ScriptedReply {
  return { status: code, body: { ok: false, error_code: code, description, parameters } }
}

test("a message goes to the bot's address, below the path of the root", async () => {
  const { api, telegram } = await rig({ path: '/api/' })
  telegram.willReply({ body: { ok: true, result: { message_id: 12, chat: { id: 7 } } } })
  expect(await api.sendMessage(MESSAGE)).toEqual({ ok: true, value: { messageId: 12 } })
  const [request] = telegram.requests
  expect(request).toMatchObject({ method: 'POST', path: `/api/bot${TOKEN}/sendMessage` })
  expect(JSON.parse(request?.body ?? '')).toEqual(MESSAGE)
})

test('a text above the limit is cut between characters', async () => {
  const { api, telegram } = await rig()
  telegram.answerWith(() => ({ body: { ok: true, result: { message_id: 1 } } }))
  await api.sendMessage({ chat_id: 7, text: `${'a'.repeat(4_092)}${'\u{1f6a8}'.repeat(9)}` })
  await api.sendMessage({ chat_id: 7, text: 'b'.repeat(4_096) })
  const [cut, whole] = telegram.requests.map(({ body }) => JSON.parse(body).text)
  expect(cut).toBe(`${'a'.repeat(4_092)}...`)
  expect(whole).toBe('b'.repeat(4_096))
})

test('a refusal by Telegram is final and includes its text', async () => {
  expect(await sentTo(refusal(403, 'Forbidden: bot was blocked by the user'))).toEqual({
    ok: false,
    final: true,
    code: 403,
    fault: 'error 403, Forbidden: bot was blocked by the user',
  })
  for (const code of [400, 401, 404])
    expect(await sentTo(refusal(code, 'no'))).toMatchObject({ final: true, code })
})

test('a rate limit includes its delay, capped at a day', async () => {
  const limit = { final: false, code: 429 }
  expect(await sentTo(refusal(429, 'Too Many Requests', { retry_after: 35 }))).toMatchObject({
    ...limit,
    retryAfterMs: 35_000,
  })
  expect(await sentTo(refusal(429, 'later', { retry_after: 1e12 }))).toMatchObject({
    ...limit,
    retryAfterMs: 86_400_000,
  })
  const senseless = await sentTo(refusal(429, 'later', { retry_after: 'soon' }))
  expect(senseless).toMatchObject(limit)
  expect(senseless).not.toHaveProperty('retryAfterMs')
})

test('a second poller, a Telegram failure and a proxy reply are not final', async () => {
  expect(await sentTo(refusal(409, 'Conflict'))).toMatchObject({ final: false, code: 409 })
  expect(await sentTo(refusal(502, 'Bad Gateway'))).toMatchObject({ final: false, code: 502 })
  // A proxy's own page may have any status: Telegram did not refuse.
  const page = { status: 403, body: '<html>log in first</html>' }
  expect(await sentTo(page)).toEqual({ ok: false, final: false, fault: 'HTTP 403, not Telegram' })
  expect(await sentTo({ status: 302, headers: { location: 'http://127.0.0.1:1/' } })).toMatchObject(
    { final: false, fault: 'HTTP 302, not Telegram' },
  )
  expect(await sentTo({ body: { ok: true, result: 'sent' } })).toMatchObject({ final: false })
})

test('silence, a broken connection and an endless response end in time, without filling memory', async () => {
  const silent = await rig({ timeoutMs: 100 })
  silent.telegram.willReply({ delayMs: 3_600_000 })
  expect(await silent.api.sendMessage(MESSAGE)).toEqual({
    ok: false,
    final: false,
    fault: 'no answer in time',
  })
  const { api, telegram } = await rig()
  telegram.willReply({ drop: 'mid-body' })
  expect(await api.sendMessage(MESSAGE)).toMatchObject({ ok: false, final: false })
  telegram.willReply({ body: `{"ok":true,"result":"${'x'.repeat(100_000)}"}` })
  expect(await api.sendMessage(MESSAGE)).toMatchObject({ fault: 'too long an answer' })
})

test('a long poll may take its full timeout, and a message does not wait for it', async () => {
  const { api, telegram } = await rig({ timeoutMs: 1_500 })
  telegram.answerWith(({ path }) =>
    path.endsWith('/getUpdates')
      ? { delayMs: 2_500, body: { ok: true, result: [{ update_id: 1 }] } }
      : { body: { ok: true, result: { message_id: 1 } } },
  )
  const poll = api.getUpdates({ timeout: 4, offset: 5 })
  expect(await api.sendMessage(MESSAGE)).toMatchObject({ ok: true })
  expect(await poll).toEqual({ ok: true, value: [{ update_id: 1 }] })
})

test('closing ends a running poll at once', async () => {
  const { api, telegram } = await rig()
  telegram.answerWith(() => ({ delayMs: 3_600_000 }))
  const poll = api.getUpdates({ timeout: 3_600 })
  await waitFor('the poll', () => telegram.requests.length)
  await api.close()
  expect(await poll).toMatchObject({ ok: false, final: false })
  expect(await api.sendMessage(MESSAGE)).toMatchObject({ ok: false, final: false })
})

test('no fault contains the token, in any reply', async () => {
  const replies = [
    refusal(404, `Not Found: /bot${TOKEN}/sendMessage`),
    refusal(400, `bad secret ${SECRET} ${encodeURIComponent(TOKEN)}`),
    { status: 502, body: `no route to /bot${TOKEN}/sendMessage` },
    { body: { ok: true, result: { message_id: TOKEN } } },
  ]
  for (const reply of replies) expect(JSON.stringify(await sentTo(reply))).not.toContain(SECRET)
  const unreachable = createBotApi({ token: TOKEN, apiRoot: await closedAddress() })
  opened.push(unreachable.close)
  const fault = await unreachable.sendMessage(MESSAGE)
  expect(fault).toEqual({ ok: false, final: false, fault: 'ECONNREFUSED' })
})

test('an invalid token or root is rejected without being quoted', () => {
  for (const token of ['', 'CANARYCANARY', '12:../../CANARY', '12:CANARY CANARY', `${TOKEN}/x?`])
    expect(() => createBotApi({ token })).toThrow(/^the bot token is none that BotFather gives$/)
  expect(() => createBotApi({ token: TOKEN, apiRoot: 'CANARY' })).toThrow(
    /^the root of the Bot API is no URL$/,
  )
})

async function closedAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
