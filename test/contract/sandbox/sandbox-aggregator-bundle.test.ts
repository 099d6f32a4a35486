import { type Hex, keccak256 } from 'viem'
import { describe, expect, test } from 'vitest'
import {
  call,
  callsOf,
  delegatedAccount,
  landed,
  QUIET,
  rawTransaction,
  recordData,
  result,
  sepoliaClient,
} from '../../support/aggregator/aggregator.ts'
import { sandboxForSuite } from '../../support/sandbox.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })
const demo = (): Hex => sandbox().sepolia.contracts.demoTarget

describe('eth_sendBundle', () => {
  test('accepts one transaction like eth_sendRawTransaction, in either shape', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const shapes = (raw: Hex) => [
      [[raw], '0x1'],
      [{ txs: [raw], blockNumber: '0x1' }],
      [{ txs: [raw], blockNumber: 1 }],
      [{ txs: [raw], blockNumber: null }],
      [{ txs: [raw] }],
    ]
    for (const shape of shapes('0x').keys()) {
      const data = recordData(`1${shape}`)
      const raw = await rawTransaction(sandbox(), account, { to: demo(), data })
      const hash = await result(sandbox(), 'eth_sendBundle', shapes(raw)[shape] ?? [])
      expect(hash).toBe(keccak256(raw))
      await landed(sandbox(), hash)
      expect(await result(sandbox(), 'eth_sendRawTransaction', [raw])).toBe(hash)
    }
    expect(await callsOf(sandbox(), account)).toBe(5n)
  })

  test.each(['list', 'object'])('waits for its block as %s', async (shape) => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('06') })
    const target = Number(await sepoliaClient(sandbox()).getBlockNumber()) + 3
    const params = shape === 'list' ? [[raw], target] : [{ txs: [raw], blockNumber: target }]
    const hash = await result(sandbox(), 'eth_sendBundle', params)
    const { blockNumber } = await landed(sandbox(), hash)
    expect(Number(blockNumber)).toBeGreaterThanOrEqual(target)
  })

  test('refuses zero or two transactions, and a list without a block', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await rawTransaction(sandbox(), account, { to: demo(), data: recordData('07') })
    const wrong = [
      [[], '0x1'],
      [[raw, raw], '0x1'],
      [[raw]],
      [{ txs: [] }],
      [{ txs: [raw, raw] }],
      [{ txs: [raw], blockNumber: 'latest' }],
      [{ txs: [raw] }, '0x1'],
    ]
    for (const params of wrong) {
      expect((await call(sandbox(), 'eth_sendBundle', params)).body.error.code).toBe(-32602)
    }
    expect(await callsOf(sandbox(), account)).toBe(0n)
  })
})
