import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import { type Running, run } from '../support/process/cli.ts'
import { filesBelow, processList } from '../support/process/traces.ts'
import { eventsIn } from '../support/state/state-directory.ts'
import { type BotApiServer, startBotApi } from '../support/telegram/bot-api-server.ts'
import { forgeries, type Person, person, queue } from '../support/telegram/people.ts'
import { waitFor } from '../support/wait-for.ts'
import {
  everySecond,
  metricsOf,
  metricsTextOf,
  type Rehearsal,
  sharedSandbox,
} from './rehearsal.ts'

const SECRET = 'CANARY-canary_CANARY-canary_CANARY1'
const TOKEN = `987654321:${SECRET}`
const ENV = { TRANCHED_BOT: TOKEN }
const ALICE = 4_711
const STRANGER = 666

const rehearse = sharedSandbox()

const servers: BotApiServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

type Stage = {
  readonly rehearsal: Rehearsal
  readonly telegram: BotApiServer
  readonly alice: Person
  daemon(): Running
  /** The bot's first new message that matches. */
  hears(pattern: RegExp): Promise<BotApiServer['sent'][number]>
}

/** A rehearsal whose daemon obeys one person. */
async function stage(): Promise<Stage> {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const telegram = await startBotApi({ token: TOKEN })
  servers.push(telegram)
  const settings = parse(readFileSync(rehearsal.config, 'utf8'))
  const { apiRoot } = telegram
  settings.control = { telegram: { token: `\${TRANCHED_BOT}`, chats: [ALICE], apiRoot } }
  writeFileSync(rehearsal.config, stringify(settings))
  let read = 0
  return {
    rehearsal,
    telegram,
    alice: person(telegram, ALICE),
    daemon: () => rehearsal.daemon([], { env: ENV }),
    async hears(pattern) {
      const unread = await waitFor(
        `${pattern}`,
        () => telegram.sent.slice(read),
        (sent) => sent.some(({ text }) => pattern.test(text)),
      )
      const at = unread.findIndex(({ text }) => pattern.test(text))
      const message = unread[at]
      if (message === undefined) throw new Error('it was there')
      read += at + 1
      return message
    },
  }
}

const FILLED = /filled buy-weth/

/** Pauses, halts and resumes in the journal, oldest first. No daemon may be running. */
async function stopsOf({ stateDir }: Rehearsal): Promise<readonly JournalEvent[]> {
  const events = await eventsIn(stateDir)
  return events.filter(({ type }) => /paused|resumed|halt/.test(type))
}

/** The token is nowhere but in the environment that it came from. */
function expectNoToken({ rehearsal, telegram }: Stage, more = ''): void {
  for (const daemon of rehearsal.daemons) expect(daemon.output()).not.toContain(SECRET)
  for (const file of filesBelow(rehearsal.dir))
    expect(readFileSync(file, 'latin1').includes(SECRET), file).toBe(false)
  expect(processList()).not.toContain(SECRET)
  expect(JSON.stringify(telegram.sent)).not.toContain(SECRET)
  expect(more).not.toContain(SECRET)
}

test('a remote operator reads the status, pauses, halts, and resumes after two confirmations', async () => {
  const staged = await stage()
  const { alice, hears, telegram, rehearsal } = staged
  const daemon = staged.daemon()
  await daemon.sees(/filled buy-weth/)
  alice.says('/status')
  expect((await hears(/^tranched \(live\), up/)).text).toMatch(
    /Not halted\.\n[\s\S]*\n1 strategy, 0 paused\nbuy-weth: (?:due now|next in)/,
  )

  alice.says('/Pause buy-weth')
  await hears(/^Paused buy-weth: no new slots/)
  await daemon.sees(/skipped buy-weth .*paused by the operator, by Telegram \(user 4711\)/)
  alice.says('/resume buy-weth')
  const question = await hears(/^Resume\?\nbuy-weth: paused/)
  expect((await metricsOf(daemon)).get('tranched_paused{strategy="buy-weth"}')).toBe(1)
  const [data = ''] = question.buttons
  const fills = daemon.counts(FILLED)
  alice.presses(question.messageId, data)
  await waitFor(
    'the answer',
    () => question.text,
    (text) => text === 'Resumed buy-weth.',
  )
  expect(telegram.pressed).toEqual(['Resumed.'])
  await daemon.sees(FILLED, fills + 1)

  alice.says('/halt')
  await hears(/^Halted: nothing new is signed/)
  await daemon.sees(/skipped buy-weth .*halted by the operator, by Telegram/)
  // Neither the old button nor the first /resume alone has an effect.
  alice.presses(question.messageId, data)
  alice.says('/resume')
  const code = /send (\d{6})/.exec((await hears(/^Resume\?\nHALTED/)).text)?.[1] ?? ''
  expect((await metricsOf(daemon)).get('tranched_halted')).toBe(1)
  alice.says('/status')
  await hears(/^tranched[\s\S]*HALTED/)
  alice.says(code)
  await hears(/^Nothing was asked, or it is over/)
  expect((await metricsOf(daemon)).get('tranched_halted')).toBe(1)
  alice.says('/resume')
  const again = /send (\d{6})/.exec((await hears(/^Resume\?/)).text)?.[1] ?? ''
  alice.says(again)
  await hears(/^Resumed everything\.$/)

  const [, slot = ''] = /"intentId":"(buy-weth:\d+)/.exec(daemon.output()) ?? []
  alice.says(`/why ${slot}`)
  expect((await hears(/^buy-weth:/)).text).toMatch(/\d\d:\d\d:\d\d filled: 25 USDC for /)
  const metrics = await metricsTextOf(daemon)
  expect((await metricsOf(daemon)).get('tranched_remote_listening{service="telegram"}')).toBe(1)
  expect((await daemon.stop()).code).toBe(0)

  const by = 'by the operator, by Telegram (user 4711)'
  const strategy = 'buy-weth'
  expect(await stopsOf(rehearsal)).toEqual([
    { type: 'strategy-paused', strategy, cause: 'operator', detail: `paused ${by}` },
    { type: 'strategy-resumed', strategy, detail: `resumed ${by}` },
    { type: 'halted', cause: 'operator', detail: `halted ${by}` },
    { type: 'halt-lifted', detail: `resumed ${by}` },
  ])
  expectNoToken(staged, metrics)
})

