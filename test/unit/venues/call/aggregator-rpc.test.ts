import { getAddress, keccak256, recoverMessageAddress, stringToBytes } from 'viem'
import { describe, expect, test } from 'vitest'
import type { Hex } from '../../../../src/domain/money/units.ts'
import {
  accountInfoParams,
  batchedReceiptParams,
  getTransactionReceiptParams,
  rpcRequestSchema,
  sendBundleObjectParams,
  sendBundleParams,
  sendRawTransactionParams,
  transactionStatusParams,
} from '../../../../src/venues/call/client/aggregator-wire.ts'
import { aggregatorGolden } from '../../../support/aggregator/aggregator-golden.ts'
import {
  ACCOUNT,
  calls,
  HASH,
  LANDED,
  methods,
  RAW,
  results,
  TOKEN,
  useAggregatorRpc,
} from '../../../support/aggregator/aggregator-rpc-rig.ts'

const rig = useAggregatorRpc()

describe('requests', () => {
  test.each(methods)(
    '%s is one POST of a JSON-RPC 2.0 request to the root path',
    async (method) => {
      rig.answers(results[method])
      expect((await calls[method](rig.connect())).ok).toBe(true)
      expect(rig.server.requests).toHaveLength(1)
      const [request] = rig.server.requests
      expect(request).toMatchObject({ method: 'POST', path: '/' })
      expect(request?.headers['content-type']).toBe('application/json')
      expect(rpcRequestSchema.safeParse(rig.bodies()[0]).error).toBeUndefined()
    },
  )

  test.each([
    ['sendRawTransaction', 'eth_sendRawTransaction', [RAW], sendRawTransactionParams],
    ['sendBundle', 'eth_sendBundle', [[RAW], '0x10'], sendBundleParams],
    ['getTransactionReceipt', 'eth_getTransactionReceipt', [HASH], getTransactionReceiptParams],
    ['accountInfo', 'agg_accountInfo', [ACCOUNT], accountInfoParams],
    ['transactionStatus', 'agg_transactionStatus', [HASH], transactionStatusParams],
    [
      'getBatchedTransactionReceipt',
      'agg_getBatchedTransactionReceipt',
      [HASH],
      batchedReceiptParams,
    ],
  ] as const)('%s is %s with its parameters in order', async (method, name, params, schema) => {
    rig.answers(results[method])
    await calls[method](rig.connect())
    const [body] = rig.bodies()
    expect(body).toEqual({ jsonrpc: '2.0', id: expect.any(Number), method: name, params })
    expect(schema.safeParse(body?.params).error).toBeUndefined()
  })

  test('a bundle is one object if the config says so', async () => {
    rig.answers(results.sendBundle)
    await rig.connect({ bundle: 'object' }).sendBundle(RAW, 16n)
    const [body] = rig.bodies()
    expect(body?.params).toEqual([{ txs: [RAW], blockNumber: '0x10' }])
    expect(sendBundleObjectParams.safeParse(body?.params).error).toBeUndefined()
  })

  test('the status takes a token as its second parameter', async () => {
    rig.answers(results.transactionStatus)
    await rig.connect().transactionStatus(HASH, TOKEN)
    expect(rig.bodies()[0]?.params).toEqual([HASH, TOKEN])
  })

  test("the configured prefix applies only to the service's own methods", async () => {
    const service = rig.connect({ methodPrefix: 'house_' })
    for (const method of methods) {
      rig.answers(results[method])
      await calls[method](service)
    }
    expect(rig.bodies().map((body) => body.method)).toEqual([
      'eth_sendRawTransaction',
      'eth_sendBundle',
      'eth_getTransactionReceipt',
      'house_accountInfo',
      'house_transactionStatus',
      'house_getBatchedTransactionReceipt',
    ])
  })

  test('requests never share an ID', async () => {
    rig.answers(null)
    const service = rig.connect()
    await Promise.all([service.receipt(HASH), service.receipt(HASH), service.receipt(LANDED)])
    expect(new Set(rig.bodies().map((body) => body.id)).size).toBe(3)
  })

  test('the path and query of the URL are kept, and its credentials become basic auth', async () => {
    rig.answers(HASH)
    const url = `${rig.server.url.replace('//', '//user:pa%20ss@')}/v1/key?x=1`
    await rig.connect({ url }).sendRawTransaction(RAW)
    const [request] = rig.server.requests
    expect(request?.path).toBe('/v1/key?x=1')
    expect(request?.headers.authorization).toBe(
      `Basic ${Buffer.from('user:pa ss').toString('base64')}`,
    )
  })

  test.each(['not a url with a s3cret', 'ftp://s3cret.example'])(
    'rejects the URL %s without quoting it',
    (url) => {
      expect(() => rig.connect({ url })).toThrow(TypeError)
      expect(() => rig.connect({ url })).toThrow(/^(?!.*s3cret)/)
    },
  )
})

