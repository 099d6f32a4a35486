import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { createClock } from '../../../../src/adapters/clock.ts'
import { createBotApi } from '../../../../src/adapters/telegram/bot-api.ts'
import { openHeardFile } from '../../../../src/adapters/telegram/heard-file.ts'
import { Updates } from '../../../../src/adapters/telegram/updates.ts'
import type { Incoming } from '../../../../src/wire/telegram.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { type BotApiServer, startBotApi } from '../../../support/telegram/bot-api-server.ts'
import { person } from '../../../support/telegram/people.ts'

const TOKEN = `123456:${'CANARY-canary_'.repeat(3).slice(0, 35)}`
const ALICE = 4_711

const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function telegramServer(firstUpdate?: number): Promise<BotApiServer> {
  const server = await startBotApi({
    token: TOKEN,
    ...(firstUpdate === undefined ? {} : { firstUpdate }),
  })
  opened.push(server.close)
  return server
}

type Options = {
  readonly token?: string
  readonly hear?: (text: string, take: () => Promise<boolean>) => Promise<unknown>
  readonly pace?: number
}

/** Listens as the daemon does, but in a hurry. Whatever it hears is taken, unless the test says otherwise. */
function listen({ apiRoot }: BotApiServer, dir: string, options: Options = {}) {
  const { token = TOKEN, pace = 0.02, hear = (_text, take) => take() } = options
  const api = createBotApi({ token, apiRoot, timeoutMs: 2_000 })
  const heard: string[] = []
  const passed: Incoming[] = []
  const told: string[] = []
  const updates = new Updates({
    api,
    file: openHeardFile(dir, { token, apiRoot }),
    clock: createClock(),
    pollSeconds: 1,
    pace,
    hearing: {
      async hear(incoming, take) {
        const text = incoming.tag === 'message' ? (incoming.text ?? '') : incoming.tag
        heard.push(text)
        await hear(text, take)
      },
      passOver: (incoming) => void passed.push(incoming),
      tell: (link, detail) => void told.push(`${link}: ${detail}`),
    },
  })
  const done = updates.run()
  const stop = async (): Promise<void> => {
    updates.stop()
    await api.close()
    await done
  }
  opened.push(stop)
  return { heard, passed, told, done, stop }
}

const seen = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 120_000, interval: 5 })

test('what is said is heard once and in order, and confirmed to Telegram', async () => {
  const telegram = await telegramServer()
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  alice.says('/pause')
  alice.says('/status')
  const { heard, told } = listen(telegram, dir)
  await seen(() => expect(heard).toEqual(['/pause', '/status']))
  alice.says('/halt')
  await seen(() => expect(heard).toEqual(['/pause', '/status', '/halt']))
  await seen(() => expect(telegram.updates.size).toBe(0))
  expect(told).toEqual(['listening: listening for messages to the Telegram bot'])
})

test('a restart hears nothing again, though Telegram was not told how far it came', async () => {
  const telegram = await telegramServer()
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  alice.says('/pause')
  const first = listen(telegram, dir, { pace: 1_000 })
  // It rests for long before it polls again, which alone would confirm: as if it were killed here.
  await seen(() => expect(statSync(join(dir, 'telegram.json')).mode & 0o777).toBe(0o600))
  await first.stop()
  expect(telegram.updates.size).toBe(1)
  alice.says('/resume')
  const second = listen(telegram, dir)
  await seen(() => expect(second.heard).toEqual(['/resume']))
  const file = readFileSync(join(dir, 'telegram.json'), 'utf8')
  expect(file).not.toContain('CANARY')
  expect(file).not.toContain(telegram.apiRoot)
})

test('what was heard and not taken is heard again by the next start', async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  person(telegram, ALICE).says('/halt')
  const first = listen(telegram, dir, { hear: async () => undefined, pace: 1_000 })
  await seen(() => expect(first.heard).toEqual(['/halt']))
  await first.stop()
  const second = listen(telegram, dir)
  await seen(() => expect(second.heard).toEqual(['/halt']))
})

test('numbers that begin anew below are followed, and no old message is heard again', async () => {
  const telegram = await telegramServer(900_000)
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  const nowSeconds = Math.floor(Date.now() / 1_000)
  alice.says('/status', { dateSeconds: nowSeconds - 100 })
  const first = listen(telegram, dir)
  await seen(() => expect(first.heard).toEqual(['/status']))
  await seen(() => expect(telegram.updates.size).toBe(0))
  await first.stop()
  // As Telegram does after a week without messages, or another server from the start.
  telegram.updates.restartAt(5)
  alice.says('/pause', { dateSeconds: nowSeconds - 200 })
  alice.says('/halt', { dateSeconds: nowSeconds })
  const second = listen(telegram, dir)
  await seen(() => expect(second.heard).toEqual(['/halt']))
  expect(second.passed).toHaveLength(1)
  alice.says('/help', { dateSeconds: nowSeconds })
  await seen(() => expect(second.heard).toEqual(['/halt', '/help']))
  // It polls for what comes after, and not for ever for what it has.
  await seen(() => expect(telegram.offsets.at(-1)).toBe(8))
})

