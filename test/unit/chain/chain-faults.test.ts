import { encodeErrorResult, keccak256, parseAbi } from 'viem'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createChain } from '../../../src/chain/chain.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import {
  type BatchItem,
  type FakeRpcNode,
  startFakeRpcNode,
} from '../../support/chain/fake-rpc-node.ts'
import { AT_ONCE } from '../../support/finality.ts'
import { waitFor } from '../../support/wait-for.ts'

const OWNER: Address = `0x${'11'.repeat(20)}`
const TOKEN: Address = `0x${'22'.repeat(20)}`
const OTHER: Address = `0x${'33'.repeat(20)}`
const PERMIT2: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3'
const TRANSFER = keccak256(new TextEncoder().encode('Transfer(address,address,uint256)'))
const RAW: Hex = `0x02${'ab'.repeat(120)}`

const OPTIONS = {
  chainId: 8453,
  rule: AT_ONCE,
  permit2: PERMIT2,
  observe: () => undefined,
  clock: { now: () => 0 },
}

type Script = Record<string, (params: readonly unknown[]) => unknown>

class NodeError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(error: { code: number; message: string; data?: unknown }) {
    super(error.message)
    this.code = error.code
    this.data = error.data
  }
}

let script: Script
let node: FakeRpcNode
let chain: ReturnType<typeof createChain>

beforeEach(async () => {
  script = { eth_chainId: () => '0x2105' }
  node = await startFakeRpcNode((batch) => batch.map(answer))
  chain = createChain({ ...OPTIONS, rpcUrls: [node.url] })
})
afterEach(async () => {
  await chain.close()
  await node.close()
})

function answer({ id, method, params }: BatchItem): unknown {
  try {
    const make = script[method]
    if (make === undefined) throw new NodeError({ code: -32601, message: `no ${method}` })
    return { jsonrpc: '2.0', id, result: make(params) }
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    const { code, message, data } = error
    return { jsonrpc: '2.0', id, error: { code, message, data } }
  }
}