test('strangers, forgeries and floods change nothing, get no answer, and do not delay a halt', async () => {
  const beganAtMs = Date.now()
  const staged = await stage()
  const { alice, hears, telegram, rehearsal } = staged
  const daemon = staged.daemon()
  await daemon.sees(/filled buy-weth/)
  const mallory = person(telegram, STRANGER)
  for (const text of ['/start', '/status', '/halt', '/pause', '/resume']) mallory.says(text)
  mallory.presses(1, 'resume 123456')
  for (const forgery of Object.values(forgeries(ALICE)))
    for (const text of ['/halt', '/pause']) alice.says(text, { message: forgery })
  queue(telegram, { edited_message: { message_id: 1, text: '/halt' } })
  for (const garbage of [null, 'x', { update_id: 'x' }, { update_id: 3, message: 7 }])
    telegram.updates.addRaw(garbage)
  for (let i = 0; i < 3_000; i += 1) mallory.says(`/halt ${'x'.repeat(4_000)}`)
  for (let i = 0; i < 200; i += 1) alice.says(`/pause missing-${i}`)
  await hears(/^Too many at once/)
  const flood = async () =>
    (await metricsOf(daemon)).get('tranched_remote_messages_total{outcome="flood"}') ?? 0
  await waitFor('a flood', flood, (count) => count > 150)
  const counts = await metricsOf(daemon)
  expect(counts.get('tranched_halted')).toBe(0)
  expect(counts.has('tranched_paused{strategy="buy-weth"}')).toBe(false)
  expect(counts.get('tranched_remote_messages_total{outcome="obeyed"}')).toBe(0)
  expect(counts.get('tranched_remote_messages_total{outcome="stranger"}')).toBeGreaterThan(3_000)
  for (let i = 0; i < 500; i += 1) mallory.says('/start')
  alice.says('/halt')
  // It may first report that the message came late.
  await hears(/\bHalted: nothing new/)
  expect((await daemon.stop()).code).toBe(0)

  expect(telegram.sent.every(({ chat }) => chat === ALICE)).toBe(true)
  expect(telegram.sent.length).toBeLessThan(40)
  const logged = daemon
    .output()
    .split('\n')
    .filter((line) => /remote-message|Telegram/.test(line))
  // Each outcome is logged at most once a minute.
  const minutes = Math.ceil((Date.now() - beganAtMs) / 60_000)
  expect(logged.length).toBeLessThan(12 * minutes)
  const strangers = logged.filter((line) => line.includes('not listened to: Telegram user 666'))
  expect(strangers.length).toBeGreaterThan(0)
  expect(strangers.length).toBeLessThanOrEqual(minutes)
  expect(daemon.output()).not.toContain('xxxx')
  const detail = 'halted by the operator, by Telegram (user 4711)'
  expect(await stopsOf(rehearsal)).toEqual([{ type: 'halted', cause: 'operator', detail }])
  expectNoToken(staged)
})

