import { calldataTokens, FLOOR_GAS_PER_TOKEN, TRANSACTION_GAS } from '../../domain/gas.ts'
import type { Hex } from '../../domain/units.ts'

/**
 * What a call uses through its account's proposer code. The signed gas limit bounds the whole `onCall`, the proposer's own
 * checks included, and the service measures around it. What they come to cannot be run beforehand: without the owner's
 * signature `onCall` reverts, and no signature may exist before its record. So it is counted from above, by the prices of
 * the EVM (EIP-2929, EIP-2200, EIP-7702) and what production-shaped code was measured to use.
 */

/** By token of calldata (EIP-2028). */
const GAS_PER_TOKEN = 4n
/** A node's estimate may lie this much above what was used: a fiftieth. */
const ESTIMATE_ROOM = 50n

/**
 * What the target itself uses, of the gas of a transaction sent to it directly. Where that is no more than the least that its
 * calldata costs, nothing is known of the target, and the rehearsal of the signed call judges.
 */
export function targetGas(call: { readonly calldata: Hex; readonly directGas: bigint }): bigint {
  const { calldata, directGas } = call
  const tokens = calldataTokens(calldata)
  const floor = TRANSACTION_GAS + tokens * FLOOR_GAS_PER_TOKEN
  if (tokens > 0n && directGas <= floor + floor / ESTIMATE_ROOM) return 0n
  const own = directGas - TRANSACTION_GAS - tokens * GAS_PER_TOKEN
  return own > 0n ? own : 0n
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
/** Ether for an address that the chain does not know yet; sent directly, a transfer does not pay it. */
const NEW_ACCOUNT = 25_000n
/** Each word of calldata is copied four times and hashed once. */
const GAS_PER_WORD = 40n

/** Gas that the proposer needs beside the target's, at most. */
export function proposerGas(call: {
  readonly calldata: Hex
  readonly value: bigint
  /** The account's `nestedNonce`. */
  readonly nonce: bigint
  /** 0 where no code runs: whether the address is known is not. */
  readonly targetGas: bigint
}): bigint {
  const words = BigInt(Math.ceil((call.calldata.length - 2) / 64))
  return (
    COLD_ACCOUNTS +
    NONCE_AND_SIGNATURE +
    PROPOSER_CODE +
    words * GAS_PER_WORD +
    (call.nonce === 0n ? FIRST_NONCE : 0n) +
    (call.value > 0n ? VALUE_TRANSFER + (call.targetGas === 0n ? NEW_ACCOUNT : 0n) : 0n)
  )
}
