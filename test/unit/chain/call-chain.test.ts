import { encodeAbiParameters } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCallChain } from '../../../src/chain/call-chain.ts'
import type { Address, Hex } from '../../../src/domain/money/units.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { answerOf } from '../../contract/chain/chain.ts'
import {
  type BatchItem,
  type FakeRpcNode,
  startFakeRpcNode,
} from '../../support/chain/fake-rpc-node.ts'
import { AT_ONCE } from '../../support/finality.ts'

const ACCOUNT: Address = `0x${'11'.repeat(20)}`
const CONTRACT: Address = `0x${'22'.repeat(20)}`
const GAS_TANK: Address = `0x${'33'.repeat(20)}`

type Script = Record<string, (params: readonly unknown[]) => unknown>

let script: Script
let node: FakeRpcNode
let observed: RuntimeEvent[]
let chain: ReturnType<typeof createCallChain>

beforeEach(async () => {
  script = { eth_chainId: () => '0x1' }
  observed = []
  node = await startFakeRpcNode((batch) => batch.map(answer))
  chain = createCallChain({
    chainId: 1,
    rpcUrls: [node.url],
    rule: AT_ONCE,
    observe: (event) => observed.push(event),
    clock: { now: () => 0 },
  })
})
afterEach(async () => {
  await chain.close()
  await node.close()
})

function answer({ id, method, params }: BatchItem): unknown {
  const make = script[method]
  if (make === undefined) return { jsonrpc: '2.0', id, error: { code: -32_601, message: method } }
  const result = make(params)
  if (result instanceof Refusal)
    return { jsonrpc: '2.0', id, error: { code: result.code, message: result.message } }
  return { jsonrpc: '2.0', id, result }
}

