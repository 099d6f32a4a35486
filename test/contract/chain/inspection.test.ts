import { encodeFunctionData, parseAbi } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createInspection, type Inspection } from '../../../src/chain/inspection.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import {
  makeViemChainRig,
  receiptOf,
  type ViemChainRig,
} from '../../support/chain/viem-chain-rig.ts'
import { startHidingNode } from '../../support/process/hiding-node.ts'
import { answerOf } from './chain.ts'

const PERMIT2_ABI = parseAbi([
  'function approve(address token, address spender, uint160 amount, uint48 expiration)',
])
const DEAD_URL = 'http://127.0.0.1:1/v2/an-access-key'
const FAR = { latestSeconds: 2 ** 40 }

let rig: ViemChainRig
const open: Inspection[] = []

beforeAll(async () => {
  rig = await makeViemChainRig()
})
afterAll(async () => {
  await Promise.all(open.map((each) => each.close()))
  await rig.close()
})

function inspect(
  rpcUrls: readonly string[] = [rig.rpcUrl],
  { finality = 1, chainId = rig.chainId }: Partial<FinalityRule & { chainId: number }> = {},
): Inspection {
  const rule = { finality, agree: 1 }
  const inspection = createInspection({ chainId, rpcUrls, rule, clock: Date, timeoutMs: 2_000 })
  open.push(inspection)
  return inspection
}

test('each node is inspected separately, and two nodes of one chain share a block', async () => {
  const [first, second, dead] = await inspect([rig.rpcUrl, rig.rpcUrl, DEAD_URL]).nodes(FAR)
  expect(first?.label).toBe('node 1 of 3')
  const met = first === undefined ? undefined : answerOf(first.met)
  expect(met).toMatchObject({ chainId: rig.chainId, genesisHash: expect.stringMatching(/^0x/) })
  expect(Math.abs((met?.headSeconds ?? 0) - Date.now() / 1_000)).toBeLessThan(60)
  const history = first?.history && answerOf(first.history)
  expect(history).toMatchObject({ finalState: true, oldLogs: true, oldLogsFrom: 0n })
  expect(history?.finalNumber).toBe((met?.headNumber ?? 0n) - 1n)
  expect(second?.common).toEqual(first?.common)
  expect(first?.common?.hash).toMatch(/^0x[0-9a-f]{64}$/)
  expect(dead?.met).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  expect([dead?.history, dead?.common]).toEqual([undefined, undefined])
  expect(JSON.stringify(dead)).not.toContain('an-access-key')
})

test('gas fees are queried from every node, and one node cannot raise them alone', async () => {
  const dear = await startHidingNode(rig.rpcUrl)
  dear.overrides = {
    eth_feeHistory: {
      baseFeePerGas: ['0xffffffffffff', '0xffffffffffff'],
      reward: [['0xffffffffffff']],
    },
  }
  const { baseFeePerGas, maxPriorityFeePerGas } = answerOf(await inspect().fees())
  expect(baseFeePerGas).toBeGreaterThan(0n)
  const both = answerOf(await inspect([dear.url, rig.rpcUrl]).fees())
  expect(both).toMatchObject({ baseFeePerGas, maxPriorityFeePerGas })
})

test('a node of another chain is identified and not queried further', async () => {
  const [node] = await inspect([rig.rpcUrl], { chainId: 1 }).nodes(FAR)
  expect(node && answerOf(node.met).chainId).toBe(rig.chainId)
  expect([node?.history, node?.common]).toEqual([undefined, undefined])
})

test('a node whose newest block is too late reports no final block', async () => {
  const [node] = await inspect().nodes({ latestSeconds: 1 })
  expect(node?.history).toMatchObject({ ok: false })
})

test('the time of a node is the time of its newest block', async () => {
  const behind = await startHidingNode(rig.rpcUrl)
  behind.aheadSeconds = -500
  const [node] = await inspect([behind.url]).nodes(FAR)
  const seconds = node === undefined ? 0 : answerOf(node.met).headSeconds
  expect(seconds).toBeLessThan(Date.now() / 1_000 - 400)
})

test('code, decimals and symbols come from the contracts; an empty address has none', async () => {
  const { token, otherToken, stranger } = rig
  const codes = answerOf(await inspect().code([token.address, stranger]))
  expect(codes.get(token.address)?.length).toBeGreaterThan(100)
  expect(codes.get(stranger)).toBe('0x')
  const seen = answerOf(await inspect().tokens([token.address, otherToken.address, stranger]))
  expect(seen.get(token.address)).toEqual({ decimals: 6, symbol: 'USDC', description: undefined })
  expect(seen.get(otherToken.address)).toEqual({
    decimals: 18,
    symbol: 'WETH',
    description: undefined,
  })
  expect(seen.get(stranger)).toEqual({
    decimals: undefined,
    symbol: undefined,
    description: undefined,
  })
})

test("allowances in Permit2's own table are returned with their expiration", async () => {
  const { permit2, token, otherToken, stranger, key } = rig
  const query = {
    owner: key.address,
    permit2,
    tokens: [token.address, otherToken.address],
    spenders: [stranger],
  }
  expect(answerOf(await inspect().permit2Rights(query))).toEqual([])
  const expiresAtSeconds = 4_000_000_000
  await sendAs(key.address, {
    to: permit2,
    data: encodeFunctionData({
      abi: PERMIT2_ABI,
      functionName: 'approve',
      args: [token.address, stranger, 77n, expiresAtSeconds],
    }),
  })
  expect(answerOf(await inspect().permit2Rights(query))).toEqual([
    { token: token.address, spender: stranger, amount: 77n, expiresAtSeconds },
  ])
})

async function sendAs(from: Address, call: { readonly to: Address; readonly data: Hex }) {
  const hash = await rig.rpc.call<Hex>('eth_sendTransaction', [{ from, gas: '0x4c4b40', ...call }])
  await receiptOf(rig.rpc, hash)
}