test('another bot, and a file that somebody has touched, are no reason not to listen', async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  const other = { token: `9${TOKEN}`, apiRoot: telegram.apiRoot }
  await openHeardFile(dir, other).write({ next: 2_000_000, dateSeconds: 4_000_000_000 })
  person(telegram, ALICE).says('/status')
  const first = listen(telegram, dir, { hear: async () => undefined })
  await seen(() => expect(first.heard).toEqual(['/status']))
  await first.stop()
  for (const text of ['', '{}', 'x'.repeat(100_000)]) {
    writeFileSync(join(dir, 'telegram.json'), text)
    const { heard, fault } = await openHeardFile(dir, telegram).read()
    expect(heard).toBeUndefined()
    expect(fault).toMatch(/telegram\.json is not as it was written$/)
  }
  person(telegram, ALICE).says('/halt')
  const second = listen(telegram, dir)
  await seen(() => expect(second.heard).toContain('/halt'))
  expect(second.told[0]).toMatch(/^silent: .*what waits at Telegram may be heard again$/)
})

test('somebody else who listens for the bot is told, and one goes on', async () => {
  const telegram = await telegramServer()
  const { told, heard } = listen(telegram, temporaryDirectory())
  await seen(() => expect(telegram.offsets).toHaveLength(2))
  const thief = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  opened.push(thief.close)
  void thief.getUpdates({ timeout: 1 })
  await seen(() =>
    expect(told.at(-1)).toMatch(
      /^conflict: somebody else listens for the bot of control\.telegram/,
    ),
  )
  await seen(() => expect(telegram.offsets.length).toBeGreaterThan(3))
  person(telegram, ALICE).says('/halt')
  await seen(() => expect(heard).toEqual(['/halt']))
  expect(told.join()).not.toContain('CANARY')
})

test('a token that Telegram does not know ends the listening, with a word', async () => {
  const telegram = await telegramServer()
  const { told, done } = listen(telegram, temporaryDirectory())
  await seen(() => expect(told).toHaveLength(1))
  telegram.revoke()
  await done
  expect(told.at(-1)).toMatch(/^refused: Telegram does not accept the token .*error 401/)
  const polls = telegram.requests.length
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(telegram.requests).toHaveLength(polls)
  expect(told.join()).not.toContain('CANARY')
})

test.each([
  'silent',
  'cut',
  'bad gateway',
  { tag: 'flood', retryAfterSeconds: 7, times: 1e9 },
] as const)(
  'while Telegram is unwell (%j) it is asked ever less often, and heard when it is back',
  async (mood) => {
    const telegram = await telegramServer()
    telegram.setMood(mood)
    const { told, heard } = listen(telegram, temporaryDirectory(), { pace: 0.05 })
    person(telegram, ALICE).says('/halt')
    await new Promise((resolve) => setTimeout(resolve, 700))
    // 1, 2, 4 and 8 seconds between them, at a twentieth of the time.
    expect(telegram.requests.length).toBeLessThan(6)
    telegram.setMood('well')
    await vi.waitFor(() => expect(heard).toEqual(['/halt']), { timeout: 120_000 })
    expect(told.at(-1)).toMatch(/^listening/)
    if (mood !== 'silent') expect(told[0]).toMatch(/^silent: Telegram cannot be asked for messages/)
  },
)

test('a server that does not wait is not asked without end', async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  opened.push(api.close)
  const updates = new Updates({
    api: { getUpdates: ({ timeout: _, ...params }) => api.getUpdates(params) },
    file: openHeardFile(dir, telegram),
    clock: createClock(),
    hearing: { hear: async () => undefined, passOver: () => undefined, tell: () => undefined },
  })
  const done = updates.run()
  await new Promise((resolve) => setTimeout(resolve, 1_300))
  updates.stop()
  await done
  expect(telegram.requests.length).toBeLessThanOrEqual(2)
})

test('a flood is drained in batches, garbage is passed over, and the halt behind it is heard', async () => {
  const telegram = await telegramServer()
  const mallory = person(telegram, 666)
  for (let i = 0; i < 2_000; i += 1) mallory.says('x'.repeat(4_096))
  for (const garbage of [
    { update_id: 'x' },
    null,
    'text',
    { update_id: -1 },
    { update_id: 2 ** 40 },
  ])
    telegram.updates.addRaw(garbage)
  telegram.updates.add({ message: { date: 'never' } })
  person(telegram, ALICE).says('/halt')
  const { heard } = listen(telegram, temporaryDirectory(), { hear: async () => undefined })
  await seen(() => expect(heard.at(-1)).toBe('/halt'))
  expect(heard).toHaveLength(2_002)
  // Cut, with a sign that it was.
  expect(heard[0]).toBe(`${'x'.repeat(200)} ...`)
  await seen(() => expect(telegram.requests.length).toBeLessThan(40))
})

test('that Telegram answers is told at once, and not when a wait for news is over', async () => {
  const telegram = await telegramServer()
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  const told: string[] = []
  const updates = new Updates({
    api,
    file: openHeardFile(temporaryDirectory(), telegram),
    clock: createClock(),
    hearing: {
      hear: async () => undefined,
      passOver: () => undefined,
      tell: (link) => void told.push(link),
    },
  })
  const done = updates.run()
  opened.push(async () => {
    updates.stop()
    await api.close()
    await done
  })
  await seen(() => expect(told).toEqual(['listening']))
})

test('it stops at once, in the middle of a poll and of a pause', async () => {
  const telegram = await telegramServer()
  const polling = listen(telegram, temporaryDirectory())
  await seen(() => expect(telegram.offsets).toHaveLength(2))
  const startedAt = performance.now()
  await polling.stop()
  telegram.setMood('bad gateway')
  const resting = listen(telegram, temporaryDirectory(), { pace: 1_000 })
  await seen(() => expect(resting.told).toHaveLength(1))
  await resting.stop()
  expect(performance.now() - startedAt).toBeLessThan(20_000)
})
