import { afterEach, expect, test } from 'vitest'
import { createBotApi } from '../../../../src/control/telegram/bot-api.ts'
import { createOutbox, type Outgoing } from '../../../../src/control/telegram/replies-outbox.ts'
import { createClock } from '../../../../src/system/clock.ts'
import { startBotApi } from '../../../support/telegram/bot-api-server.ts'
import { waitFor } from '../../../support/wait-for.ts'

const TOKEN = `123456:${'A'.repeat(35)}`
const CHAT = 4_711

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function rig() {
  const telegram = await startBotApi({ token: TOKEN })
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot, timeoutMs: 3_600_000 })
  const unsent: string[] = []
  const slept: number[] = []
  const clock = {
    sleep(ms: number, signal?: AbortSignal) {
      slept.push(ms)
      return createClock().sleep(ms, signal)
    },
  }
  const outbox = createOutbox({ api, clock, onUnsent: (why) => unsent.push(why) })
  opened.push(telegram.close, api.close, () => outbox.close(0))
  const say = (text: string): void => outbox.put({ tag: 'message', chat: CHAT, text })
  return {
    telegram,
    outbox,
    unsent,
    slept,
    say,
    texts: () => telegram.sent.map(({ text }) => text),
  }
}

test('replies are sent in order with their buttons, and can be edited', async () => {
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
  await waitFor('the press', () => telegram.pressed, ['x'.repeat(200)])
  expect(telegram.sent).toMatchObject([
    { text: 'first', buttons: [] },
    { chat: CHAT, text: question.text, buttons: ['resume 123456'] },
  ])
  outbox.put({ tag: 'edit', chat: CHAT, messageId: 2, text: 'Resumed.' })
  await waitFor(
    'the edit',
    () => telegram.sent[1],
    expect.objectContaining({ text: 'Resumed.', buttons: [] }),
  )
})

test('a rate limit delays the reply, which is then sent', async () => {
  const { telegram, say, texts, unsent, slept } = await rig()
  telegram.setMood({ tag: 'flood', retryAfterSeconds: 1, times: 1 })
  say('late')
  await waitFor('answers', () => texts(), ['late'])
  expect(slept).toEqual([1_000])
  expect(unsent).toEqual([])
})

test('a failing reply is given up after two attempts, and the next replies are sent', async () => {
  const { telegram, say, texts, unsent } = await rig()
  telegram.setMood('bad gateway')
  say('lost')
  await waitFor('the report of the failure', () => unsent, [
    'an answer was not sent: HTTP 502, not Telegram',
  ])
  expect(telegram.requests).toHaveLength(2)
  telegram.setMood('well')
  telegram.blocked.add(CHAT)
  say('to a blocked chat')
  await waitFor(
    'the report of the failure',
    () => unsent.at(-1),
    expect.stringMatching(/error 403, Forbidden: bot was blocked/),
  )
  telegram.blocked.clear()
  say('heard')
  await waitFor('answers', () => texts(), ['heard'])
})

test('at most twenty replies wait, and the newest are kept', async () => {
  const { telegram, say, texts, unsent } = await rig()
  telegram.setMood({ tag: 'flood', retryAfterSeconds: 1, times: 1 })
  for (let i = 0; i < 1_000; i += 1) say(`${i}`)
  expect(unsent).toHaveLength(979)
  await waitFor('the last answer', () => texts().at(-1), '999')
  expect(texts()).toHaveLength(21)
})

test('at most thirty replies per minute are sent', async () => {
  const { say, texts, slept } = await rig()
  for (let count = 1; count <= 30; count += 1) {
    say(`${count}`)
    await waitFor('answers', () => texts().length, count)
  }
  say('31')
  await waitFor('a pause', () => slept.length)
  expect(texts()).toHaveLength(30)
})

test('closing waits for the reply being sent, but not for a dead Telegram', async () => {
  const { telegram, outbox, say, texts } = await rig()
  say('last reply')
  await outbox.close(3_600_000)
  expect(texts()).toEqual(['last reply'])
  say('after the end')
  const dead = await rig()
  dead.telegram.setMood('silent')
  dead.say('lost')
  await dead.outbox.close(200)
  expect(telegram.sent).toHaveLength(1)
})
