import { decodeErrorResult, encodeFunctionData } from 'viem/utils'
import type { Address, Hex } from '../../domain/units.ts'
import { UnusableAnswer } from './json-rpc-batch.ts'
import {
  type BlockReading,
  type ContractRead,
  decodeMulticall,
  encodeMulticall,
  firstWord,
  wordAt,
} from './multicall3.ts'

const view = { type: 'function', stateMutability: 'view' } as const
const word = [{ name: '', type: 'uint256' }] as const

const ABI = [
  { ...view, name: 'balanceOf', inputs: [{ name: 'owner', type: 'address' }], outputs: word },
  {
    ...view,
    name: 'allowance',
    inputs: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
    ],
    outputs: word,
  },
  { ...view, name: 'latestRoundData', inputs: [], outputs: [] },
  { ...view, name: 'decimals', inputs: [], outputs: word },
  {
    ...view,
    name: 'nonceBitmap',
    inputs: [
      { name: 'owner', type: 'address' },
      { name: 'word', type: 'uint256' },
    ],
    outputs: word,
  },
] as const

/** What one multicall asks. Addresses are distinct within a list. */
export type Reads = {
  readonly owner: Address
  readonly permit2: Address
  /** Balance, and allowance to Permit2, of each. */
  readonly tokens: readonly Address[]
  /** Feeds whose latest round is read: price feeds and sequencer feeds. */
  readonly rounds: readonly Address[]
  readonly decimals: readonly Address[]
  readonly permitNonce: bigint | undefined
}

export type Round = {
  readonly answer: bigint
  readonly startedAtSeconds: number
  readonly updatedAtSeconds: number
}

/** Answers of one block. What reverted or answered nothing is absent. */
export type Readings = BlockReading & {
  readonly balances: ReadonlyMap<Address, bigint>
  readonly allowances: ReadonlyMap<Address, bigint>
  readonly rounds: ReadonlyMap<Address, Round>
  readonly decimals: ReadonlyMap<Address, number>
  readonly nonceUsed: boolean | undefined
}

const TEMPLATES_MAX = 64
/**
 * nonceBitmap is the last call, and its 68 bytes are padded to 96: its last argument ends 28 bytes before the
 * calldata does.
 */
const WORD_DIGITS = 64
const PADDING_DIGITS = 56

/**
 * Encoder of multicalls. Queries differ only in the nonce word from one order to the next, so that the rest is
 * encoded once for each set of tokens and feeds.
 */
export function createReadEncoder(): (reads: Reads) => Hex {
  const templates = new Map<string, Hex>()
  return (reads) => {
    const { owner, permit2, tokens, rounds, decimals, permitNonce } = reads
    const key = [owner, permit2, tokens, rounds, decimals, permitNonce === undefined].join('|')
    let template = templates.get(key)
    if (template === undefined) {
      template = encodeReads(reads)
      if (templates.size >= TEMPLATES_MAX) templates.clear()
      templates.set(key, template)
    }
    if (permitNonce === undefined) return template
    const nonceWord = (permitNonce >> 8n).toString(16).padStart(WORD_DIGITS, '0')
    const end = template.length - PADDING_DIGITS
    return `0x${template.slice(2, end - WORD_DIGITS)}${nonceWord}${template.slice(end)}`
  }
}

function encodeReads(reads: Reads): Hex {
  const { owner, permit2 } = reads
  const call = (target: Address, callData: Hex): ContractRead => ({ target, callData })
  const calls: ContractRead[] = []
  for (const token of reads.tokens) {
    calls.push(
      call(token, encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [owner] })),
      call(
        token,
        encodeFunctionData({ abi: ABI, functionName: 'allowance', args: [owner, permit2] }),
      ),
    )
  }
  for (const feed of reads.rounds)
    calls.push(call(feed, encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' })))
  for (const feed of reads.decimals)
    calls.push(call(feed, encodeFunctionData({ abi: ABI, functionName: 'decimals' })))
  if (reads.permitNonce !== undefined) {
    const args = [owner, reads.permitNonce >> 8n] as const
    calls.push(call(permit2, encodeFunctionData({ abi: ABI, functionName: 'nonceBitmap', args })))
  }
  return encodeMulticall(owner, calls)
}

/** Reads a multicall's return data. Throws UnusableAnswer for data that is no answer to these reads. */
export function decodeReads(reads: Reads, data: Hex): Readings {
  const { answers, ...block } = decodeMulticall(data, readCount(reads))
  let next = 0
  const take = (): Hex | undefined => answers[next++]
  const balances = new Map<Address, bigint>()
  const allowances = new Map<Address, bigint>()
  for (const token of reads.tokens) {
    put(balances, token, firstWord(take()))
    put(allowances, token, firstWord(take()))
  }
  const rounds = new Map<Address, Round>()
  for (const feed of reads.rounds) put(rounds, feed, decodeRound(take()))
  const decimals = new Map<Address, number>()
  for (const feed of reads.decimals) put(decimals, feed, smallNumber(firstWord(take())))
  const nonceUsed =
    reads.permitNonce === undefined
      ? undefined
      : ((bitmap(firstWord(take())) >> (reads.permitNonce & 255n)) & 1n) === 1n
  return { ...block, balances, allowances, rounds, decimals, nonceUsed }
}

function readCount({ tokens, rounds, decimals, permitNonce }: Reads): number {
  return 2 * tokens.length + rounds.length + decimals.length + (permitNonce === undefined ? 0 : 1)
}

/** Permit2 always answers; taking its silence for an unused nonce could free a live permit. */
function bitmap(value: bigint | undefined): bigint {
  if (value === undefined) throw new UnusableAnswer('Permit2 does not answer at its address')
  return value
}

function put<Value>(map: Map<Address, Value>, key: Address, value: Value | undefined): void {
  if (value !== undefined) map.set(key, value)
}

function smallNumber(value: bigint | undefined): number | undefined {
  return value !== undefined && value <= 255n ? Number(value) : undefined
}

/** `(roundId, answer, startedAt, updatedAt, answeredInRound)` of Chainlink's AggregatorV3Interface. */
function decodeRound(data: Hex | undefined): Round | undefined {
  if (data === undefined) return undefined
  const [answer, startedAt, updatedAt] = [wordAt(data, 1), wordAt(data, 2), wordAt(data, 3)]
  if (answer === undefined || startedAt === undefined || updatedAt === undefined) return undefined
  return {
    answer: BigInt.asIntN(256, answer),
    startedAtSeconds: Number(startedAt),
    updatedAtSeconds: Number(updatedAt),
  }
}

const REASON_LENGTH_MAX = 200
const UNPRINTABLE = /[^\x20-\x7e]+/g

/**
 * What a revert says: the text of `Error(string)`, a panic's code, or the selector of a custom error. The text is
 * a contract's, so that only a bounded line of printable characters is kept.
 */
export function revertReason(data: unknown): string | undefined {
  const hex = typeof data === 'string' ? /0x(?:[0-9a-f]{2}){4,4096}$/i.exec(data)?.[0] : undefined
  if (hex === undefined) return undefined
  try {
    const { errorName, args } = decodeErrorResult({ abi: [], data: hex as Hex })
    const reason = errorName === 'Error' ? String(args[0]) : `${errorName}(${args.join()})`
    return reason.replace(UNPRINTABLE, ' ').slice(0, REASON_LENGTH_MAX)
  } catch {
    return `custom error ${hex.slice(0, 10)}`
  }
}
