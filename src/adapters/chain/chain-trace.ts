import type { Address, Hex } from '../../domain/units.ts'
import type { CallTrace, TransactionTrace, Transfer } from '../../ports.ts'
import { type RpcAnswers, type RpcCall, UnusableAnswer } from './json-rpc-batch.ts'
import {
  address,
  bytes,
  count,
  hash,
  list,
  object,
  quantity,
  toQuantity,
} from './json-rpc-values.ts'

/** keccak256 of `Transfer(address,address,uint256)` (EIP-20). */
const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export type Receipt = {
  readonly hash: Hex
  readonly success: boolean
  readonly blockNumber: bigint
}

/** The two calls that `traceAt` and `callTraceAt` take the answers of. */
export function traceCalls(txHash: Hex): readonly RpcCall[] {
  return [
    { method: 'eth_getTransactionReceipt', params: [txHash] },
    { method: 'eth_getTransactionByHash', params: [txHash] },
  ]
}

/** A receipt's outcome; undefined while the node knows none, or has the transaction in no block yet. */
export function parseReceipt(value: unknown, expected: Hex): Receipt | undefined {
  if (value === null || value === undefined) return undefined
  const receipt = object<'blockNumber' | 'transactionHash' | 'status'>(value, 'receipt')
  if (receipt.blockNumber === null) return undefined
  if (hash(receipt.transactionHash, 'receipt hash') !== expected.toLowerCase())
    throw new UnusableAnswer('answered the receipt of another transaction')
  return {
    hash: expected,
    success: quantity(receipt.status, 'receipt status') === 1n,
    blockNumber: quantity(receipt.blockNumber, 'receipt block'),
  }
}

/** A receipt with its ERC-20 transfers and the transaction's calldata; undefined as for `parseReceipt`. */
function parseTrace(
  answers: { readonly receipt: unknown; readonly transaction: unknown },
  expected: Hex,
): TransactionTrace | undefined {
  const receipt = parseReceipt(answers.receipt, expected)
  if (receipt === undefined) return undefined
  const logs = list(object<'logs'>(answers.receipt, 'receipt').logs, 'receipt logs')
  return {
    ...receipt,
    transfers: logs.flatMap((log) => parseTransfer(log) ?? []),
    input: parseInput(answers.transaction, expected),
  }
}

function parseInput(value: unknown, expected: Hex): Hex | undefined {
  if (value === null || value === undefined) return undefined
  const transaction = object<'hash' | 'input'>(value, 'transaction')
  if (hash(transaction.hash, 'transaction hash') !== expected.toLowerCase())
    throw new UnusableAnswer('answered another transaction')
  return bytes(transaction.input, 'transaction input')
}

/** The trace from a batch's answers to `traceCalls`, which begin at `index`. */
export function traceAt(
  answers: RpcAnswers,
  index: number,
  txHash: Hex,
): TransactionTrace | undefined {
  const [receipt, transaction] = [answers.result(index), answers.result(index + 1)]
  return parseTrace({ receipt, transaction }, txHash)
}

/** What became of a transaction as a call, from the same answers; undefined as for `parseReceipt`. */
export function callTraceAt(
  answers: RpcAnswers,
  index: number,
  txHash: Hex,
): CallTrace | undefined {
  const [receiptAnswer, transactionAnswer] = [answers.result(index), answers.result(index + 1)]
  const receipt = parseReceipt(receiptAnswer, txHash)
  if (receipt === undefined) return undefined
  const input = parseInput(transactionAnswer, txHash)
  if (input === undefined) throw new UnusableAnswer('knows a receipt without its transaction')
  const { from, to } = object<'from' | 'to'>(transactionAnswer, 'transaction')
  const paid = object<'gasUsed' | 'effectiveGasPrice'>(receiptAnswer, 'receipt')
  return {
    ...receipt,
    from: address(from, 'sender'),
    to: to === null || to === undefined ? undefined : address(to, 'recipient'),
    gasUsed: quantity(paid.gasUsed, 'gas used'),
    effectiveGasPrice: quantity(paid.effectiveGasPrice, 'gas price'),
    input,
  }
}

/** ERC-721 shares the event's name but has a fourth topic, and nothing in the data. */
function parseTransfer(value: unknown): Transfer | undefined {
  const log = object<'address' | 'topics' | 'data' | 'logIndex'>(value, 'log')
  const topics = list(log.topics, 'log topics')
  const data = bytes(log.data, 'log data')
  if (topics.length !== 3 || data.length !== 66) return undefined
  if (hash(topics[0], 'log topic') !== TRANSFER_TOPIC) return undefined
  return {
    token: address(log.address, 'log address'),
    from: topicAddress(topics[1]),
    to: topicAddress(topics[2]),
    amount: BigInt(data),
    logIndex: count(log.logIndex, 'log index'),
  }
}

function topicAddress(topic: unknown): Address {
  return `0x${hash(topic, 'log topic').slice(26)}`
}

/** Logs of transfers of `token` out of `owner`. Both blocks are included. */
export function outgoingCall(query: {
  readonly owner: Address
  readonly token: Address
  readonly fromBlock: bigint
  readonly toBlock: bigint
}): RpcCall {
  const { owner, token, fromBlock, toBlock } = query
  const filter = {
    address: token,
    fromBlock: toQuantity(fromBlock),
    toBlock: toQuantity(toBlock),
    topics: [TRANSFER_TOPIC, topicOf(owner)],
  }
  return { method: 'eth_getLogs', params: [filter] }
}

/** Logs of a contract that name an account in any of their indexed arguments. Both blocks are included. */
export function namingCalls(query: {
  readonly contract: Address
  readonly account: Address
  readonly fromBlock: bigint
  readonly toBlock: bigint
}): readonly RpcCall[] {
  const { contract, account, fromBlock, toBlock } = query
  const range = { fromBlock: toQuantity(fromBlock), toBlock: toQuantity(toBlock) }
  // Topics of one filter must all match, so that each place needs a filter of its own.
  return [1, 2, 3].map((place) => {
    const topics = [...new Array<null>(place).fill(null), topicOf(account)]
    return { method: 'eth_getLogs', params: [{ address: contract, ...range, topics }] }
  })
}

function topicOf(account: Address): Hex {
  return `0x${account.slice(2).padStart(64, '0')}`
}
