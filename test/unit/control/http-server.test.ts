import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import {
  createHttpServer,
  type HttpServer,
  PortInUseError,
  type Probe,
} from '../../../src/control/http/http-server.ts'

const fine: Probe = { ok: true, reasons: [] }
const running: HttpServer[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()))
})

type Overrides = { health?: () => Probe; ready?: () => Probe; render?: () => Promise<string> }

async function start(overrides: Overrides = {}): Promise<HttpServer> {
  const { health = () => fine, ready = () => fine, render = async () => 'up 1\n' } = overrides
  const server = await createHttpServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', render },
    health,
    ready,
  })
  running.push(server)
  return server
}

test('metrics are served with the content type of the exposition format', async () => {
  const { address } = await start()
  const response = await fetch(`${address}/metrics`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await response.text()).toBe('up 1\n')
})

test('metrics are compressed for a client that accepts it, and only for such a client', async () => {
  const render = async () => 'up 1\n'.repeat(10_000)
  const { address } = await start({ render })
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['deflate, gzip;q=1.0, *;q=0.5', 'gzip'],
    ['identity', null],
    ['gzip;q=0', null],
  ] as const) {
    const response = await fetch(`${address}/metrics`, { headers: { 'accept-encoding': accepted } })
    expect([accepted, response.headers.get('content-encoding')]).toEqual([accepted, encoding])
    const length = Number(response.headers.get('content-length'))
    expect(length < 1_000).toBe(encoding === 'gzip')
    expect(await response.text()).toBe(await render())
  }
})

test('probes answer 200 with details while healthy', async () => {
  const { address } = await start({ health: () => ({ ...fine, details: { lastTickAgeMs: 12 } }) })
  const response = await fetch(`${address}/healthz?verbose`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await response.json()).toEqual({ status: 'ok', reasons: [], lastTickAgeMs: 12 })
})

test('probes answer 503 with the reasons, independently of each other', async () => {
  const reasons = ['state not loaded', 'chain base does not answer']
  const { address } = await start({ ready: () => ({ ok: false, reasons }) })
  const response = await fetch(`${address}/readyz`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ status: 'unavailable', reasons })
  expect((await fetch(`${address}/healthz`)).status).toBe(200)
})

test('unknown paths get 404, and other methods 405 with the allowed methods', async () => {
  const { address } = await start()
  expect((await fetch(`${address}/`)).status).toBe(404)
  expect((await fetch(`${address}/metrics/x`)).status).toBe(404)
  const post = await fetch(`${address}/metrics`, { method: 'POST', body: 'x'.repeat(100_000) })
  expect(post.status).toBe(405)
  expect(post.headers.get('allow')).toBe('GET, HEAD')
  const head = await fetch(`${address}/metrics`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('a request body is never read, and its connection is closed', async () => {
  const { port } = await start()
  const answer = await exchange(
    port,
    'POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\nabc',
  )
  expect(answer).toMatch(/^HTTP\/1\.1 405 /)
  expect(answer.toLowerCase()).toContain('connection: close')
})

test('a fault in a handler gives a 500 without details, and the server continues', async () => {
  const { address } = await start({
    render: () => Promise.reject(new Error('secret detail')),
    health: () => {
      throw new Error('secret detail')
    },
  })
  for (const path of ['/metrics', '/healthz']) {
    const response = await fetch(`${address}${path}`)
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('secret')
  }
  expect((await fetch(`${address}/readyz`)).status).toBe(200)
})

test('a port in use is an error with its number and the remedy', async () => {
  const { port } = await start()
  const second = createHttpServer({
    host: '127.0.0.1',
    port,
    metrics: { contentType: 'text/plain', render: async () => '' },
    health: () => fine,
    ready: () => fine,
  })
  await expect(second).rejects.toThrow(PortInUseError)
  await expect(second).rejects.toThrow(
    new RegExp(`http port ${port} on 127\\.0\\.0\\.1 is in use: .*http\\.port`),
  )
})

test('an address of another machine is an error with the remedy', async () => {
  const server = createHttpServer({
    host: '192.0.2.1',
    port: 0,
    metrics: { contentType: 'text/plain', render: async () => '' },
    health: () => fine,
    ready: () => fine,
  })
  await expect(server).rejects.toThrow(/cannot be opened \(EADDRNOTAVAIL\): set http\.host/)
})

test('closing cuts off a silent open connection', async () => {
  const { port, close } = await start()
  const socket = await open(port)
  const ended = textOf(socket)
  await close()
  expect(await ended).toBe('')
})

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(socket)).once('error', reject)
    socket.resume()
  })
}

async function exchange(port: number, request: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(request)
  return textOf(socket)
}

test('slow and silent connections do not delay a health check', async () => {
  const server = await start()
  const slow = Array.from({ length: 200 }, () => connect(server.port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of slow) socket.destroy()
  })
  await Promise.all(slow.map((socket) => once(socket, 'connect')))
  for (const [index, socket] of slow.entries()) {
    socket.on('error', () => undefined)
    if (index % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ')
  }
  for (let count = 0; count < 3; count += 1)
    expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
})

test('a connection serves one request', async () => {
  const server = await start()
  const reply = await fetch(`${server.address}/healthz`)
  expect(reply.headers.get('connection')).toBe('close')
})
