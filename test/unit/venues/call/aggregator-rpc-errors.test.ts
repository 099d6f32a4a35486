import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ERROR_MESSAGES } from '../../../../src/venues/call/client/aggregator-wire.ts'
import { aggregatorGolden } from '../../../support/aggregator/aggregator-golden.ts'
import {
  calls,
  HASH,
  methods,
  RAW,
  results,
  TOKEN,
  useAggregatorRpc,
} from '../../../support/aggregator/aggregator-rpc-rig.ts'

const rig = useAggregatorRpc()
const tagOf = (reply: { ok: boolean; fault?: { tag: string } }) => reply.fault?.tag

describe('a specified error message', () => {
  const tags = Object.entries(ERROR_MESSAGES)

  describe.each(methods)('is mapped in answers to %s', (method) => {
    test.each(tags)('%s is recognised by its text: %s', async (tag, message) => {
      rig.fails(message)
      expect(await calls[method](rig.connect())).toEqual({ ok: false, fault: { tag, message } })
      expect(rig.labels()).toEqual([tag])
    })
  })

  test.each(tags)(
    '%s is recognised in any case, with or without a full stop',
    async (tag, text) => {
      const plain = text.replace('.', '')
      for (const message of [plain, `${plain}.`, plain.toUpperCase(), ` ${plain.toLowerCase()} `]) {
        rig.fails(message)
        expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe(tag)
      }
    },
  )

  test.each(tags)('%s is recognised with any code or HTTP status', async (tag, message) => {
    for (const rest of [{ code: 7 }, { status: 400 }, { status: 404 }, { status: 500 }]) {
      rig.fails(message, rest)
      expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe(tag)
    }
  })

  test('with text around it is a different message', async () => {
    for (const message of ['Insufficient balance of the pool', 'Account not found here', '']) {
      rig.fails(message)
      expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe('rejected')
    }
  })
})

describe('failed authentication', () => {
  test.each([
    'authentication failed',
    'Unauthorized',
    'invalid signature',
    'AUTH required',
    'forbidden',
  ])('of the account is recognised by its text: %s', async (message) => {
    rig.fails(message)
    expect(tagOf(await rig.connect().accountInfo())).toBe('unauthenticated')
  })

  test('of a token is recognised only if a token was sent', async () => {
    rig.fails('not authorized')
    const service = rig.connect()
    expect(tagOf(await service.transactionStatus(HASH, TOKEN))).toBe('unauthenticated')
    expect(tagOf(await service.transactionStatus(HASH))).toBe('rejected')
  })

  test.each([401, 403])('is the meaning of status %i, whatever the body', async (status) => {
    rig.fails('no', { status })
    expect(tagOf(await rig.connect().accountInfo())).toBe('unauthenticated')
    rig.server.answerWith(() => ({ status, body: '<html>no</html>' }))
    expect(tagOf(await rig.connect().accountInfo())).toBe('unauthenticated')
  })

  test('is not assumed for a transaction with an invalid signature', async () => {
    rig.fails('invalid signature of the transaction')
    const service = rig.connect()
    expect(tagOf(await service.sendRawTransaction(RAW))).toBe('rejected')
    expect(tagOf(await service.sendBundle(RAW, 1n))).toBe('rejected')
  })
})

