import { afterEach, expect, test, vi } from 'vitest'
import { createClock } from '../../../../src/adapters/clock.ts'
import { createBotApi } from '../../../../src/adapters/telegram/bot-api.ts'
import { createOutbox, type Outgoing } from '../../../../src/adapters/telegram/outbox.ts'
import { startBotApi } from '../../../support/telegram/bot-api-server.ts'

const TOKEN = `123456:${'A'.repeat(35)}`
const CHAT = 4_711

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function rig() {
  const telegram = await startBotApi({ token: TOKEN })
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot, timeoutMs: 60_000 })
  const unsent: string[] = []
  const outbox = createOutbox({ api, clock: createClock(), onUnsent: (why) => unsent.push(why) })
  opened.push(telegram.close, api.close, () => outbox.close(0))
  const say = (text: string): void => outbox.put({ tag: 'message', chat: CHAT, text })
  return { telegram, outbox, unsent, say, texts: () => telegram.sent.map(({ text }) => text) }
}

const seen = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 120_000, interval: 5 })

test('answers go out in order, with their buttons, and are edited', async () => {
  const { telegram, outbox, say } = await rig()
  const question: Outgoing = {
    tag: 'message',
    chat: CHAT,
    text: 'Resume? <b>_*[`',
    buttons: [{ text: 'Resume', data: 'resume 123456' }],
  }
  say('first')
  outbox.put(question)
  telegram.presses.add('q1')
  outbox.put({ tag: 'press', queryId: 'q1', text: 'x'.repeat(300) })
  await seen(() => expect(telegram.pressed).toEqual(['x'.repeat(200)]))
  expect(telegram.sent).toMatchObject([
    { text: 'first', buttons: [] },
    { chat: CHAT, text: question.text, buttons: ['resume 123456'] },
  ])
  outbox.put({ tag: 'edit', chat: CHAT, messageId: 2, text: 'Resumed.' })
  await seen(() => expect(telegram.sent[1]).toMatchObject({ text: 'Resumed.', buttons: [] }))
})

test('a limit is waited for, and the answer then sent', async () => {
  const { telegram, say, texts, unsent } = await rig()
  telegram.setMood({ tag: 'flood', retryAfterSeconds: 1, times: 1 })
  const startedAt = performance.now()
  say('late')
  await seen(() => expect(texts()).toEqual(['late']))
  expect(performance.now() - startedAt).toBeGreaterThan(950)
  expect(unsent).toEqual([])
})

test('what cannot be sent is given up after two tries, and what follows is sent', async () => {
  const { telegram, say, texts, unsent } = await rig()
  telegram.setMood('bad gateway')
  say('lost')
  await seen(() => expect(unsent).toEqual(['an answer was not sent: HTTP 502, not Telegram']))
  expect(telegram.requests).toHaveLength(2)
  telegram.setMood('well')
  telegram.blocked.add(CHAT)
  say('to nobody')
  await seen(() => expect(unsent.at(-1)).toMatch(/error 403, Forbidden: bot was blocked/))
  telegram.blocked.clear()
  say('heard')
  await seen(() => expect(texts()).toEqual(['heard']))
})

test('at most twenty wait, and the newest are kept', async () => {
  const { telegram, say, texts, unsent } = await rig()
  telegram.setMood({ tag: 'flood', retryAfterSeconds: 1, times: 1 })
  for (let i = 0; i < 1_000; i += 1) say(`${i}`)
  expect(unsent).toHaveLength(979)
  await seen(() => expect(texts().at(-1)).toBe('999'))
  expect(texts()).toHaveLength(21)
})

test('at most thirty a minute go out', async () => {
  const { say, texts } = await rig()
  for (let i = 0; i < 40; i += 1) {
    say(`${i}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  await seen(() => expect(texts().length).toBeGreaterThanOrEqual(30))
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(texts()).toHaveLength(30)
})

test('the end waits for what is being said, and not for a dead Telegram', async () => {
  const { telegram, outbox, say, texts } = await rig()
  say('last words')
  await outbox.close(2_000)
  expect(texts()).toEqual(['last words'])
  say('after the end')
  const dead = await rig()
  dead.telegram.setMood('silent')
  dead.say('lost')
  const startedAt = performance.now()
  await dead.outbox.close(200)
  expect(performance.now() - startedAt).toBeLessThan(30_000)
  expect(telegram.sent).toHaveLength(1)
})
