import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createBotApi } from '../../../../src/control/telegram/bot-api.ts'
import { openHeardFile } from '../../../../src/control/telegram/heard-file.ts'
import { Updates } from '../../../../src/control/telegram/updates.ts'
import type { Incoming } from '../../../../src/control/telegram/wire.ts'
import { createClock } from '../../../../src/system/clock.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { type BotApiServer, startBotApi } from '../../../support/telegram/bot-api-server.ts'
import { person } from '../../../support/telegram/people.ts'
import { waitFor } from '../../../support/wait-for.ts'

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
  readonly pollSeconds?: number
}

/** A clock, and the sleeps it has made. */
function recordedClock() {
  const slept: number[] = []
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    slept.push(ms)
    return createClock().sleep(ms, signal)
  }
  return { slept, clock: { ...createClock(), sleep } }
}

/** Listens like the daemon, but faster. Heard messages are taken unless the test decides otherwise. */
function listen({ apiRoot }: BotApiServer, dir: string, options: Options = {}) {
  const { token = TOKEN, pace = 0.02, pollSeconds = 1, hear = (_text, take) => take() } = options
  const api = createBotApi({ token, apiRoot, timeoutMs: 2_000 })
  const heard: string[] = []
  const passed: Incoming[] = []
  const reports: string[] = []
  const pauses = recordedClock()
  const updates = new Updates({
    api,
    file: openHeardFile(dir, { token, apiRoot }),
    clock: pauses.clock,
    ...{ pollSeconds, pace },
    hearing: {
      async hear(incoming, take) {
        const text = incoming.tag === 'message' ? (incoming.text ?? '') : incoming.tag
        heard.push(text)
        await hear(text, take)
      },
      passOver: (incoming) => void passed.push(incoming),
      report: (link, detail) => void reports.push(`${link}: ${detail}`),
    },
  })
  const done = updates.run()
  const stop = async (): Promise<void> => {
    updates.stop()
    await api.close()
    await done
  }
  opened.push(stop)
  return {
    heard,
    passed,
    reports,
    done,
    stop,
    pauses: () => pauses.slept.map((ms) => Math.round(ms / pace)),
  }
}

test('each message is heard once, in order, and confirmed to Telegram', async () => {
  const telegram = await telegramServer()
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  alice.says('/pause')
  alice.says('/status')
  const { heard, reports } = listen(telegram, dir)
  await waitFor('messages', () => heard, ['/pause', '/status'])
  alice.says('/halt')
  await waitFor('messages', () => heard, ['/pause', '/status', '/halt'])
  await waitFor('no waiting updates', () => telegram.updates.size, 0)
  expect(reports).toEqual(['listening: listening for messages to the Telegram bot'])
})

test('a restart hears no message again, even if it was not confirmed to Telegram', async () => {
  const telegram = await telegramServer()
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  alice.says('/pause')
  const first = listen(telegram, dir, { pace: 1_000 })
  // The long rest before the next poll, which confirms, acts as a kill here.
  await waitFor('the file', () => statSync(join(dir, 'telegram.json')).mode & 0o777, 0o600)
  await first.stop()
  expect(telegram.updates.size).toBe(1)
  alice.says('/resume')
  const second = listen(telegram, dir)
  await waitFor('messages', () => second.heard, ['/resume'])
  const file = readFileSync(join(dir, 'telegram.json'), 'utf8')
  expect(file).not.toContain('CANARY')
  expect(file).not.toContain(telegram.apiRoot)
})

test('a message that was heard but not taken is heard again after a restart', async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  person(telegram, ALICE).says('/halt')
  const first = listen(telegram, dir, { hear: async () => undefined, pace: 1_000 })
  await waitFor('messages', () => first.heard, ['/halt'])
  await first.stop()
  const second = listen(telegram, dir)
  await waitFor('messages', () => second.heard, ['/halt'])
})

test('update ids that restart lower are followed, and no old message is heard again', async () => {
  const telegram = await telegramServer(900_000)
  const alice = person(telegram, ALICE)
  const dir = temporaryDirectory()
  const nowSeconds = Math.floor(Date.now() / 1_000)
  alice.says('/status', { dateSeconds: nowSeconds - 100 })
  const first = listen(telegram, dir)
  await waitFor('messages', () => first.heard, ['/status'])
  await waitFor('no waiting updates', () => telegram.updates.size, 0)
  await first.stop()
  // Telegram does this after a week without messages, and another server from the start.
  telegram.updates.restartAt(5)
  alice.says('/pause', { dateSeconds: nowSeconds - 200 })
  alice.says('/halt', { dateSeconds: nowSeconds })
  const second = listen(telegram, dir)
  await waitFor('messages', () => second.heard, ['/halt'])
  expect(second.passed).toHaveLength(1)
  alice.says('/help', { dateSeconds: nowSeconds })
  await waitFor('messages', () => second.heard, ['/halt', '/help'])
  // It polls for later updates, and not forever for known updates.
  await waitFor('the next poll', () => telegram.offsets.at(-1), 8)
})