describe('any other error', () => {
  test.each(methods)('of %s is a rejection with the message of the service', async (method) => {
    rig.fails('delegated call reverts')
    const fault = { tag: 'rejected', message: 'delegated call reverts' }
    expect(await calls[method](rig.connect())).toEqual({ ok: false, fault })
    expect(rig.labels()).toEqual(['rejected'])
  })

  test('is a rejection even with status 400', async () => {
    rig.fails('invalid params', { status: 400, code: -32_602 })
    expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe('rejected')
    expect(rig.labels()).toEqual(['400'])
  })

  test.each<[string, Parameters<typeof rig.fails>[1]]>([
    ['parse error', { code: -32_700 }],
    ['invalid request', { code: -32_600 }],
    [ERROR_MESSAGES.accountNotFound, {}],
    ['not allowed', { status: 400 }],
    ['not allowed', { status: 403 }],
  ])('without our ID leaves the outcome unknown: %s', async (message, rest) => {
    rig.fails(message, rest, { id: null })
    expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe('unavailable')
  })

  test.each([
    ['an internal failure', 'boom', { code: -32_603 }],
    ['a rate limit', 'Too many requests', {}],
    ['a timeout', 'upstream timed out', {}],
    ['a known transaction', 'already known', {}],
    ['a status of 500', 'boom', { status: 500 }],
    ['a status of 503', 'boom', { status: 503 }],
  ])('that mentions %s leaves the outcome unknown', async (_, message, rest) => {
    rig.fails(message, rest)
    expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe('unavailable')
  })

  test('with a limit code is a rate limit, and the route waits', async () => {
    rig.fails('slow down', { code: -32_005 })
    expect(tagOf(await rig.connect().sendRawTransaction(RAW))).toBe('rateLimited')
    expect(rig.blocks).toEqual([['sendRawTransaction', 1_000]])
  })

  test('with status 429 is a rate limit whatever its message, and waits as long as requested', async () => {
    for (const message of ['slow down', ERROR_MESSAGES.insufficientBalance]) {
      rig.fails(message, { status: 429, headers: { 'retry-after': '7' } })
      const fault = { tag: 'rateLimited', message }
      expect(await rig.connect().sendRawTransaction(RAW)).toEqual({ ok: false, fault })
    }
    expect(rig.labels()).toEqual(['429', '429'])
    expect(rig.blocks).toEqual(Array(2).fill(['sendRawTransaction', 7_000]))
  })
})

describe.each(methods)('an unusable answer to %s', (method) => {
  test.each([
    [201, '201'],
    [202, 'other'],
    [301, 'other'],
    [307, 'other'],
    [400, '400'],
    [404, '404'],
    [500, '500'],
    [503, '5xx'],
  ])('status %i leaves the outcome unknown, even with a result', async (status, label) => {
    const headers = { location: `${rig.server.url}/elsewhere` }
    rig.answers(results[method], { status, headers })
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
    expect(rig.labels()).toEqual([label])
    expect(rig.server.requests).toHaveLength(1)
  })

  test('status 429 is a rate limit, even with a result', async () => {
    rig.answers(results[method], { status: 429 })
    expect(tagOf(await calls[method](rig.connect()))).toBe('rateLimited')
    expect(rig.labels()).toEqual(['429'])
    expect(rig.blocks).toEqual([[method, 1_000]])
    expect(rig.server.requests).toHaveLength(1)
  })

  test('the usual rate-limit headers of a reply are applied and counted', async () => {
    const headers = {
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '4',
      'x-ratelimit-reset': '1500',
    }
    rig.answers(results[method], { headers })
    await calls[method](rig.connect())
    expect(rig.readings).toEqual([[method, { limit: 10, remaining: 4, resetInMs: 1_500 }]])
    expect(rig.observed).toContainEqual({
      type: 'rate-limit',
      service: 'aggregator',
      route: method,
      remaining: 4,
    })
  })

  test('a dropped connection leaves the outcome unknown and is not retried', async () => {
    for (const drop of ['before-headers', 'mid-body'] as const) {
      rig.answers(results[method], { drop })
      expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
    }
    expect(rig.labels()).toEqual(['unreachable', 'unreachable'])
    expect(rig.server.requests).toHaveLength(2)
  })

  test('silence leaves the outcome unknown', async () => {
    rig.answers(results[method], { delayMs: 2_000 })
    expect(tagOf(await calls[method](rig.connect({ timeoutMs: 60 })))).toBe('unavailable')
    expect(rig.labels()).toEqual(['timeout'])
  })

  test('a dripping answer is cut off at the deadline', async () => {
    rig.answers(results[method], { dripMs: 20 })
    expect(tagOf(await calls[method](rig.connect({ timeoutMs: 150 })))).toBe('unavailable')
    expect(rig.labels()).toEqual(['timeout'])
  })

  test.each([
    ['text that is not JSON', '<html>'],
    ['nothing', ''],
    ['a list', '[]'],
    ['a bare result', JSON.stringify(results[method])],
  ])('%s leaves the outcome unknown', async (_, body) => {
    rig.server.answerWith(() => ({ body }))
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
    expect(rig.labels()).toEqual(['malformed'])
  })

  test.each([
    ['of another request', { id: 99 }],
    ['with its id as text', { id: '1' }],
    ['without an id', { id: null }],
    ['of another protocol version', { jsonrpc: '1.0' }],
    ['with both result and error', { error: { code: 1, message: 'no' } }],
  ])('a result %s leaves the outcome unknown', async (_, changes) => {
    rig.answers(results[method], {}, changes)
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
  })

  test('a result with a null error is the answer', async () => {
    rig.answers(results[method], {}, { error: null })
    expect(await calls[method](rig.connect())).toMatchObject({ ok: true })
  })

  test('an error of another request leaves the outcome unknown', async () => {
    rig.fails(ERROR_MESSAGES.accountNotFound, {}, { id: 99 })
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
  })

  test('a result of the wrong shape leaves the outcome unknown', async () => {
    for (const result of [7, 'ok', [], true, '0x12']) {
      rig.answers(result)
      expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
    }
  })

  test('a body above one mebibyte is rejected', async () => {
    const huge = { ...(results[method] as object), padding: 'x'.repeat(1024 * 1024) }
    rig.answers(huge)
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
    expect(rig.labels()).toEqual(['malformed'])
  })
})

