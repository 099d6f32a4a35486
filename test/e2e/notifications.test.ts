import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { describeAll } from '../../src/journal/describe.ts'
import { outboxFileOf } from '../../src/observe/notify/outbox-file.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { outputOf } from '../support/output-of.ts'
import { run } from '../support/process/cli.ts'
import { type RecordedRequest, startScriptedServer } from '../support/process/scripted-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { everySecond, metricsOf, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const SECRET = `whsec_${Buffer.from('CANARY-CANARY-CANARY-CANARY').toString('base64')}`
const ENV = { TRANCHED_HOOK_SECRET: SECRET }

const rehearse = sharedSandbox()

/** Adds a section to the config of a rehearsal. */
function notifying({ config }: Rehearsal, notify: object): void {
  const settings = parse(readFileSync(config, 'utf8'))
  writeFileSync(config, stringify({ ...settings, notify }))
}

async function receiver() {
  const server = await startScriptedServer()
  onTestFinished(() => server.close())
  const taken: RecordedRequest[] = []
  let isUp = true
  server.answerWith((request) => {
    if (!isUp) return { drop: 'before-headers' }
    taken.push(request)
    return { status: 200 }
  })
  return {
    server,
    taken,
    down: () => {
      isUp = false
    },
    up: () => {
      isUp = true
    },
    ids: () => taken.map(({ body }) => String(JSON.parse(body).id)),
  }
}

/** Message names of the journal's fills, with the time at which each was recorded. */
async function fillsIn({ stateDir }: Rehearsal): Promise<ReadonlyMap<string, number>> {
  const view = await readJournal(stateDir)
  const fills = new Map<string, number>()
  for await (const { event, record } of describeAll(view.records(), view.state)) {
    if (event.type === 'fill-proven') fills.set(`${record.atMs}-${record.seq}`, record.atMs)
  }
  return fills
}

async function untilFills(rehearsal: Rehearsal, count: number): Promise<void> {
  await waitFor(
    `${count} fills`,
    () => fillsIn(rehearsal),
    ({ size }) => size >= count,
  )
}

test('a daemon killed while its receiver is down reports every fill once, signed and with its time, when both are back', async () => {
  const rehearsal = await rehearse(everySecond('every-second'))
  const hook = await receiver()
  const url = `${hook.server.url}/services/T0CANARY/B0CANARY`
  notifying(rehearsal, {
    webhooks: [{ url, on: ['filled'], secret: `\${TRANCHED_HOOK_SECRET}` }],
  })
  hook.down()
  const first = rehearsal.daemon([], { env: ENV })
  await untilFills(rehearsal, 3)
  await waitFor(
    'two requests',
    () => hook.server.requests.length,
    (count) => count > 1,
  )
  await first.killHard()
  expect(hook.taken).toEqual([])
  const before = await fillsIn(rehearsal)

  hook.up()
  const second = rehearsal.daemon([], { env: ENV })
  await untilFills(rehearsal, before.size + 2)
  await waitFor(
    'new fills',
    () => hook.taken.length,
    (count) => count > before.size,
  )
  const metrics = await metricsOf(second)
  expect(
    metrics.get('tranched_notifications_total{channel="webhook-1",result="delivered"}'),
  ).toBeGreaterThan(0)
  expect(metrics.get('tranched_notifications_total{channel="webhook-1",result="expired"}')).toBe(0)
  expect((await second.stop()).code).toBe(0)

  const fills = await fillsIn(rehearsal)
  expect(hook.ids().toSorted()).toEqual([...fills.keys()].toSorted())
  for (const { body, headers } of hook.taken) {
    const payload = new Webhook(SECRET).verify(body, headers as Record<string, string>)
    expect(payload).toMatchObject({ version: 1, event: 'filled', strategy: 'every-second' })
    const { id, at } = payload as { id: string; at: string }
    expect(Date.parse(at)).toBe(fills.get(id))
  }

  const outbox = readFileSync(outboxFileOf(rehearsal.stateDir), 'utf8')
  for (const text of [first.output(), second.output(), outbox])
    expect(text).not.toMatch(/CANARY|T0CANARY/)
})

const KILLS = 4