test("another bot's file or a damaged file does not prevent listening", async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  const other = { token: `9${TOKEN}`, apiRoot: telegram.apiRoot }
  await openHeardFile(dir, other).write({ next: 2_000_000, dateSeconds: 4_000_000_000 })
  person(telegram, ALICE).says('/status')
  const first = listen(telegram, dir, { hear: async () => undefined })
  await waitFor('what is heard', () => first.heard, ['/status'])
  await first.stop()
  for (const text of ['', '{}', 'x'.repeat(100_000)]) {
    writeFileSync(join(dir, 'telegram.json'), text)
    const { heard, fault } = await openHeardFile(dir, telegram).read()
    expect(heard).toBeUndefined()
    expect(fault).toMatch(/telegram\.json is not as it was written$/)
  }
  person(telegram, ALICE).says('/halt')
  const second = listen(telegram, dir)
  await waitFor(
    'messages',
    () => second.heard,
    (seen) => seen.includes('/halt'),
  )
  expect(second.reports[0]).toMatch(/^silent: .*what waits at Telegram may be heard again$/)
})

test('another listener for the bot is reported, and listening continues', async () => {
  const telegram = await telegramServer()
  const { reports, heard } = listen(telegram, temporaryDirectory())
  await waitFor(
    'polls',
    () => telegram.offsets.length,
    (count) => count >= 2,
  )
  const thief = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  opened.push(thief.close)
  void thief.getUpdates({ timeout: 1 })
  await waitFor(
    'the conflict',
    () => reports,
    // It listens again soon after.
    expect.arrayContaining([
      expect.stringMatching(/^conflict: another client polls the bot of control\.telegram/),
    ]),
  )
  await waitFor(
    'polls',
    () => telegram.offsets.length,
    (count) => count > 3,
  )
  person(telegram, ALICE).says('/halt')
  await waitFor('messages', () => heard, ['/halt'])
  expect(reports.join()).not.toContain('CANARY')
})

test('an unknown token ends listening with a report', async () => {
  const telegram = await telegramServer()
  const { reports, done } = listen(telegram, temporaryDirectory())
  await waitFor('a report', () => reports.length, 1)
  telegram.revoke()
  await done
  expect(reports.at(-1)).toMatch(/^refused: Telegram does not accept the token .*error 401/)
  const polls = telegram.requests.filter((method) => /getUpdates/i.test(method)).length
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  opened.push(api.close)
  await api.answerCallbackQuery({ callback_query_id: '1' })
  expect(telegram.requests.slice(polls)).toEqual(['answerCallbackQuery'])
  expect(reports.join()).not.toContain('CANARY')
})

const GROWING = [2_000, 4_000, 8_000]

test.each([
  ['silent', GROWING],
  ['cut', GROWING],
  ['bad gateway', GROWING],
  [{ tag: 'flood', retryAfterSeconds: 7, times: 1e9 }, [7_000, 7_000, 7_000]],
] as const)(
  'polls slow down while Telegram fails (%j), and messages are heard once it is back',
  async (mood, expected) => {
    const telegram = await telegramServer()
    telegram.setMood(mood)
    const { reports, heard, pauses } = listen(telegram, temporaryDirectory(), { pace: 0.01 })
    person(telegram, ALICE).says('/halt')
    // The duration of the first request counts toward the first pause of one second.
    const longer = () => pauses().filter((ms) => ms > 1_000)
    await waitFor('three pauses', () => longer().slice(0, 3), expected)
    telegram.setMood('well')
    await waitFor('messages', () => heard, ['/halt'])
    expect(reports.at(-1)).toMatch(/^listening/)
    if (mood !== 'silent')
      expect(reports[0]).toMatch(/^silent: messages cannot be fetched from Telegram/)
  },
)

test('a server that does not hold polls is not polled in a tight loop', async () => {
  const telegram = await telegramServer()
  const dir = temporaryDirectory()
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  opened.push(api.close)
  const { slept, clock } = recordedClock()
  const updates = new Updates({
    api: { getUpdates: ({ timeout: _, ...params }) => api.getUpdates(params) },
    file: openHeardFile(dir, telegram),
    clock,
    hearing: { hear: async () => undefined, passOver: () => undefined, report: () => undefined },
  })
  const done = updates.run()
  await waitFor('a pause', () => slept.length)
  expect(slept[0]).toBeGreaterThan(0)
  updates.stop()
  await done
})

test('a flood is drained in batches, malformed updates are skipped, and a later halt is heard', async () => {
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
  await waitFor('the halt', () => heard.at(-1), '/halt')
  expect(heard).toHaveLength(2_002)
  // The text is cut and marked as cut.
  expect(heard[0]).toBe(`${'x'.repeat(200)} ...`)
  expect(telegram.requests.length).toBeLessThan(40)
})

test('a connection is reported at once, not at the end of a poll', async () => {
  const telegram = await telegramServer()
  const api = createBotApi({ token: TOKEN, apiRoot: telegram.apiRoot })
  const reports: string[] = []
  const updates = new Updates({
    api,
    file: openHeardFile(temporaryDirectory(), telegram),
    clock: createClock(),
    hearing: {
      hear: async () => undefined,
      passOver: () => undefined,
      report: (link) => void reports.push(link),
    },
  })
  const done = updates.run()
  opened.push(async () => {
    updates.stop()
    await api.close()
    await done
  })
  await waitFor('a report', () => reports, ['listening'])
})

test('stopping is immediate during a poll and during a pause', async () => {
  const telegram = await telegramServer()
  const polling = listen(telegram, temporaryDirectory(), { pollSeconds: 3_600 })
  await waitFor('polls', () => telegram.offsets.length, 2)
  await polling.stop()
  telegram.setMood('bad gateway')
  const resting = listen(telegram, temporaryDirectory(), { pace: 1_000 })
  await waitFor('a report', () => resting.reports.length, 1)
  await resting.stop()
})