test.each(methods.filter((method) => !method.includes('Receipt')))(
  'null is not a valid result of %s',
  async (method) => {
    rig.answers(null)
    expect(tagOf(await calls[method](rig.connect()))).toBe('unavailable')
  },
)

test.each(aggregatorGolden('account-info').invalid)(
  'rejects an account with: $name',
  async ({ field, value }) => {
    rig.answers({ ...aggregatorGolden('account-info').example, [field]: value })
    expect(tagOf(await rig.connect().accountInfo())).toBe('unavailable')
  },
)

test('an unreachable service leaves the outcome unknown, and its address is not shown', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const reply = await rig.connect({ url: `http://127.0.0.1:${port}/key` }).receipt(HASH)
  const message = 'the aggregation service could not be reached (ECONNREFUSED)'
  expect(reply).toEqual({ ok: false, fault: { tag: 'unavailable', message } })
})

describe('the message of the service is shown', () => {
  async function messagesFor(message: string): Promise<string> {
    rig.fails(message)
    const service = rig.connect({ url: `${rig.server.url}/k3y-in-the-path` })
    const replies = [await service.transactionStatus(HASH, TOKEN), await service.accountInfo()]
    return JSON.stringify(replies)
  }

  test('without raw transactions and signatures', async () => {
    const signature = `0x${'cd'.repeat(65)}`
    const text = await messagesFor(`cannot take ${RAW} nor ${RAW.slice(2, 140)} by ${signature}`)
    expect(text).not.toMatch(/[0-9a-f]{65}/i)
    expect(text).toContain('cannot take')
  })

  test('without web addresses and their parts', async () => {
    const text = await messagesFor(
      `see https://user:pw@agg.example/v1/s3cret and ${rig.server.url}/k3y-in-the-path`,
    )
    for (const part of ['agg.example', 's3cret', 'pw@', '127.0.0.1', 'k3y-in-the-path'])
      expect(text).not.toContain(part)
  })

  test('without the token that was sent', async () => {
    rig.fails(`no token ${TOKEN} here`)
    const reply = await rig.connect().transactionStatus(HASH, TOKEN)
    expect(reply).toMatchObject({ ok: false, fault: { message: 'no token *** here' } })
  })

  test('on one bounded line', async () => {
    rig.fails(`first\nsecond\u001b[2J\u202e${'x'.repeat(5_000)}`)
    const reply = await rig.connect().sendRawTransaction(RAW)
    const message = reply.ok ? '' : reply.fault.message
    expect(message).toMatch(/^first second/)
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(message.length).toBeLessThanOrEqual(300)
  })
})
