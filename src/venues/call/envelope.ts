import { fnv1a } from '../../domain/random.ts'

/** What is offered above the base fee for each gas, in wei. */
export const PRIORITY_FEE_WEI = 1_000_000_000n
/** Marks are smaller than this, in wei: about a gwei of a fee cap that already has room for twice the base fee. */
const MARKS = 2 ** 30

/**
 * Fees of the transaction that carries a call to the service. The service knows a transaction by its bytes and leaves the
 * account's nonce as it is, so that two calls of equal calldata would be one to it. What tells them apart is the mark:
 * a number that follows from the order's id, in the fee cap, where it costs nothing.
 */
export function envelopeFees(
  clientOrderId: string,
  baseFeePerGas: bigint,
): { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint } {
  const mark = BigInt(fnv1a(clientOrderId) % MARKS)
  return {
    maxFeePerGas: baseFeePerGas * 2n + PRIORITY_FEE_WEI + mark,
    maxPriorityFeePerGas: PRIORITY_FEE_WEI,
  }
}
