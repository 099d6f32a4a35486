import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { goldenExample } from '../../../support/gasless/gasless-golden.ts'
import {
  calls,
  created,
  envelope,
  order,
  request,
  routes,
  successes,
  useGaslessHttp,
} from '../../../support/gasless/gasless-http-rig.ts'
import { startScriptedServer } from '../../../support/process/scripted-server.ts'

const rig = useGaslessHttp()

describe('errors', () => {
  describe.each(routes)('on route %s', (route) => {
    test('400 is a bad request with the message of the service', async () => {
      rig.server.willReply({ status: 400, body: envelope('unsupported token') })
      expect(await calls[route](rig.connect())).toEqual({
        ok: false,
        fault: { tag: 'badRequest', message: 'unsupported token' },
      })
    })

    test('404 is not found', async () => {
      rig.server.willReply({ status: 404, body: envelope('no such order', 'NOT_FOUND') })
      expect(await calls[route](rig.connect())).toEqual({
        ok: false,
        fault: { tag: 'notFound', message: 'no such order' },
      })
    })

    test('429 is a rate limit with its wait, and blocks only this route', async () => {
      const body = envelope(`rate limit on ${route}`, 'RATE_LIMITED')
      rig.server.willReply({ status: 429, headers: { 'retry-after': '7' }, body })
      expect(await calls[route](rig.connect())).toEqual({
        ok: false,
        fault: { tag: 'rateLimited', retryAfterMs: 7_000, message: `rate limit on ${route}` },
      })
      expect(rig.blocks).toEqual([[route, 7_000]])
    })

    test.each([
      [500, '500'],
      [502, '5xx'],
      [503, '5xx'],
      [599, '5xx'],
      [403, 'other'],
      [418, 'other'],
      [202, 'other'],
      [301, 'other'],
      [307, 'other'],
    ])('%i leaves the outcome unknown and is counted as %s', async (status, label) => {
      const headers = { location: `${rig.server.url}/elsewhere` }
      rig.server.willReply({ status, headers, body: successes[route].body }, successes[route])
      expect(await calls[route](rig.connect())).toMatchObject({ fault: { tag: 'unavailable' } })
      expect(rig.labels()).toEqual([label])
      expect(rig.server.requests).toHaveLength(1)
    })

    test('a dropped connection leaves the outcome unknown and is not retried', async () => {
      rig.server.willReply({ drop: 'before-headers' }, successes[route])
      expect(await calls[route](rig.connect())).toMatchObject({ fault: { tag: 'unavailable' } })
      expect(rig.labels()).toEqual(['network'])
      expect(rig.server.requests).toHaveLength(1)
    })

    test('a truncated body leaves the outcome unknown', async () => {
      rig.server.willReply({ ...successes[route], drop: 'mid-body' })
      expect(await calls[route](rig.connect())).toMatchObject({ fault: { tag: 'unavailable' } })
      expect(rig.labels()).toEqual(['network'])
    })

    test('silence leaves the outcome unknown', async () => {
      rig.server.willReply({ ...successes[route], delayMs: 2_000 })
      const reply = await calls[route](rig.connect({ timeoutMs: 60 }))
      expect(reply).toMatchObject({ fault: { tag: 'unavailable' } })
      expect(rig.labels()).toEqual(['timeout'])
    })

    test('a success without JSON leaves the outcome unknown', async () => {
      rig.server.willReply({ status: successes[route].status, body: '<html>all is well</html>' })
      expect(await calls[route](rig.connect())).toMatchObject({
        fault: { tag: 'unavailable', message: expect.stringContaining('not JSON') },
      })
      expect(rig.labels()).toEqual(['malformed'])
    })
  })

  test.each([
    [400, 'badRequest'],
    [404, 'notFound'],
    [429, 'rateLimited'],
    [500, 'unavailable'],
  ])('status %i decides, whatever its body', async (status, tag) => {
    const bodies = [
      '',
      'oops',
      '{"error":"no"}',
      '[]',
      envelope('x', 'INTERNAL_ERROR'),
      envelope('y', 'TEAPOT'),
    ]
    rig.server.willReply(...bodies.map((body) => ({ status, body })))
    const service = rig.connect()
    for (const _ of bodies) expect(await service.quote(request)).toMatchObject({ fault: { tag } })
    expect(new Set(rig.labels())).toEqual(new Set([String(status)]))
  })

  test('a truncated 400 is not a rejection', async () => {
    rig.server.willReply({ status: 400, body: envelope('expired quote'), drop: 'mid-body' })
    expect(await rig.connect().submit(order)).toMatchObject({ fault: { tag: 'unavailable' } })
  })

  test('a truncated 429 still blocks its route', async () => {
    const headers = { 'retry-after': '3' }
    rig.server.willReply({ status: 429, headers, body: envelope('slow down'), drop: 'mid-body' })
    expect(await rig.connect().submit(order)).toMatchObject({ fault: { tag: 'unavailable' } })
    expect(rig.blocks).toEqual([['submit', 3_000]])
  })

  test('an unreadable field is named', async () => {
    const text = JSON.stringify(goldenExample('quote-response'))
    rig.server.willReply({ body: text.replace('"sellAmount":"1000000"', '"sellAmount":1000000') })
    expect(await rig.connect().quote(request)).toMatchObject({
      fault: { tag: 'unavailable', message: expect.stringContaining('quote.sellAmount') },
    })
  })

  test('an order for another quote is reported, and leaves the own outcome unknown', async () => {
    rig.server.willReply({ status: 201, body: { ...created, quoteId: 'quote-2' } })
    expect(await rig.connect().submit(order)).toMatchObject({
      fault: { tag: 'foreignOrder', message: expect.stringContaining('quote-2') },
    })
    expect(rig.labels()).toEqual(['201'])
  })

  test('rejects another order than the requested order', async () => {
    rig.server.willReply({ body: { ...goldenExample('order'), orderId: 'order-2' } })
    expect(await rig.connect().order('order-1')).toMatchObject({ fault: { tag: 'unavailable' } })
  })

  test('a trickling body ends at the deadline', async () => {
    rig.server.willReply({ ...successes.quote, dripMs: 200 })
    const reply = await rig.connect({ timeoutMs: 150 }).quote(request)
    expect(reply).toMatchObject({ fault: { tag: 'unavailable' } })
    expect(rig.labels()).toEqual(['timeout'])
  })

  test('accepts a body of one mebibyte and rejects a larger body', async () => {
    const symbol = (bytes: number) => {
      const body = JSON.stringify([{ ...goldenExample('token'), symbol: '' }])
      return body.replace('"symbol":""', `"symbol":"${'x'.repeat(bytes - body.length)}"`)
    }
    rig.server.willReply({ body: symbol(1024 * 1024) }, { body: symbol(1024 * 1024 + 1) })
    const service = rig.connect()
    expect(await service.tokens()).toMatchObject({ ok: true })
    expect(await service.tokens()).toMatchObject({ fault: { tag: 'unavailable' } })
    expect(rig.labels()).toEqual(['200', 'malformed'])
  })

  test('an answer that is not HTTP is unreadable', async () => {
    const other = createServer((socket) => {
      socket.once('data', () => socket.end('220 mail.example ESMTP\r\n'))
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const reply = await rig.connect({ baseUrl: `http://127.0.0.1:${port}` }).tokens()
    other.close()
    expect(reply).toMatchObject({ fault: { tag: 'unavailable' } })
    expect(rig.labels()).toEqual(['malformed'])
  })

  test('a closed port is a network fault', async () => {
    const gone = await startScriptedServer()
    await gone.close()
    const reply = await rig.connect({ baseUrl: gone.url }).tokens()
    expect(reply).toEqual({
      ok: false,
      fault: { tag: 'unavailable', message: 'connection failed (ECONNREFUSED)' },
    })
    expect(rig.labels()).toEqual(['network'])
  })

  test('messages never contain the signature or the credentials of the URL', async () => {
    const echo = envelope(`bad ${order.signature} at http://user:secret@127.0.0.1/x`)
    rig.server.willReply(
      { status: 400, body: echo },
      { status: 500, body: echo },
      { drop: 'before-headers' },
    )
    const service = rig.connect({ baseUrl: rig.server.url.replace('://', '://user:secret@') })
    const replies = [
      await service.submit(order),
      await service.submit(order),
      await service.submit(order),
    ]
    expect(JSON.stringify(replies)).not.toMatch(/secret|abababab/)
  })
})
