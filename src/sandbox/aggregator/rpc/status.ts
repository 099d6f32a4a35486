import type { Hex } from 'viem'
import type { CallCosts } from '../account/costs.ts'
import type { Call, NodeReceipt } from '../batch/calls.ts'

/** What happened to a transaction, in this sandbox's own words: the interface does not give any. Wei as text. */
export type StatusResult = {
  readonly hash: Hex
  readonly account: Hex
  readonly status: 'queued' | 'landed' | 'reverted' | 'dropped'
  /** How it is submitted: with others, as a delegation by the service, or as it is. */
  readonly route: 'aggregated' | 'delegation' | 'direct'
  readonly reason: string | null
  readonly costs: {
    readonly execution_gas: string
    readonly effective_gas_price: string
    readonly execution_cost: string
    readonly blob_cost: string
    readonly service_fee: string
    readonly charged: string
  } | null
  readonly savings: {
    readonly direct_gas: string
    readonly direct_cost: string
    readonly saved: string
  } | null
  readonly tracking: {
    readonly batched_transaction_hash: Hex | null
    readonly block_number: number | null
    readonly calls_in_batch: number | null
    readonly reverted_batches: readonly Hex[]
    readonly accepted_at_ms: number
  }
}

/** The status of a call; `directReceipt` is the chain's word on one that went there as it was. */
export function statusOf(call: Call, directReceipt: NodeReceipt | null): StatusResult {
  const { progress } = call
  const landed = progress.state === 'landed' ? progress : undefined
  const receipt = landed?.receipt ?? directReceipt
  return {
    hash: call.hash,
    account: call.account,
    status: receipt === null ? waitingStatus(call) : chainStatus(receipt),
    route: call.work.kind,
    reason: progress.state === 'dropped' ? progress.reason : null,
    costs: costsOf(call, directReceipt),
    savings: landed?.costs === undefined ? null : savingFields(landed.costs),
    tracking: {
      batched_transaction_hash: receipt?.transactionHash ?? null,
      block_number: receipt === null ? null : Number(receipt.blockNumber),
      calls_in_batch: landed?.batchSize ?? null,
      reverted_batches: call.revertedBatches,
      accepted_at_ms: call.acceptedAtMs,
    },
  }
}

function waitingStatus({ progress }: Call): 'queued' | 'dropped' {
  return progress.state === 'dropped' ? 'dropped' : 'queued'
}

function chainStatus({ status }: NodeReceipt): 'landed' | 'reverted' {
  return status === '0x1' ? 'landed' : 'reverted'
}

function costsOf(
  { progress, work }: Call,
  directReceipt: NodeReceipt | null,
): StatusResult['costs'] {
  if (work.kind === 'direct') return directReceipt === null ? null : directCosts(directReceipt)
  const costs = progress.state === 'landed' ? progress.costs : undefined
  return costs === undefined ? null : costFields(costs)
}

function costFields(costs: CallCosts): NonNullable<StatusResult['costs']> {
  return {
    execution_gas: costs.executionGas.toString(),
    effective_gas_price: costs.effectiveGasPrice.toString(),
    execution_cost: costs.executionCost.toString(),
    blob_cost: costs.blobCost.toString(),
    service_fee: costs.fee.toString(),
    charged: costs.charged.toString(),
  }
}

/** What a transaction cost its sender on the chain. Nothing of it is charged to the deposit. */
function directCosts(receipt: NodeReceipt): NonNullable<StatusResult['costs']> {
  const { gasUsed, effectiveGasPrice, blobGasUsed, blobGasPrice } = receipt
  return {
    execution_gas: quantity(gasUsed).toString(),
    effective_gas_price: quantity(effectiveGasPrice).toString(),
    execution_cost: (quantity(gasUsed) * quantity(effectiveGasPrice)).toString(),
    blob_cost: (quantity(blobGasUsed) * quantity(blobGasPrice)).toString(),
    service_fee: '0',
    charged: '0',
  }
}

/** A number of a receipt; nodes leave out, or give as null, what a transaction has no part in. */
function quantity(value: unknown): bigint {
  return typeof value === 'string' ? BigInt(value) : 0n
}

function savingFields(costs: CallCosts): NonNullable<StatusResult['savings']> {
  return {
    direct_gas: costs.directGas.toString(),
    direct_cost: costs.directCost.toString(),
    saved: costs.savings.toString(),
  }
}
