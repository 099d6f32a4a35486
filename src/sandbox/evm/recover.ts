import secp256k1 from 'secp256k1'
import { type Hex, hexToBytes, keccak256 } from 'viem'

/** Parity of R's y. */
export type Parity = 0 | 1

/**
 * Lower-case address of the signer; undefined for an invalid signature. `compact`: r and s, 64 bytes. Uses the native curve,
 * because a service recovers a signer for every request, and portable code takes 4 ms each.
 */
export function recoverAddress(digest: Hex, compact: Uint8Array, parity: Parity): Hex | undefined {
  try {
    const key = secp256k1.ecdsaRecover(compact, parity, hexToBytes(digest), false)
    return `0x${keccak256(key.subarray(1)).slice(-40)}`
  } catch {
    // The library throws for points that are not on the curve.
    return undefined
  }
}
