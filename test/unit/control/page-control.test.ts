import { describe, expect, onTestFinished, test } from 'vitest'
import { createHttpServer, type HttpServerOptions } from '../../../src/control/http/http-server.ts'
import { createPageControl } from '../../../src/control/http/page-control.ts'
import { halt, pause, resume } from '../../../src/engine/daemon-control.ts'
import { tradingHalted } from '../../../src/journal/events/strategy/stops.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { eventsOf } from '../../support/state/state-directory.ts'
import { controlJournal } from './control-journal.ts'

const TOKEN = 'a-token-to-control-with'
const VIEW = 'a-token-to-look-with'
const NOW = Date.UTC(2027, 2, 1, 12)
const BY = 'by the operator, on the page'

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

/** A daemon's server with a real journal and a stopped clock. */
async function controlRig({ begins = true } = {}) {
  const { time, clock, journal, haltFile, ports } = await controlJournal(NOW)
  const noted: RuntimeEvent[] = []
  const files: string[] = []
  const control = createPageControl({
    clock,
    observe: (event) => void noted.push(event),
    haltByFile: (text) => void files.push(text),
  })
  if (begins)
    control.begin({
      control: {
        pause: (strategy, by) => pause(ports, strategy, by),
        resume: (strategy, by) => resume(ports, strategy, by),
        halt: (by) => halt(ports, by),
      },
      stops: () => ({ state: journal.state, haltFile: haltFile.status() }),
    })
  const { address } = await serve({ control, tokens: { view: VIEW, control: TOKEN } })
  const send = async (body: unknown, headers: object = {}): Promise<Answer> => {
    const response = await fetch(`${address}/api/control`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
  return {
    address,
    send,
    files,
    journal,
    notes: () => noted.flatMap((each) => (each.type === 'remote-message' ? [each.outcome] : [])),
    recorded: async () => (await eventsOf(journal)).slice(2),
    passes: (ms: number): void => {
      time.nowMs += ms
    },
  }
}

async function serve(options: Partial<HttpServerOptions>) {
  const server = await createHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain', render: async () => 'up 1\n' },
    health: () => ({ ok: true, reasons: [] }),
    ready: () => ({ ok: true, reasons: [] }),
    site: {
      async answer(path) {
        const isKnown = path === '/' || path === '/api/overview'
        return isKnown ? { status: 200, contentType: 'text/html', body: path } : undefined
      },
      events: { refresh: async () => 1, changeSince: () => ({ revision: 1, text: '{}' }) },
    },
    ...options,
  })
  onTestFinished(() => server.close())
  return server
}

