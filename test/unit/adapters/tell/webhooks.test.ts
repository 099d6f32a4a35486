import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import {
  createWebhooks,
  type Notification,
  type WebhookOptions,
  type WebhookPayload,
  type Webhooks,
} from '../../../../src/adapters/tell/webhooks.ts'
import type { WebhookEvent } from '../../../../src/domain/settings.ts'
import type { Clock } from '../../../../src/ports.ts'
import { type CapturedLog, captureLog } from '../../../support/capture-log.ts'

const PATH = '/services/T0Secret/B0Secret'
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)

/** How the receiver treats the next request: a status, silence, or a cut connection. */
type Answer = number | 'silence' | 'cut'

type Receiver = { readonly url: string; readonly got: WebhookPayload[]; readonly server: Server }

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function receiver(...answers: Answer[]): Promise<Receiver> {
  const got: WebhookPayload[] = []
  const server = createServer(async (request, response) => {
    got.push((await json(request)) as WebhookPayload)
    const answer = answers.shift() ?? 200
    if (answer === 'cut') request.socket.destroy()
    else if (answer !== 'silence')
      response.writeHead(answer, { location: 'http://127.0.0.1:1/' }).end('thanks')
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}${PATH}`, got, server }
}

/** Stands still; every sleep is noted and over at once, except one as long as the flush deadline. */
function instantClock(): WebhookClock & { readonly sleeps: number[] } {
  const sleeps: number[] = []
  return {
    sleeps,
    now: () => NOW,
    sleep: (ms, signal) => {
      sleeps.push(ms)
      return ms < 60_000 ? Promise.resolve() : aborted(signal)
    },
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()))
}

function realClock(): WebhookClock {
  return {
    now: Date.now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        signal?.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      }),
  }
}

type WebhookClock = Pick<Clock, 'now' | 'sleep'>
type Rig = {
  readonly hooks: Webhooks
  readonly captured: CapturedLog
  readonly clock: WebhookClock
}

async function rig<SomeClock extends WebhookClock>(
  targets: readonly { url: string; on?: readonly WebhookEvent[] }[],
  clock: SomeClock,
  extra: Partial<WebhookOptions> = {},
): Promise<Rig & { readonly clock: SomeClock }> {
  const captured = await captureLog()
  const webhooks = targets.map(({ url, on = ['filled' as const] }) => ({ url, on }))
  const { log, scrubber } = captured
  const hooks = createWebhooks({ webhooks, clock, log, scrubber, ...extra })
  return { hooks, captured, clock }
}

function fillOf(strategy: string): Notification {
  return {
    event: 'filled',
    text: `filled ${strategy}: 25 USDC -> 0.00998 WETH in 1.4 s`,
    strategy,
    intentId: `${strategy}:1700000000:0`,
    details: { paid: '25', received: '0.00998' },
  }
}

const LATER = NOW + 3_600_000

test('a notification arrives as JSON with text for people and details for programs', async () => {
  const { url, got } = await receiver()
  const { hooks } = await rig([{ url }], instantClock())
  hooks.notify(fillOf('weekly-eth'))
  await hooks.flush(LATER)
  expect(got).toEqual([
    {
      version: 1,
      id: `${NOW}-1`,
      event: 'filled',
      at: '2026-01-02T03:04:05.000Z',
      text: 'filled weekly-eth: 25 USDC -> 0.00998 WETH in 1.4 s',
      content: 'filled weekly-eth: 25 USDC -> 0.00998 WETH in 1.4 s',
      strategy: 'weekly-eth',
      intentId: 'weekly-eth:1700000000:0',
      details: { paid: '25', received: '0.00998' },
    },
  ])
})

test('each webhook gets the events it asked for, in order', async () => {
  const fills = await receiver()
  const troubles = await receiver()
  const { hooks } = await rig(
    [{ url: fills.url }, { url: troubles.url, on: ['failed', 'halted'] }],
    instantClock(),
  )
  hooks.notify(fillOf('a'))
  hooks.notify({ event: 'failed', text: 'failed b', details: {} })
  hooks.notify({ event: 'missed', text: 'missed c', details: {} })
  hooks.notify(fillOf('d'))
  await hooks.flush(LATER)
  expect(fills.got.map(({ strategy }) => strategy)).toEqual(['a', 'd'])
  expect(troubles.got.map(({ event }) => event)).toEqual(['failed'])
})

test.each([
  ['a server error', 500],
  ['too many requests', 429],
  ['a cut connection', 'cut'],
] as const)(
  'after %s it is tried again with the same id, at most three times',
  async (_, answer) => {
    const { url, got } = await receiver(answer, answer, answer, answer)
    const { hooks, captured, clock } = await rig([{ url }], instantClock())
    hooks.notify(fillOf('weekly-eth'))
    await hooks.flush(LATER)
    expect(got.map(({ id }) => id)).toEqual([`${NOW}-1`, `${NOW}-1`, `${NOW}-1`])
    expect(clock.sleeps.filter((ms) => ms < 60_000)).toEqual([1_000, 5_000])
    expect(captured.lines()).toEqual([
      expect.objectContaining({
        level: 'warn',
        msg: expect.stringMatching(/^webhook 1 did not take a "filled" notification: /),
        tries: 3,
      }),
    ])
  },
)

test('a passing fault is not worth a warning', async () => {
  const { url, got } = await receiver(503, 200)
  const { hooks, captured } = await rig([{ url }], instantClock())
  hooks.notify(fillOf('weekly-eth'))
  await hooks.flush(LATER)
  expect(got).toHaveLength(2)
  expect(captured.lines()).toEqual([])
})

test.each([404, 400, 302])('status %s is final and a redirect is not followed', async (status) => {
  const { url, got } = await receiver(status)
  const { hooks, captured } = await rig([{ url }], instantClock())
  hooks.notify(fillOf('weekly-eth'))
  await hooks.flush(LATER)
  expect(got).toHaveLength(1)
  expect(captured.lines()[0]?.['msg']).toContain(`HTTP ${status}`)
})

test('a receiver that never answers is given up after the timeout', async () => {
  const { url, got } = await receiver('silence', 'silence', 'silence')
  const { hooks, captured } = await rig([{ url }], instantClock(), { timeoutMs: 100 })
  hooks.notify(fillOf('weekly-eth'))
  await hooks.flush(LATER)
  expect(got).toHaveLength(3)
  expect(captured.lines()[0]?.['msg']).toContain('no answer in time')
})

test('a dead receiver does not hold up another one', async () => {
  const silent = await receiver('silence')
  const alive = await receiver()
  const { hooks } = await rig([{ url: silent.url }, { url: alive.url }], realClock())
  hooks.notify(fillOf('weekly-eth'))
  await expect.poll(() => alive.got.length).toBe(1)
  await hooks.flush(Date.now())
})

test('the queue is bounded: the oldest go, with one counted warning', async () => {
  const { url, got } = await receiver('silence')
  const { hooks, captured } = await rig([{ url }], realClock(), { timeoutMs: 60_000 })
  hooks.notify(fillOf('first'))
  await expect.poll(() => got.length).toBe(1)
  for (let count = 0; count < 250; count += 1) hooks.notify(fillOf(`s${count}`))
  await hooks.flush(Date.now())
  expect(captured.lines().map(({ msg }) => msg)).toEqual([
    'webhook 1 is too slow: 1 notifications dropped so far',
    'webhook 1 is too slow: 101 notifications dropped so far',
    'webhook 1 did not take a "filled" notification: no answer in time',
    'webhook 1: 100 notifications not sent before the end',
  ])
})

test('notify returns before anything is sent, and flush ends at its deadline', async () => {
  const { url, got } = await receiver('silence')
  const { hooks } = await rig([{ url }], realClock(), { timeoutMs: 60_000 })
  const startedAt = performance.now()
  hooks.notify(fillOf('weekly-eth'))
  expect(got).toEqual([])
  await hooks.flush(Date.now() + 200)
  expect(performance.now() - startedAt).toBeGreaterThan(150)
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})

test('after flush nothing is accepted any more', async () => {
  const { url, got } = await receiver()
  const { hooks } = await rig([{ url }], instantClock())
  await hooks.flush(LATER)
  hooks.notify(fillOf('weekly-eth'))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(got).toEqual([])
})

test('neither the address nor its host is ever logged', async () => {
  const { url, server } = await receiver('cut', 500, 404)
  const { hooks, captured } = await rig(
    [{ url }, { url: 'http://127.0.0.1:1/hook/T0Secret' }],
    instantClock(),
  )
  hooks.notify(fillOf('a'))
  hooks.notify(fillOf('b'))
  await hooks.flush(LATER)
  server.closeAllConnections()
  expect(captured.lines().length).toBeGreaterThanOrEqual(2)
  expect(captured.text()).not.toMatch(/T0Secret|127\.0\.0\.1|http:/)
})

test('a registered secret is not sent either', async () => {
  const { url, got } = await receiver()
  const { hooks, captured } = await rig([{ url }], instantClock())
  captured.scrubber.add('hunter2hunter2')
  hooks.notify({ event: 'filled', text: 'a hunter2hunter2', details: { b: 'hunter2hunter2' } })
  await hooks.flush(LATER)
  expect(got).toHaveLength(1)
  expect(JSON.stringify(got)).not.toContain('hunter2')
})
