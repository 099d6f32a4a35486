/** What an on-chain transaction cost: gas, and wei per gas. */
export type BatchCost = { readonly gasUsed: bigint; readonly effectiveGasPrice: bigint }

/** Costs of one call. All but the first two in wei. */
export type CallCosts = {
  readonly executionGas: bigint
  readonly directGas: bigint
  readonly effectiveGasPrice: bigint
  readonly executionCost: bigint
  readonly directCost: bigint
  readonly fee: bigint
  readonly charged: bigint
  readonly savings: bigint
}

const BPS = 10_000n

/**
 * Splits what a batch cost among its calls, in proportion to what each would have used if sent directly at the block
 * of the batch: whose call happens to come first, and finds everything cold, does not pay for the others. Shares
 * are rounded down, the dust is the service's. The fee is a part of what was saved against direct submission,
 * rounded down too. Without savings there is no fee, and the call is charged as if it had been sent directly.
 */
export function splitCosts(
  batch: BatchCost,
  directGases: readonly bigint[],
  feeBps: number,
): CallCosts[] {
  const allDirectGas = directGases.reduce((sum, gas) => sum + gas, 0n)
  const price = batch.effectiveGasPrice
  return directGases.map((directGas) => {
    const executionGas = (batch.gasUsed * directGas) / allDirectGas
    const executionCost = (batch.gasUsed * price * directGas) / allDirectGas
    const directCost = directGas * price
    const saved = directCost > executionCost ? directCost - executionCost : 0n
    const fee = (saved * BigInt(feeBps)) / BPS
    const charged = saved > 0n ? executionCost + fee : directCost
    return {
      executionGas,
      directGas,
      effectiveGasPrice: price,
      executionCost,
      directCost,
      fee,
      charged,
      savings: directCost - charged,
    }
  })
}
