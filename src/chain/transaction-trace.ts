import { numberToHex } from 'viem/utils'
import type { Hex } from '../domain/money/units.ts'
import type { CallTrace, Receipt, TransactionTrace, Transfer } from '../ports.ts'
import { UnusableAnswer } from './node/batch.ts'
import { present } from './node/chain-faults.ts'
import { type Answer, sentIn } from './node/node-answers.ts'
import type { Node } from './node/nodes.ts'

/** keccak256 of `Transfer(address,address,uint256)` (EIP-20). */
export const TRANSFER_TOPIC: Hex =
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export const TRACE_SIZE = 2

type Mined = NonNullable<Answer<'eth_getTransactionReceipt'>>
type Sent = NonNullable<Answer<'eth_getTransactionByHash'>>

/** A receipt's outcome; undefined while the node has no receipt or the transaction is pending. */
export async function readReceipt(node: Node, hash: Hex): Promise<Receipt | undefined> {
  const mined = await receiptOf(node, hash)
  return mined === undefined ? undefined : { ...outcomeOf(mined, hash), fee: feeOf(mined) }
}

/** A transaction with its ERC-20 transfers and calldata; undefined like `readReceipt`. */
export async function readTrace(node: Node, hash: Hex): Promise<TransactionTrace | undefined> {
  const [mined, sent] = await Promise.all([receiptOf(node, hash), transactionOf(node, hash)])
  if (mined === undefined) return undefined
  const logs = present(mined.logs, 'receipt logs')
  return {
    ...outcomeOf(mined, hash),
    transfers: logs.flatMap((log) => transferOf(log) ?? []),
    input: sent?.input,
  }
}

export async function readCallTrace(node: Node, hash: Hex): Promise<CallTrace | undefined> {
  const [mined, sent] = await Promise.all([receiptOf(node, hash), transactionOf(node, hash)])
  if (mined === undefined) return undefined
  if (sent === undefined) throw new UnusableAnswer('knows a receipt without its transaction')
  return {
    ...outcomeOf(mined, hash),
    from: sent.from,
    to: sent.to ?? undefined,
    gasUsed: BigInt(present(mined.gasUsed, 'gas used')),
    effectiveGasPrice: BigInt(present(mined.effectiveGasPrice, 'gas price')),
    blobCost: BigInt(mined.blobGasUsed ?? 0) * BigInt(mined.blobGasPrice ?? 0),
    input: sent.input,
  }
}

/** Reports if a transaction's input matches; undefined if the node does not have it. */
export async function readWhether(
  node: Node,
  hash: Hex,
  holds: (sent: { readonly input: Hex }) => boolean,
): Promise<{ readonly hash: Hex; readonly holds: boolean } | undefined> {
  const sent = await transactionOf(node, hash)
  return sent && { hash, holds: holds(sent) }
}

export async function readCallsIn(
  node: Node,
  block: bigint,
  holds: (sent: { readonly input: Hex }) => boolean,
): Promise<{ readonly timeSeconds: number; readonly hashes: readonly Hex[] }> {
  const answer = await node.request('eth_getBlockByNumber', [numberToHex(block), true])
  if (answer === null) throw new UnusableAnswer(`does not have block ${block}`)
  const sent = sentIn(answer)
  if (sent === undefined) throw new UnusableAnswer('answered a block without its transactions')
  const hashes = sent.filter(holds).map(({ hash }) => hash)
  return { timeSeconds: Number(answer.timestamp), hashes }
}

/**
 * A receipt with a block; undefined until there is one. viem's action could share an earlier request that is still running,
 * from before the nonce that the receipt is compared with.
 */
async function receiptOf(node: Node, hash: Hex): Promise<Mined | undefined> {
  const mined = await node.request('eth_getTransactionReceipt', [hash])
  if (mined === null || mined.blockNumber === null) return undefined
  if (mined.transactionHash !== hash.toLowerCase())
    throw new UnusableAnswer('answered the receipt of another transaction')
  return mined
}

/** Undefined if the node no longer has it. */
async function transactionOf(node: Node, hash: Hex): Promise<Sent | undefined> {
  const sent = await node.request('eth_getTransactionByHash', [hash])
  if (sent !== null && sent.hash !== hash.toLowerCase())
    throw new UnusableAnswer('answered another transaction')
  return sent ?? undefined
}

function outcomeOf({ status, blockNumber, blockHash }: Mined, hash: Hex): Receipt {
  return {
    hash,
    success: BigInt(present(status, 'receipt status')) === 1n,
    blockNumber: BigInt(present(blockNumber, 'receipt block')),
    blockHash: present(blockHash, 'receipt block hash'),
  }
}

function feeOf({ gasUsed, effectiveGasPrice, l1Fee }: Mined): bigint | undefined {
  if (gasUsed == null || effectiveGasPrice == null) return undefined
  return BigInt(gasUsed) * BigInt(effectiveGasPrice) + BigInt(l1Fee ?? 0)
}

/** ERC-721 shares the event name but has a fourth topic and no data. */
function transferOf(log: NonNullable<Mined['logs']>[number]): Transfer | undefined {
  const [event, from, to, fourth] = log.topics
  if (event !== TRANSFER_TOPIC || from === undefined || to === undefined) return undefined
  if (fourth !== undefined || log.data.length !== 66) return undefined
  return {
    token: log.address,
    from: `0x${from.slice(26)}`,
    to: `0x${to.slice(26)}`,
    amount: BigInt(log.data),
    logIndex: Number(log.logIndex),
  }
}
