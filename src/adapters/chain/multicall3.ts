import { encodeFunctionData } from 'viem/utils'
import type { Address, Hex } from '../../domain/units.ts'
import { type RpcCall, UnusableAnswer } from './json-rpc-batch.ts'

/** Multicall3, at the same address on every chain it was deployed to. */
const MULTICALL3: Address = '0xca11bde05977b3631167028862be2a173976ca11'

const view = { type: 'function', stateMutability: 'view' } as const
const word = [{ name: '', type: 'uint256' }] as const

const ABI = [
  {
    type: 'function',
    stateMutability: 'payable',
    name: 'aggregate3',
    inputs: [
      {
        name: 'calls',
        type: 'tuple[]',
        components: [
          { name: 'target', type: 'address' },
          { name: 'allowFailure', type: 'bool' },
          { name: 'callData', type: 'bytes' },
        ],
      },
    ],
    outputs: [
      {
        name: 'results',
        type: 'tuple[]',
        components: [
          { name: 'success', type: 'bool' },
          { name: 'returnData', type: 'bytes' },
        ],
      },
    ],
  },
  { ...view, name: 'getBlockNumber', inputs: [], outputs: word },
  { ...view, name: 'getCurrentBlockTimestamp', inputs: [], outputs: word },
  {
    ...view,
    name: 'getEthBalance',
    inputs: [{ name: 'account', type: 'address' }],
    outputs: word,
  },
] as const

/** One read of a contract inside a multicall. */
export type ContractRead = { readonly target: Address; readonly callData: Hex }

/** What every multicall tells of the block it ran on. */
export type BlockReading = {
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  /** Wei of the account asked about. */
  readonly nativeBalance: bigint
}

/** Reads before the caller's own: block number, block time and the account's coin. */
const BLOCK_READS = 3
const WORD_DIGITS = 64
const RESULTS_MAX = 10_000
/** No answer is longer, in bytes. */
const OFFSET_MAX = 2 ** 26

/** Calldata that asks for the block, an account's coin and the given reads, all of one block. */
export function encodeMulticall(account: Address, reads: readonly ContractRead[]): Hex {
  const calls = [
    encodeFunctionData({ abi: ABI, functionName: 'getBlockNumber' }),
    encodeFunctionData({ abi: ABI, functionName: 'getCurrentBlockTimestamp' }),
    encodeFunctionData({ abi: ABI, functionName: 'getEthBalance', args: [account] }),
  ].map((callData) => ({ target: MULTICALL3, callData }))
  const args = [[...calls, ...reads].map((call) => ({ ...call, allowFailure: true }))] as const
  return encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args })
}

/** The call that sends a multicall's calldata. */
export function multicallOf(data: Hex): RpcCall {
  return { method: 'eth_call', params: [{ to: MULTICALL3, data }, 'latest'] }
}

/**
 * Reads a multicall's return data; `answers` are those of the caller's own reads, in order, undefined for what
 * reverted. Throws UnusableAnswer for data that does not answer that many reads.
 */
export function decodeMulticall(
  data: Hex,
  reads: number,
): BlockReading & { readonly answers: readonly (Hex | undefined)[] } {
  const results = decodeResults(data)
  if (results.length !== BLOCK_READS + reads)
    throw new UnusableAnswer('the multicall answered another question')
  const [blockNumber, blockTime, nativeBalance] = results
  return {
    blockNumber: required(blockNumber),
    blockTimeSeconds: Number(required(blockTime)),
    nativeBalance: required(nativeBalance),
    answers: results.slice(BLOCK_READS),
  }
}

/**
 * `aggregate3`'s `(bool success, bytes returnData)[]`. Read by hand, with every offset and length held against the
 * data: a general decoder takes ten times as long, twice an order.
 */
function decodeResults(data: Hex): readonly (Hex | undefined)[] {
  if (data === '0x') throw new UnusableAnswer(`no Multicall3 at ${MULTICALL3}`)
  const list = 2 * offsetAt(data, 0)
  const count = offsetAt(data, list)
  const items = list + WORD_DIGITS
  if (count > RESULTS_MAX) throw otherShape()
  return Array.from({ length: count }, (_, index): Hex | undefined => {
    const tuple = items + 2 * offsetAt(data, items + index * WORD_DIGITS)
    const success = offsetAt(data, tuple)
    const bytes = tuple + 2 * offsetAt(data, tuple + WORD_DIGITS)
    const start = bytes + WORD_DIGITS
    const end = start + 2 * offsetAt(data, bytes)
    if (success > 1 || 2 + end > data.length) throw otherShape()
    return success === 1 ? `0x${data.slice(2 + start, 2 + end)}` : undefined
  })
}

/** A word at a digit's place that must be a small number: an offset, a length, a count or a flag. */
function offsetAt(data: Hex, at: number): number {
  const digits = data.slice(2 + at, 2 + at + WORD_DIGITS)
  if (digits.length !== WORD_DIGITS) throw otherShape()
  const value = Number.parseInt(digits, 16)
  if (value > OFFSET_MAX) throw otherShape()
  return value
}

function otherShape(): UnusableAnswer {
  return new UnusableAnswer('the multicall answered data of another shape')
}

function required(answer: Hex | undefined): bigint {
  const value = firstWord(answer)
  if (value === undefined) throw new UnusableAnswer('the multicall does not know its own block')
  return value
}

/** The call to an account without code succeeds with no data: that is no answer. */
export function firstWord(data: Hex | undefined): bigint | undefined {
  return data === undefined ? undefined : wordAt(data, 0)
}

/** The word at an index of return data; undefined where the data is shorter. */
export function wordAt(data: Hex, index: number): bigint | undefined {
  const start = 2 + index * WORD_DIGITS
  const digits = data.slice(start, start + WORD_DIGITS)
  return digits.length === WORD_DIGITS ? BigInt(`0x${digits}`) : undefined
}
