import { calldataTokens, FLOOR_GAS_PER_TOKEN, TRANSACTION_GAS } from '../../domain/money/gas.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'

/**
 * Gas of a call through its account's proposer code. The signed gas limit covers the whole `onCall` including the
 * proposer's checks, and the service measures around it. It cannot be simulated: without the owner's signature `onCall`
 * reverts, and no signature may exist before its record. So it is bounded from above by EVM prices (EIP-2929, EIP-2200,
 * EIP-7702) and measurements of production-like code.
 */

/** Per token of calldata (EIP-2028). */
const GAS_PER_TOKEN = 4n
/** A node's estimate may exceed the gas used by 1/50. */
const ESTIMATE_ROOM = 50n

/**
 * The target's own gas, from a direct transaction. Returns 0 if that gas only pays for calldata: the rehearsal then decides.
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
/** Reading and writing the nonce, and recovering the signature including its hashing. */
const NONCE_AND_SIGNATURE = 2_100n + 2_900n + 6_000n
/** Dispatch, decoding and the calls' bookkeeping. */
const PROPOSER_CODE = 5_000n
/** The first nonce creates its storage slot. */
const FIRST_NONCE = 17_100n
const VALUE_TRANSFER = 9_000n
/** Ether sent to a new account; a direct transfer does not pay for it. */
const NEW_ACCOUNT = 25_000n
/** Each word of calldata is copied four times and hashed once. */
const GAS_PER_WORD = 40n

/** Upper bound on the proposer's gas besides the target's. */
export function proposerGas(call: {
  readonly calldata: Hex
  readonly value: bigint
  readonly nonce: bigint
  /** 0 if no code runs: then the address may be a new account. */
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

/** Deployments check the limit before the target runs, or the gas used after it: by name, or by its selector. */
const EXCEEDED = /GasLimitExceeded|NotEnoughGas|0xbe9179a6/i

type Limited = Pick<CallRecord, 'calldata' | 'value' | 'gasLimit' | 'directGas'> & {
  readonly nonce?: bigint
}

/** Adds to an answer about an exceeded gas limit how much the limit lacks at most. */
export function withLimitAdvice(message: string, call: Limited): string {
  if (!EXCEEDED.test(message)) return message
  const { calldata, value, gasLimit, directGas, nonce = 0n } = call
  const paid = directGas - TRANSACTION_GAS - calldataTokens(calldata) * GAS_PER_TOKEN
  // Long calldata may hide the target's share, which is at most this.
  const target = paid > 0n ? paid : 0n
  const needed = target + proposerGas({ calldata, value, nonce, targetGas: target })
  const lacks =
    needed > gasLimit
      ? `lacks up to ${needed - gasLimit}: set it to ${needed}`
      : `is below what this deployment uses, which is more than the expected ${needed}: raise it`
  return `${message}; gasLimit ${gasLimit} ${lacks}`
}
