import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { createCallChain } from '../../../src/chain/call-chain.ts'
import { createChain } from '../../../src/chain/chain.ts'
import { createInspection } from '../../../src/chain/inspection.ts'
import { openLargeCalls } from '../../../src/chain/node/large-calls.ts'
import { createReadEncoder } from '../../../src/chain/snapshot-reads.ts'
import { makeCallChainRig } from '../../support/aggregator/call-chain-rig.ts'
import { type Refusals, startRefusingNode } from '../../support/chain/refusing-node.ts'
import { makeViemChainRig } from '../../support/chain/viem-chain-rig.ts'
import { AT_ONCE } from '../../support/finality.ts'
import { type CallChainRig, callChainContract } from './call-chain.ts'
import { answerOf, type ChainRig, chainContract } from './chain.ts'

const OPTIONS = { rule: AT_ONCE, observe: () => undefined, clock: Date } as const

/** A chain rig behind a node that refuses some requests. */
async function chainBehind(refusals: Refusals): Promise<ChainRig> {
  const rig = await makeViemChainRig()
  const { chainId, permit2 } = rig
  const node = await startRefusingNode(rig.rpcUrl, refusals)
  const chain = createChain({ chainId, permit2, rpcUrls: [node.url], ...OPTIONS })
  return {
    ...rig,
    chain,
    async close() {
      await chain.close()
      await node.close()
      await rig.close()
    },
  }
}

async function callChainBehind(refusals: Refusals): Promise<CallChainRig> {
  const rig = await makeCallChainRig()
  const node = await startRefusingNode(rig.rpcUrl, refusals)
  const callChain = createCallChain({ chainId: rig.chainId, rpcUrls: [node.url], ...OPTIONS })
  return {
    ...rig,
    callChain,
    async close() {
      await callChain.close()
      await node.close()
      await rig.close()
    },
  }
}

const THREE = { batchMax: 3, batchStatus: 500 }
const NONE = { batchMax: 0, logBlocksMax: 3, logStatus: 400 }

chainContract('a node with batches of at most three', () => chainBehind(THREE))
chainContract('a node without batches and with at most three blocks of logs', () =>
  chainBehind(NONE),
)
callChainContract('a node with batches of at most three', () => callChainBehind(THREE))

describe('a node that refuses', () => {
  const open: { close(): Promise<unknown> }[] = []
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close()
  })

  async function refusing(refusals: Refusals) {
    const rig = await makeViemChainRig()
    const node = await startRefusingNode(rig.rpcUrl, refusals)
    open.push(rig, node)
    return { rig, node }
  }

  async function inspected(refusals: Refusals) {
    const { rig, node } = await refusing(refusals)
    const { chainId } = rig
    const { rule, clock } = OPTIONS
    const options = { chainId, rpcUrls: [node.url], rule, clock, timeoutMs: 2_000 }
    const inspection = createInspection(options)
    open.push(inspection)
    await rig.rpc.call('anvil_mine', ['0x100'])
    const [snapshot] = await inspection.nodes({ latestSeconds: 2 ** 40 })
    return {
      node,
      limits: snapshot?.limits,
      history: snapshot?.history && answerOf(snapshot.history),
    }
  }

  test('has no known limits when it refuses nothing', async () => {
    const { limits, history } = await inspected({})
    expect(limits).toEqual({ batch: undefined, logBlocks: undefined })
    expect(history).toMatchObject({ finalState: true, newLogs: true, oldLogs: true })
  })

  test('has limits with its own error messages, and still serves state and logs', async () => {
    const { limits, history } = await inspected({ ...THREE, logBlocksMax: 10, logStatus: 400 })
    expect(history).toMatchObject({ finalState: true, newLogs: true, oldLogs: true })
    expect(limits?.batch?.size).toBe(3)
    expect(limits?.batch?.refused.message).toBe(
      'answered HTTP 500: Batch of more than 3 requests are not allowed',
    )
    expect(limits?.logBlocks).toMatchObject({ size: 10, refused: { kind: 'range' } })
  })

  test('is queried by eth_getLogs once when it lacks the method, and not reported as without history', async () => {
    const { node, history } = await inspected({ logBlocksMax: 0 })
    expect(history?.newLogs).toBe(
      'node 1 of 1: error -32601: the method eth_getLogs does not exist/is not available',
    )
    expect(history).toMatchObject({ finalState: true })
    expect(node.counted.refusedLogs).toBe(2)
  })

  test('serves reads of past rounds one request at a time without batches', async () => {
    const { rig, node } = await refusing({ batchMax: 0 })
    const { chainId, permit2 } = rig
    const calls = openLargeCalls({ chainId, rpcUrls: [node.url], clock: OPTIONS.clock })
    onTestFinished(() => calls.close())
    const data = createReadEncoder()({
      ...{ owner: rig.key.address, permit2, tokens: [], rounds: [], decimals: [] },
      permitNonce: undefined,
    })
    expect(await calls.call(data)).toMatchObject({ ok: true })
  })
})
