import {
  formatTransactionRequest,
  type Hex,
  numberToHex,
  parseTransaction,
  type TransactionRequest,
  type TransactionSerialized,
} from 'viem'
import * as z from 'zod'
import { transactionHashSchema, weiText } from '../../../venues/call/client/aggregator-wire.ts'
import { addressText } from '../../../venues/swap/client/gasless-wire.ts'
import type { Rpc } from '../../evm/rpc.ts'
import type { CallCosts } from '../account/account-costs.ts'
import type { Call, NodeReceipt } from '../batch/calls.ts'
import { nodeReceipt } from '../chain/aggregator-chain.ts'

/** Amounts are in wei. The interface names no fields of a status, so these are the sandbox's own. */
export const statusSchema = z.object({
  hash: transactionHashSchema,
  account: addressText,
  status: z.enum(['queued', 'landed', 'reverted', 'dropped']),
  route: z.union([z.literal('aggregated'), z.literal('delegation'), z.literal('direct')]),
  reason: z.string().nullable(),
  costs: z
    .object({
      execution_gas: weiText,
      effective_gas_price: weiText,
      execution_cost: weiText,
      blob_cost: weiText,
      service_fee: weiText,
      charged: weiText,
    })
    .nullable(),
  savings: z.object({ direct_gas: weiText, direct_cost: weiText, saved: weiText }).nullable(),
  tracking: z.object({
    batched_transaction_hash: transactionHashSchema.nullable(),
    block_number: z.int().nullable(),
    calls_in_batch: z.int().nullable(),
    reverted_batches: z.array(transactionHashSchema),
    accepted_at_ms: z.int(),
  }),
})

type Status = z.input<typeof statusSchema>

/** `directReceipt`: receipt of a transaction that was broadcast unchanged. */
export function statusOf(call: Call, directReceipt: NodeReceipt | null): Status {
  const { progress, work } = call
  const landed = progress.state === 'landed' ? progress : undefined
  const receipt = landed?.receipt ?? directReceipt
  const ownCosts = landed?.costs && costFields(landed.costs)
  const costs = work.kind === 'direct' ? directReceipt && directCosts(directReceipt) : ownCosts
  return {
    hash: call.hash,
    account: call.account,
    status: statusText(call, receipt),
    route: work.kind,
    reason: progress.state === 'dropped' ? progress.reason : null,
    costs: costs ?? null,
    savings: (landed?.costs && savingsFields(landed.costs)) ?? null,
    tracking: {
      batched_transaction_hash: receipt?.transactionHash ?? null,
      block_number: receipt === null ? null : Number(receipt.blockNumber),
      calls_in_batch: landed?.batchSize ?? null,
      reverted_batches: call.revertedBatches,
      accepted_at_ms: call.acceptedAtMs,
    },
  }
}

/** The receipt of the transaction that holds a call; the chain's for one that was broadcast unchanged. */
export async function receiptOf(
  rpc: Rpc,
  { hash, progress, work }: Call,
): Promise<NodeReceipt | null> {
  if (progress.state !== 'queued') return progress.receipt ?? null
  return work.kind === 'direct' ? nodeReceipt(rpc, hash) : null
}

export function statusText({ progress }: Call, receipt: NodeReceipt | null): Status['status'] {
  if (receipt !== null) return receipt.status === '0x1' ? 'landed' : 'reverted'
  return progress.state === 'dropped' ? 'dropped' : 'queued'
}

function savingsFields({ directGas, directCost, savings }: CallCosts) {
  return {
    direct_gas: directGas.toString(),
    direct_cost: directCost.toString(),
    saved: savings.toString(),
  }
}

function costFields(costs: Omit<CallCosts, 'directGas' | 'directCost' | 'savings'>) {
  return {
    execution_gas: costs.executionGas.toString(),
    effective_gas_price: costs.effectiveGasPrice.toString(),
    execution_cost: costs.executionCost.toString(),
    blob_cost: costs.blobCost.toString(),
    service_fee: costs.fee.toString(),
    charged: costs.charged.toString(),
  }
}

/** The sender's own costs on the chain, which are not charged to the deposit. */
function directCosts({ gasUsed, effectiveGasPrice, blobGasUsed, blobGasPrice }: NodeReceipt) {
  return costFields({
    executionGas: quantity(gasUsed),
    effectiveGasPrice: quantity(effectiveGasPrice),
    executionCost: quantity(gasUsed) * quantity(effectiveGasPrice),
    blobCost: quantity(blobGasUsed) * quantity(blobGasPrice),
    fee: 0n,
    charged: 0n,
  })
}

/** Nodes omit blob fields, or return null, for a transaction without blobs. */
function quantity(value: unknown): bigint {
  return typeof value === 'string' ? BigInt(value) : 0n
}

/** A submitted transaction as nodes show one. `receipt`: of the transaction that carried it, if there is one. */
export function shownTransaction(
  { account, hash }: Pick<Call, 'account' | 'hash'>,
  onChain: Hex,
  receipt: NodeReceipt | null,
) {
  const { r, s, v, yParity, ...fields } = parseTransaction(onChain as TransactionSerialized)
  const { chainId = 0, data = '0x', nonce = 0, value = 0n } = fields
  return {
    ...formatTransactionRequest(fields as TransactionRequest),
    ...{ hash, from: account, input: data, r, s },
    chainId: numberToHex(chainId),
    nonce: numberToHex(nonce),
    value: numberToHex(value),
    v: numberToHex(v ?? BigInt(yParity ?? 0)),
    ...(yParity === undefined ? {} : { yParity: numberToHex(yParity) }),
    blockHash: receipt?.['blockHash'] ?? null,
    blockNumber: receipt?.blockNumber ?? null,
    transactionIndex: receipt?.['transactionIndex'] ?? null,
  }
}