describe('authentication', () => {
  async function headerParts(prefix: string): Promise<[address: string, signature: Hex]> {
    rig.answers(results.accountInfo)
    await rig.connect({ methodPrefix: prefix }).accountInfo()
    const header = String(rig.server.requests[0]?.headers['x-relay-signature'])
    const [address = '', signature = ''] = header.split(':')
    return [address, signature as Hex]
  }

  test('the account header holds the signer and its signature of the hash of the body', async () => {
    const [address, signature] = await headerParts('agg_')
    expect(address).toBe(ACCOUNT)
    const body = rig.server.requests[0]?.body ?? ''
    const raw = keccak256(stringToBytes(body))
    expect(await recoverMessageAddress({ message: { raw }, signature })).toBe(getAddress(address))
  })

  test('the signed string equals the sent body byte for byte, even beyond ASCII', async () => {
    const [address, signature] = await headerParts('häuschen_🏠_')
    const body = rig.server.requests[0]?.body ?? ''
    expect(body).toContain('häuschen_🏠_accountInfo')
    expect(Buffer.byteLength(body)).toBeGreaterThan(body.length)
    expect(rig.server.requests[0]?.headers['content-length']).toBe(String(Buffer.byteLength(body)))
    const raw = keccak256(Buffer.from(body, 'utf8'))
    expect(await recoverMessageAddress({ message: { raw }, signature })).toBe(getAddress(address))
  })

  test('a signature is valid for one body: the next request has another', async () => {
    rig.answers(results.accountInfo)
    const service = rig.connect()
    await service.accountInfo()
    await service.accountInfo()
    const headers = rig.server.requests.map((request) => request.headers['x-relay-signature'])
    expect(new Set(headers).size).toBe(2)
  })

  test('under a halt no new login is signed, and account requests reuse the last login', async () => {
    rig.answers(results.accountInfo)
    const [service, fresh] = [rig.connect(), rig.connect()]
    await service.accountInfo()
    rig.halt('the file HALT is there')
    expect((await service.accountInfo()).ok).toBe(true)
    const [before, after] = rig.server.requests
    expect(after?.body).toBe(before?.body)
    expect(after?.headers['x-relay-signature']).toBe(before?.headers['x-relay-signature'])
    expect(await fresh.accountInfo()).toMatchObject({
      fault: { tag: 'unsigned', message: expect.stringContaining('the file HALT is there') },
    })
    expect(rig.server.requests).toHaveLength(2)
  })

  test('the name of the header is configurable', async () => {
    rig.answers(results.accountInfo)
    await rig.connect({ signatureHeader: 'X-House-Signature' }).accountInfo()
    expect(rig.server.requests[0]?.headers).toHaveProperty('x-house-signature')
    expect(rig.server.requests[0]?.headers).not.toHaveProperty('x-relay-signature')
  })

  test.each(methods.filter((method) => method !== 'accountInfo'))(
    '%s needs no credential and sends none',
    async (method) => {
      rig.answers(results[method])
      await calls[method](rig.connect())
      expect(rig.server.requests[0]?.headers).not.toHaveProperty('x-relay-signature')
    },
  )
})

describe('results', () => {
  test.each(['sendRawTransaction', 'sendBundle'] as const)(
    '%s returns the hash from the service, in lower case',
    async (method) => {
      // The hash need not match the raw bytes: later requests to the service use it as it is.
      rig.answers(`0x${'7D'.repeat(32)}`)
      expect(await calls[method](rig.connect())).toEqual({ ok: true, value: HASH })
    },
  )

  test.each(['getTransactionReceipt', 'getBatchedTransactionReceipt'] as const)(
    '%s returns the on-chain hash, or undefined for null',
    async (method) => {
      rig.answers({ ...(results[method] as object), transactionHash: `0x${'5E'.repeat(32)}` })
      const value = { transactionHash: LANDED }
      expect(await calls[method](rig.connect())).toEqual({ ok: true, value })
      rig.answers(null)
      expect(await calls[method](rig.connect())).toEqual({ ok: true, value: undefined })
    },
  )

  test('an account has its balance and charges in wei', async () => {
    const balance = 2n ** 256n - 1n
    rig.answers({ balance: balance.toString(), outstanding_charge: '0' })
    expect(await rig.connect().accountInfo()).toEqual({
      ok: true,
      value: { balance, outstandingCharge: 0n },
    })
  })

  test('a status keeps all fields and the exact digits of its costs', async () => {
    const { example } = aggregatorGolden('transaction-status')
    rig.server.answerWith((request) => {
      const { id } = JSON.parse(request.body) as { id: number }
      const result = `${JSON.stringify(example).slice(0, -1)},"cost":12345678901234567890}`
      return { body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` }
    })
    const value = { ...example, cost: '12345678901234567890' }
    expect(await rig.connect().transactionStatus(HASH)).toEqual({ ok: true, value })
  })

  test.each(methods)('%s reports its request to the metrics without the prefix', async (method) => {
    rig.answers(results[method], { delayMs: 5 })
    let now = 1_000
    const clock = { now: () => (now += 7) }
    await calls[method](rig.connect({ clock }))
    expect(rig.observed).toEqual([
      { type: 'request', service: 'aggregator', route: method, status: '200', durationMs: 7 },
    ])
  })
})
