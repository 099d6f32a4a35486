import { keccak256, stringToHex, toHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChain } from '../../../src/chain/chain.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import { NO_CODE } from '../../../src/domain/order/contract.ts'
import type { FinalityRule } from '../../../src/domain/settings.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { Chain, CodeQuery } from '../../../src/ports.ts'
import {
  type FakeRpcNode,
  startFakeRpcNode,
  startPassingNode,
} from '../../support/chain/fake-rpc-node.ts'
import { makeViemChainRig, type ViemChainRig } from '../../support/chain/viem-chain-rig.ts'
import { AT_ONCE } from '../../support/finality.ts'
import { answerOf } from './chain.ts'

const at = (digits: string): Address => `0x${digits.padStart(40, '0')}`
const [PLAIN, PROXY, OLDER, BEACONED, EMPTY] = ['c1', 'c2', 'c3', 'c4', 'c5'].map(at) as [
  Address,
  Address,
  Address,
  Address,
  Address,
]
const [FIRST, SECOND, BEACON] = [at('d1'), at('d2'), at('d3')]
/** Proxy slot, as derived by EIP-1967. */
const slotOf = (name: string): Hex => toHex(BigInt(keccak256(stringToHex(name))) - 1n, { size: 32 })
const IMPLEMENTATION = slotOf('eip1967.proxy.implementation')
const BEACON_SLOT = slotOf('eip1967.proxy.beacon')
const ZEPPELIN = keccak256(stringToHex('org.zeppelinos.proxy.implementation'))
const word = (address: Address): Hex => `0x${address.slice(2).padStart(64, '0')}`
/** Code that returns an address for every call. */
const answering = (address: Address): Hex => `0x73${address.slice(2)}60005260206000f3`

let rig: ViemChainRig
let proxy: FakeRpcNode
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  rig = await makeViemChainRig()
  proxy = await startPassingNode(rig.rpcUrl)
  const codes = new Map<Address, Hex>([
    [PLAIN, '0x6001'],
    [PROXY, '0x6002'],
    [OLDER, '0x6003'],
    [BEACONED, '0x6004'],
    [FIRST, '0x6005'],
    [SECOND, '0x6006'],
    [BEACON, answering(FIRST)],
  ])
  for (const [address, code] of codes) await rig.rpc.call('anvil_setCode', [address, code])
  await rig.rpc.call('anvil_setStorageAt', [PROXY, IMPLEMENTATION, word(FIRST)])
  await rig.rpc.call('anvil_setStorageAt', [OLDER, ZEPPELIN, word(FIRST)])
  await rig.rpc.call('anvil_setStorageAt', [BEACONED, BEACON_SLOT, word(BEACON)])
})
afterAll(async () => {
  for (const each of open) await each.close()
  await proxy.close()
  await rig.close()
})

function connect(rpcUrls: readonly string[], rule: FinalityRule = AT_ONCE) {
  const observed: RuntimeEvent[] = []
  const { chainId, permit2 } = rig
  const observe = (event: RuntimeEvent): void => void observed.push(event)
  const chain = createChain({ ...{ chainId, rpcUrls, permit2, rule, observe }, clock: Date })
  open.push(chain)
  return { chain, observed }
}

async function read(chain: Chain, contracts: readonly Address[], when: CodeQuery['at'] = 'newest') {
  const query = { contracts, at: when, latestSeconds: Number.MAX_SAFE_INTEGER }
  return answerOf(await chain.code(query))
}

const ALL = [PLAIN, PROXY, OLDER, BEACONED, EMPTY]
const behind = { implementation: FIRST, implementationHash: keccak256('0x6005') }

test.each(['newest', 'final'] as const)(
  'code and implementations of all kinds of proxies are read at the %s block',
  async (when) => {
    const { chain } = connect([rig.rpcUrl])
    const seen = await read(chain, ALL, when)
    expect(ALL.map((each) => seen.get(each)?.agreed)).toEqual([
      { hash: keccak256('0x6001') },
      { hash: keccak256('0x6002'), ...behind },
      { hash: keccak256('0x6003'), ...behind },
      { hash: keccak256('0x6004'), ...behind },
      { hash: NO_CODE },
    ])
  },
)

test('a replaced implementation shows at the next read, which makes one small batch', async () => {
  const { chain } = connect([proxy.url])
  await read(chain, [PLAIN, PROXY, OLDER])
  proxy.batches.length = 0
  await read(chain, [PLAIN, PROXY, OLDER])
  const methods = proxy.batches.map((batch) => batch.map(({ method }) => method).toSorted())
  expect(methods).toEqual([['eth_call', 'eth_chainId', 'eth_getStorageAt', 'eth_getStorageAt']])
  await rig.rpc.call('anvil_setStorageAt', [PROXY, IMPLEMENTATION, word(SECOND)])
  const seen = await read(chain, [PLAIN, PROXY, OLDER])
  await rig.rpc.call('anvil_setStorageAt', [PROXY, IMPLEMENTATION, word(FIRST)])
  expect(seen.get(PROXY)?.agreed).toEqual({
    ...{ hash: keccak256('0x6002'), implementation: SECOND },
    implementationHash: keccak256('0x6006'),
  })
})

test('a contract that becomes a proxy later is recognised after some reads', async () => {
  const { chain } = connect([rig.rpcUrl])
  await read(chain, [PLAIN])
  await rig.rpc.call('anvil_setStorageAt', [PLAIN, IMPLEMENTATION, word(FIRST)])
  let reads = 0
  while ((await read(chain, [PLAIN])).get(PLAIN)?.agreed?.implementation === undefined) {
    reads += 1
    expect(reads).toBeLessThan(30)
  }
  await rig.rpc.call('anvil_setStorageAt', [PLAIN, IMPLEMENTATION, toHex(0n, { size: 32 })])
})

test('a node with other code is reported, and the quorum fails', async () => {
  const other = await makeViemChainRig()
  open.push(other)
  const { chain, observed } = connect([rig.rpcUrl, other.rpcUrl], { finality: 0, agree: 2 })
  const snapshot = (await read(chain, [PROXY])).get(PROXY)
  expect(snapshot).toEqual({
    agreed: undefined,
    said: [{ hash: keccak256('0x6002'), ...behind }, { hash: NO_CODE }],
  })
  expect(observed).toContainEqual(expect.objectContaining({ type: 'nodes-disagree' }))
})

test('a node that rejects calls without a recipient is queried for the code', async () => {
  const node = await startFakeRpcNode((batch) =>
    Promise.all(
      batch.map(async ({ id, method, params }) => {
        const [call] = params as readonly { to?: string }[]
        const message = 'missing field `to`'
        if (method === 'eth_call' && call?.to === undefined)
          return { jsonrpc: '2.0', id, error: { code: -32_602, message } }
        return { jsonrpc: '2.0', id, result: await rig.rpc.call(method, params) }
      }),
    ),
  )
  open.push(node)
  const { chain } = connect([node.url])
  const seen = await read(chain, ALL)
  expect(seen.get(PROXY)?.agreed).toEqual({ hash: keccak256('0x6002'), ...behind })
  expect(seen.get(EMPTY)?.agreed).toEqual({ hash: NO_CODE })
})

test('a node that does not answer is unavailable', async () => {
  const { chain } = connect(['http://127.0.0.1:1'])
  const query = { contracts: [PLAIN], at: 'newest', latestSeconds: 2 ** 40 } as const
  expect(await chain.code(query)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
})