describe('a command', () => {
  test('to halt or pause is obeyed at once and journaled with its author', async () => {
    const { send, recorded, notes } = await controlRig()
    expect(await send({ command: 'pause', strategy: 'dip' })).toMatchObject({ status: 200 })
    expect(await send({ command: 'halt' })).toMatchObject({ status: 200 })
    expect(await recorded()).toEqual([
      {
        ...{ type: 'strategy-paused', strategy: 'dip', cause: 'operator' },
        detail: `paused ${BY}`,
      },
      { type: 'halted', cause: 'operator', detail: `halted ${BY}` },
    ])
    expect(notes()).toEqual(['obeyed', 'obeyed'])
  })

  test('to resume is asked twice, and then journaled', async () => {
    const { send, recorded, journal } = await controlRig()
    await send({ command: 'halt' })
    const asked = await send({ command: 'resume' })
    expect(asked.body).toMatchObject({ ends: [`the halt: halted ${BY}`], staysHalted: false })
    expect(journal.state.halted).toBeDefined()
    const { code } = asked.body
    expect(await send({ command: 'resume', code })).toMatchObject({ status: 200 })
    expect((await recorded()).at(-1)).toEqual({ type: 'halt-lifted', detail: `resumed ${BY}` })
    expect(await send({ command: 'resume', code })).toMatchObject({ status: 409 })
  })

  test('to resume what changed since the question, or after a minute, does nothing', async () => {
    const { send, journal, passes } = await controlRig()
    await send({ command: 'pause', strategy: 'dip' })
    const first = await send({ command: 'resume' })
    await send({ command: 'pause', strategy: 'weekly-eth' })
    expect(await send({ command: 'resume', code: first.body['code'] })).toMatchObject({
      status: 409,
      body: { error: 'something else is stopped by now: ask again' },
    })
    const second = await send({ command: 'resume' })
    passes(60_001)
    expect(await send({ command: 'resume', code: second.body['code'] })).toMatchObject({
      status: 409,
    })
    expect(journal.state.strategies.get('dip')?.paused).toBeDefined()
  })

  test('cannot end a halt by evidence', async () => {
    const { send, journal } = await controlRig()
    await journal.append(tradingHalted({ cause: 'evidence', detail: 'records are lost' }))
    const { status, body } = await send({ command: 'resume' })
    expect([status, body['error']]).toEqual([409, expect.stringContaining('records are lost')])
  })

  test('before the daemon trades can only halt, by the file', async () => {
    const { send, files } = await controlRig({ begins: false })
    expect(await send({ command: 'pause' })).toMatchObject({ status: 503 })
    expect(await send({ command: 'halt' })).toMatchObject({ status: 200 })
    expect(files).toEqual([`halted ${BY}`])
  })

  test.each([
    ['{', 400],
    [{ command: 'approve' }, 400],
    [{ command: 'pause', strategy: '../x' }, 400],
    [{ command: 'pause', strategy: 'dip', more: 1 }, 400],
    [{ command: 'pause', strategy: 'x'.repeat(2_000) }, 413],
    [{ command: 'pause', strategy: 'unknown' }, 409],
  ])('%j is refused with %d', async (body, status) => {
    const { send, recorded } = await controlRig()
    expect((await send(body)).status).toBe(status)
    expect(await recorded()).toEqual([])
  })

  test('is limited in rate, except a halt', async () => {
    const { send } = await controlRig()
    const statuses: number[] = []
    for (let sent = 0; sent < 21; sent += 1)
      statuses.push((await send({ command: 'pause', strategy: 'dip' })).status)
    expect(statuses.slice(-2)).toEqual([200, 429])
    expect((await send({ command: 'halt' })).status).toBe(200)
  })

  test('needs the control token in its header, and comes from the page itself', async () => {
    const { send, recorded, address } = await controlRig()
    const refused = [
      { authorization: '' },
      { authorization: `Bearer ${VIEW}` },
      { authorization: `Bearer ${TOKEN}x` },
      { authorization: TOKEN },
    ]
    for (const headers of refused)
      expect(await send({ command: 'halt' }, headers)).toMatchObject({ status: 401 })
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ])
      expect(await send({ command: 'halt' }, headers)).toMatchObject({ status: 403 })
    expect(await send({ command: 'halt' }, { origin: address })).toMatchObject({ status: 200 })
    expect(await recorded()).toHaveLength(1)
    const get = await fetch(`${address}/api/control`)
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

describe('a token to look', () => {
  test('protects data, events and metrics, and the control token fits too', async () => {
    const { address } = await controlRig()
    const statusOf = async (path: string, token?: string): Promise<number> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const response = await fetch(`${address}${path}`, { headers })
      await response.body?.cancel()
      return response.status
    }
    for (const path of ['/api/overview', '/events', '/metrics'])
      expect([
        await statusOf(path),
        await statusOf(path, 'wrong'),
        await statusOf(path, VIEW),
        await statusOf(path, TOKEN),
      ]).toEqual([401, 401, 200, 200])
    for (const path of ['/', '/healthz', '/readyz']) expect(await statusOf(path)).toBe(200)
  })

  test('that is wrong too often is refused for a while, and the right one is not', async () => {
    const { address } = await controlRig()
    const statusFor = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${address}/metrics`, { headers })).status
    }
    const statuses: number[] = []
    for (let sent = 0; sent < 21; sent += 1) statuses.push(await statusFor('guess'))
    expect(statuses.slice(-2)).toEqual([401, 429])
    expect(await statusFor(VIEW)).toBe(200)
  })

  test('is not asked for by default, and then no command is accepted', async () => {
    const { address } = await serve({})
    expect((await fetch(`${address}/metrics`)).status).toBe(200)
    const command = await fetch(`${address}/api/control`, { method: 'POST', body: '{}' })
    expect(command.status).toBe(404)
  })
})
