import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createChain } from '../../../src/chain/chain.ts'
import { acceptPrice } from '../../../src/domain/money/price.ts'
import type { Hex } from '../../../src/domain/money/units.ts'
import { createKey } from '../../../src/signing/keys/key.ts'
import { type FakeRpcNode, startPassingNode } from '../../support/chain/fake-rpc-node.ts'
import {
  makeViemChainRig,
  receiptOf,
  type ViemChainRig,
} from '../../support/chain/viem-chain-rig.ts'
import { AT_ONCE } from '../../support/finality.ts'
import { answerOf, approveCall, chainContract } from './chain.ts'

const DAY_SECONDS = 86_400
/** Two days ago. */
const AGO = BigInt(Math.floor(Date.now() / 1_000) - 2 * DAY_SECONDS)

/** Code of a contract that returns these words for every call. */
function answering(words: readonly bigint[]): Hex {
  const stores = words.map((word, index) => {
    const value = word.toString(16).padStart(64, '0')
    return `7f${value}60${(index * 32).toString(16).padStart(2, '0')}52`
  })
  return `0x${stores.join('')}60${(words.length * 32).toString(16)}6000f3`
}

chainContract('viem on a local EVM node', makeViemChainRig)

describe('chain adapter on a local EVM node', () => {
  let rig: ViemChainRig
  let snapshot: string
  /** Forwards batches to the node and records them. */
  let proxy: FakeRpcNode
  let viaProxy: ReturnType<typeof createChain>

  beforeAll(async () => {
    rig = await makeViemChainRig()
    proxy = await startPassingNode(rig.rpcUrl)
  })
  afterEach(() => viaProxy.close())
  afterAll(async () => {
    await proxy.close()
    await rig.close()
  })
  beforeEach(async () => {
    if (snapshot !== undefined) await rig.rpc.call('evm_revert', [snapshot])
    snapshot = await rig.rpc.call<string>('evm_snapshot')
    proxy.batches.length = 0
    viaProxy = connect(rig.chainId, proxy.url)
  })

  function connect(chainId: number, ...rpcUrls: string[]): ReturnType<typeof createChain> {
    const { permit2 } = rig
    return createChain({
      ...{ chainId, rpcUrls, permit2, rule: AT_ONCE },
      ...{ observe: () => undefined, clock: Date },
    })
  }

  function approvalDraft() {
    const data = approveCall(rig.permit2, 5n)
    return rig.chain.draft({ from: rig.key.address, to: rig.token.address, data, value: 0n })
  }

  test.each([
    ['reverts', '0x60006000fd'],
    ['answers no data', '0x00'],
    ['answers less than a word', '0x601f6000f3'],
  ] as const)(
    'leaves out a token and a feed whose code %s, without hiding other answers',
    async (_, code) => {
      const { key, token, otherToken, feed, tokenBalance } = rig
      const query = { owner: key.address, tokens: [token, otherToken], feeds: [feed] }
      const whole = answerOf(await viaProxy.view(query))
      expect([...whole.balances.values()]).toEqual([tokenBalance, 0n])
      await rig.rpc.call('anvil_setCode', [otherToken.address, code])
      await rig.rpc.call('anvil_setCode', [feed.feed, code])
      const part = answerOf(await viaProxy.view(query))
      expect([...part.balances]).toEqual([[token.address, tokenBalance]])
      expect([...part.allowances.keys()]).toEqual([token.address])
      expect(part.readings.size).toBe(0)
    },
  )

  test.each([
    ['is complete', [7n, 3n * 10n ** 11n, 0n, AGO, 7n], [1n, 0n, AGO, AGO, 1n], 'a price'],
    ['is incomplete', [7n, 3n * 10n ** 11n, AGO, 0n, 7n], [1n, 0n, AGO, AGO, 1n], 'price-invalid'],
    [
      'is from the future',
      [7n, 3n * 10n ** 11n, AGO, 2n ** 255n, 7n],
      [1n, 0n, AGO, AGO, 1n],
      'price-invalid',
    ],
    [
      'carries over an answer',
      [7n, 3n * 10n ** 11n, AGO, AGO, 6n],
      [1n, 0n, AGO, AGO, 1n],
      'price-stale',
    ],
    [
      'stands beside a sequencer without a start',
      [7n, 3n * 10n ** 11n, AGO, AGO, 7n],
      [1n, 0n, 0n, AGO, 1n],
      'sequencer-down',
    ],
  ] as const)('applies the price rules to a round that %s', async (_, round, status, verdict) => {
    const sequencerFeed = rig.otherToken.address
    const feed = { ...rig.feed, sequencerFeed, maxAgeSeconds: 7 * DAY_SECONDS }
    await rig.rpc.call('anvil_setCode', [feed.feed, answering(round)])
    await rig.rpc.call('anvil_setCode', [sequencerFeed, answering(status)])
    const view = answerOf(
      await viaProxy.view({ owner: rig.key.address, tokens: [], feeds: [feed] }),
    )
    const price = acceptPrice(feed, view.readings.get(feed.pair), view.blockTimeSeconds)
    expect(price.ok ? 'a price' : price.reason).toBe(verdict)
  })

  test("makes one HTTP request per view and reads a feed's decimals once", async () => {
    const query = {
      owner: rig.key.address,
      tokens: [rig.token],
      feeds: [rig.feed],
      permitNonce: 3n,
    }
    const decimalsSelector = '313ce567'
    const views = [answerOf(await viaProxy.view(query)), answerOf(await viaProxy.view(query))]
    expect(proxy.batches.map((batch) => batch.map((item) => item.method))).toEqual([
      ['eth_chainId', 'eth_call', 'eth_getCode'],
      ['eth_chainId', 'eth_call', 'eth_getCode'],
    ])
    const sent = proxy.batches.map((batch) => JSON.stringify(batch).includes(decimalsSelector))
    expect(sent).toEqual([true, false])
    expect(views[1]?.readings).toEqual(views[0]?.readings)
  })

  test('makes one HTTP request per permit view with a transaction', async () => {
    const txHash = await rig.payOut(rig.token, { to: rig.stranger, amount: 1n })
    const query = { owner: rig.key.address, nonce: 3n, txHash }
    expect(answerOf(await viaProxy.permit(query)).transaction?.hash).toBe(txHash)
    expect(proxy.batches).toHaveLength(1)
  })

  test('accepts bytes that already wait in the pool', async () => {
    const { raw, hash } = rig.key.signTransaction(answerOf(await approvalDraft()))
    await rig.rpc.call('evm_setAutomine', [false])
    await rig.rpc.call('evm_setIntervalMining', [3_600])
    try {
      expect(answerOf(await rig.chain.broadcast(raw))).toBe(hash)
      expect(answerOf(await rig.chain.broadcast(raw))).toBe(hash)
      const query = { from: rig.key.address, hashes: [hash] }
      expect(answerOf(await rig.chain.transaction(query)).receipt).toBeUndefined()
      expect(
        answerOf(await rig.chain.permit({ owner: query.from, nonce: 0n, txHash: hash })),
      ).toMatchObject({
        transaction: undefined,
      })
    } finally {
      await rig.rpc.call('evm_mine')
      await rig.rpc.call('evm_setAutomine', [true])
    }
  })

  test('distinguishes a sender without coin from a refused transaction', async () => {
    const poor = createKey(randomBytes(32))
    const draft = answerOf(await approvalDraft())
    const { raw } = poor.signTransaction({ ...draft, from: poor.address, nonce: 0 })
    const reply = await rig.chain.broadcast(raw)
    expect(reply).toMatchObject({ ok: false, fault: { tag: 'insufficientFunds' } })
  })

  test('refuses a transaction below its intrinsic gas', async () => {
    const draft = answerOf(await approvalDraft())
    const { raw } = rig.key.signTransaction({ ...draft, gas: 1_000n })
    const reply = await rig.chain.broadcast(raw)
    expect(reply).toMatchObject({ ok: false, fault: { tag: 'refused' } })
  })

  test('returns a receipt with the revert and no transfers for a reverted transaction', async () => {
    const draft = answerOf(await approvalDraft())
    const { raw, hash } = rig.key.signTransaction({ ...draft, ...rig.revertingCall })
    answerOf(await rig.chain.broadcast(raw))
    await receiptOf(rig.rpc, hash)
    const { address } = rig.key
    const found = answerOf(await rig.chain.transaction({ from: address, hashes: [hash] }))
    expect(found.receipt?.success).toBe(false)
    const permit = answerOf(await rig.chain.permit({ owner: address, nonce: 0n, txHash: hash }))
    expect(permit.transaction).toMatchObject({ success: false, transfers: [] })
    expect(permit.transaction?.input).toBe(rig.revertingCall.data)
  })

  test('names the error in the refusal of a reverting call', async () => {
    const reply = await rig.chain.draft({ from: rig.key.address, ...rig.revertingCall })
    expect(reply).toMatchObject({ fault: { message: 'the call reverts: custom error 0xf4d678b8' } })
  })

  test('trusts a node on another chain only for its identity', async () => {
    const elsewhere = connect(1, rig.rpcUrl)
    const { address } = rig.key
    const call = { from: address, to: address, data: '0x' as Hex, value: 0n }
    const message = `node 1 of 1: is on chain ${rig.chainId}, not 1`
    const replies = await Promise.all([
      elsewhere.view({ owner: address, tokens: [], feeds: [] }),
      elsewhere.permit({ owner: address, nonce: 0n }),
      elsewhere.outgoing({
        owner: address,
        token: rig.token.address,
        ...{ nonce: 0n, fromBlock: 0n, atLeastBlock: 0n },
        untilSeconds: 0,
      }),
      elsewhere.draft(call),
      elsewhere.transaction({ from: address, hashes: [] }),
    ])
    for (const reply of replies)
      expect(reply).toEqual({ ok: false, fault: { tag: 'unavailable', message } })
    expect(answerOf(await elsewhere.identity()).chainId).toBe(rig.chainId)
    await elsewhere.close()
  })

  test('reports no nonce as unused when Permit2 is not deployed', async () => {
    await rig.rpc.call('anvil_setCode', [rig.permit2, '0x'])
    const owner = rig.key.address
    const fault = {
      tag: 'unavailable',
      message: 'node 1 of 1: Permit2 does not answer at its address',
    }
    expect(await rig.chain.permit({ owner, nonce: 0n })).toEqual({ ok: false, fault })
    expect(await rig.chain.view({ owner, tokens: [], feeds: [], permitNonce: 0n })).toEqual({
      ok: false,
      fault,
    })
  })

  test('refuses a view on a chain without Multicall3, with the cause', async () => {
    await rig.rpc.call('anvil_setCode', ['0xcA11bde05977b3631167028862bE2a173976CA11', '0x'])
    const reply = await rig.chain.view({ owner: rig.key.address, tokens: [], feeds: [] })
    expect(reply).toMatchObject({ fault: { tag: 'unavailable' } })
    expect(JSON.stringify(reply)).toContain('no Multicall3 at 0xca11')
  })

  test('reports a node before the first block of a search as unavailable', async () => {
    const reply = await rig.chain.outgoing({
      owner: rig.key.address,
      token: rig.token.address,
      ...{ nonce: 0n, fromBlock: 1_000_000n, atLeastBlock: 0n },
      untilSeconds: 0,
    })
    expect(reply).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })
})
