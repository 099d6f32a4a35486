/** What an on-chain transaction cost: gas, and wei per gas. */
export type BatchCost = { readonly gasUsed: bigint; readonly effectiveGasPrice: bigint }

/** Costs of one call. All but the first two in wei. `charged` is execution, fee and blob together. */
export type CallCosts = {
  readonly executionGas: bigint
  readonly directGas: bigint
  readonly effectiveGasPrice: bigint
  readonly executionCost: bigint
  readonly blobCost: bigint
  readonly directCost: bigint
  readonly fee: bigint
  readonly charged: bigint
  readonly savings: bigint
}

/** What every call of a batch is charged by: the service's part of the savings, and wei of blob gas for each call. */
export type ChargeTerms = { readonly feeBps: number; readonly blobCostWei: bigint }

const BPS = 10_000n

/**
 * Splits what a batch cost among its calls, in proportion to what each would have used if sent directly at the block
 * of the batch: whose call happens to come first, and finds everything cold, does not pay for the others. Shares
 * are rounded down, the dust is the service's. The fee is a part of what was saved against direct submission,
 * rounded down too. Without savings there is no fee, and the call is charged as if it had been sent directly: what
 * its share is above that, the service bears. Blob gas would have cost the same directly, so it saves nothing.
 */
export function splitCosts(
  batch: BatchCost,
  directGases: readonly bigint[],
  { feeBps, blobCostWei }: ChargeTerms,
): CallCosts[] {
  const allDirectGas = directGases.reduce((sum, gas) => sum + gas, 0n)
  const price = batch.effectiveGasPrice
  return directGases.map((directGas) => {
    const gasShare = (batch.gasUsed * directGas) / allDirectGas
    const costShare = (batch.gasUsed * price * directGas) / allDirectGas
    const directExecution = directGas * price
    const executionCost = lesserOf(costShare, directExecution)
    const fee = ((directExecution - executionCost) * BigInt(feeBps)) / BPS
    const directCost = directExecution + blobCostWei
    const charged = executionCost + fee + blobCostWei
    return {
      executionGas: lesserOf(gasShare, directGas),
      directGas,
      effectiveGasPrice: price,
      executionCost,
      blobCost: blobCostWei,
      directCost,
      fee,
      charged,
      savings: directCost - charged,
    }
  })
}

function lesserOf(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}