test('a start obeys only a halt among the messages sent while no daemon ran, and obeys it once', async () => {
  const staged = await stage()
  const { alice, hears, telegram, rehearsal } = staged
  const first = staged.daemon()
  await first.sees(/filled buy-weth/)
  alice.says('/resume')
  await hears(/^Nothing is halted/)
  await first.killHard()

  const hoursAgo = (hours: number): number => Math.floor(Date.now() / 1_000) - hours * 3_600
  alice.says('/pause', { dateSeconds: hoursAgo(3) })
  alice.says('/halt', { dateSeconds: hoursAgo(2) })
  alice.says('/resume', { dateSeconds: hoursAgo(1) })
  alice.presses(1, 'resume 123456')
  const second = staged.daemon()
  await hears(/^Your \/pause of .* got here 3h.* late: not obeyed/)
  await hears(/^Your \/halt of 2h.* ago got here only now\. Halted/)
  await hears(/^Your \/resume of .* got here 1h.* late: not obeyed/)
  await second.sees(/skipped buy-weth .*halted/)
  const resumed = await run(['resume', '--config', rehearsal.config], { env: ENV })
  expect(resumed.code).toBe(0)
  await second.sees(/filled buy-weth/)
  await second.killHard()

  // Telegram delivers everything again, as if nothing had ever been confirmed, and renumbers it.
  telegram.updates.restartAt(500)
  const requests = telegram.requests.length
  alice.says('/pause', { dateSeconds: hoursAgo(3) })
  alice.says('/halt', { dateSeconds: hoursAgo(2) })
  const third = staged.daemon()
  await third.sees(/filled buy-weth/)
  await waitFor(
    'two more requests',
    () => telegram.requests.length,
    (n) => n > requests + 1,
  )
  const counts = await metricsOf(third)
  expect(counts.get('tranched_remote_messages_total{outcome="replayed"}')).toBe(2)
  expect(counts.get('tranched_halted')).toBe(0)
  expect((await third.stop()).code).toBe(0)
  expect((await stopsOf(rehearsal)).map(({ type }) => type)).toEqual(['halted', 'halt-lifted'])
  expectNoToken(staged)
})

test('the daemon trades on and stops in time through every failure of Telegram', async () => {
  const staged = await stage()
  const { alice, hears, telegram } = staged
  telegram.setMood('bad gateway')
  const daemon = staged.daemon()
  await daemon.sees(/messages cannot be fetched from Telegram/)
  await daemon.sees(FILLED, 3)
  telegram.setMood('well')
  alice.says('/status')
  await hears(/^tranched/)
  // An answer that Telegram does not take delays nothing.
  telegram.setMood('silent', 'sending')
  for (let i = 0; i < 10; i += 1) alice.says('/status')
  alice.says('/pause')
  await daemon.sees(/skipped buy-weth .*paused by the operator, by Telegram/)
  telegram.revoke()
  await daemon.sees(/Telegram does not accept the token of control\.telegram/)
  expect((await metricsOf(daemon)).get('tranched_remote_listening{service="telegram"}')).toBe(0)
  const resumed = await run(['resume', '--config', staged.rehearsal.config], { env: ENV })
  expect(resumed.code).toBe(0)
  await daemon.sees(FILLED, daemon.counts(FILLED) + 1)
  const ended = await daemon.stop()
  expect(ended.code).toBe(0)
  expectNoToken(staged, ended.stdout + ended.stderr)
})

test('a stop waits neither for the poll nor for answers that Telegram does not take', async () => {
  const { alice, telegram, ...staged } = await stage()
  const daemon = staged.daemon()
  await daemon.sees(/listening for messages to the Telegram bot/)
  telegram.setMood('silent', 'sending')
  alice.says('/pause')
  await daemon.sees(/paused by the operator, by Telegram/)
  const polls = telegram.offsets.length
  await waitFor(
    'a poll',
    () => telegram.offsets.length,
    (count) => count > polls,
  )
  const cut = telegram.cutPolls()
  const stopping = daemon.stop()
  await daemon.sees(/stopped, nothing left open/)
  expect((await stopping).code).toBe(0)
  await waitFor('the poll to be given up', () => telegram.cutPolls() > cut)
})

test('Telegram is not loaded without a named person, and a wrong config is refused without printing its token', async () => {
  const staged = await stage()
  const { rehearsal, telegram } = staged
  const text = readFileSync(rehearsal.config, 'utf8')
  const settings = parse(text)
  settings.control.telegram.chats = [-100_123]
  settings.control.telegram.token = TOKEN
  writeFileSync(rehearsal.config, stringify(settings))
  const refused = await run(['validate', '--config', rehearsal.config])
  expect(refused.code).toBe(78)
  expect(refused.stderr).toMatch(/control\.telegram\.chats\[0\]: this is a group or a channel/)
  expect(refused.stdout + refused.stderr).not.toContain(SECRET)
  delete settings.control
  writeFileSync(rehearsal.config, stringify(settings))
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect(daemon.output()).not.toContain('Telegram')
  expect(telegram.requests).toEqual([])
  expect((await daemon.stop()).code).toBe(0)
})
