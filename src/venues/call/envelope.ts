import { fnv1a } from '../../domain/random.ts'

export const PRIORITY_FEE_WEI = 1_000_000_000n
/** Exclusive upper bound of a mark in wei: about 1 gwei, small beside a fee cap of twice the base fee. */
const MARKS = 2 ** 30

/**
 * Fees of the transaction that carries a call. The service identifies a transaction by its bytes and does not advance the
 * account's nonce, so two calls with equal calldata would be identical. The mark, derived from the order id, distinguishes
 * them in the fee cap, where it costs nothing.
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
