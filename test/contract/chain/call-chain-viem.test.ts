import {
  encodeAbiParameters,
  encodeErrorResult,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCallChain } from '../../../src/chain/call-chain.ts'
import type { Address } from '../../../src/domain/money/units.ts'
import type { AnsweredDomain } from '../../../src/domain/order/call.ts'
import {
  type AnvilCallChainRig,
  makeCallChainRig,
} from '../../support/aggregator/call-chain-rig.ts'
import { type FakeRpcNode, startPassingNode } from '../../support/chain/fake-rpc-node.ts'
import { AT_ONCE } from '../../support/finality.ts'
import { callChainContract } from './call-chain.ts'
import { answerOf } from './chain.ts'

callChainContract('the proposer in the domain', () => makeCallChainRig('proposer'))
callChainContract('the account in the domain', () => makeCallChainRig('account'))

const PROPOSER: Address = `0x${'aa'.repeat(20)}`
const ETCHED: Address = `0x${'e7'.repeat(20)}`
const DOMAIN = [
  { type: 'bytes1' },
  { type: 'string' },
  { type: 'string' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'bytes32' },
  { type: 'uint256[]' },
] as const

/** Code that ends every call with the given data, by RETURN (f3) or REVERT (fd). */
function codeThat(ends: 'returns' | 'reverts', data: Hex): Hex {
  const length = ((data.length - 2) / 2).toString(16).padStart(4, '0')
  const opcode = ends === 'returns' ? 'f3' : 'fd'
  return `0x61${length}600e60003961${length}6000${opcode}${data.slice(2)}`
}

