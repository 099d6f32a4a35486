import { type Hex, keccak256 } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterEach, describe, expect, test } from 'vitest'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  call,
  callsOf,
  delegatedAccount,
  funds,
  landed,
  QUIET,
  rawTransaction,
  recordData,
  recordWhen,
  result,
  sepoliaClient,
  submit,
  submitAndLand,
  trustlessTransaction,
} from '../../support/aggregator/aggregator.ts'
import { PROPOSER } from '../../support/aggregator/aggregator-abi.ts'
import { admin, rest, sandboxForSuite } from '../../support/sandbox.ts'
import { waitFor } from '../../support/wait-for.ts'

const sandbox = sandboxForSuite({ aggregator: QUIET })

afterEach(() => sandbox().faults.set({}))

function inject(...rules: Readonly<Record<string, unknown>>[]): void {
  sandbox().faults.set({ rules: rules.map((rule) => ({ count: 1, ...rule })) })
}

async function recordBy(account: PrivateKeyAccount): Promise<Hex> {
  const to = sandbox().sepolia.contracts.demoTarget
  return rawTransaction(sandbox(), account, { to, data: recordData('0e') })
}

async function knownCalls(account: PrivateKeyAccount): Promise<number> {
  const { body } = await admin(sandbox(), 'GET', '/aggregator/calls')
  const own = account.address.toLowerCase()
  return body.filter((record: { account: Hex; route: string }) => {
    return record.account === own && record.route === 'aggregated'
  }).length
}

describe('faults of requests', () => {
  test('an outage refuses connections until the service returns on its port', async () => {
    await admin(sandbox(), 'POST', '/outage', { ms: 5_000, service: 'aggregator' })
    await expect(call(sandbox(), 'eth_getTransactionReceipt', [])).rejects.toThrow()
    expect((await rest(sandbox(), 'GET', '/tokens?chainId=8453')).status).toBe(200)
    await waitFor('the service', () => call(sandbox(), 'eth_call', []))
  })

  test('dropBefore accepts nothing; dropAfter and errorAfter accept the transaction without a reply', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const raw = await recordBy(account)
    inject({ kind: 'dropBefore', route: 'sendRawTransaction' })
    await expect(submit(sandbox(), raw)).rejects.toThrow()
    expect(await knownCalls(account)).toBe(0)
    inject({ kind: 'dropAfter', route: 'sendRawTransaction' })
    await expect(submit(sandbox(), raw)).rejects.toThrow()
    expect(await knownCalls(account)).toBe(1)
    inject({ kind: 'errorAfter', route: 'sendRawTransaction' })
    const failed = await submit(sandbox(), raw)
    expect([failed.status, failed.body.error.code]).toEqual([500, -32603])
    expect(await result(sandbox(), 'eth_sendRawTransaction', [raw])).toBe(keccak256(raw))
    await landed(sandbox(), keccak256(raw))
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('slow delays the answer, and rateLimit refuses with a wait', async () => {
    inject({ kind: 'slow', route: 'transactionReceipt', delayMs: 150 })
    const startedAt = performance.now()
    await result(sandbox(), 'eth_getTransactionReceipt', [`0x${'cd'.repeat(32)}`])
    expect(performance.now() - startedAt).toBeGreaterThan(140)
    inject({ kind: 'rateLimit', route: 'accountInfo', retryAfterSeconds: 4 })
    const limited = await call(sandbox(), 'agg_accountInfo', [])
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '4'])
    expect(limited.body.error.code).toBe(-32005)
  })

  test('a rule of one service does not affect the other, and a rule without a route affects both', async () => {
    inject({ kind: 'errorBefore', route: 'aggregator', count: 2 })
    expect((await rest(sandbox(), 'GET', '/tokens?chainId=8453')).status).toBe(200)
    expect((await call(sandbox(), 'agg_accountInfo', [])).status).toBe(500)
    inject({ kind: 'errorBefore', route: 'gasless', count: 2 })
    expect((await call(sandbox(), 'agg_accountInfo', [])).status).toBe(200)
    expect((await rest(sandbox(), 'GET', '/tokens?chainId=8453')).status).toBe(500)
    inject({ kind: 'errorBefore', count: 2 })
    expect((await rest(sandbox(), 'GET', '/tokens?chainId=8453')).status).toBe(500)
    expect((await call(sandbox(), 'agg_accountInfo', [])).status).toBe(500)
  })
})

