import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { rpcResponseSchema } from '../../../src/venues/call/client/aggregator-wire.ts'
import {
  bodyOf,
  call,
  credential,
  newAccount,
  post,
  QUIET,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const unknownHash: Hex = `0x${'ab'.repeat(32)}`

describe('the envelope', () => {
  test('a response carries version, id and exactly one of result and error', async () => {
    for (const id of [7, 'seven']) {
      const { body } = await post(sandbox(), bodyOf('eth_getTransactionReceipt', [unknownHash], id))
      expect(rpcResponseSchema.safeParse(body).success).toBe(true)
      expect(body).toEqual({ jsonrpc: '2.0', id, result: null })
    }
  })

  test('a method outside the six is -32601, including methods that every node has', async () => {
    for (const method of ['eth_call', 'eth_blockNumber', 'agg_nothing', 'other_accountInfo']) {
      expect((await call(sandbox(), method, [])).body.error.code).toBe(-32601)
    }
  })

  test('invalid JSON is -32700, and a value that is no request is -32600 with its id if that is valid', async () => {
    expect((await post(sandbox(), '{"jsonrpc"')).body).toMatchObject({
      id: null,
      error: { code: -32700 },
    })
    const method = 'eth_getTransactionReceipt'
    const wrong: [request: unknown, id: unknown][] = [
      [{}, null],
      [5, null],
      [null, null],
      [{ jsonrpc: '2.0', method: 3 }, null],
      [{ jsonrpc: '2.0', method, params: [unknownHash], id: true }, null],
      [{ jsonrpc: '2.0', method, params: [unknownHash], id: [1] }, null],
      [{ jsonrpc: '1.0', method, id: 1 }, 1],
      [{ method, params: [unknownHash], id: 'a' }, 'a'],
      [{ jsonrpc: '2.0', id: 2 }, 2],
    ]
    for (const [request, id] of wrong) {
      const { body } = await post(sandbox(), JSON.stringify(request))
      expect([request, body]).toMatchObject([request, { id, error: { code: -32600 } }])
    }
    const all = await post(sandbox(), JSON.stringify(wrong.map(([request]) => request)))
    expect(all.body.map(({ id }: { id: unknown }) => id)).toEqual(wrong.map(([, id]) => id))
  })

  test('parameters that are neither a list nor an object are -32602 with the id', async () => {
    const method = 'eth_getTransactionReceipt'
    for (const params of [unknownHash, null, 5]) {
      const { body } = await post(
        sandbox(),
        JSON.stringify({ jsonrpc: '2.0', method, params, id: 3 }),
      )
      expect(body).toEqual({
        ...{ jsonrpc: '2.0', id: 3 },
        error: { code: -32602, message: 'params: a list, or an object with the names' },
      })
    }
  })

  test('the id null and fractional ids get responses, and unknown members are ignored', async () => {
    for (const id of [null, 1.5, '', 0]) {
      const request = { ...JSON.parse(bodyOf('eth_getTransactionReceipt', [unknownHash], id)) }
      const { body } = await post(sandbox(), JSON.stringify({ ...request, trace: 'abc' }))
      expect(body).toEqual({ jsonrpc: '2.0', id, result: null })
    }
  })

  test('parameters may have names, and names that do not fit are -32602 with the id', async () => {
    const method = 'agg_transactionStatus'
    const named = async (params: object) =>
      (await post(sandbox(), JSON.stringify({ jsonrpc: '2.0', id: 8, method, params }))).body
    for (const params of [
      { transactionHash: unknownHash },
      { token: 'token', transactionHash: unknownHash },
    ])
      expect(await named(params)).toMatchObject({ id: 8, error: { code: -32003 } })
    const wrong: [object, string][] = [
      [{}, 'params: transactionHash is missing'],
      [{ token: 'token' }, 'params: transactionHash is missing'],
      [
        { hash: unknownHash },
        'params: no parameter is named hash: expected transactionHash, token',
      ],
      [{ transactionHash: '0x12' }, 'params: transactionHash: expected 0x and 64 hex digits'],
    ]
    for (const [params, message] of wrong)
      expect(await named(params)).toEqual({
        ...{ jsonrpc: '2.0', id: 8, error: { code: -32602, message } },
      })
  })

  test('parameters of the wrong shape are -32602', async () => {
    const calls: [string, unknown[]][] = [
      ['eth_sendRawTransaction', []],
      ['eth_sendRawTransaction', ['hello']],
      ['eth_getTransactionReceipt', ['0x12']],
      ['agg_accountInfo', ['0x12']],
      ['agg_transactionStatus', [unknownHash, 'token', 'more']],
      ['agg_getBatchedTransactionReceipt', [5]],
    ]
    for (const [method, params] of calls) {
      expect((await call(sandbox(), method, params)).body.error.code).toBe(-32602)
    }
  })

  test('an array gets an array in order, including errors for invalid requests', async () => {
    const requests = [
      { jsonrpc: '2.0', id: 1, method: 'eth_getTransactionReceipt', params: [unknownHash] },
      { jsonrpc: '2.0', id: 'b', method: 'eth_call', params: [] },
      5,
    ]
    const { body } = await post(sandbox(), JSON.stringify(requests))
    expect(body).toMatchObject([
      { id: 1, result: null },
      { id: 'b', error: { code: -32601 } },
      { id: null, error: { code: -32600 } },
    ])
  })

  test('an empty array and an array that is too long get one error each', async () => {
    expect((await post(sandbox(), '[]')).body).toMatchObject({ id: null, error: { code: -32600 } })
    const long = JSON.stringify(Array(101).fill({ jsonrpc: '2.0', id: 1, method: 'm' }))
    expect((await post(sandbox(), long)).body).toMatchObject({ error: { code: -32600 } })
  })

  test('a notification gets no response', async () => {
    const silent = { jsonrpc: '2.0', method: 'eth_getTransactionReceipt', params: [unknownHash] }
    const alone = await post(sandbox(), JSON.stringify(silent))
    expect([alone.status, alone.body]).toEqual([204, undefined])
    const mixed = await post(sandbox(), JSON.stringify([silent, { ...silent, id: 4 }]))
    expect(mixed.body).toEqual([{ jsonrpc: '2.0', id: 4, result: null }])
  })

  test('other paths, methods, content types and huge bodies are refused', async () => {
    const { aggregatorUrl } = sandbox()
    expect((await fetch(`${aggregatorUrl}/rpc`, { method: 'POST', body: '{}' })).status).toBe(404)
    expect((await fetch(aggregatorUrl)).status).toBe(405)
    const plain = { 'content-type': 'text/plain' }
    expect((await post(sandbox(), bodyOf('eth_call', []), plain)).status).toBe(415)
    const huge = bodyOf('eth_sendRawTransaction', [`0x${'00'.repeat(1_100_000)}`])
    expect((await post(sandbox(), huge)).status).toBe(413)
  })
})

test('method prefix and signature header are configurable', async () => {
  const renamed = await startSandbox({
    market: { feedInterval: 0 },
    aggregator: { ...QUIET, wire: { methodPrefix: 'our_', signatureHeader: 'X-Our-Header' } },
  })
  try {
    const account = await newAccount(renamed, { deposit: 9n })
    const text = bodyOf('our_accountInfo', [account.address])
    const headers = { 'x-our-header': await credential(account, text) }
    expect((await post(renamed, text, headers)).body.result.balance).toBe('9')
    expect((await call(renamed, 'agg_accountInfo', [account.address])).body.error.code).toBe(-32601)
  } finally {
    await renamed.stop()
  }
})