describe('call chain adapter on a local EVM node', () => {
  let rig: AnvilCallChainRig
  /** Forwards batches to the node and records them. */
  let proxy: FakeRpcNode
  let viaProxy: ReturnType<typeof createCallChain>

  beforeAll(async () => {
    rig = await makeCallChainRig()
    proxy = await startPassingNode(rig.rpcUrl)
  })
  afterAll(async () => {
    await proxy.close()
    await rig.close()
  })
  beforeEach(() => {
    proxy.batches.length = 0
    viaProxy = connect(rig.chainId, proxy.url)
  })
  afterEach(() => viaProxy.close())

  function connect(chainId: number, url: string): ReturnType<typeof createCallChain> {
    return createCallChain({
      ...{ chainId, rpcUrls: [url], rule: AT_ONCE },
      ...{ observe: () => undefined, clock: Date },
    })
  }

  const etch = (code: Hex) => rig.rpc.call('anvil_setCode', [ETCHED, code])
  const viewEtched = async () =>
    answerOf(await rig.callChain.account({ account: ETCHED, gasTank: rig.gasTank }))

  test('reads an account in one HTTP request, with time, nonce and domain of one block', async () => {
    await viaProxy.account({ account: rig.key.address, gasTank: rig.gasTank })
    expect(proxy.batches.map((batch) => batch.map((item) => item.method))).toEqual([
      ['eth_chainId', 'eth_call', 'eth_getBlockByNumber', 'eth_getTransactionCount', 'eth_getCode'],
    ])
  })

  test('makes one HTTP request per simulation and per trace', async () => {
    const { address } = rig.key
    await viaProxy.simulate({ from: address, to: address, data: '0x', value: 0n })
    await viaProxy.trace(`0x${'77'.repeat(32)}`)
    expect(proxy.batches.map((batch) => batch.map((item) => item.method))).toEqual([
      ['eth_chainId', 'eth_call', 'eth_estimateGas'],
      ['eth_chainId', 'eth_getTransactionReceipt', 'eth_getTransactionByHash'],
    ])
  })

  describe('the domain that an account reports', () => {
    type Changes = { fields?: Hex; name?: string; salt?: Hex; extensions?: bigint[] }
    const full = (changes: Changes = {}): Hex => {
      const { fields = '0x0f', name = 'Name' } = changes
      const { salt = `0x${'0'.repeat(64)}`, extensions = [] } = changes
      const values = [fields, name, '7', 5n, PROPOSER, salt, extensions] as const
      return encodeAbiParameters(DOMAIN, values)
    }
    const plain: AnsweredDomain = {
      name: 'Name',
      version: '7',
      chainId: 5n,
      verifyingContract: PROPOSER,
      hasExtras: false,
    }

    test.each<[string, Hex, Partial<AnsweredDomain>]>([
      ['all four fields', full(), {}],
      ['a salt', full({ fields: '0x1f', salt: `0x${'01'.repeat(32)}` }), { hasExtras: true }],
      ['a bit without a meaning yet', full({ fields: '0x2f' }), { hasExtras: true }],
      ['an extension', full({ extensions: [1n] }), { hasExtras: true }],
      ['no name', full({ fields: '0x0e' }), { name: '' }],
      ['no version', full({ fields: '0x0d' }), { version: '' }],
      ['no chain', full({ fields: '0x0b' }), { chainId: 0n }],
      ['no contract', full({ fields: '0x07' }), { verifyingContract: `0x${'0'.repeat(40)}` }],
    ])('is read with %s', async (_, answer, changes) => {
      await etch(codeThat('returns', answer))
      expect((await viewEtched()).domain).toEqual({ ...plain, ...changes })
    })

    test.each<[string, Hex]>([
      ['nothing', codeThat('returns', '0x')],
      ['a revert', codeThat('reverts', '0x')],
      ['a single word', codeThat('returns', `0x${'01'.repeat(32)}`)],
      ['data cut short', codeThat('returns', full().slice(0, -128) as Hex)],
      ['a name that is far too long', codeThat('returns', full({ name: 'n'.repeat(8_192) }))],
    ])('is absent for %s', async (_, code) => {
      await etch(code)
      expect((await viewEtched()).domain).toBeUndefined()
    })
  })

  test('a nonce is absent when the account reverts or returns less than a word', async () => {
    for (const code of [codeThat('reverts', `0x${'00'.repeat(32)}`), codeThat('returns', '0x01')]) {
      await etch(code)
      const view = await viewEtched()
      expect(view).toMatchObject({ code, nestedNonce: undefined })
    }
  })

  const REFUSED = toFunctionSelector('Refused(uint256)')
  const errors = parseAbi(['error Error(string)', 'error Panic(uint256)', 'error Refused(uint256)'])
  test.each<[string, Hex, string]>([
    [
      'a reason',
      encodeErrorResult({ abi: errors, errorName: 'Error', args: ['not today'] }),
      'the call reverts: not today',
    ],
    [
      'a panic',
      encodeErrorResult({ abi: errors, errorName: 'Panic', args: [17n] }),
      'the call reverts: Panic(17)',
    ],
    [
      'a custom error',
      encodeErrorResult({ abi: errors, errorName: 'Refused', args: [1n] }),
      `the call reverts: custom error ${REFUSED}`,
    ],
  ])('a simulation that reverts with %s reports it', async (_, data, message) => {
    await etch(codeThat('reverts', data))
    const call = { from: rig.key.address, to: ETCHED, data: '0x' as Hex, value: 0n }
    const fault = { tag: 'refused', message }
    expect(await rig.callChain.simulate(call)).toEqual({ ok: false, fault })
  })

  test('a simulation that reverts without data is refused', async () => {
    await etch(codeThat('reverts', '0x'))
    const call = { from: rig.key.address, to: ETCHED, data: '0x' as Hex, value: 0n }
    expect(await rig.callChain.simulate(call)).toMatchObject({ fault: { tag: 'refused' } })
  })

  test('a contract creation has a trace without a recipient', async () => {
    const { deployer } = rig.deployment
    const { transactionHash } = await deployer.send({ data: '0x60006000f3' })
    const trace = answerOf(await rig.callChain.trace(transactionHash))
    expect(trace).toMatchObject({ success: true, to: undefined, from: deployer.address })
  })

  test('a reverted transaction has a trace that shows the revert', async () => {
    const { deployer } = rig.deployment
    const { to, data } = rig.failingCall
    const { transactionHash } = await deployer.send({ to, data })
    const trace = answerOf(await rig.callChain.trace(transactionHash))
    expect(trace).toMatchObject({ success: false, to, input: data })
  })

  test('a node on another chain is trusted only for its identity', async () => {
    const elsewhere = connect(1, rig.rpcUrl)
    const account = rig.key.address
    const call = { from: account, to: account, data: '0x' as Hex, value: 0n }
    const message = `node 1 of 1: is on chain ${rig.chainId}, not 1`
    const replies = await Promise.all([
      elsewhere.account({ account, gasTank: rig.gasTank }),
      elsewhere.simulate(call),
      elsewhere.trace(`0x${'77'.repeat(32)}`),
      elsewhere.callsWith({
        ...{ contract: rig.multicall, mark: account, fromBlock: 0n },
        ...{ atLeastBlock: 0n, untilSeconds: 0, isThorough: false },
      }),
      elsewhere.draft(call),
      elsewhere.transaction({ from: account, hashes: [] }),
    ])
    for (const reply of replies)
      expect(reply).toEqual({ ok: false, fault: { tag: 'unavailable', message } })
    expect(answerOf(await elsewhere.identity()).chainId).toBe(rig.chainId)
    await elsewhere.close()
  })
})