describe('faults of accepted transactions', () => {
  test('lateInclusion lands the call after its delay', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    inject({ kind: 'lateInclusion', delayMs: 500 })
    const startedAt = performance.now()
    await submitAndLand(sandbox(), await recordBy(account))
    expect(performance.now() - startedAt).toBeGreaterThan(490)
  })

  test('neverIncluded keeps the call queued without cost', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    const before = await funds(sandbox(), account)
    inject({ kind: 'neverIncluded' })
    const hash = await result(sandbox(), 'eth_sendRawTransaction', [await recordBy(account)])
    // A later call lands before it.
    const other = await delegatedAccount(sandbox(), 'trusted')
    await submitAndLand(sandbox(), await recordBy(other))
    expect(await result(sandbox(), 'eth_getTransactionReceipt', [hash])).toBe(null)
    const { status } = await result(sandbox(), 'agg_transactionStatus', [hash])
    expect(status).toBe('queued')
    expect(await funds(sandbox(), account)).toEqual(before)
  })

  test('batchReverted: a stranger reverts the batch, and the call lands in a later batch', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    inject({ kind: 'batchReverted' })
    const raw = await trustlessTransaction(sandbox(), account)
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.status).toBe('0x1')
    const record = await recordWhen(sandbox(), keccak256(raw), ({ state }) => state === 'landed')
    const [reverted] = record.revertedBatches
    expect(record.revertedBatches).toHaveLength(1)
    const shown = await result(sandbox(), 'agg_getBatchedTransactionReceipt', [reverted])
    expect(shown.status).toBe('0x0')
    const { tracking } = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])
    expect(tracking.reverted_batches).toEqual(record.revertedBatches)
    expect(await callsOf(sandbox(), account)).toBe(1n)
  })

  test('batchReverted without retry shows the receipt of the reverted batch and drops the call', async () => {
    const account = await delegatedAccount(sandbox(), 'trustless')
    const before = await funds(sandbox(), account)
    inject({ kind: 'batchReverted', retry: false })
    const raw = await trustlessTransaction(sandbox(), account)
    const receipt = await submitAndLand(sandbox(), raw)
    expect(receipt.status).toBe('0x0')
    const { status, costs } = await result(sandbox(), 'agg_transactionStatus', [keccak256(raw)])
    expect([status, costs]).toEqual(['reverted', null])
    expect(await callsOf(sandbox(), account)).toBe(0n)
    expect(await funds(sandbox(), account)).toEqual(before)
    const nonce = await sepoliaClient(sandbox()).readContract({
      ...{ address: account.address, abi: PROPOSER, functionName: 'nestedNonce' },
    })
    expect(nonce).toBe(0n)
  })

  test('hashUnknownYet: a fresh hash is not found at first', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    inject({ kind: 'hashUnknownYet', forMs: 3_600_000 })
    const hidden = await result(sandbox(), 'eth_sendRawTransaction', [await recordBy(account)])
    for (const method of ['eth_getTransactionReceipt', 'agg_transactionStatus']) {
      const { body } = await call(sandbox(), method, [hidden])
      expect(body.error.message).toBe('Transaction not found')
    }
    inject({ kind: 'hashUnknownYet', forMs: 100 })
    await submitAndLand(sandbox(), await recordBy(await delegatedAccount(sandbox(), 'trusted')))
  })

  test('includedTwice: the second inclusion reverts for trustless calls and executes again for trusted calls', async () => {
    const trustless = await delegatedAccount(sandbox(), 'trustless')
    const trusted = await delegatedAccount(sandbox(), 'trusted')
    inject({ kind: 'includedTwice', count: 2 })
    const raws = [await trustlessTransaction(sandbox(), trustless), await recordBy(trusted)]
    const outcomes: unknown[] = []
    for (const raw of raws) {
      await submitAndLand(sandbox(), raw)
      const isRepeated = (record: { repeatedIn: readonly Hex[] }) => record.repeatedIn.length > 0
      const { repeatedIn } = await recordWhen(sandbox(), keccak256(raw), isRepeated)
      const [hash] = repeatedIn
      outcomes.push((await result(sandbox(), 'agg_getBatchedTransactionReceipt', [hash])).status)
    }
    expect(outcomes).toEqual(['0x0', '0x1'])
    expect(await callsOf(sandbox(), trustless)).toBe(1n)
    expect(await callsOf(sandbox(), trusted)).toBe(2n)
  })

  test('lieReceipt names a real transaction without a call of the account', async () => {
    const account = await delegatedAccount(sandbox(), 'trusted')
    inject({ kind: 'lieReceipt' }, { kind: 'neverIncluded' })
    const receipt = await submitAndLand(sandbox(), await recordBy(account))
    expect(receipt.status).toBe('0x1')
    const multicall = sandbox().sepolia.contracts.multicall
    expect(receipt.to.toLowerCase()).toBe(multicall.toLowerCase())
    expect(receipt.logs.length).toBeGreaterThan(0)
    expect(JSON.stringify(receipt)).not.toContain(account.address.slice(2).toLowerCase())
    expect(await callsOf(sandbox(), account)).toBe(0n)
  })
})

test('too many requests are refused with the wait', async () => {
  const strict = await startSandbox({
    market: { feedInterval: 0 },
    aggregator: { ...QUIET, rateLimit: { limit: 2, windowMs: 60_000 } },
  })
  try {
    const statuses: number[] = []
    for (let i = 0; i < 3; i += 1) statuses.push((await call(strict, 'eth_call', [])).status)
    expect(statuses).toEqual([200, 200, 429])
    expect(Number((await call(strict, 'eth_call', [])).headers.get('retry-after'))).toBeGreaterThan(
      0,
    )
  } finally {
    await strict.stop()
  }
})