/** Answers a request with an error object instead of a result. */
class Refusal {
  readonly code: number
  readonly message: string

  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

const hex = (value: number | bigint): Hex => `0x${value.toString(16)}`
const word = (value: number | bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`

function multicall(...results: readonly (Hex | undefined)[]): Hex {
  const components = [
    { name: 'success', type: 'bool' },
    { name: 'returnData', type: 'bytes' },
  ] as const
  const tuples = results.map((returnData) => ({
    success: returnData !== undefined,
    returnData: returnData ?? '0x',
  }))
  return encodeAbiParameters([{ type: 'tuple[]', components }], [tuples])
}

describe('an account', () => {
  const ask = () => chain.account({ account: ACCOUNT, gasTank: GAS_TANK })

  beforeEach(() => {
    Object.assign(script, {
      eth_call: () =>
        multicall(word(9), word(1_000), word(77), word(3), undefined, word(5), undefined),
      eth_getBlockByNumber: () => ({
        number: hex(10),
        timestamp: hex(1_012),
        baseFeePerGas: '0x7',
      }),
      eth_getTransactionCount: () => '0x4',
      eth_getCode: () => `0xEF0100${'AB'.repeat(20)}`,
    })
  })

  test('has the time and nonce of one block, even if the node has moved on', async () => {
    expect(answerOf(await ask())).toEqual({
      blockNumber: 9n,
      blockTimeSeconds: 1_000,
      baseFeePerGas: 7n,
      balance: 77n,
      transactionCount: 4,
      code: `0xef0100${'ab'.repeat(20)}`,
      nestedNonce: 3n,
      domain: undefined,
      gasTank: { balances: 5n, balanceOf: undefined },
    })
    expect(observed).toEqual([
      { type: 'request', service: 'rpc', route: 'account', status: '200', durationMs: 0 },
    ])
  })

  test.each<[string, Script]>([
    ['no Multicall3', { eth_call: () => '0x' }],
    ['fewer answers than reads', { eth_call: () => multicall(word(9), word(1), word(1), word(1)) }],
    ['no block number', { eth_call: () => multicall('0x', ...Array(6).fill(word(1))) }],
    ['no base fee', { eth_getBlockByNumber: () => ({ number: '0x1' }) }],
    ['no block', { eth_getBlockByNumber: () => null }],
    ['no transaction count', { eth_getTransactionCount: () => null }],
    ['no code', { eth_getCode: () => null }],
  ])('is unavailable from a node with %s', async (_, changes) => {
    Object.assign(script, changes)
    expect(await ask()).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })
})

describe('a simulation', () => {
  const ask = () => chain.simulate({ from: ACCOUNT, to: CONTRACT, data: '0xabcd', value: 9n })

  test('runs the call and estimates it with the same gas', async () => {
    Object.assign(script, { eth_call: () => '0x', eth_estimateGas: () => hex(30_000) })
    expect(answerOf(await ask())).toEqual({ gasUsed: 30_000n })
    const call = { from: ACCOUNT, to: CONTRACT, data: '0xabcd', value: '0x9' }
    expect(node.batches[0]?.map((item) => item.params)).toEqual([[], [call, 'latest'], [call]])
  })

  test('is refused if only the estimate fails', async () => {
    const refusal = new Refusal(-32_000, 'gas required exceeds allowance (50000)')
    Object.assign(script, { eth_call: () => '0x', eth_estimateGas: () => refusal })
    expect(await ask()).toMatchObject({ ok: false, fault: { tag: 'refused' } })
  })

  test('is unavailable if the node itself fails', async () => {
    const refusal = new Refusal(-32_603, 'header not found')
    Object.assign(script, { eth_call: () => refusal, eth_estimateGas: () => hex(30_000) })
    expect(await ask()).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })
})

describe('a trace', () => {
  const HASH = word(1)
  const receipt = {
    transactionHash: HASH,
    ...{ blockNumber: '0x10', blockHash: word(900) },
    status: '0x1',
    logs: [],
    gasUsed: '0x5208',
    effectiveGasPrice: '0x3',
  }
  const transaction = { hash: HASH, from: ACCOUNT, to: CONTRACT, input: '0xABCD' }

  test('joins receipt and transaction', async () => {
    script['eth_getTransactionReceipt'] = () => receipt
    script['eth_getTransactionByHash'] = () => transaction
    expect(answerOf(await chain.trace(HASH))).toEqual({
      hash: HASH,
      success: true,
      from: ACCOUNT,
      to: CONTRACT,
      blockNumber: 16n,
      blockHash: word(900),
      gasUsed: 21_000n,
      effectiveGasPrice: 3n,
      blobCost: 0n,
      input: '0xabcd',
    })
  })

  test("includes the cost of the transaction's blobs", async () => {
    const blobs = { blobGasUsed: '0x20000', blobGasPrice: '0x7' }
    script['eth_getTransactionReceipt'] = () => ({ ...receipt, ...blobs })
    script['eth_getTransactionByHash'] = () => transaction
    expect(answerOf(await chain.trace(HASH))).toMatchObject({ blobCost: 131_072n * 7n })
  })

  test("of the account's own transaction has the fee, including the L1 data fee of an L2", async () => {
    script['eth_getTransactionCount'] = () => '0x1'
    const feeOf = async (fields: object): Promise<bigint | undefined> => {
      script['eth_getTransactionReceipt'] = () => ({ ...receipt, ...fields })
      const found = answerOf(await chain.transaction({ from: ACCOUNT, hashes: [HASH] }))
      return found.receipt?.fee
    }
    expect(await feeOf({})).toBe(63_000n)
    expect(await feeOf({ l1Fee: '0x64' })).toBe(63_100n)
    expect(await feeOf({ effectiveGasPrice: null })).toBeUndefined()
  })

  test('does not exist while the transaction is pending', async () => {
    script['eth_getTransactionReceipt'] = () => null
    script['eth_getTransactionByHash'] = () => transaction
    expect(answerOf(await chain.trace(HASH))).toBeUndefined()
  })

  test.each<[string, object | null, object | null]>([
    ['a receipt without its transaction', receipt, null],
    ['the receipt of another transaction', { ...receipt, transactionHash: word(2) }, transaction],
    ['another transaction', receipt, { ...transaction, hash: word(2) }],
    ['a receipt without gas', { ...receipt, gasUsed: undefined }, transaction],
    ['a receipt without a price', { ...receipt, effectiveGasPrice: undefined }, transaction],
    ['a transaction without a sender', receipt, { ...transaction, from: null }],
    ['a transaction without input', receipt, { ...transaction, input: null }],
  ])('is unavailable from %s', async (_, receiptAnswer, transactionAnswer) => {
    script['eth_getTransactionReceipt'] = () => receiptAnswer
    script['eth_getTransactionByHash'] = () => transactionAnswer
    expect(await chain.trace(HASH)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })
})

describe('a search for calls', () => {
  type Filter = {
    readonly address: Address
    readonly fromBlock: Hex
    readonly toBlock: Hex
    readonly topics: readonly (Hex | null)[]
  }
  const MARK: Hex = '0x5eaf00d5'
  /** Transactions whose input contains the mark. */
  let marked: readonly Hex[] = []
  beforeEach(() => {
    marked = []
  })
  const inputOf = (hash: unknown): Hex =>
    marked.some((each) => each === hash) ? '0xaa5eaf00d5bb' : '0xaabb'
  const sentAt = (block: number) => [
    { hash: word(6), to: ACCOUNT, input: inputOf(word(7)) },
    { hash: word(7), to: CONTRACT, input: inputOf(word(7)) },
    { hash: word(8), to: CONTRACT, input: '0x' },
    { hash: word(block), to: null, input: '0x' },
  ]
  const search = (
    fromBlock: bigint,
    { untilSeconds = 2_000_000_000, isThorough = false } = {},
  ): ReturnType<typeof chain.callsWith> =>
    chain.callsWith({
      ...{ contract: CONTRACT, mark: MARK, fromBlock, atLeastBlock: 0n },
      ...{ untilSeconds, isThorough },
    })
  const methods = (): readonly string[] =>
    node.batches.flatMap((batch) => batch.map(({ method }) => method))
  const filters = (): readonly Filter[] =>
    node.batches.flatMap((batch) =>
      batch.flatMap((item) => (item.method === 'eth_getLogs' ? [item.params[0] as Filter] : [])),
    )
  const log = (transaction: number, position: { block: number; index: number }) => ({
    ...{ address: CONTRACT, topics: [], data: '0x', blockHash: word(900) },
    transactionHash: word(transaction),
    blockNumber: hex(position.block),
    logIndex: hex(position.index),
  })

  /** Serves these logs, as if each filter matched the topic at its position. */
  function holds(head: number, found: (filter: Filter) => readonly object[]): void {
    Object.assign(script, {
      eth_blockNumber: () => hex(head),
      eth_getLogs: ([filter]: readonly unknown[]) => found(filter as Filter),
      eth_getTransactionReceipt: ([hash]: readonly unknown[]) => ({
        transactionHash: hash,
        ...{ blockNumber: '0x10', blockHash: word(900) },
        status: '0x1',
        logs: [],
        gasUsed: '0x1',
        effectiveGasPrice: '0x1',
      }),
      eth_getTransactionByHash: ([hash]: readonly unknown[]) => ({
        hash,
        from: ACCOUNT,
        to: CONTRACT,
        input: inputOf(hash),
      }),
    })
  }

  test('requests all logs of the contract, because its events name no account', async () => {
    holds(50, () => [log(1, { block: 45, index: 0 })])
    expect(answerOf(await search(40n))).toEqual([])
    const range = { address: CONTRACT, fromBlock: hex(40), toBlock: hex(50) }
    expect(filters()).toEqual([{ ...range, topics: [] }])
  })

  test('finds calls with the mark, once, in chain order, and reads no other receipt', async () => {
    holds(50, () => [
      log(3, { block: 45, index: 1 }),
      log(1, { block: 41, index: 9 }),
      log(4, { block: 41, index: 10 }),
      log(2, { block: 45, index: 0 }),
      log(3, { block: 45, index: 2 }),
    ])
    marked = [word(1), word(2), word(3)]
    const calls = answerOf(await search(40n))
    expect(calls.map((call) => call.hash)).toEqual(marked)
    expect(methods().filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(3)
  })

  test('ends with the first range of blocks that contains a match', async () => {
    holds(90_000, ({ fromBlock }) => [log(Number(fromBlock), { block: 45, index: 0 })])
    marked = [word(1)]
    expect(answerOf(await search(1n)).map((call) => call.hash)).toEqual(marked)
    expect(filters()).toHaveLength(1)
  })

  /** Serves whole blocks, one second apart; one of them contains these transactions. */
  function holdsBlocks(block: number, transactions = sentAt(block)): void {
    script['eth_getBlockByNumber'] = ([number]) => ({
      hash: word(900),
      timestamp: number,
      transactions: number === hex(block) ? transactions : [],
    })
  }

  test('reads whole blocks of a contract that emits nothing, whatever address the call went to', async () => {
    holds(400, () => [])
    marked = [word(7)]
    holdsBlocks(343)
    const found = answerOf(await search(40n)).map((call) => call.hash)
    expect(found).toEqual([word(6), word(7)])
  })

  test('reads no block after its deadline, and never thousands', async () => {
    holds(90_000, () => [])
    holdsBlocks(343)
    expect(answerOf(await search(40n, { untilSeconds: 100 }))).toEqual([])
    const blocks = methods().filter((method) => method === 'eth_getBlockByNumber')
    expect(blocks.length).toBeLessThan(80)
    expect(await search(400n)).toMatchObject({
      ok: false,
      fault: { tag: 'unavailable', message: expect.stringMatching(/too many to read whole/) },
    })
  })

  test('continues past reverted transactions', async () => {
    holds(400, () => [])
    marked = [word(7), word(9)]
    const sent = new Map([
      [hex(43), word(7)],
      [hex(90), word(9)],
    ])
    script['eth_getBlockByNumber'] = ([number]) => {
      const hash = sent.get(number as Hex)
      const transactions = hash === undefined ? [] : [{ hash, to: CONTRACT, input: inputOf(hash) }]
      return { hash: word(900), timestamp: number, transactions }
    }
    const receipts = script['eth_getTransactionReceipt']
    script['eth_getTransactionReceipt'] = (params) =>
      Object.assign({}, receipts?.(params), { status: params[0] === word(7) ? '0x0' : '0x1' })
    expect(answerOf(await search(40n)).map((call) => call.hash)).toEqual([word(9)])
  })

  test('in thorough mode is unavailable on a node that has not passed its deadline', async () => {
    holds(50, () => [])
    holdsBlocks(43, [])
    expect(answerOf(await search(40n))).toEqual([])
    const thorough = { isThorough: true, untilSeconds: 50 }
    expect(await search(40n, thorough)).toMatchObject({
      fault: { tag: 'unavailable', message: expect.stringMatching(/not past the time/) },
    })
    expect(answerOf(await search(40n, { ...thorough, untilSeconds: 49 }))).toEqual([])
  })

  test('in thorough mode finds a call without events next to an event of the contract', async () => {
    holds(50, () => [log(1, { block: 45, index: 0 })])
    marked = [word(7)]
    holdsBlocks(43)
    expect(answerOf(await search(40n))).toEqual([])
    const found = answerOf(await search(40n, { isThorough: true })).map((call) => call.hash)
    expect(found).toEqual([word(6), word(7)])
  })

  test('covers a long range in steps without gap or overlap', async () => {
    const head = 9_999
    holds(head, () => [log(1, { block: 41, index: 0 })])
    await search(1n)
    expect(filters().map(({ fromBlock, toBlock }) => [Number(fromBlock), Number(toBlock)])).toEqual(
      [
        [1, 2_000],
        [2_001, 4_000],
        [4_001, 6_000],
        [6_001, 8_000],
        [8_001, 9_999],
      ],
    )
  })

  test('is bounded: it accepts a hundred thousand blocks and rejects more', async () => {
    holds(100_000, () => [log(1, { block: 41, index: 0 })])
    expect((await search(1n)).ok).toBe(true)
    const batchesBefore = node.batches.length
    script['eth_getBlockByNumber'] = () => ({ timestamp: hex(1_000_000) })
    expect(await search(0n)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
    expect(node.batches.length).toBe(batchesBefore + 2)
    expect((await search(0n, { untilSeconds: 999_999 })).ok).toBe(true)
  })

  test('reads up to ten thousand transactions of a range, and never a truncated list', async () => {
    let count = 10_000
    holds(50, () =>
      Array.from({ length: count }, (_, index) => log(index + 1, { block: 41, index })),
    )
    expect(await search(40n)).toEqual({ ok: true, value: [] })
    for (const batch of node.batches) expect(batch.length).toBeLessThanOrEqual(40)
    count = 10_001
    expect(await search(40n)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })

  test('is unavailable on a node that lags behind its first block', async () => {
    holds(39, () => [])
    expect(await search(40n)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
    expect(filters()).toEqual([])
  })

  test('is unavailable on a node that has a log without its receipt', async () => {
    holds(50, () => [log(1, { block: 41, index: 0 })])
    marked = [word(1)]
    script['eth_getTransactionReceipt'] = () => null
    expect(await search(40n)).toMatchObject({ ok: false, fault: { tag: 'unavailable' } })
  })
})
