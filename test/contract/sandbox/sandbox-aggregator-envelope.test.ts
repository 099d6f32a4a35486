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

  test('invalid JSON is -32700 and an object that is no request -32600, both with id null', async () => {
    expect((await post(sandbox(), '{"jsonrpc"')).body).toMatchObject({
      id: null,
      error: { code: -32700 },
    })
    const wrong = [{}, { jsonrpc: '1.0', method: 'm', id: 1 }, 5, { jsonrpc: '2.0', method: 3 }]
    for (const request of wrong) {
      const { body } = await post(sandbox(), JSON.stringify(request))
      expect(body).toMatchObject({ id: null, error: { code: -32600 } })
    }
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

  test('an OpenRPC document at /docs names the six methods', async () => {
    const response = await fetch(`${sandbox().aggregatorUrl}/docs`)
    expect(response.headers.get('content-type')).toBe('application/json')
    const document = JSON.parse(await response.text())
    expect(document.openrpc).toBe('1.2.6')
    expect(document.methods.map(({ name }: { name: string }) => name)).toEqual([
      'eth_sendRawTransaction',
      'eth_getTransactionReceipt',
      'eth_sendBundle',
      'agg_accountInfo',
      'agg_transactionStatus',
      'agg_getBatchedTransactionReceipt',
    ])
    const bundle = document.methods.find(({ name }: { name: string }) => name === 'eth_sendBundle')
    const [txs, blockNumber] = bundle.params
    expect(txs.schema.oneOf.map(({ type }: { type: string }) => type)).toEqual(['array', 'object'])
    expect([txs.required, blockNumber.required]).toEqual([true, false])
  })
})

test('method prefix and signature header are configurable', async () => {
  const renamed = await startSandbox({
    feedIntervalMs: 0,
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
