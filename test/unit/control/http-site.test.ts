import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  createHttpServer,
  type HttpServer,
  type HttpServerOptions,
  type Site,
} from '../../../src/control/http/http-server.ts'
import { jsonText } from '../../../src/control/http/replies.ts'
import { waitFor } from '../../support/wait-for.ts'

const running: HttpServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

const fine = () => ({ ok: true, reasons: [] })

const site: Site = {
  async answer(path) {
    if (path === '/')
      return { status: 200, contentType: 'text/html; charset=utf-8', body: '<p>page' }
    return path === '/api/overview' ? jsonText(200, '{"secret":"holdings"}') : undefined
  },
  events: { refresh: async () => 7, changeSince: () => ({ revision: 7, text: '{"a":1}' }) },
}

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await createHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain', render: async () => 'up 1\n' },
    health: fine,
    ready: fine,
    site,
    ...options,
  })
  running.push(server)
  return server
}

/** A request as sent over the wire, because `fetch` cannot set a Host. */
async function ask(
  { port }: HttpServer,
  path: string,
  headers: readonly string[] = ['host: 127.0.0.1'],
  method = 'GET',
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  socket.write(`${[`${method} ${path} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`)
  return textOf(socket)
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])

async function statusFor(server: HttpServer, path: string, host: string): Promise<number> {
  return statusOf(await ask(server, path, [`host: ${host}`]))
}

describe('a Host header', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.1:9464',
    'localhost',
    'LOCALHOST:80',
    'localhost.',
    '[::1]:9464',
    '192.0.2.7:9464',
    '[2001:db8::1]',
  ])('is accepted as %s', async (host) => {
    const server = await start()
    for (const path of ['/', '/api/overview', '/metrics'])
      expect(await statusFor(server, path, host)).toBe(200)
  })

  test.each([
    'evil.example',
    'evil.example:9464',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '1.2.3',
    '0x7f000001',
    'a b',
    '',
  ])('is rejected as %s, on loopback for metrics too', async (host) => {
    const server = await start()
    for (const path of ['/', '/api/overview', '/events', '/nowhere', '/metrics', '/healthz']) {
      const answer = await ask(server, path, [`host: ${host}`])
      expect([path, statusOf(answer)]).toEqual([path, 421])
      expect(answer).not.toMatch(/holdings|up 1|<p>/)
      expect(answer).toContain('http.hosts in the config')
    }
  })

  test('is accepted if the config names it, in any letter case', async () => {
    const server = await start({ hosts: ['Trader.Example'] })
    expect(await statusFor(server, '/', 'trader.example:443')).toBe(200)
    expect(await statusFor(server, '/', 'other.example')).toBe(421)
  })

  test('must be configured for the page on an open port, but not for scrapes', async () => {
    const server = await start({ host: '0.0.0.0' })
    expect(await statusFor(server, '/metrics', 'trader.internal:9464')).toBe(200)
    expect(await statusFor(server, '/readyz', 'trader.internal:9464')).toBe(200)
    expect(await statusFor(server, '/api/overview', 'trader.internal:9464')).toBe(421)
  })

  test('is quoted back without harmful characters', async () => {
    const server = await start()
    const answer = await ask(server, '/', ['host: <script>alert(1)</script>'])
    expect(answer).not.toContain('<script')
    expect(answer).toContain('content-type: text/plain')
  })
})

describe('requests from other sites', () => {
  test.each(['cross-site', 'same-site'])('get no data: %s', async (from) => {
    const server = await start()
    const headers = ['host: 127.0.0.1', `sec-fetch-site: ${from}`]
    for (const path of ['/api/overview', '/events', '/api/nothing'])
      expect(statusOf(await ask(server, path, headers))).toBe(403)
    expect(statusOf(await ask(server, '/', headers))).toBe(200)
  })

  test.each(['same-origin', 'none'])('are distinguished from %s, which gets data', async (from) => {
    const server = await start()
    const headers = ['host: 127.0.0.1', `sec-fetch-site: ${from}`]
    expect(statusOf(await ask(server, '/api/overview', headers))).toBe(200)
  })

  test('get headers that forbid reading, framing and scripts', async () => {
    const server = await start()
    for (const path of ['/', '/api/overview', '/nowhere']) {
      const { headers } = await fetch(`${server.address}${path}`, {
        headers: { origin: 'https://evil.example' },
      })
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'cross-origin-opener-policy': 'same-origin',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      })
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })
})

describe('the page', () => {
  test('is served for GET and HEAD only', async () => {
    const server = await start()
    const head = await fetch(`${server.address}/api/overview`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '21'])
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
      const answer = await ask(server, '/api/overview', ['host: 127.0.0.1'], method)
      expect([method, statusOf(answer)]).toEqual([method, 405])
      expect(answer.toLowerCase()).toContain('allow: get, head')
    }
  })

  test('is not served if the config disables it', async () => {
    const server = await start({ site: undefined })
    for (const path of ['/', '/api/overview', '/events', '/page.js'])
      expect(await statusFor(server, path, '127.0.0.1')).toBe(404)
    expect(await statusFor(server, '/metrics', '127.0.0.1')).toBe(200)
  })

  test('answers 500 without details if it fails', async () => {
    const broken: Site = { ...site, answer: () => Promise.reject(new Error('secret detail')) }
    const server = await start({ site: broken })
    const answer = await ask(server, '/')
    expect(statusOf(answer)).toBe(500)
    expect(answer).not.toContain('secret')
  })

  test('answers any malformed path', async () => {
    const server = await start()
    for (const path of [
      '/../etc/passwd',
      '/%2e%2e/x',
      '//',
      '/?a=%',
      '/api/',
      `/${'a'.repeat(7_000)}`,
    ])
      expect([200, 404]).toContain(await statusFor(server, path, '127.0.0.1'))
    expect(statusOf(await ask(server, `/${'a'.repeat(9_000)}`))).toBe(431)
  })
})

test('a hundred listeners do not delay a health check, and scrapes do not cut off the newest', async () => {
  const server = await start()
  const listeners: Socket[] = []
  for (let count = 0; count < 100; count += 1) {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write('GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
    await once(socket, 'data')
    listeners.push(socket)
  }
  expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
  const idle = Array.from({ length: 80 }, () => connect(server.port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of idle) socket.destroy()
  })
  for (const socket of idle) socket.on('error', () => undefined)
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  for (let scrape = 0; scrape < 20; scrape += 1)
    expect((await fetch(`${server.address}/metrics`)).status).toBe(200)
  const open = () =>
    listeners.map((socket) => !socket.readableEnded && !socket.destroyed && !socket.closed)
  // The sixteen newest streams stay open.
  await waitFor('the others to end', open, [...Array(84).fill(false), ...Array(16).fill(true)])
})

test('closing ends all streams at once', async () => {
  const server = await start()
  const socket = connect({ port: server.port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.write('GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
  await once(socket, 'data')
  socket.resume()
  const closed = once(socket, 'close')
  await server.close()
  await closed
})