test('a daemon that is killed repeatedly names each fill once', async () => {
  const rehearsal = await rehearse(everySecond('every-second'))
  const hook = await receiver()
  notifying(rehearsal, { webhooks: [{ url: `${hook.server.url}/hook`, on: ['filled'] }] })
  for (let starts = 1; starts <= KILLS; starts += 1) {
    const daemon = rehearsal.daemon()
    await untilFills(rehearsal, starts * 2)
    await daemon.killHard()
  }
  const last = rehearsal.daemon()
  // Earlier daemons may have made enough fills already: a signal would come before this one handles signals.
  await last.sees(/metrics at/)
  await untilFills(rehearsal, 9)
  expect((await last.stop()).code).toBe(0)
  const fills = await fillsIn(rehearsal)
  expect([...new Set(hook.ids())].toSorted()).toEqual([...fills.keys()].toSorted())
  // A repeat is a message whose answer died with the daemon, and has the same name: each daemon names a fill at most
  // once.
  for (const id of fills.keys())
    expect(hook.ids().filter((each) => each === id).length).toBeLessThanOrEqual(KILLS + 1)
})

test('`notify test` prints for each receiver whether it took its message, and a remedy', async () => {
  const rehearsal = await rehearse(everySecond('own'))
  const up = await receiver()
  const down = await receiver()
  down.server.answerWith(() => ({ status: 404 }))
  notifying(rehearsal, {
    webhooks: [{ url: `${up.server.url}/a`, strategies: ['ow?', 'others-*'] }],
    slack: [{ url: `${down.server.url}/services/CANARY` }],
    email: [{ smtp: 'smtp://127.0.0.1:1', from: 'bot@example.com', to: ['me@example.com'] }],
  })
  const { config } = rehearsal
  const all = await run(['notify', 'test', '--config', config])
  expect(all.code).toBe(1)
  expect(all.stdout).toBe('webhook-1: sent\n')
  expect(all.stderr.split('\n').slice(0, 2)).toEqual([
    'slack-1: NOT SENT, HTTP 404. The webhook or its channel is gone: add another one in the settings of the app.',
    'email-1: NOT SENT, ESOCKET. Check the address and the port of the mail server.',
  ])
  expect(JSON.parse(up.taken[0]?.body ?? '')).toMatchObject({ event: 'test' })

  const one = await run(['notify', 'test', '--channel', 'webhook-1', '--json', '--config', config])
  expect(one.code).toBe(0)
  expect(outputOf('notify test', one.stdout)).toEqual({
    ok: true,
    receivers: [{ channel: 'webhook-1', ok: true, fault: null, remedy: null }],
    problems: [],
  })
  const none = await run(['notify', 'test', '--channel', 'telegram-1', '--config', config])
  expect(none.code).toBe(1)
  expect(none.stderr).toContain(
    'no receiver is called telegram-1; the config has: webhook-1, slack-1, email-1',
  )
  expect(all.stdout + all.stderr).not.toContain('CANARY')

  const validated = await run(['validate', '--config', config])
  expect(validated.stdout).toMatch(
    /^notifications: webhook-1 \(6 events\), slack-1 \(\d+ events\), email-1 \(\d+ events\); no heartbeat, so a daemon that goes silent is not reported; no digest$/m,
  )
  expect(validated.stderr).toContain(
    'notify.webhooks[0].strategies[1]: no strategy matches others-*: the receiver gets no messages',
  )
})

test('a daemon that cannot go on notifies its receivers and its monitor', async () => {
  const rehearsal = await rehearse(everySecond('every-second'))
  const hook = await receiver()
  const monitor = await receiver()
  notifying(rehearsal, {
    webhooks: [{ url: `${hook.server.url}/a`, on: ['crashed', 'started', 'stopped'] }],
    heartbeat: { url: `${monitor.server.url}/ping`, every: '10s', startAndFail: true },
  })
  const daemon = rehearsal.daemon()
  await waitFor(
    'two pings',
    () => monitor.taken.length,
    (count) => count >= 2,
  )
  await untilFills(rehearsal, 1)
  // The journal vanishes.
  rmSync(join(rehearsal.stateDir, 'journal'), { recursive: true })
  expect((await daemon.ended()).code).not.toBe(0)
  const notified = hook.taken.map(({ body }) => JSON.parse(body))
  expect(notified.map(({ event }) => event)).toEqual(['started', 'crashed'])
  expect(notified[1].text).toContain('The daemon has stopped because of a fault')
  const paths = monitor.taken.map(({ path }) => path)
  expect(paths.slice(0, 2)).toEqual(['/ping/start', '/ping'])
  expect(paths.at(-1)).toBe('/ping/fail')
})
