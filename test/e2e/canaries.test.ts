import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { FillsPage, StrategyRow } from '../../src/ui/page/model.ts'
import { type Running, run } from '../support/process/cli.ts'
import { type Gossip, type GossipOptions, startGossip } from '../support/process/gossip.ts'
import { type RecordedRequest, startScriptedServer } from '../support/process/scripted-server.ts'
import { filesBelow, processList } from '../support/process/traces.ts'
import { startBotApi } from '../support/telegram/bot-api-server.ts'
import { person } from '../support/telegram/people.ts'
import { waitFor } from '../support/wait-for.ts'
import { mentionsKey } from './audit.ts'
import { everySecond, metricsTextOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

/** Every secret, by the variable that it comes from. */
const ENV = {
  NODE_KEY: 'CANARYnode0123456789abcdef',
  SWAP_KEY: 'CANARYswap0123456789abcdef',
  HOOK_PATH: 'services/T0CANARYhook/B0CANARYhook',
  HOOK_SECRET: `whsec_${Buffer.from('CANARY-signing-CANARY-signing').toString('base64')}`,
  SLACK_PATH: 'services/T0CANARYslack/B0CANARYslack',
  DISCORD_PATH: 'api/webhooks/998877665544/CANARY_discord_CANARY',
  NTFY_TOKEN: 'tk_CANARYntfyCANARYntfy',
  PING_PATH: 'CANARY-0000-1111-2222',
  NOTIFY_BOT: '123456789:CANARYnotify_CANARYnotify_CANARYnot',
  CONTROL_BOT: '987654321:CANARYcontrol_CANARYcontrol_CANARYc',
}
const SIGNING_KEY = ENV.HOOK_SECRET.slice('whsec_'.length)
const ALICE = 4_711
const TALKED_MIN = 5

const rehearse = sharedSandbox()

test('no output, message or file contains a secret, though every service repeats all that it receives', async () => {
  const rehearsal = await rehearse({
    ...everySecond('buy-weth'),
    // Every order of this strategy is refused or skipped, so that the texts of both appear.
    ...everySecond('too-dear', { amount: '30', price: { max: '1' } }),
  })
  const stage = await surround(rehearsal)
  const daemon = rehearsal.daemon([], { env: stage.env })
  const address = await addressOf(daemon)
  const shown = [...(await pageAnswers(address))]
  await daemon.sees(/filled buy-weth/, 3)
  for (const each of [stage.node, stage.service, ...stage.receivers])
    await waitFor(`gossip of ${each.url}`, each.talked, (times) => times >= TALKED_MIN)
  await waitFor(
    'notifications',
    () => stage.taken.length,
    (count) => count > 3,
  )
  const slot = /"intentId":"(buy-weth:\d+)/.exec(daemon.output())?.[1] ?? ''
  for (const text of ['/status', `/why ${slot}`]) stage.alice.says(text)
  await waitFor(
    'two answers of the bot',
    () => stage.bot.sent.length,
    (count) => count >= 2,
  )
  shown.push(...(await pageAnswers(address)), await metricsTextOf(daemon), processList())
  const at = ['--config', rehearsal.config]
  for (const command of [['status'], ['history'], ['why', slot], ['status', '--json']]) {
    const { code, stdout, stderr } = await run([...command, ...at], { env: stage.env })
    expect([command, code]).toEqual([command, 0])
    shown.push(stdout, stderr)
  }
  expect((await daemon.stop()).code).toBe(0)

  const texts = new Map<string, string>([
    ['the log', daemon.output()],
    ...shown.map((text, index) => [`answer ${index}`, text] as const),
    ...stage.taken.map(({ body }, index) => [`notification ${index}`, body] as const),
    ...stage.bot.sent.map(({ text }, index) => [`message ${index} of the bot`, text] as const),
    ...filesBelow(rehearsal.stateDir).map((file) => [file, readFileSync(file, 'latin1')] as const),
  ])
  expect(texts.size).toBeGreaterThan(20)
  expect(stage.service.signatures.size).toBeGreaterThan(2)
  const keys = ['trader', 'operator'].map((name) =>
    readFileSync(join(rehearsal.dir, `config/${name}.key`), 'utf8').trim(),
  )
  for (const [source, text] of texts) {
    expect(/.{0,40}CANARY.{0,20}/.exec(text)?.[0], source).toBeUndefined()
    expect(text.includes(SIGNING_KEY), source).toBe(false)
    for (const key of keys) expect(mentionsKey(text, key), source).toBe(false)
    for (const signature of stage.service.signatures)
      expect(text.includes(signature.slice(0, 60)), `a signature in ${source}`).toBe(false)
  }
})

/** Puts a gossip server before or behind each service, and every secret into variables. */
async function surround({ config, report, dir }: Rehearsal) {
  const keys = ['trader', 'operator'].map((name) =>
    readFileSync(join(dir, `config/${name}.key`), 'utf8').trim(),
  )
  const knows = [...Object.values(ENV), SIGNING_KEY, ...keys]
  const gossip = (more: Omit<GossipOptions, 'knows'>): Promise<Gossip> =>
    startGossip({ knows, ...more })
  const node = await gossip({
    target: report.rpcUrl,
    path: `/v3/${ENV.NODE_KEY}`,
    every: 9,
    status: 400,
  })
  const service = await gossip({
    target: report.gaslessUrl,
    path: `/${ENV.SWAP_KEY}`,
    every: 7,
    status: 500,
  })
  const slack = await gossip({
    target: undefined,
    path: `/${ENV.SLACK_PATH}`,
    every: 1,
    status: 500,
  })
  const discord = await gossip({
    target: undefined,
    path: `/${ENV.DISCORD_PATH}`,
    every: 1,
    status: 503,
  })
  const ping = await gossip({ target: undefined, path: `/${ENV.PING_PATH}`, every: 1, status: 404 })
  const hook = await startScriptedServer()
  onTestFinished(() => hook.close())
  const taken: RecordedRequest[] = []
  hook.answerWith((request) => {
    taken.push(request)
    return { status: 200 }
  })
  const bot = await startBotApi({ token: ENV.CONTROL_BOT })
  onTestFinished(() => bot.close())
  const env = {
    NODE_URL: node.url,
    SWAP_URL: service.url,
    SLACK_URL: slack.url,
    DISCORD_URL: discord.url,
    PING_URL: ping.url,
    HOOK_URL: `${hook.url}/${ENV.HOOK_PATH}`,
    ...ENV,
  }
  const from = (name: keyof typeof env): string => `\${${name}}`
  const on = ['filled', 'failed', 'refused', 'trouble', 'started', 'recovered']
  const settings = parse(readFileSync(config, 'utf8'))
  settings.gasless.baseUrl = from('SWAP_URL')
  settings.chains.base.rpcUrls = [from('NODE_URL')]
  settings.control = {
    telegram: { token: from('CONTROL_BOT'), chats: [ALICE], apiRoot: bot.apiRoot },
  }
  settings.notify = {
    webhooks: [{ url: from('HOOK_URL'), secret: from('HOOK_SECRET'), on }],
    slack: [{ url: from('SLACK_URL'), on }],
    discord: [{ url: from('DISCORD_URL'), on }],
    ntfy: [{ server: hook.url, topic: 'alarms', token: from('NTFY_TOKEN'), on }],
    heartbeat: { url: from('PING_URL'), every: '10s', startAndFail: true },
  }
  writeFileSync(config, stringify(settings))
  const receivers = [slack, discord]
  return { env, node, service, receivers, taken, bot, alice: person(bot, ALICE) }
}

async function addressOf(daemon: Running): Promise<string> {
  const [, address = ''] = await daemon.sees(/page at (http:\/\/[^"\s]+)\//)
  return address
}

/** All answers of the page, with the first event of its stream. */
async function pageAnswers(address: string): Promise<readonly string[]> {
  const get = async (path: string): Promise<string> => (await fetch(`${address}${path}`)).text()
  const [fills, rows] = [await get('/api/fills?limit=500'), await get('/api/strategies')]
  const texts = [fills, rows]
  for (const path of [
    '/',
    '/healthz',
    '/readyz',
    '/api/overview',
    '/api/holdings',
    '/events/nothing',
  ])
    texts.push(await get(path))
  for (const { intentId } of (JSON.parse(fills) as FillsPage).fills.slice(0, 3))
    texts.push(await get(`/api/why?slot=${intentId}`))
  for (const { name, lastSkip } of JSON.parse(rows) as StrategyRow[])
    if (lastSkip) texts.push(await get(`/api/why?slot=${name}:${lastSkip.slotSeconds}`))
  const stream = await fetch(`${address}/events?since=1`)
  const reader = stream.body?.getReader()
  const chunk = await reader?.read()
  await reader?.cancel()
  return [...texts, new TextDecoder().decode(chunk?.value)]
}
