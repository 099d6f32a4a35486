import type { Hex } from '../../domain/units.ts'

/**
 * What a call uses through its account's proposer code. The signed gas limit bounds the whole `onCall`, the proposer's own
 * checks included, and the service measures around it. What they come to cannot be run beforehand: without the owner's
 * signature `onCall` reverts, and no signature may exist before its record. So it is counted from above, by the prices of
 * the EVM (EIP-2929, EIP-2200, EIP-7702) and what production-shaped code was measured to use.
 */

/** Gas of an Ethereum transaction beside its execution (EIP-2028). */
export function transactionGas(calldata: Hex): bigint {
  let gas = 21_000n
  for (let at = 2; at < calldata.length; at += 2) gas += calldata.startsWith('00', at) ? 4n : 16n
  return gas
}

/** Account and delegate are cold to the multicall; the target is cold to the account. */
const COLD_ACCOUNTS = 3n * 2_600n
/** Reading and writing the nonce, and the signature's recovery with what is hashed for it. */
const NONCE_AND_SIGNATURE = 2_100n + 2_900n + 6_000n
/** Dispatch, decoding and the calls' own bookkeeping. */
const PROPOSER_CODE = 5_000n
/** The first nonce makes its slot. */
const FIRST_NONCE = 17_100n
const VALUE_TRANSFER = 9_000n
/** Each word of calldata is copied four times and hashed once. */
const GAS_PER_WORD = 40n

/** Gas that the proposer needs beside the target's, at most. */
export function proposerGas(call: {
  readonly calldata: Hex
  readonly value: bigint
  /** The account's `nestedNonce`. */
  readonly nonce: bigint
}): bigint {
  const words = BigInt(Math.ceil((call.calldata.length - 2) / 64))
  return (
    COLD_ACCOUNTS +
    NONCE_AND_SIGNATURE +
    PROPOSER_CODE +
    words * GAS_PER_WORD +
    (call.nonce === 0n ? FIRST_NONCE : 0n) +
    (call.value > 0n ? VALUE_TRANSFER : 0n)
  )
}
