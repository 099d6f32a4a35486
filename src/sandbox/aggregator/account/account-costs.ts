import { BPS, minOf } from '../../../domain/money/units.ts'
import type { Receipt } from '../../evm/sender.ts'

/** Gas used by an on-chain transaction, and its price in wei per gas. */
export function batchCost({ gasUsed, effectiveGasPrice }: Receipt) {
  return { gasUsed: BigInt(gasUsed), effectiveGasPrice: BigInt(effectiveGasPrice) }
}

/** Costs of one call in wei, except for the two gas figures. `charged` is the sum of execution, fee and blob costs. */
export type CallCosts = ReturnType<typeof splitCosts>[number]

/**
 * Splits the cost of a batch in proportion to each call's direct gas: what it would use alone at the same block. So the
 * first call does not pay for warming storage. Shares and fee are rounded down.
 *
 * The fee is `feeBps` of the savings over direct submission. Without savings the call is charged its direct cost, and the
 * service bears the rest. Blob gas (`blobCost`, wei) saves nothing.
 */
export function splitCosts(
  batch: ReturnType<typeof batchCost>,
  calls: readonly { readonly directGas: bigint; readonly blobCost: bigint }[],
  feeBps: number,
) {
  const allDirectGas = calls.reduce((sum, { directGas }) => sum + directGas, 0n)
  const price = batch.effectiveGasPrice
  return calls.map(({ directGas, blobCost }) => {
    const gasShare = (batch.gasUsed * directGas) / allDirectGas
    const costShare = (batch.gasUsed * price * directGas) / allDirectGas
    const directExecution = directGas * price
    const executionCost = minOf(costShare, directExecution)
    const fee = ((directExecution - executionCost) * BigInt(feeBps)) / BPS
    const directCost = directExecution + blobCost
    const charged = executionCost + fee + blobCost
    return {
      executionGas: minOf(gasShare, directGas),
      directGas,
      effectiveGasPrice: price,
      executionCost,
      blobCost,
      directCost,
      fee,
      charged,
      savings: directCost - charged,
    }
  })
}