const fails = (code: number, message: string, data?: unknown) => () => {
  throw new NodeError({ code, message, data })
}
const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`
const word = (value: number | bigint | Address): Hex =>
  `0x${BigInt(value).toString(16).padStart(64, '0')}`

function scriptDraft(changes: Script = {}): void {
  Object.assign(script, {
    eth_getTransactionCount: () => '0x7',
    eth_estimateGas: () => hex(50_001),
    eth_feeHistory: feeHistory({ base: 100, tips: [5] }),
    eth_getBalance: () => hex(10n ** 18n),
    ...changes,
  })
}
/** Fees of the last blocks and of the next block, and the tips of the non-empty blocks. */
const feeHistory =
  ({
    base,
    tips,
  }: {
    readonly base: number | bigint
    readonly tips: readonly (number | bigint)[]
  }) =>
  () => ({ baseFeePerGas: ['0x1', '0x1', hex(base)], reward: tips.map((tip) => [hex(tip)]) })
const CALL = { from: OWNER, to: TOKEN, data: '0x1234' as Hex, value: 9n }

test('a draft adds three tenths of gas, rounded up, and lets the base fee double', async () => {
  scriptDraft()
  expect(await chain.draft(CALL)).toEqual({
    ok: true,
    value: {
      ...CALL,
      chainId: 8453,
      nonce: 7,
      gas: 65_002n,
      baseFeePerGas: 100n,
      maxFeePerGas: 205n,
      maxPriorityFeePerGas: 5n,
    },
  })
  expect(node.batches).toHaveLength(1)
})

test('the tip is the median of the recent non-empty blocks', async () => {
  scriptDraft({ eth_feeHistory: feeHistory({ base: 100, tips: [0, 9, 7, 10n ** 15n, 0, 8] }) })
  expect(await chain.draft(CALL)).toMatchObject({ value: { maxPriorityFeePerGas: 8n } })
})

test('the tip is the minimum if no recent block held a transaction', async () => {
  scriptDraft({ eth_feeHistory: feeHistory({ base: 100, tips: [0, 0] }) })
  expect(await chain.draft(CALL)).toMatchObject({ value: { maxPriorityFeePerGas: 1_000_000n } })
})

test('a draft reads the block and a suggested tip from a node without fee history; the suggestion is optional', async () => {
  const without = {
    eth_feeHistory: fails(-32601, 'method not found'),
    eth_getBlockByNumber: () => ({ hash: word(1), timestamp: hex(1), baseFeePerGas: hex(100) }),
  }
  scriptDraft({ ...without, eth_maxPriorityFeePerGas: () => hex(5) })
  expect(await chain.draft(CALL)).toMatchObject({ value: { maxFeePerGas: 205n } })
  scriptDraft({ ...without, eth_maxPriorityFeePerGas: fails(-32601, 'method not found') })
  expect(await chain.draft(CALL)).toMatchObject({ value: { maxPriorityFeePerGas: 1_000_000n } })
})

test('a single node cannot raise a fee: the lower of two counts, the median of three', async () => {
  const liar = await startFakeRpcNode((batch) => batch.map(answer))
  const honest = await startFakeRpcNode((batch) => batch.map(answer))
  onTestFinished(() => liar.close())
  onTestFinished(() => honest.close())
  const among = (...urls: readonly string[]) => {
    const several = createChain({ ...OPTIONS, rpcUrls: urls })
    onTestFinished(() => several.close())
    return several.draft(CALL)
  }
  scriptDraft()
  liar.answer = (batch) => {
    const lie = feeHistory({ base: 10n ** 15n, tips: [12n * 10n ** 14n] })
    const replies = batch.map((item) => answer(item) as { readonly id: number })
    return replies.map((each, index) =>
      batch[index]?.method === 'eth_feeHistory' ? { ...each, result: lie() } : each,
    )
  }
  const fair = { ok: true, value: { maxFeePerGas: 205n, maxPriorityFeePerGas: 5n } }
  expect(await among(liar.url, node.url)).toMatchObject(fair)
  expect(await among(node.url, liar.url, honest.url)).toMatchObject(fair)
  // A single node is believed; the limits bound the cost.
  expect(await among(liar.url)).toMatchObject({ ok: false, fault: { tag: 'insufficientFunds' } })
})

test('a node that reports too low a fee does not keep a replacement cheap', async () => {
  const liar = await startFakeRpcNode((batch) =>
    batch.map((item) => {
      const reply = answer(item) as object
      const lie = { baseFeePerGas: ['0x1'], reward: [['0x1']] }
      return item.method === 'eth_feeHistory' ? { ...reply, result: lie } : reply
    }),
  )
  const both = createChain({ ...OPTIONS, rpcUrls: [liar.url, node.url] })
  onTestFinished(() => liar.close())
  onTestFinished(() => both.close())
  scriptDraft()
  expect(await both.draft(CALL)).toMatchObject({
    value: { maxFeePerGas: 3n, raisedFeePerGas: 201n },
  })
  scriptDraft({ eth_getBalance: () => hex(65_002n * 201n + 8n) })
  const reply = await both.draft(CALL)
  expect(reply.ok && reply.value.raisedFeePerGas).toBeUndefined()
})

test('fees above the limits are not reported as insufficient funds', async () => {
  const limits = { maxFeePerGas: 1_000n }
  scriptDraft({ eth_feeHistory: feeHistory({ base: 2n ** 200n, tips: [5] }) })
  expect(await chain.draft({ ...CALL, limits })).toMatchObject({
    value: { baseFeePerGas: 2n ** 200n },
  })
  scriptDraft({ eth_feeHistory: feeHistory({ base: 100, tips: [2n ** 200n] }) })
  expect(await chain.draft({ ...CALL, limits })).toMatchObject({ ok: true })
  const needed = 65_002n * 1_000n + 9n
  scriptDraft({
    eth_feeHistory: feeHistory({ base: 100, tips: [2n ** 200n] }),
    eth_getBalance: () => hex(needed - 1n),
  })
  expect(await chain.draft({ ...CALL, limits })).toMatchObject({
    fault: { tag: 'insufficientFunds' },
  })
})

test('a receipt with an unreadable block number makes the node unavailable', async () => {
  Object.assign(script, {
    eth_getTransactionCount: () => '0x7',
    eth_getTransactionReceipt: () => ({
      ...{ transactionHash: word(1), blockHash: word(2), status: '0x1' },
      blockNumber: hex(2n ** 64n),
    }),
  })
  expect(await chain.transaction({ from: OWNER, hashes: [word(1)] })).toMatchObject({
    fault: { tag: 'unavailable' },
  })
})

test.each([
  ['nothing', 0],
  ['less than a transaction takes', 20_999],
  ['more than a block takes', 2 ** 24 + 1],
])('an estimate of %s makes the node unavailable', async (_, gas) => {
  scriptDraft({ eth_estimateGas: () => hex(gas) })
  expect(await chain.draft(CALL)).toMatchObject({
    ...{
      ok: false,
      fault: { tag: 'unavailable', message: expect.stringMatching(/no block accepts a gas/) },
    },
  })
})

test('a balance one wei below the maximum cost of gas and value is insufficient', async () => {
  const needed = 65_002n * 205n + 9n
  scriptDraft({ eth_getBalance: () => hex(needed) })
  expect((await chain.draft(CALL)).ok).toBe(true)
  scriptDraft({ eth_getBalance: () => hex(needed - 1n) })
  expect(await chain.draft(CALL)).toMatchObject({ fault: { tag: 'insufficientFunds' } })
})

const reverts = (reason: string) =>
  encodeErrorResult({ abi: parseAbi(['error Error(string)']), args: [reason] })
const estimates: readonly (readonly [string, () => never, unknown])[] = [
  [
    'a reason',
    fails(3, 'execution reverted', reverts('not today')),
    { tag: 'refused', message: 'the call reverts: not today' },
  ],
  [
    'a reason with control characters',
    fails(3, 'execution reverted', reverts('a\u001b[2Jb\nc')),
    { tag: 'refused', message: 'the call reverts: a [2Jb c' },
  ],
  [
    'a panic',
    fails(3, 'execution reverted', `0x4e487b71${word(17).slice(2)}`),
    { tag: 'refused', message: 'the call reverts: Panic(17)' },
  ],
  [
    'a custom error',
    fails(-32000, 'execution reverted', '0xdeadbeef'),
    { tag: 'refused', message: 'the call reverts: custom error 0xdeadbeef' },
  ],
  [
    'no reason',
    fails(-32000, 'execution reverted'),
    { tag: 'refused', message: 'execution reverted' },
  ],
  [
    'a Nethermind revert',
    fails(-32015, 'VM execution error.', `Reverted ${reverts('nope')}`),
    { tag: 'refused', message: 'the call reverts: nope' },
  ],
  [
    'a balance below the value',
    fails(-32000, 'insufficient funds for transfer'),
    { tag: 'insufficientFunds', message: 'insufficient funds for transfer' },
  ],
  [
    'terminal control sequences',
    fails(-32000, 'insufficient funds\u001b]52;c;SGVs\u0007\u202e\u{e0041}here'),
    { tag: 'insufficientFunds', message: 'insufficient funds ]52;c;SGVs here' },
  ],
  [
    'a failure of the node',
    fails(-32000, 'header not found'),
    { tag: 'unavailable', message: 'node 1 of 1: error -32000: header not found' },
  ],
]
test.each(estimates)('maps an estimate that fails with %s', async (_, eth_estimateGas, fault) => {
  scriptDraft({ eth_estimateGas })
  expect(await chain.draft(CALL)).toEqual({ ok: false, fault })
})

const broadcasts: readonly (readonly [string, number, unknown])[] = [
  ['already known', -32000, { ok: true }],
  ['transaction already imported', -32003, { ok: true }],
  ['AlreadyKnown', -32010, { ok: true }],
  [
    'nonce too low: next nonce 5, tx nonce 4',
    -32000,
    { fault: { tag: 'refused', message: 'nonce too low' } },
  ],
  ['OldNonce', -32010, { fault: { tag: 'refused', message: 'nonce too low' } }],
  ['insufficient funds for gas * price + value', -32000, { fault: { tag: 'insufficientFunds' } }],
  ['Insufficient funds for gas * price + value', -32003, { fault: { tag: 'insufficientFunds' } }],
  ['replacement transaction underpriced', -32000, { fault: { tag: 'refused' } }],
  ['intrinsic gas too low', -32000, { fault: { tag: 'refused' } }],
  ['internal error', -32603, { fault: { tag: 'unavailable' } }],
  ['daily limit', -32005, { fault: { tag: 'unavailable' } }],
]
test.each(broadcasts)('maps a broadcast answered with "%s"', async (message, code, expected) => {
  Object.assign(script, { eth_sendRawTransaction: fails(code, message) })
  const reply = await chain.broadcast(RAW)
  expect(reply).toMatchObject(expected as object)
  if (reply.ok) expect(reply.value).toBe(keccak256(RAW))
})

test.each(['nonce too low', 'already known', 'insufficient funds', 'gas limit too low'])(
  'a broadcast that a gateway answers with HTTP 400 and "%s" stays unknown and quotes the message',
  async (message) => {
    node.answer = ([item], { response }) => {
      response.statusCode = 400
      return { jsonrpc: '2.0', id: item?.id, error: { code: -32000, message } }
    }
    expect(await chain.broadcast(RAW)).toEqual({
      ok: false,
      fault: { tag: 'unavailable', message: `node 1 of 1: error -32000: ${message}` },
    })
  },
)

test('a broadcast returns its own hash and rejects any other hash', async () => {
  Object.assign(script, { eth_sendRawTransaction: () => keccak256(RAW) })
  expect(await chain.broadcast(RAW)).toEqual({ ok: true, value: keccak256(RAW) })
  Object.assign(script, { eth_sendRawTransaction: () => word(5) })
  expect(await chain.broadcast(RAW)).toMatchObject({ fault: { tag: 'unavailable' } })
})

test('a failed broadcast never repeats the raw transaction', async () => {
  Object.assign(script, { eth_sendRawTransaction: fails(-32000, `rlp: cannot decode ${RAW}`) })
  expect(JSON.stringify(await chain.broadcast(RAW))).not.toContain('abababab')
})

const HASH = word(0xfeed)
const log = (fields: object = {}) => ({
  address: TOKEN,
  topics: [TRANSFER, word(OWNER), word(OTHER)],
  data: word(12),
  logIndex: '0x3',
  transactionHash: HASH,
  blockNumber: '0x10',
  blockHash: word(900),
  ...fields,
})
const receipt = (fields: object = {}) => ({
  transactionHash: HASH,
  status: '0x1',
  blockNumber: '0x10',
  blockHash: word(900),
  logs: [log()],
  ...fields,
})
function scriptTrace(
  found: unknown,
  transaction: unknown = { hash: HASH, from: OWNER, to: TOKEN, input: '0xABCD' },
): void {
  Object.assign(script, {
    eth_blockNumber: () => '0x20',
    eth_getLogs: ([{ address }]: [{ address: Hex }]) => (address === TOKEN ? [log()] : []),
    eth_getTransactionReceipt: () => found,
    eth_getTransactionByHash: () => transaction,
  })
}
const outgoing = (fromBlock = 1n, untilSeconds = 2_000_000_000) =>
  chain.outgoing({
    ...{ owner: OWNER, token: TOKEN, nonce: 0n },
    ...{ fromBlock, atLeastBlock: 0n, untilSeconds },
  })

test('a trace holds only ERC-20 transfers, with addresses in lower case', async () => {
  scriptTrace(
    receipt({
      logs: [
        log({ address: TOKEN.toUpperCase().replace('0X', '0x') }),
        log({ topics: [TRANSFER, word(OWNER), word(OTHER), word(1)], data: '0x' }),
        log({ topics: [word(1), word(OWNER), word(OTHER)] }),
        log({ topics: [] }),
      ],
    }),
  )
  expect(await outgoing()).toEqual({
    ok: true,
    value: {
      traces: [
        {
          hash: HASH,
          success: true,
          blockNumber: 16n,
          blockHash: word(900),
          transfers: [{ token: TOKEN, from: OWNER, to: OTHER, amount: 12n, logIndex: 3 }],
          input: '0xabcd',
        },
      ],
      cancelled: undefined,
    },
  })
})

test('a trace omits calldata that the node no longer has', async () => {
  scriptTrace(receipt(), null)
  expect(await outgoing()).toMatchObject({ ok: true, value: { traces: [{ input: undefined }] } })
})

const unusable: readonly (readonly [string, unknown, unknown])[] = [
  ['the receipt of another transaction', receipt({ transactionHash: word(1) }), undefined],
  ['another transaction', receipt(), { hash: word(1), from: OWNER, input: '0x' }],
  ['no receipt for a log', null, undefined],
  ['a receipt without status', receipt({ status: undefined }), undefined],
  ['a receipt without logs', receipt({ logs: null }), undefined],
  [
    'a log with a broken topic',
    receipt({ logs: [log({ topics: [TRANSFER, '0x1', '0x2'] })] }),
    undefined,
  ],
  ['odd hex', receipt({ logs: [log({ data: '0x123' })] }), undefined],
  ['a log without a valid index', receipt({ logs: [log({ logIndex: 'third' })] }), undefined],
  ['a negative block number', receipt({ blockNumber: '-0x1' }), undefined],
  ['a sender that is not an address', receipt(), { hash: HASH, from: '0x1', input: '0x' }],
]
test.each(unusable)('a node that answers %s is unavailable', async (_, found, transaction) => {
  scriptTrace(found, transaction)
  expect(await outgoing()).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
})

test('a receipt without a block is ignored', async () => {
  Object.assign(script, {
    eth_getTransactionCount: () => '0x1',
    eth_getTransactionReceipt: () => receipt({ blockNumber: null }),
  })
  const reply = await chain.transaction({ from: OWNER, hashes: [HASH] })
  expect(reply).toEqual({ ok: true, value: { receipt: undefined, latestNonce: 1 } })
})

test('a receipt is requested again even if a request is pending, so it is never older than the nonce', async () => {
  const query = { from: OWNER, hashes: [HASH] }
  Object.assign(script, {
    eth_getTransactionCount: () => '0x1',
    eth_getTransactionReceipt: () => null,
  })
  let release = (): void => undefined
  node.answer = (batch) =>
    new Promise((resolve) => {
      release = () => resolve(batch.map(answer))
    })
  const early = chain.transaction(query)
  await waitFor('a batch', () => node.batches.length, 1)
  node.answer = (batch) => batch.map(answer)
  Object.assign(script, {
    eth_getTransactionCount: () => '0x2',
    eth_getTransactionReceipt: () => receipt(),
  })
  const late = { receipt: { hash: HASH, success: true, blockNumber: 16n }, latestNonce: 2 }
  expect(await chain.transaction(query)).toMatchObject({ ok: true, value: late })
  release()
  await early
})

const NOTHING = { traces: [], cancelled: undefined }

function scriptLogs(
  head: number,
  logs: (from: number, to: number) => unknown[],
): [number, number][] {
  const ranges: [number, number][] = []
  Object.assign(script, {
    eth_blockNumber: () => hex(head),
    eth_getLogs([filter]: [{ address: Hex; fromBlock: Hex; toBlock: Hex }]) {
      if (filter.address !== TOKEN) return []
      const range: [number, number] = [Number(filter.fromBlock), Number(filter.toBlock)]
      ranges.push(range)
      return logs(...range)
    },
    eth_getTransactionReceipt: ([transactionHash]: [Hex]) => receipt({ transactionHash }),
    eth_getTransactionByHash: ([hash]: [Hex]) => ({ hash, from: OWNER, input: '0x' }),
  })
  return ranges
}

test('a search covers every block once, in ranges that nodes answer', async () => {
  const ranges = scriptLogs(5_000, () => [])
  expect(await outgoing(999n)).toEqual({ ok: true, value: NOTHING })
  expect(ranges).toEqual([
    [999, 2_998],
    [2_999, 4_998],
    [4_999, 5_000],
  ])
})

test('a search of one block requests only that block', async () => {
  const ranges = scriptLogs(999, () => [])
  expect((await outgoing(999n)).ok).toBe(true)
  expect(ranges).toEqual([[999, 999]])
})

test('a search is bounded; a longer search fails before it requests logs', async () => {
  const ranges = scriptLogs(100_000, () => [])
  expect((await outgoing(1n)).ok).toBe(true)
  expect(ranges).toHaveLength(50)
  script['eth_getBlockByNumber'] = () => ({ timestamp: hex(1_999_999_999) })
  expect(await outgoing(0n)).toMatchObject({
    fault: { tag: 'unavailable', message: expect.stringContaining('too many to search') },
  })
  expect(ranges).toHaveLength(50)
})

test('a search ends at its deadline, however far the chain has advanced', async () => {
  const ranges = scriptLogs(900_000, () => [])
  script['eth_getBlockByNumber'] = ([number]) =>
    number === hex(100_006) ? { timestamp: hex(1_001) } : null
  expect(await outgoing(7n, 1_000)).toEqual({ ok: true, value: NOTHING })
  expect(ranges).toHaveLength(50)
  expect(ranges.at(-1)).toEqual([98_007, 100_006])
})

test('a payment is found behind any number of zero-value transfers', async () => {
  const nothing = (index: number) =>
    log({ transactionHash: word(1_000 + index), blockNumber: hex(10 + index), data: word(0) })
  scriptLogs(300, () => [
    ...Array.from({ length: 250 }, (_, index) => nothing(index)).reverse(),
    log({ transactionHash: word(7), blockNumber: hex(290) }),
  ])
  const reply = await outgoing()
  expect(reply.ok ? reply.value.traces.map((trace) => trace.hash) : []).toEqual([word(7)])
})

test('payments of any number of tokens take one search of the blocks', async () => {
  script['eth_blockNumber'] = () => hex(120)
  script['eth_getLogs'] = () => [log({ address: OTHER }), log({ logIndex: hex(8) })]
  const tokens = [TOKEN, OTHER, PERMIT2]
  const reply = await chain.payments({ owner: OWNER, tokens, fromBlock: 0n, toBlock: 119n })
  expect(reply).toMatchObject({
    ok: true,
    value: { payments: [{ token: OTHER }, { token: TOKEN }] },
  })
  // The first request to a node also checks its chain ID.
  const requests = node.batches.flat().filter(({ method }) => method !== 'eth_chainId')
  expect(requests.map(({ method }) => method)).toEqual(['eth_blockNumber', 'eth_getLogs'])
  expect(requests[1]?.params).toMatchObject([
    { address: tokens, fromBlock: '0x0', toBlock: hex(119) },
  ])
})

test('a search with too many payments fails instead of returning some of them', async () => {
  scriptLogs(300, () =>
    Array.from({ length: 1_001 }, (_, index) => log({ transactionHash: word(1_000 + index) })),
  )
  expect(await outgoing()).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
})

test('a range with more logs than a node returns is searched in halves', async () => {
  const ranges = scriptLogs(999, () => [])
  node.answer = (batch) =>
    batch.map((item) => {
      const [filter] = item.params as [{ fromBlock: Hex; toBlock: Hex }]
      const isLong = Number(filter?.toBlock) - Number(filter?.fromBlock) > 300
      if (item.method !== 'eth_getLogs' || !isLong) return answer(item)
      return {
        jsonrpc: '2.0',
        id: item.id,
        error: { code: -32005, message: 'query returned more than 10000 results' },
      }
    })
  expect(await outgoing(0n)).toEqual({ ok: true, value: NOTHING })
  expect(ranges).toEqual([
    [0, 249],
    [250, 499],
    [500, 749],
    [750, 999],
  ])
})

test('a node that falls behind during a search is unavailable, even with no logs', async () => {
  scriptLogs(999, () => [])
  const heads = [999, 900]
  script['eth_blockNumber'] = () => hex(heads.shift() ?? 900)
  expect(await outgoing(999n)).toMatchObject({
    fault: { tag: 'unavailable', message: expect.stringMatching(/block 900, behind 999/) },
  })
})

function ofPermit2(filter: unknown, found: object): readonly object[] {
  return (filter as { readonly address: Address }).address === PERMIT2 ? [found] : []
}

test('a nonce invalidation by its owner is found by word and bit', async () => {
  const nonce = (5n << 8n) | 3n
  scriptLogs(300, () => [])
  const invalidation = (mask: bigint) => ({
    ...log({ transactionHash: word(7), blockNumber: hex(290) }),
    ...{ address: PERMIT2, topics: [word(1), word(OWNER)] },
    data: `0x${5n.toString(16).padStart(64, '0')}${mask.toString(16).padStart(64, '0')}`,
  })
  const search = () =>
    chain.outgoing({
      ...{ owner: OWNER, token: TOKEN, nonce, fromBlock: 1n },
      ...{ atLeastBlock: 0n, untilSeconds: 0 },
    })
  script['eth_getLogs'] = ([filter]) => ofPermit2(filter, invalidation(0b1000n))
  const cancellation = { txHash: word(7), blockNumber: 290n, blockHash: word(900) }
  expect(await search()).toMatchObject({ value: { cancelled: cancellation } })
  script['eth_getLogs'] = ([filter]) => ofPermit2(filter, invalidation(0b0100n))
  expect(await search()).toMatchObject({ value: { cancelled: undefined } })
})

test('a nonce invalidation that only one node shows does not count if two must agree', async () => {
  scriptLogs(300, () => [])
  const invalidation = {
    ...log({ transactionHash: word(7), blockNumber: hex(290) }),
    ...{ address: PERMIT2, topics: [word(1), word(OWNER)] },
    data: `0x${5n.toString(16).padStart(64, '0')}${8n.toString(16).padStart(64, '0')}`,
  }
  script['eth_getLogs'] = ([filter]) => ofPermit2(filter, invalidation)
  let shown: readonly object[] = []
  const other = await startFakeRpcNode((batch) =>
    batch.map((item) =>
      item.method === 'eth_getLogs' ? { jsonrpc: '2.0', id: item.id, result: shown } : answer(item),
    ),
  )
  const rule = { ...AT_ONCE, agree: 2 }
  const two = createChain({ ...OPTIONS, rpcUrls: [node.url, other.url], rule })
  onTestFinished(async () => {
    await two.close()
    await other.close()
  })
  const search = () =>
    two.outgoing({
      ...{ owner: OWNER, token: TOKEN, nonce: (5n << 8n) | 3n, fromBlock: 1n },
      ...{ atLeastBlock: 0n, untilSeconds: 0 },
    })
  expect(await search()).toEqual({ ok: true, value: NOTHING })
  shown = [invalidation]
  expect(await search()).toMatchObject({ value: { cancelled: { txHash: word(7) } } })
})
